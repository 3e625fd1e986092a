"""Build the blocks of a document from the leaves of a page that are content."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

import numpy as np
from lxml import etree

from scrapy_pagelets.base.arrays import Bools
from scrapy_pagelets.base.characters import quoted, readable
from scrapy_pagelets.decision.asides import STRUCK
from scrapy_pagelets.decision.content import permalinks
from scrapy_pagelets.document import pictures
from scrapy_pagelets.document.blocks import ALL, Block, Switches
from scrapy_pagelets.document.markdown import BREAK, PLAIN, Run, Style, text_of_runs, tidy
from scrapy_pagelets.document.pictures import declared_by, shown_with
from scrapy_pagelets.metadata.headline import Headline
from scrapy_pagelets.page import code, data_tables, formulas, urls
from scrapy_pagelets.page.nodes import GAPS, GLUED, LINE, SPACE, TEXT, NodeTable
from scrapy_pagelets.page.page import Page
from scrapy_pagelets.page.text import LEFT_OVER, link_of, without_invisible

#: Lists and quotes nested deeper than this are written at this depth.
DEPTH: Final = 16
_LISTS: Final = frozenset("ul ol menu dir".split())
_HEADING: Final = re.compile(r"h[1-6]")
_STRONG: Final = frozenset("b strong".split())
_EMPHASISED: Final = frozenset("i em cite dfn var".split())
_CODE: Final = frozenset("code tt kbd samp".split())
_VERBATIM: Final = frozenset("pre listing xmp plaintext".split())
_HOLDERS: Final = ("list", "item", "quote")
_LEFT_OVER: Final = LEFT_OVER + "()[]"
_POINT: Final = "\N{BULLET} "
#: A definition list with these in it is not a list of short entries.
_IN_ENTRIES: Final = frozenset("pre table ul ol dl h1 h2 h3 h4 h5 h6 blockquote figure".split())


def document_of(page: Page, keep: Bools, headline: Headline | None = None, switches: Switches = ALL) -> Block:
    """Build the document of a page: its own heading first, if it is known, and then the content.

    Parameters
    ----------
    keep : (m,) a mask of the leaves that are content
    headline : the page's own heading
    switches : what is left out
    """
    body = keep if headline is None else _without_banner(page.nodes, keep, headline)
    images = shown_with(page.nodes, body)
    if (own := declared_by(page, images)) is not None:
        images[own] = True
    builder = _Builder(page, keep, images, switches)
    builder.walk(0, len(page.nodes))
    root = builder.root
    _prune(root)
    if headline is not None:
        _lead(root, headline, builder.leaves_of(headline.row), page.key)
    _drop_known_links(root)
    repair_levels(root, headed=headline is not None)
    return root


def _without_banner(nodes: NodeTable, keep: Bools, headline: Headline) -> Bools:
    """(m,) the content, without headings that stand apart from all other: their banner may have a logo."""
    body = keep.copy()
    for row in (headline.row, *headline.sections):
        first, last = int(nodes.first_leaf[row]), int(nodes.last_leaf[row])
        body[first:last] &= bool(keep[first - 1 : first].any() or keep[last : last + 1].any())
    return body


def _prune(root: Block) -> None:
    """Remove lists, items and quotes in which nothing is left, and rules that divide nothing."""
    for block in reversed(list(root.walk())):
        held = [child for child in block.children if child.children or child.kind not in _HOLDERS]
        above = [None, *[child.kind for child in held]]
        block.children = [child for child, kind in zip(held, above, strict=False) if not _is_idle_rule(child, kind)]
        while block.children and block.children[-1].kind == "rule":
            block.children.pop()


def _is_idle_rule(block: Block, above: str | None) -> bool:
    """Whether a block is a rule that underlines a heading, follows another rule, or has nothing above it."""
    return block.kind == "rule" and above in (None, "heading", "rule")


def _lead(root: Block, headline: Headline, leaves: list[int], key: int) -> None:
    """Move the page's own heading to the start, and leave out what says it once more.

    That is what would follow right below it, and headings that lead to the page itself, as shops write them.

    Parameters
    ----------
    key : the hash of the page's URL
    """
    own = set(leaves)
    level = next((b.level for b in root.walk() if b.kind == "heading" and own.intersection(b.leaves)), 1)
    runs = _own_runs([b for b in root.walk() if b.leaves and own.issuperset(b.leaves)], headline.text, key)
    for block in root.walk():
        block.children = [child for child in block.children if not child.leaves or not own.issuperset(child.leaves)]
        block.children = [child for child in block.children if not _leads_here(child, headline.text, key)]
    _prune(root)
    while root.children and _says(root.children[0], ("heading", "paragraph"), headline.text):
        del root.children[0]
    _prune(root)  # a rule may have stood below it
    root.children.insert(0, Block("heading", runs=runs, level=level, leaves=leaves))


def _says(block: Block, kinds: Sequence[str], text: str) -> bool:
    return block.kind in kinds and text_of_runs(block.runs) == text


def _leads_here(block: Block, text: str, key: int) -> bool:
    """Whether a block is a heading that says a text and leads to the page with a key."""
    hrefs = {run.style.href for run in block.runs} - {None, ""}
    return _says(block, ("heading",), text) and bool(hrefs) and all(urls.key(str(href)) == key for href in hrefs)


def _own_runs(blocks: Iterable[Block], text: str, key: int) -> list[Run]:
    """The page's own heading with its links to other pages; only its text if that is not all that the blocks say."""
    written = [run for block in blocks for run in (*block.runs, Run(" ")) if not run.source]
    if text_of_runs(written) != text:
        written = [Run(text)]
    leads_here = {href: urls.key(href) == key for run in written if (href := run.style.href)}
    plain = [replace(run, style=run.style._replace(strong=False)) for run in written]
    return tidy(replace(run, style=PLAIN) if leads_here.get(run.style.href) else run for run in plain)


