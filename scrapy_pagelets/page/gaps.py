"""Gaps that roles, classes and inline styles make between elements that their tags leave in one line."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np

from scrapy_pagelets.base.arrays import Ints
from scrapy_pagelets.page.looks import Look
from scrapy_pagelets.page.nodes import CELL, GLUED, LINE, SPACE, TAG, TEXT, NodeTable
from scrapy_pagelets.page.placing import AS_CELL, AS_LINE, AS_SPACE, BLOCKS, CODE_LINE

#: Roles of the cells that head a column or a line.
HEADS: Final = ("columnheader", "rowheader")
_STYLED: Final = re.compile(rf"(?<![\w-])display\s*:\s*(?:(table-cell)|{BLOCKS})(?![\w-])", re.IGNORECASE)
_TABLES: Final = ("table", "grid", "treegrid")
_TABLE_STYLED: Final = re.compile(r"(?<![\w-])display\s*:\s*table(?![\w-])", re.IGNORECASE)
_CELLS: Final = (TAG["td"], TAG["th"])
_PLACED: Final = AS_SPACE | AS_CELL | AS_LINE
_PRE: Final = TAG["pre"]


def gap_of(signs: int, style: str) -> int:
    """The gap that the signs of a look, see `placing`, and an inline style make before and after an element.

    >>> gap_of(AS_CELL, "") == CELL, gap_of(0, "display: block") == LINE
    (True, True)
    """
    styled = _STYLED.search(style) if style else None
    if signs & AS_LINE or (styled is not None and not styled[1]):
        return LINE
    return CELL if styled is not None or signs & AS_CELL else SPACE if signs & AS_SPACE else GLUED


def cells_of(nodes: NodeTable) -> Ints:
    """Rows of the elements that are a cell by their role, class or inline style, and not by their tag."""
    rows = [row for row, gap in _widened(vars(nodes)) if gap == CELL]
    cells = np.unique(np.array(rows, np.int64))
    return cells[~np.isin(nodes.tag[cells], _CELLS)]


def is_table(look: Look, style: str) -> bool:
    """Whether role or inline style say that an element is a table.

    >>> is_table(("div", "", "", "grid"), ""), is_table(("p", "", "", ""), "display:table-cell")
    (True, False)
    """
    return look[3] in _TABLES or _TABLE_STYLED.search(style) is not None


def gaps_of(columns: Mapping[str, Any]) -> Ints:
    """(m,) the gaps of a node table, also those that roles, classes and styles make; in code, a line is the widest.

    Parameters
    ----------
    columns : columns of a node table by name
    """
    gap = columns["gap"]
    wider = list(_widened(columns))
    if wider:
        rows, gaps = np.array(wider, np.int64).T
        filled = columns["first_leaf"][rows] < columns["last_leaf"][rows]
        gap = np.append(gap, GLUED)
        for edge in ("first_leaf", "last_leaf"):
            np.maximum.at(gap, columns[edge][rows[filled]], gaps[filled])
        gap = gap[:-1]
    return _gaps_in_code(columns, gap.copy()) if columns["spaces"] else gap


def _widened(columns: Mapping[str, Any]) -> Iterator[tuple[int, int]]:
    """Yield the rows of elements that make a gap by more than their tag, and the gap."""
    look, signs = columns["look"], columns["signs"]
    if (signs & _PLACED).any():
        rows = np.flatnonzero((signs & _PLACED > 0)[look] & (columns["tag"] != TEXT)).tolist()
        yield from ((row, gap_of(signs.item(look.item(row)), "")) for row in rows)
    for row, style in columns["styles"].items():
        if gap := gap_of(signs.item(look.item(row)), style):
            yield row, gap


def _gaps_in_code(columns: Mapping[str, Any], gap: Ints) -> Ints:
    """(m,) the gaps, which are changed: elements of ``pre`` are a line by their tag or class, and none a paragraph."""
    first, last, spaces, ended = columns["first_leaf"], columns["last_leaf"], columns["spaces"], 0
    lines = columns["signs"] & CODE_LINE > 0
    if lines.any():
        rows = np.flatnonzero(lines[columns["look"]] & (columns["tag"] != TEXT))
        edges = {*first[rows].tolist(), *last[rows].tolist()}
        begins = [leaf for leaf in edges if "\n" not in spaces.get(leaf, "\n")]
        gap[begins] = np.maximum(gap[begins], LINE)
    for row in np.flatnonzero(columns["tag"] == _PRE).tolist():
        if last[row] > ended:
            own, ended = slice(first[row] + 1, last[row]), last[row]
            gap[own] = np.minimum(gap[own], LINE)
    return gap
