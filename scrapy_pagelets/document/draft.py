"""A document that is being written: blocks begin and end, and runs of text become headings and paragraphs."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from functools import partial
from itertools import compress, pairwise
from typing import Final

import numpy as np

from scrapy_pagelets.base.arrays import Bools
from scrapy_pagelets.base.characters import lazily
from scrapy_pagelets.document.blocks import BREAK, PLAIN, Block, Run, Style, text_of_runs, tidy
from scrapy_pagelets.page.looks import HEADING
from scrapy_pagelets.page.nodes import TAG, NodeTable, rows_tagged, rows_with
from scrapy_pagelets.page.page import Page
from scrapy_pagelets.page.text import LEFT_OVER

DEPTH: Final = 16  # lists and quotes nested deeper than this are written at this depth
_LEFT_OVER: Final = LEFT_OVER + "()[]"
_BOXES: Final = ("[ ]", "[x]")
_DASHES: Final = (" \N{EN DASH}", " \N{EM DASH}")
_RAISED: Final = 3  # characters of the mark of a footnote
#: The number or letter of an item, as laws, exercises and lists of sources write it.
_NUMBER: Final = lazily(r"\(?(?:\d{1,3}|[a-z]{1,2}|[ivx]{1,5})[.)]|\[\d{1,3}\]", re.IGNORECASE)
End = Callable[[], None]  # ends what has begun


class Draft:
    """A document, with the blocks that are open and the text of the paragraph or heading that has not ended."""

    def __init__(self, *, in_cell: bool = False) -> None:
        self.root = Block("document")
        self.runs: list[Run] = []  # text that belongs to no block yet
        self.leaves: list[int] = []  # the leaves that it is of
        self.style = PLAIN  # of the text that comes next
        self.heading: Block | None = None  # the heading that is open
        self.in_term = False  # whether it is in a term, which may be a sign
        self.in_cell = in_cell  # whether it is of a cell: there, a dash is a value, and no block of code stands
        self._inside = [self.root]

    def write(self, text: str, style: Style | None = None, leaf: int = -1) -> None:
        """Write text, in the style of the place if none is given."""
        self.runs.append(Run(text, self.style if style is None else style, leaf=leaf))

    def space(self) -> None:
        """Write a space, unless nothing stands before it."""
        if self.runs:
            self.write(" ")

    def line_break(self) -> None:
        """Break the line; an empty line ends a paragraph."""
        before = next((run for run in reversed(self.runs) if run.source or run.text.strip(" ")), None)
        if before is BREAK and self.heading is None:
            self.end_paragraph()
        else:
            self.runs.append(BREAK)

    def check(self, checked: bool) -> None:
        """Write a box to check, as the state of an item or in a cell; elsewhere it is of a form."""
        within = self._inside[-1]
        if self.in_cell:
            self.write(_BOXES[checked])
        elif within.kind == "item" and not within.children and within.checked is None:
            within.checked = checked

    def rule(self) -> None:
        """Draw a line between blocks; one is as good as two."""
        self.end_paragraph()
        within = self._inside[-1]
        if within.kind in ("document", "quote") and within.children and within.children[-1].kind != "rule":
            self.add(Block("rule"))

    def end_paragraph(self) -> None:
        """Make a heading or a paragraph of the text that has been written."""
        runs, leaves, heading = tidy(self.runs), self.leaves, self.heading
        self.runs, self.leaves = [], []
        if not runs or (not self.in_cell and not self.in_term and is_left_over(runs)):
            return
        if heading is not None and heading.runs:  # a heading in two parts
            heading.runs += [Run(" "), *runs]
            heading.leaves += leaves
        elif heading is not None and any(not run.source and run.text != " " for run in runs):
            heading.runs, heading.leaves = runs, leaves
            self.add(heading)
        else:  # a picture alone heads nothing
            self.add(Block("paragraph", runs=runs, leaves=leaves))

    def add(self, block: Block) -> None:
        """Add a block to the innermost open one; what a list has are items, and a list in it joins the last one."""
        self.end_paragraph()
        within = self._inside[-1]
        if within.kind == "list" and block.kind != "item":
            joins = within.children and block.kind == "list"
            within = within.children[-1] if joins else _new_item(within)
        before = within.children[-1] if within.children else block
        # Style sheets put the paragraph behind a dash into its line.
        goes_on = within.kind == "item" and f" {before.runs[-1].text}".endswith(_DASHES) if before.runs else False
        is_pair = before.kind == block.kind == "paragraph" and before is not block
        is_first = within.kind == "item" and len(within.children) == 1
        is_number = is_pair and is_item_number(before.runs) and (is_first or before.runs[0].text.startswith("["))
        if is_pair and (goes_on or _is_mark(before) or is_number):
            _join(before, block, Run(" "))
        else:
            within.children.append(block)

    def set_style(self, style: Style) -> End:
        """Write what follows in a style."""
        before, self.style = self.style, style
        return partial(setattr, self, "style", before)

    def begin_heading(self, level: int) -> End:
        """Begin a heading, in which nothing is strong; one inside of another is a part of it."""
        self.end_paragraph()
        if self.heading is not None:
            return self.end_paragraph
        self.heading = Block("heading", level=level)
        restore = self.set_style(self.style._replace(strong=False))

        def end() -> None:
            self.end_paragraph()
            self.heading = None
            restore()

        return end

    def begin_group(self, block: Block, *, goes_on: bool = False, level: int = 0) -> End:
        """Begin a list or quote, or go on with the list before; a heading ends where a list begins in it.

        ``level``: how deep it is in the lists before, whose items it is not in as written.
        """
        self.end_paragraph()
        if self.heading is not None and self.heading.runs:
            self.heading = None
        outside = len(self._inside)
        for _ in range(level):
            last = self._inside[-1].children[-1:]
            if last and last[0].kind == "list" and last[0].children and len(self._inside) + 2 < DEPTH:
                self._inside += [last[0], last[0].children[-1]]
        within = self._inside[-1]
        before = within.children[-1] if goes_on and within.children else block
        if before is not block and before.kind == "list" != within.kind and before.children:
            return self._begin(before, outside)
        if within.kind == block.kind == "list" and not within.children:
            within.ordered, within.number, within.step = block.ordered, block.number, block.step
            return self.end_paragraph
        if len(self._inside) >= DEPTH:
            return self.end_paragraph
        self.add(block)
        return self._begin(block, outside)

    def begin_item(self, value: str | None, checked: bool | None = None) -> End:
        """Begin an item, with its number and state as the page has them; items without a list get one."""
        self.end_paragraph()
        within = self._inside[-1]
        if within.kind == "list":
            item = _new_item(within, value)
            item.checked = checked
            return self._begin(item)
        if len(self._inside) >= DEPTH:
            return self.end_paragraph
        if not within.children or within.children[-1].kind != "list":
            within.children.append(Block("list"))
        end = self._begin(within.children[-1])
        self._begin(_new_item(within.children[-1], value))
        return end

    def begin_entries(self) -> End:
        """Begin a list of terms and definitions; a term with one definition becomes one paragraph."""
        entries = Block("list")
        end = self.begin_group(entries)

        def end_entries() -> None:
            end()
            for item in entries.children:
                if [child.kind for child in item.children] == ["paragraph", "paragraph"]:
                    term, definition = item.children
                    ended = text_of_runs(term.runs).endswith((":", ".", "?", "!"))
                    _join(term, definition, *[Run(":")] * (not ended), Run(" "))
                    del item.children[1]

        return end_entries

    def begin_term(self, *, strong: bool) -> End:
        """Begin a term, in an item of its own."""
        self.end_paragraph()
        within = self._inside[-1]
        end = self._begin(_new_item(within)) if within.kind == "list" else self.end_paragraph
        restore, self.in_term = self.set_style(self.style._replace(strong=strong)), True

        def end_term() -> None:
            end()
            restore()
            self.in_term = False

        return end_term

    def begin_definition(self) -> End:
        """Begin a definition, in the item of its term."""
        self.end_paragraph()
        within = self._inside[-1]
        if within.kind != "list":
            return self.end_paragraph
        return self._begin(within.children[-1] if within.children else _new_item(within))

    def _begin(self, block: Block, outside: int | None = None) -> End:
        outside = len(self._inside) if outside is None else outside
        self._inside.append(block)

        def end() -> None:
            self.end_paragraph()
            del self._inside[outside:]

        return end


def is_left_over(runs: Sequence[Run]) -> bool:
    """Whether runs have nothing but the punctuation that stood around what has been removed."""
    return not any(run.source or run.style.code for run in runs) and not text_of_runs(runs).strip(_LEFT_OVER)


def _new_item(within: Block, value: str | None = None) -> Block:
    """Add an item to a list."""
    number = max(0, within.children[-1].number + within.step) if within.children else within.number
    item = Block("item", number=number_of(value, number))
    within.children.append(item)
    return item


def number_of(value: str | None, default: int) -> int:
    """The number of an item, as an attribute has it."""
    value = (value or "").strip()
    return int(value) if value.isascii() and value.isdecimal() and len(value) < 10 else default


def _join(one: Block, other: Block, *between: Run) -> None:
    one.runs += [*between, *other.runs]
    one.leaves += other.leaves


def _is_mark(paragraph: Block) -> bool:
    """Whether a paragraph is the raised mark of a footnote, which follows it."""
    first = paragraph.runs[0] if len(paragraph.runs) == 1 else None
    return first is not None and first.style.script == "sup" and len(first.text) <= _RAISED


def is_item_number(runs: Sequence[Run]) -> bool:
    """Whether runs are the number of an item alone."""
    is_text = not any(run.source or run.style.href for run in runs)
    return is_text and _NUMBER.fullmatch(text_of_runs(runs)) is not None


_ARTICLE: Final = TAG["article"]
_AROUND: Final = 8  # elements around the heading of an entry, up to that of the entry


def inside_entries(page: Page, shown: Bools) -> frozenset[int]:
    """Rows of the headings in entries that follow the heading of their entry.

    Entries are siblings of one tag whose first headings are of one level, and lead to pages or begin an ``article``.

    ``shown``: (n,) rows with content.
    """
    nodes = page.nodes
    rows = [row for row in rows_with(nodes, HEADING) if shown[row]]
    heads = _heads(page, rows) if len(rows) > 2 else set()
    inside: set[int] = set()
    for siblings in (_siblings(nodes, *pair) for pair in pairwise(sorted(heads))):
        firsts = [rows[bisect_left(rows, row)] for row in siblings]
        if not heads.issuperset(firsts) or len(levels := {nodes.tag.item(row) for row in firsts}) > 1:
            continue
        for sibling, first in zip(siblings, firsts, strict=True):
            following = rows[bisect_right(rows, first) : bisect_left(rows, nodes.end.item(sibling))]
            if inside.isdisjoint(following[:1]):  # else they are known
                # Two entries may stand in one row.
                inside.update(row for row in following if row not in heads or nodes.tag.item(row) not in levels)
    return frozenset(inside)


def _heads(page: Page, rows: list[int]) -> set[int]:
    """Those of some headings that lead to another page, or are the first in an ``article``."""
    nodes = page.nodes
    links = nodes.links.row[(nodes.links.key != 0) & (nodes.links.key != page.key)]
    leading = np.searchsorted(links, nodes.end[rows]) > np.searchsorted(links, rows)
    heads = {row for row in compress(rows, leading) if nodes.anchor[nodes.leaves[nodes.leaves_of(row)]].all()}
    for article in rows_tagged(nodes, _ARTICLE):
        place = bisect_left(rows, article)
        heads.update(row for row in rows[place : place + 1] if row < nodes.end[article])
    return heads


def _siblings(nodes: NodeTable, one: int, other: int) -> tuple[int, ...]:
    """The two siblings of one tag that two headings are in; () if there are none."""
    first, second = one, other
    for _ in range(_AROUND):
        if nodes.end[nodes.parent[first]] <= other:
            first = nodes.parent.item(first)
        if nodes.parent[second] > one:
            second = nodes.parent.item(second)
    alike = nodes.parent[first] == nodes.parent[second] and nodes.tag[first] == nodes.tag[second]
    return (first, second) if alike and first != one and second != other else ()