def _drop_known_links(root: Block) -> None:
    """Leave out the links in code that the document has at another place, or in code before; commas part the others."""
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


def repair_levels(root: Block, *, headed: bool) -> None:
    """Number the levels of headings so that none is skipped; below the page's own heading, they begin at 2.

    A heading that stood above the own one names the section of the page: nothing is below it.

    Parameters
    ----------
    headed : whether the first heading is the page's own
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


class _Builder:
    """Walk over the rows of a page, and collect blocks."""

    keeps_marks = False

    def __init__(self, page: Page, keep: Bools, images: Bools, switches: Switches) -> None:
        self.page, self.nodes, self.switches = page, page.nodes, switches
        self.keep = keep & ~permalinks(page.nodes)
        self.images = images
        shown = self.nodes.spread(self.keep.astype(np.int64)) + self.images
        self.shown = self.nodes.total(shown) > 0
        self.tags = [look[0] for look in self.nodes.looks]
        self.leaf_of = dict(zip(self.nodes.leaves.tolist(), range(len(self.nodes.leaves)), strict=True))
        self.root = Block("document")
        self.inside = [self.root]
        self.runs: list[Run] = []
        self.leaves: list[int] = []
        self.style = PLAIN
        self.last_leaf = -1
        self.tried = 0  # up to this row, no formula has a source
        self.heading: Block | None = None
        self.source = formulas.delimiters(page.declared["script"])

    def walk(self, row: int, end: int) -> None:
        """Visit the rows of a range; each opens its element, and what it opened is closed at the end of its subtree."""
        closing: list[tuple[int, Callable[[], None]]] = []
        nodes = self.nodes
        while row < end:
            while closing and closing[-1][0] <= row:
                closing.pop()[1]()
            if nodes.tag[row] == TEXT:
                self.text(row)
                row += 1
                continue
            if not self.shown[row] and not self.is_mark(row):
                row = int(nodes.end[row])
                continue
            skip, close = self.open(row)
            if skip:
                row = int(nodes.end[row])
            else:
                closing.append((int(nodes.end[row]), close))
                row += 1
        while closing:
            closing.pop()[1]()
        self.flush()

    def leaves_of(self, row: int) -> list[int]:
        """Indices of the leaves of a row that are shown."""
        return [leaf for leaf in range(self.nodes.first_leaf[row], self.nodes.last_leaf[row]) if self.keep[leaf]]

    def is_mark(self, row: int) -> bool:
        """Whether an element without text matters between texts that are shown."""
        tag = self.tags[self.nodes.look[row]]
        if tag in ("br", "hr"):
            return True
        return tag == "script" and self.near(row) and formulas.is_formula(self.nodes.elements[row])

    def near(self, row: int) -> bool:
        """Whether the text before or after a row is content."""
        leaf = int(self.nodes.first_leaf[row])
        return bool(self.keep[max(0, leaf - 1) : leaf + 1].any())

    def text(self, row: int) -> None:
        leaf = self.leaf_of[row]
        if not self.keep[leaf]:
            return
        gap = int(self.nodes.gap[leaf])
        if self.runs and (gap >= SPACE or leaf != self.last_leaf + 1):
            self.runs.append(Run(" ", self.style))
        text = without_invisible(self.nodes.strings[leaf])
        if leaf in self.nodes.spaces:
            text = " ".join(text.split())
        if self.source is None or self.style.code:
            self.runs.append(Run(text, self.style, leaf=leaf))
            self.leaves.append(leaf)
        else:
            self.with_formulas(row, text, leaf)
        self.last_leaf = leaf

    def with_formulas(self, row: int, text: str, leaf: int) -> None:
        """Write a text in which a script of the page sets formulas."""
        for part, kind in formulas.split(text, self.source):
            if kind == formulas.DISPLAY and self.heading is None:
                self.flush()
                self.add(Block("math", text=part, leaves=[leaf]))
            elif part:
                style = Style(code=row) if kind else self.style
                self.runs.append(Run(f"${part}$" if kind else part, style, leaf=leaf))
                self.leaves += [leaf] * (self.leaves[-1:] != [leaf])

    def open(self, row: int) -> tuple[bool, Callable[[], None]]:
        """Open the element of a row: whether its subtree has been dealt with, and what is to do at its end."""
        element = self.nodes.elements[row]
        tag = self.tags[self.nodes.look[row]]
        if self.is_written(row, tag, element):
            return True, _nothing
        if (style := self.styled(row, tag, element)) is not None:
            before, self.style = self.style, style
            return False, lambda: setattr(self, "style", before)
        return False, self.begun(row, tag, element) or self.separated(tag)

    def is_written(self, row: int, tag: str, element: etree._Element) -> bool:
        """Write an element that is a block or mark as a whole; False if it is not."""
        if row >= self.tried and formulas.is_formula(element):
            self.tried = int(self.nodes.end[row])
            if self.formula(row, element):
                return True
        if tag == "table" and self.switches.tables and data_tables.is_data(self.nodes, row):
            self.table(row)
        elif tag in _VERBATIM:
            self.code(row, element)
        elif tag == "br":
            self.line_break()
        elif tag == "hr":
            self.rule()
        elif tag == "img":
            self.image(row, element)
        else:
            return False
        return True

    def begun(self, row: int, tag: str, element: etree._Element) -> Callable[[], None] | None:
        """Begin the block of an element; None if it has no block of its own."""
        if _HEADING.fullmatch(tag):
            return self.begin_heading(int(tag[1]))
        if tag in _LISTS:
            return self.nested(_new_list(element))
        match tag:
            case "li":
                return self.item(element)
            case "blockquote":
                return self.nested(Block("quote"))
            case "dl" if self.has_short_entries(row):
                return self.entries()
            case "dt":
                return self.term(row)
            case "dd":
                return self.definition()
        return None

    def separated(self, tag: str) -> Callable[[], None]:
        """Part the text of an element from that around it, as far as its tag does."""
        gap = GAPS.get(tag, GLUED)
        if gap >= SPACE and self.heading is not None:
            self.runs.append(Run(" ", self.style))
            return lambda: self.runs.append(Run(" "))
        if gap >= LINE or tag in ("td", "th"):
            self.flush()
            return self.flush
        return _nothing

    def styled(self, row: int, tag: str, element: etree._Element) -> Style | None:
        """The style inside an element that changes it."""
        style = self.style
        if tag == "a":
            return self.linked(element)
        if tag in _STRONG:
            return style._replace(strong=self.heading is None)
        if tag in _EMPHASISED:
            return style._replace(emphasised=True)
        if tag in _CODE:
            return style._replace(code=style.code or row)
        if tag in ("sup", "sub"):
            return style._replace(script=tag)
        if tag in STRUCK:
            return style._replace(struck=True)
        return None

    def linked(self, element: etree._Element) -> Style | None:
        href = (element.get("href") or "").strip()
        if not self.switches.links or not href or href.startswith("#"):  # the document has no place to jump to
            return None
        url = quoted(link_of(self.page.base, href))
        if not url or _is_written(url, element):
            return None
        return self.style._replace(href=url, title=self.title_of(element))

    def title_of(self, element: etree._Element) -> str:
        return readable(element.get("title") or "") if self.switches.titles else ""

    def image(self, row: int, element: etree._Element) -> None:
        if not self.images[row]:
            return
        if pictures.is_emoji(element):
            self.runs += [Run(" ", self.style)] * bool(self.runs)
            self.runs.append(Run(readable(element.get("alt") or ""), self.style))
            return
        written = pictures.source_of(element)
        source = quoted(link_of(self.page.base, written)) if written and self.switches.images else ""
        if source:
            alt = readable(element.get("alt") or "")
            title = readable(element.get("title") or "")
            if self.runs:
                self.runs.append(Run(" ", self.style))
            # A link around a picture leads most often to the same picture, or to the target of the text beside it.
            self.runs += (Run(alt, PLAIN, source, title if title != alt else ""), Run(" ", self.style))

    def formula(self, row: int, element: etree._Element) -> bool:
        """Write a formula as TeX; False if the page does not give it."""
        tex = formulas.tex_of(element)
        if not tex:
            return False
        first, last = int(self.nodes.first_leaf[row]), int(self.nodes.last_leaf[row])
        leaves = range(first, last)
        if formulas.is_display(element) and self.heading is None:
            self.flush()
            self.add(Block("math", text=tex, leaves=list(leaves)))
        else:
            if self.runs and (first >= len(self.nodes.gap) or self.nodes.gap[first] >= SPACE):
                self.runs.append(Run(" "))
            self.runs.append(Run(f"${tex}$", Style(code=row), leaf=first if leaves else -1))
            self.leaves += leaves
        self.last_leaf = last - 1
        return True

    def code(self, row: int, element: etree._Element) -> None:
        self.flush()
        text = "" if self.is_gutter(row) else code.code_of(element)
        first, last = int(self.nodes.first_leaf[row]), int(self.nodes.last_leaf[row])
        if text:
            links = list(self.links_of_code(row))
            language = code.language_of(element)
            self.add(Block("code", text=text, runs=links, language=language, leaves=list(range(first, last))))

    def links_of_code(self, row: int) -> Iterator[Run]:
        """The names in a block of code that lead to other pages, as no fence has links; addresses in it need none."""
        links = self.nodes.links
        for at in range(*np.searchsorted(links.row, (row, self.nodes.end[row])).tolist()):
            link = int(links.row[at])
            leaves = slice(int(self.nodes.first_leaf[link]), int(self.nodes.last_leaf[link]))
            name = " ".join(" ".join(self.nodes.strings[leaves]).split())
            if links.key[at] == self.page.key or "://" in name or not any(map(str.isalnum, name)):
                continue
            if (style := self.linked(self.nodes.elements[link])) is not None:
                yield Run(name, style._replace(strong=False, emphasised=False, script="", code=link))

    def is_gutter(self, row: int) -> bool:
        return any(code.is_gutter(self.nodes.elements[above]) for above in _climb(self.nodes, row, 4))

    def table(self, row: int) -> None:
        """Write a table; a heading in a line of its own divides it."""
        self.flush()
        for child in np.flatnonzero(self.nodes.parent[row : self.nodes.end[row]] == row).tolist():
            if self.tags[self.nodes.look[row + child]] == "caption":
                for block in self.part(row + child).children:
                    self.add(block)
        lines: list[list[list[Run]]] = []
        cells: list[int] = []
        for line in data_tables.grid(self.nodes, row):
            filled = [cell for cell in line if cell >= 0 and self.shown[cell]]
            if len(filled) == 1 and data_tables.has_heading(self.nodes, filled[0]):
                self.finish_table(lines, cells)
                lines, cells = [[[] for _ in line]], []
                for block in self.part(filled[0]).children:
                    self.add(block)
            elif filled or not lines:
                lines.append([self.cell(cell) if cell >= 0 else [] for cell in line])
                cells += filled
        self.finish_table(lines, cells)

    def finish_table(self, lines: list[list[list[Run]]], cells: list[int]) -> None:
        """Add a table; a single cell with text is a paragraph: its table has been removed, but for this cell."""
        filled = [cell for line in lines for cell in line if cell]
        leaves = [leaf for cell in cells for leaf in self.leaves_of(cell)]
        if len(filled) == 1 and not _is_left_over(filled[0]):
            self.add(Block("paragraph", runs=filled[0], leaves=leaves))
        elif len(filled) > 1:
            self.add(Block("table", rows=lines, leaves=leaves))

    def cell(self, row: int) -> list[Run]:
        """The text of a cell; its paragraphs become one, and a point marks the items of a list."""
        runs: list[Run] = []
        for block in self.part(row).walk():
            verbatim = f"${block.text}$" if block.kind == "math" else block.text
            own = [Run(verbatim, Style(code=row))] if verbatim else block.runs
            runs += [Run(_POINT)] if block.kind == "item" else [*own, Run(" ")]
        return tidy(runs)

    def part(self, row: int) -> Block:
        """The document of a subtree."""
        part = _Part(self, row)
        return part.root

    def line_break(self) -> None:
        """Break the line; an empty line ends a paragraph."""
        before = next((run for run in reversed(self.runs) if run.source or run.text.strip(" ")), None)
        if before is BREAK and self.heading is None:
            self.flush()
        else:
            self.runs.append(BREAK)

    def rule(self) -> None:
        """Draw a line between blocks; one is as good as two."""
        self.flush()
        within = self.inside[-1]
        if within.kind in ("document", "quote") and within.children and within.children[-1].kind != "rule":
            self.add(Block("rule"))

    def begin(self, block: Block) -> Callable[[], None]:
        """Put what follows into a block; returns what ends it."""
        self.inside.append(block)
        depth = len(self.inside)

        def end() -> None:
            self.flush()
            del self.inside[depth - 1 :]

        return end

    def nested(self, block: Block) -> Callable[[], None]:
        """Add a list or quote, and begin it; a heading ends where a list begins in it."""
        self.flush()
        if self.heading is not None and self.heading.runs:
            self.heading = None
        if len(self.inside) >= DEPTH:
            return self.flush
        self.add(block)
        return self.begin(block)

    def item(self, element: etree._Element) -> Callable[[], None]:
        """Begin an item; items without a list get one."""
        self.flush()
        within = self.inside[-1]
        if within.kind == "list":
            return self.begin(_new_item(within, element.get("value")))
        if len(self.inside) >= DEPTH:
            return self.flush
        if not within.children or within.children[-1].kind != "list":
            within.children.append(Block("list"))
        end = self.begin(within.children[-1])
        self.begin(_new_item(within.children[-1], element.get("value")))
        return end

    def entries(self) -> Callable[[], None]:
        """Begin a list of terms and definitions; a term with one definition becomes one paragraph."""
        entries = Block("list")
        end = self.nested(entries)

        def end_entries() -> None:
            end()
            for item in entries.children:
                if [child.kind for child in item.children] == ["paragraph", "paragraph"]:
                    _join(*item.children)
                    del item.children[1]

        return end_entries

    def term(self, row: int) -> Callable[[], None]:
        """Begin a term, which is strong, unless all of it is a link."""
        self.flush()
        end = self.flush
        if self.inside[-1].kind == "list":
            end = self.begin(_new_item(self.inside[-1]))
        linked = all(self.nodes.anchor[self.nodes.leaves[leaf]] for leaf in self.leaves_of(row))
        before, self.style = self.style, self.style._replace(strong=not linked)

        def end_term() -> None:
            end()
            self.style = before

        return end_term

    def definition(self) -> Callable[[], None]:
        """Begin a definition, in the item of its term."""
        self.flush()
        within = self.inside[-1]
        if within.kind != "list":
            return self.flush
        return self.begin(within.children[-1] if within.children else _new_item(within))

    def has_short_entries(self, row: int) -> bool:
        within = range(row + 1, int(self.nodes.end[row]))
        return not any(self.tags[self.nodes.look[i]] in _IN_ENTRIES for i in within)

    def begin_heading(self, level: int) -> Callable[[], None]:
        self.flush()
        if self.heading is not None:
            return self.flush
        self.heading = Block("heading", level=level)
        before, self.style = self.style, self.style._replace(strong=False)

        def close() -> None:
            self.flush()
            self.heading, self.style = None, before

        return close

    def flush(self) -> None:
        """End the paragraph or heading."""
        runs, leaves = tidy(self.runs), self.leaves
        self.runs, self.leaves = [], []
        if not runs:
            return
        if not self.keeps_marks and _is_left_over(runs):
            return
        block = self.heading or Block("paragraph")
        if block.kind == "heading" and not block.runs and all(run.source or run.text == " " for run in runs):
            block = Block("paragraph")  # a picture alone heads nothing
        if block.kind == "heading" and block.runs:  # a heading in two parts
            block.runs += [Run(" "), *runs]
            block.leaves += leaves
            return
        block.runs, block.leaves = runs, leaves
        self.add(block)

    def add(self, block: Block) -> None:
        within = self.inside[-1]
        if within.kind == "list" and block.kind != "item":
            joins = within.children and block.kind == "list"
            within = within.children[-1] if joins else _new_item(within)
        within.children.append(block)


class _Part(_Builder):
    """The document of one subtree of a page, such as a cell, where a dash may tell that there is no value."""

    keeps_marks = True

    def __init__(self, whole: _Builder, row: int) -> None:
        for name in ("page", "nodes", "switches", "keep", "images", "shown", "tags", "leaf_of", "source"):
            setattr(self, name, getattr(whole, name))
        self.root = Block("document")
        self.inside = [self.root]
        self.runs, self.leaves = [], []
        self.style, self.last_leaf, self.tried, self.heading = PLAIN, -1, 0, None
        self.walk(row + 1, int(self.nodes.end[row]))


def _is_left_over(runs: Sequence[Run]) -> bool:
    """Whether a paragraph has nothing but the marks that stood around what has been removed."""
    return not any(run.source or run.style.code for run in runs) and not text_of_runs(runs).strip(_LEFT_OVER)


def _is_written(url: str, element: etree._Element) -> bool:
    """Whether the text of a link is the e-mail address that it leads to."""
    scheme, _, address = url.partition(":")
    return scheme.lower() == "mailto" and address.partition("?")[0] in "".join(map(str, element.itertext()))


def _new_list(element: etree._Element) -> Block:
    ordered, first, step = element.tag == "ol", 1, 1
    if ordered and element.get("reversed") is not None:
        first, step = sum(child.tag == "li" for child in element), -1
    return Block("list", ordered=ordered, number=_number(element.get("start"), first), step=step)


def _new_item(within: Block, value: str | None = None) -> Block:
    """Add an item to a list; ``value`` is its number as written."""
    number = max(0, within.children[-1].number + within.step) if within.children else within.number
    item = Block("item", number=_number(value, number))
    within.children.append(item)
    return item


def _join(term: Block, definition: Block) -> None:
    colon = [] if text_of_runs(term.runs).endswith((":", ".", "?", "!")) else [Run(":")]
    term.runs += [*colon, Run(" "), *definition.runs]
    term.leaves += definition.leaves


def _nothing() -> None:
    pass


def _number(value: str | None, default: int) -> int:
    value = (value or "").strip()
    return int(value) if value.isascii() and value.isdecimal() and len(value) < 10 else default


def _climb(nodes: NodeTable, row: int, levels: int) -> Iterable[int]:
    for _ in range(levels):
        if row < 0:
            return
        yield row
        row = int(nodes.parent[row])
