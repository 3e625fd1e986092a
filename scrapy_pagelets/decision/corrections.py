"""Correct the decision by other texts of the page: what it says twice, items of one list, headings without content."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Set
from itertools import compress, islice
from typing import Final, NamedTuple

import numpy as np

from scrapy_pagelets.base.arrays import Bools, Floats, Ints, mix, up_to
from scrapy_pagelets.core import give
from scrapy_pagelets.core.small_corrections import decided_together as decided_together
from scrapy_pagelets.core.small_corrections import has_copies as has_copies
from scrapy_pagelets.core.small_corrections import has_lone_heading as has_lone_heading
from scrapy_pagelets.page.looks import HEADING
from scrapy_pagelets.page.nodes import TAG, TEXT, NodeTable, among_tags, below, rows_tagged, rows_with
from scrapy_pagelets.page.page import Page
from scrapy_pagelets.page.roles import THRESHOLD
from scrapy_pagelets.page.urls import files_among, site_of

#: Elements of layout. Copies of paragraphs, items and rows are content: manuals explain a function in each class.
_IS_LAYOUT: Final = among_tags("div section article aside main header footer form")
_TABLE: Final = TAG["table"]
_HEAD: Final = TAG["th"]
_WORDS, _RUNS = 20, 3  # words and runs of text of a block that is compared with others
_KEPT: Final = 0.8  # share of the words of the first copy that are content, or the second one is not left out
#: Share of the second copies in the smallest element around both: where they are less of it, the page says it again.
_SHARE: Final = 0.25
#: Words of a run of text that is found again in a quotation, and the share of the quotation that such runs are.
_QUOTED, _MOST = 5, 0.5
#: Share of the other pages of a site that have the heading at the same place, and the fewest pages that tell it.
_OFTEN, _FEWEST = 0.5, 4
#: Share of the words below the heading that lead to other pages, and runs of text in which they are.
_LINKED, _LINKS = 0.7, 2
_SOME: Final = 0.4  # the least share of a section that the model takes for template, too


def repeats_of(nodes: NodeTable, keep: Bools, *, is_thread: bool = False) -> Bools:
    """(m,) leaves of second copies of blocks, and of quotations of what the content so far, (m,), has said before."""
    return nodes.leaves_below((*_second_copies(nodes, keep), *_quotations(nodes, keep, is_thread)))


def _second_copies(nodes: NodeTable, keep: Bools) -> Iterator[int]:
    """Rows of second copies, as for narrow screens, that are much of the smallest element around both."""
    if not has_copies(nodes):
        return
    words = up_to(nodes.words)
    around: dict[int, list[int]] = defaultdict(list)
    for first, second in _pairs(nodes, words):
        leaves = nodes.leaves_of(first)
        has_table = (nodes.tag[second : nodes.end[second]] == _TABLE).any()
        if not has_table and nodes.words[leaves][keep[leaves]].sum() >= _KEPT * below(nodes, words, first):
            while nodes.end[first] <= second:  # up to the smallest element around both
                first = nodes.parent.item(first)
            around[first].append(second)
    for row, copies in around.items():
        outer = nodes.outermost(copies)
        if below(nodes, words, outer).sum() >= _SHARE * below(nodes, words, row):
            yield from outer


def _pairs(nodes: NodeTable, words: Ints) -> Iterator[tuple[int, int]]:
    """Rows of the two blocks of each text that exactly two blocks have, neither of them inside of the other."""
    rows = np.flatnonzero(_IS_LAYOUT[nodes.tag] & (nodes.last_leaf - nodes.first_leaf >= _RUNS))
    rows = rows[below(nodes, words, rows) >= _WORDS]
    text = below(nodes, up_to(mix(nodes.text)), rows)
    order = np.argsort(text, kind="stable")
    same, before, after = text[order[1:]] == text[order[:-1]], rows[order[:-1]], rows[order[1:]]
    apart = same & (after >= nodes.end[before])
    copies: dict[int, list[int]] = {key: [] for key in text[order[1:][apart]].tolist()}
    for row, key in zip(rows.tolist(), text.tolist(), strict=True):
        if key in copies:
            copies[key].append(row)
    for same_text in copies.values():
        if len(found := nodes.outermost(same_text)) == 2:
            yield found[0], found[1]


def _quotations(nodes: NodeTable, keep: Bools, is_thread: bool) -> Iterator[int]:
    """Rows of the quotations half of which stand above as content: forums quote what they answer.

    Manuals indent what they repeat: unless the page ``is_thread``, a text in as many quotations is not quoted.
    """
    quotations = rows_tagged(nodes, TAG["blockquote"])
    if not quotations:
        return
    _, first, number = np.unique(nodes.text, return_index=True, return_inverse=True)
    before = first[number]
    depth = np.zeros(len(keep), np.int64)
    for row in quotations:
        depth[nodes.leaves_of(row)] += 1
    counts = (nodes.words >= _QUOTED) & keep[before] & (is_thread | (depth[before] < depth))
    for row in quotations:
        leaves = nodes.leaves_of(row)
        words = nodes.words[leaves]
        said = words[counts[leaves] & (before[leaves] < leaves.start)].sum()
        if said and said >= _MOST * words.sum():
            yield row


class _Heading(NamedTuple):
    """A heading, and the leaves with which it and the text behind it begin."""

    row: int
    level: int  # its tag
    begin: int
    text: int


def link_sections_of(page: Page, told: Floats, alike: Ints, pages: int, *, cards: bool = False) -> Bools:
    """(m,) leaves of headings that half of the pages of a site have, and of what follows them if it is links.

    Links to places of the page itself do not count, as they are its table of contents, nor do those to files. A section
    ends at the next heading, or with the element that the heading is in. Where the words beside links are more, as in
    cards with a price, or all links lead to other sites, it is one only if the model takes it for template.

    ``told``: (m,) templateness as the model sees it. ``alike``: (m,) number of other pages with the same text at the
    same place, see `Site.pages_alike`. ``pages``: number of other pages that are known. ``cards``: whether what stands
    below a linked heading is the card of a page.
    """
    nodes = page.nodes
    found = np.zeros(len(nodes.leaves), np.bool_)
    if pages < _FEWEST:
        return found
    rows = np.array(rows_with(nodes, HEADING), np.int64)
    columns = (rows, nodes.tag[rows], nodes.first_leaf[rows], nodes.last_leaf[rows])
    headings = [*map(_Heading, *(column.tolist() for column in columns))]
    often = up_to(alike >= _OFTEN * pages).tolist()
    repeated = [one for one in headings if often[one.text] - often[one.begin] == one.text - one.begin > 0]
    if not repeated:
        return found
    links = nodes.links
    is_other = (links.key != 0) & (links.key != page.key) & ~files_among(links.href)
    leading = nodes.leaves_below(links.row[is_other].tolist()).tolist()
    may_be = (one for one in headings if one.begin == one.text or leading[one.begin])
    linked = {one for one in may_be if all(leading[one.begin : one.text])}
    titles, words = linked if cards else set(), nodes.words.tolist()
    for heading in repeated:
        text, end = heading.text, _end_of(nodes, heading, headings, titles)
        card = min((one.begin for one in titles if text <= one.begin < end), default=end)
        leads = leading[text:card] + [True] * (end - card) if cards else leading[text:end]
        share = _share_of_links(words[text:end], leads)
        is_section = share >= _LINKED
        if is_section and told[text] < THRESHOLD and _lead_elsewhere(page, heading, end):
            is_section = _is_template(nodes, told, text, end)
        elif not is_section and (linked or share >= _SOME) and told[heading.begin] >= THRESHOLD:
            end = _end_of(nodes, heading, headings, linked)
            share = _share_of_links(words[text:end], leading[text:end])
            is_section = share >= _SOME and _is_template(nodes, told, heading.begin, end)
        if is_section:
            section = slice(nodes.leaves.item(text) - 1, nodes.leaves.item(end - 1))
            found[heading.begin : end] |= not (nodes.tag[section] == _HEAD).any()  # a table with heads has data
    return found


def _share_of_links(words: list[int], linked: list[bool]) -> float:
    """The share of some words that lead to other pages; 0 for less than two runs of text."""
    return sum(compress(words, linked)) / max(1, sum(words)) if linked.count(True) >= _LINKS else 0


def _is_template(nodes: NodeTable, told: Floats, first: int, end: int) -> bool:
    """Whether the model takes some leaves for template on average."""
    words = nodes.words[first:end]
    return bool(told[first:end] @ words >= THRESHOLD * words.sum())


def _lead_elsewhere(page: Page, heading: _Heading, end: int) -> bool:
    """Whether all links below a heading lead to other sites."""
    rows, targets = page.nodes.links.row, page.nodes.links.target
    link, stop = int(np.searchsorted(rows, page.nodes.end[heading.row])), page.nodes.leaves[end - 1]
    while link < len(rows) and rows[link] < stop and targets[link] and site_of(targets[link]) != page.site:
        link += 1
    return link == len(rows) or bool(rows[link] >= stop)


def _is_in_item(nodes: NodeTable, heading: _Heading) -> bool:
    """Whether a heading is in the item of a list, with a link between both or without one."""
    return TAG["li"] in map(nodes.tag.item, islice(nodes.above(heading.row), 2))


def _end_of(nodes: NodeTable, heading: _Heading, headings: list[_Heading], titles: Set[_Heading]) -> int:
    """The leaf behind the section of a heading, which no title of a card of a lower level ends, nor of a list's."""
    following = islice(headings, bisect_right(headings, heading), None)
    ends = (one.begin for one in following if one not in titles or one.level + _is_in_item(nodes, one) <= heading.level)
    end = next(ends, len(nodes.leaves))
    return max(heading.text, min(end, nodes.last_leaf.item(nodes.parent.item(heading.row))))


