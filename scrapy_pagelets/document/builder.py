"""Build the document of a page from the leaves that are content."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Final

from scrapy_pagelets.base.arrays import Bools
from scrapy_pagelets.document import pictures
from scrapy_pagelets.document.blocks import ALL, PLAIN, Block, Run, Switches, text_of_runs, tidy
from scrapy_pagelets.document.walk import Walk
from scrapy_pagelets.metadata.headline import Headline
from scrapy_pagelets.page import urls
from scrapy_pagelets.page.page import Page

_HOLDERS: Final = ("list", "item", "quote")
_FEW: Final = 4  # words of a price with its currency


def document_of(
    page: Page, keep: Bools, headline: Headline | None = None, switches: Switches = ALL, repeated: Sequence[int] = ()
) -> Block:
    """Build the document of a page: its own heading first, if it is known, and then the content.

    ``keep``: (m,) a mask of the leaves that are content. ``headline``: the page's own heading. ``switches``: what is
    left out. ``repeated``: rows of the pictures that most pages of the site show.
    """
    body = keep.copy()
    if headline is not None:  # that stands apart from all other content: its banner may have a logo
        own = page.nodes.leaves_of(headline.row)
        body[own] &= bool(keep[own.start - 1 : own.start].any() or keep[own.stop : own.stop + 1].any())
    images = pictures.shown_with(page.nodes, body)
    repeated = [row for row in repeated if pictures.is_shown_as_written(page.nodes.elements[row])]
    images[repeated] = False
    pictures.add_own(page, headline, images, keep, repeated)
    walk = Walk(page, keep, images, switches)
    root = walk.document(0, len(page.nodes))
    _prune(root)
    if headline is not None:
        _put_first(root, headline, walk.leaves_of(headline.row), page.key)
    _drop_known_links(root)
    _drop_copies(root)
    repair_levels(root, headed=headline is not None)
    return root


def _prune(root: Block) -> None:
    """Remove lists, items and quotes in which nothing is left, and rules that divide nothing."""
    for block in reversed(list(root.walk())):
        held = [child for child in block.children if child.children or child.kind not in _HOLDERS]
        above = [None, *[child.kind for child in held]]
        # A rule underlines a heading, follows another rule, or has nothing above it.
        idle = (None, "heading", "rule")
        block.children = [b for b, kind in zip(held, above, strict=False) if b.kind != "rule" or kind not in idle]
        while block.children and block.children[-1].kind == "rule":
            block.children.pop()


def _put_first(root: Block, headline: Headline, leaves: list[int], key: int) -> None:
    """Move the page's own heading to the start; leave out what says it again, and headings that lead to the page."""
    own = set(leaves)
    level = next((b.level for b in root.walk() if b.kind == "heading" and own.intersection(b.leaves)), 1)
    runs = _own_runs([b for b in root.walk() if b.leaves and own.issuperset(b.leaves)], headline.text, key)
    for block in root.walk():
        block.children = [child for child in block.children if not child.leaves or not own.issuperset(child.leaves)]
        again = (child for child in block.children if _says(child, headline.text, "heading"))
        here = {id(child) for child in again if {urls.key(href) for href in _links_of(child)} == {key}}
        block.children = [child for child in block.children if id(child) not in here]
    _prune(root)
    while root.children and root.children[0].leaves and _says(root.children[0], headline.text, "heading", "paragraph"):
        del root.children[0]
    _prune(root)  # a rule may have stood below it
    root.children.insert(0, Block("heading", runs=runs, level=level, leaves=leaves))


def _says(block: Block, text: str, *kinds: str) -> bool:
    return block.kind in kinds and text_of_runs(block.runs) == text


def _own_runs(blocks: Iterable[Block], text: str, key: int) -> list[Run]:
    """The page's own heading with its links to other pages; only its text if that is not all that the blocks say."""
    runs = [run for block in blocks for run in (*block.runs, Run(" ")) if not run.source]
    if text_of_runs(runs) != text:
        runs = [Run(text)]
    leads_here = {href: urls.key(href) == key for run in runs if (href := run.style.href)}
    plain = [replace(run, style=run.style._replace(strong=False)) for run in runs]
    return tidy(replace(run, style=PLAIN) if leads_here.get(run.style.href) else run for run in plain)


def _drop_known_links(root: Block) -> None:
    """Leave out links of code that the document has at another place, or in code before; put commas between others."""
    with_links = [block for block in root.walk() if block.kind == "code" and block.runs]
    if not with_links:
        return
    others = [block for block in root.walk() if block.kind != "code"]
    lines = [line for block in others for line in (block.runs, *(cell for row in block.rows for cell in row))]
    known = {run.style.href for line in lines for run in line}
    for block in with_links:
        links, block.runs = block.runs, []
        for run in links:
            if run.style.href not in known:
                known.add(run.style.href)
                block.runs += (*[Run(","), Run(" ")] * bool(block.runs), run)


def _drop_copies(root: Block) -> None:
    """Leave out what says and leads to the same as the heading before it, and blocks that are the same as those before.

    Cards of products have their name once for the picture and once for the text, and the price for each state of sale.
    """
    headings = [block for block in root.walk() if block.kind == "heading"]
    linked = ((one, other) for one, other in pairwise(headings) if _links_of(one) == _links_of(other) != [])
    copies = {id(other) for one, other in linked if text_of_runs(one.runs) == text_of_runs(other.runs)}
    copies |= _pictures_again(root)
    for block in root.walk():
        kept: list[Block] = []
        for child in block.children:
            if id(child) not in copies and not (kept and _is_copy(kept[-1], child, block)):
                kept.append(child)
        block.children = kept


def _pictures_again(root: Block) -> set[int]:
    """The paragraphs of named pictures alone that all stand above, as for screens of another width."""
    known: set[Run] = set()
    found: set[int] = set()
    for block in root.walk():
        pictures = {run for run in block.runs if run.source}
        is_alone = block.kind == "paragraph" and bool(pictures) and not text_of_runs(block.runs)
        if is_alone and all(run.text for run in pictures) and pictures <= known:
            found.add(id(block))
        known |= pictures
    return found


def _links_of(block: Block) -> list[str]:
    return list(dict.fromkeys(run.style.href for run in block.runs if run.style.href))


def _is_copy(one: Block, other: Block, within: Block) -> bool:
    """Whether a heading, or a few words in an item, are those right before."""
    text = text_of_runs(one.runs)
    if one.kind != other.kind or not text or text != text_of_runs(other.runs) or any(run.source for run in other.runs):
        return False
    return (one.kind == "heading" and one.level == other.level) or (
        one.kind == "paragraph" and within.kind == "item" and len(text.split()) <= _FEW
    )


def repair_levels(root: Block, *, headed: bool) -> None:
    """Number the levels of headings so that none is skipped; below the page's own heading, they begin at 2.

    A heading that stood above the own one, which is the first one if ``headed``, names a section: nothing is below it.
    """
    above: list[int] = []  # levels as written of the headings that are open
    headings = [block for block in root.walk() if block.kind == "heading"]
    for number, heading in enumerate(headings):
        least = headed and number > 0
        if least and heading.leaves[:1] < headings[0].leaves[:1]:
            heading.level = 2
            continue
        while len(above) > least and above[-1] >= heading.level:
            above.pop()
        above.append(heading.level)
        heading.level = min(6, len(above))
