"""Blocks of code that are no ``pre``: by classes of highlighters, tables of lines, styles, or breaks in code."""

from __future__ import annotations

import re
from functools import cached_property
from typing import Final

import numpy as np

from scrapy_pagelets.base.arrays import Bools
from scrapy_pagelets.page.gaps import gap_of
from scrapy_pagelets.page.nodes import LINE, TAG, TEXT, NodeTable, tags_of
from scrapy_pagelets.page.placing import CODE, CODE_CELL, CODE_LINE, NUMBERS

_MONOSPACED: Final = re.compile(r"font-family\s*:[^;]*(?:mono|courier|consolas|menlo)", re.IGNORECASE)
#: Code as Doxygen writes it: it has a line in it, as blocks of other sites with this name have not.
_FRAGMENT: Final = re.compile(r"(?:^|\s)fragment(?:$|\s)")
_VERBATIM: Final = re.compile(r"white-space\s*:\s*(?:(pre|break-spaces)|pre-wrap)(?![\w-])", re.IGNORECASE)
_CODE: Final = frozenset(tags_of("code samp tt").tolist())
_STYLED: Final = frozenset(tags_of("div p span font td code samp tt").tolist())
#: What never stands in code, and what stands there only if a class names a highlighter.
_PROSE: Final = "pre h1 h2 h3 h4 h5 h6 dl blockquote figure img form section article main nav textarea"
_PARAGRAPHS: Final = "p ul ol table"


class CodeBlocks:
    """The blocks of code of a page, apart from ``pre``."""

    def __init__(self, nodes: NodeTable) -> None:
        self.nodes = nodes
        self.signs: list[int] = nodes.signs.tolist()
        self.fragments = [look[0] == "div" and _FRAGMENT.search(look[2]) is not None for look in nodes.looks]

    def has(self, row: int) -> bool:
        """Whether an element is a block of code.

        >>> from scrapy_pagelets import Page
        >>> nodes = Page.parse(b"<p><code>a<br>b</code> or <code>c</code>", "http://a/").nodes
        >>> [CodeBlocks(nodes).has(row) for row in np.flatnonzero(nodes.tag == TAG["code"])]
        [True, False]
        """
        nodes, tag = self.nodes, self.nodes.tag.item(row)
        if self.fragments[nodes.look.item(row)]:
            return bool(self.breaks[row + 1 : row + 2].any())
        if self.is_named(row):
            return self._counts(row, self.lines) and not self._counts(row, self.prose)
        if tag == TAG["table"]:
            return self._is_listing(row)
        style = nodes.styles.get(row, "") if tag in _STYLED else ""
        if not style and tag not in _CODE:
            return False
        return self._is_set(row, tag, style) and not self._counts(row, self.prose | self.paragraphs)

    def is_named(self, row: int) -> bool:
        """Whether the class of an element says that it is code."""
        return self.signs[self.nodes.look.item(row)] & CODE > 0

    def is_verbatim(self, row: int) -> bool:
        """Whether a style keeps the white space of an element."""
        return self.fragments[self.nodes.look.item(row)] or _VERBATIM.search(self.nodes.styles.get(row, "")) is not None

    def in_table(self, row: int) -> bool:
        """Whether a table holds a block of code, which no cell of data does."""
        return self._counts(row, self.blocks) and any(
            self.has(block) for block in (np.flatnonzero(self.blocks[row : self.nodes.end[row]]) + row).tolist()
        )

    def _is_set(self, row: int, tag: int, style: str) -> bool:
        """Whether an element is set as code in lines: by its tag or font and line breaks, or by its white space."""
        is_code = tag in _CODE or _MONOSPACED.search(style) is not None
        if is_code and (self._counts(row, self.breaks) or gap_of(self.signs[self.nodes.look.item(row)], style) >= LINE):
            return True
        space = _VERBATIM.search(style)
        if space is None or not (is_code or space[1]):
            return False
        return "\n" in "".join(map(str, self.nodes.elements[row].itertext())).strip()

    def _is_listing(self, table: int) -> bool:
        """Whether each line of a table has a number of a line, and cells of code."""
        if self._counts(table, self.prose):
            return False
        nodes, lines, numbered, code = self.nodes, set[int](), set[int](), False
        for row in (np.flatnonzero(nodes.tag[table : nodes.end[table]] == TAG["td"]) + table).tolist():
            signs, line = self.signs[nodes.look.item(row)], nodes.parent.item(row)
            lines.add(line)
            if signs & NUMBERS:
                numbered.add(line)
            code |= signs & CODE_CELL > 0
        return code and lines == numbered

    def _counts(self, row: int, column: Bools) -> bool:
        """Whether an element has others of a column in it."""
        return bool(column[row + 1 : self.nodes.end[row]].any())

    @cached_property
    def may_be(self) -> list[bool]:
        """(looks,) whether an element with a look may be a block of code even without a style."""
        tags = "code samp tt table" if (self.nodes.signs & NUMBERS).any() else "code samp tt"
        found = [look[0] in tags.split() for look in self.nodes.looks]
        return list((np.array(found, np.bool_) | (self.nodes.signs & CODE > 0) | self.fragments).tolist())

    @cached_property
    def prose(self) -> Bools:
        """(n,) the elements that never stand in code."""
        return np.isin(self.nodes.tag, tags_of(_PROSE))

    @cached_property
    def paragraphs(self) -> Bools:
        """(n,) the elements that stand in code of highlighters."""
        return np.isin(self.nodes.tag, tags_of(_PARAGRAPHS))

    @cached_property
    def breaks(self) -> Bools:
        """(n,) line breaks, and elements whose class says that they are a line of code."""
        is_line = (self.nodes.signs & CODE_LINE > 0)[self.nodes.look]
        found: Bools = is_line & (self.nodes.tag != TEXT) | (self.nodes.tag == TAG["br"])
        return found

    @cached_property
    def lines(self) -> Bools:
        """(n,) elements that end a line."""
        return self.breaks | np.isin(self.nodes.tag, tags_of("div p li tr"))

    @cached_property
    def blocks(self) -> Bools:
        """(n,) elements whose class says that they are a block of code."""
        is_block = (self.nodes.signs & CODE > 0)[self.nodes.look]
        found: Bools = is_block & (self.nodes.tag != TEXT)
        return found
