"""Gaps that roles, classes and inline styles make: elements that their tags leave in a line, and that readers see apart."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np

from scrapy_pagelets.base.arrays import Ints
from scrapy_pagelets.base.caches import cached
from scrapy_pagelets.page.code_lines import LINE_NAMED
from scrapy_pagelets.page.looks import Look
from scrapy_pagelets.page.nodes import CELL, GLUED, LINE, SPACE, TAG, TEXT, NodeTable

_ROLES: Final = {
    **dict.fromkeys("row rowgroup listitem option menuitem treeitem heading tabpanel table grid treegrid".split(), LINE),
    **dict.fromkeys("cell gridcell columnheader rowheader".split(), CELL),
    **dict.fromkeys("tab button".split(), SPACE),
}
#: Roles of the cells that head a column or a line.
HEADS: Final = ("columnheader", "rowheader")
_BLOCKS: Final = "block|flex|grid|list-item|flow-root|table(?:-row(?:-group)?|-caption|-header-group|-footer-group)?"
_STYLED: Final = re.compile(rf"(?<![\w-])display\s*:\s*(?:(table-cell)|{_BLOCKS})(?![\w-])", re.IGNORECASE)
#: Classes of Bootstrap, Tailwind, Bulma and others that do the same.
_NAMED: Final = re.compile(rf"(?:^|\s)(?:(?:(?:d|display)(?:-\w\w)?|is)-(?:(table-cell)|{_BLOCKS})|block)(?:$|\s)")
_TABLES: Final = ("table", "grid", "treegrid")
_TABLE_STYLED: Final = re.compile(r"(?<![\w-])display\s*:\s*table(?![\w-])", re.IGNORECASE)
_CELLS: Final = (TAG["td"], TAG["th"])
_PRE: Final = TAG["pre"]


def gap_of(look: Look, style: str) -> int:
    """The gap that role, class and inline style of an element make before and after it.

    >>> gap_of(("span", "", "", "cell"), "") == CELL, gap_of(("a", "", "", ""), "display: block") == LINE
    (True, True)
    """
    styled = _STYLED.search(style) if style else None
    of_style = GLUED if styled is None else CELL if styled[1] else LINE
    return max(of_style, _gap_of_look(look[2], look[3]))


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


@cached
def _gap_of_look(classes: str, role: str) -> int:
    named = _NAMED.search(classes)
    return max(_ROLES.get(role, GLUED), GLUED if named is None else CELL if named[1] else LINE)


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
    looks, look = columns["looks"], columns["look"]
    of_looks = [gap_of(one, "") for one in looks]
    if any(of_looks):
        rows = np.flatnonzero((np.array(of_looks)[look] > GLUED) & (columns["tag"] != TEXT)).tolist()
        yield from ((row, of_looks[look.item(row)]) for row in rows)
    yield from ((row, gap) for row, style in columns["styles"].items() if (gap := gap_of(looks[look.item(row)], style)))


def _gaps_in_code(columns: Mapping[str, Any], gap: Ints) -> Ints:
    """(m,) the gaps, which are changed: elements of ``pre`` are a line by their tag or class, and none a paragraph."""
    first, last, spaces, ended = columns["first_leaf"], columns["last_leaf"], columns["spaces"], 0
    lines = [number for number, look in enumerate(columns["looks"]) if LINE_NAMED.search(look[2])]
    if lines:
        rows = np.flatnonzero(np.isin(columns["look"], lines) & (columns["tag"] != TEXT))
        edges = {*first[rows].tolist(), *last[rows].tolist()}
        begins = [leaf for leaf in edges if "\n" not in spaces.get(leaf, "\n")]
        gap[begins] = np.maximum(gap[begins], LINE)
    for row in np.flatnonzero(columns["tag"] == _PRE).tolist():
        if last[row] > ended:
            own, ended = slice(first[row] + 1, last[row]), last[row]
            gap[own] = np.minimum(gap[own], LINE)
    return gap