#: Elements of text. Those of layout stand beside each other and have nothing in common: a text, and what is beside it.
_IS_ITEM: Final = among_tags("li tr td th dt dd a span b i em strong code label small option time")
_SHORT: Final = 20  # words of such an element, on average; longer ones have something to say of their own
_NO_WORD: Final = 0.01  # what a text without words weighs, such as a bullet
_DOUBT: Final = (0.3, 0.9)  # templateness between which a text is in doubt; what is lost weighs more than what is kept

_LEVEL: Final = {TAG[f"h{level}"]: level for level in range(1, 7)}
_MEDIA: Final = [TAG[name] for name in ("img", "picture", "svg", "video", "audio", "iframe", "object")]
_SAME_HEADING: Final = 0.2  # share of the other pages that have the heading of a section of the template at its place


def lone_headings_of(nodes: NodeTable, keep: Bools, alike: Ints, anywhere: Ints, pages: int) -> Bools:
    """(m,) leaves of headings that are content while all of their section is template.

    They are those that many other pages have at the same place, or anywhere if they are no links, as titles of posts
    are. For the last one of the page, one other page with it at its place is enough, unless it is a link or a picture
    follows. Headings of sections without text stay.

    ``keep``: (m,) the leaves that are content so far. ``alike``, ``anywhere``: (m,) number of other pages with the same
    text at the same place or anywhere, see `Site`. ``pages``: number of other pages of the site that are known.
    """
    found = np.zeros(len(keep), np.bool_)
    rows = np.array(rows_with(nodes, HEADING), np.int64)
    rows = rows[nodes.first_leaf[rows] < nodes.last_leaf[rows]]
    first, last = nodes.first_leaf[rows], nodes.last_leaf[rows]
    kept = np.append(np.flatnonzero(keep), len(keep))
    following = kept[np.searchsorted(kept, last)]  # the next leaf of content
    levels = {leaf: _LEVEL[tag] for leaf, tag in zip(first.tolist(), nodes.tag[rows].tolist(), strict=True)}
    behind: dict[int, int] = {}  # the next leaf of content behind a heading that is none
    for row, start, end, next_one in zip(
        *(each.tolist()[::-1] for each in (rows, first, last, following)), strict=True
    ):
        next_one = behind.get(next_one, next_one)
        below = levels.get(next_one, 9 if next_one < len(keep) else 0) > levels[start]
        if below or next_one == end or not keep[start:end].all():
            continue
        same_place = alike[start:end].min()
        linked = nodes.anchor[nodes.leaves[start:end]].any()
        is_last = not (behind or linked) and next_one == len(keep)
        is_last = is_last and not np.isin(nodes.tag[nodes.end[row] : nodes.leaves[end]], _MEDIA).any()
        others = same_place if linked else max(same_place, anywhere[start:end].min())
        if (is_last and same_place > 0) or others > max(1, _SAME_HEADING * pages):
            found[start:end] = True
            behind[start] = next_one
    return found


give(
    "small_corrections", IS_LAYOUT=_IS_LAYOUT, RUNS=_RUNS, WORDS=_WORDS, IS_ITEM=_IS_ITEM, SHORT=_SHORT,
    NO_WORD=_NO_WORD, DOUBT=_DOUBT, THRESHOLD=THRESHOLD, HEADING=HEADING, TEXT=TEXT,
)  # fmt: skip
