"""Tables: which of them hold data, and the grid of their cells."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Final, NamedTuple

import numpy as np
from lxml import etree

from scrapy_pagelets.base.arrays import Ints
from scrapy_pagelets.base.caches import once
from scrapy_pagelets.base.characters import lazily
from scrapy_pagelets.core import give
from scrapy_pagelets.core.data_tables import holds_data as holds_data
from scrapy_pagelets.core.data_tables import is_data as is_data
from scrapy_pagelets.page.code import CodeBlocks
from scrapy_pagelets.page.gaps import HEADS
from scrapy_pagelets.page.nodes import CELL, LINE, SPACE, TAG, TAGS, NodeTable, rows_named, rows_tagged

#: What never stands in a cell of data, and what seldom does.
_IN_LAYOUT: Final = [TAG[name] for name in "table pre".split()]
_SELDOM: Final = [TAG[n] for n in "ul ol menu dl h1 h2 h3 h4 h5 h6 blockquote figure form article section".split()]
_HEADINGS: Final = [TAG[name] for name in "h1 h2 h3 h4 h5 h6".split()]
_LAYOUT: Final = 0.25  # share of the cells with such blocks from which on a table only lays out the page
_LAYOUT_WITH_HEAD: Final = 0.6  # the same of a table with header cells
_NO_DATA: Final = ("presentation", "none")  # roles of tables without data
_CELLS: Final = (TAG["td"], TAG["th"])
_HEAD: Final = TAG["th"]
_BOLD: Final = (TAG["b"], TAG["strong"])
_FOOT: Final = TAG["tfoot"]
_HEAD_NAMED: Final = lazily(r"(?:^|\s)(?:table|grid|column|col)[-_]?head(?:er)?(?:$|\s)", re.IGNORECASE)
give(
    "data_tables", TAGS=TAGS, IN_LAYOUT=_IN_LAYOUT, SELDOM=_SELDOM, CELLS=_CELLS, HEAD=_HEAD,
    LAYOUT=_LAYOUT, LAYOUT_WITH_HEAD=_LAYOUT_WITH_HEAD, NO_DATA=_NO_DATA,
)  # fmt: skip
_MOST_COLUMNS: Final = 100  # spans count up to this column, so that hostile ones cost little
_MOST_LINES: Final = 65534  # and up to this number of lines


class _Cell(NamedTuple):
    """A cell of a table, with its place in the grid."""

    row: int  # of its element in the node table
    line: int
    column: int
    head: bool  # whether it is a header cell


@once
def in_lines(nodes: NodeTable) -> NodeTable | None:
    """The node table with each row of a data table in a line of text, whatever breaks its cells have; None if it is."""
    tables = rows_tagged(nodes, TAG["table"])
    following = [*tables[1:], len(nodes)]
    tables = [one for one, other in zip(tables, following, strict=False) if other >= nodes.end[one]]  # the innermost
    if not tables:
        return None
    cells = np.flatnonzero(((nodes.tag == _CELLS[0]) | (nodes.tag == _CELLS[1])) & (nodes.first_leaf < nodes.last_leaf))
    first, last = nodes.first_leaf[cells], nodes.last_leaf[cells]
    begins = np.diff(nodes.parent[cells], prepend=-1) != 0
    breaks = np.append(0, np.cumsum(nodes.gap >= LINE))
    inside = breaks[last] > breaks[first + 1]
    before = nodes.gap[first] > np.where(begins, LINE, CELL)
    starts, ends = np.searchsorted(cells, tables).tolist(), np.searchsorted(cells, nodes.end[tables]).tolist()
    gap, code = nodes.gap, CodeBlocks(nodes)
    for table, start, end in zip(tables, starts, ends, strict=True):
        if not (inside[start:end].any() or before[start + 1 : end].any()) or not is_data(nodes, table):
            continue
        if not code.in_table(table):
            gap = nodes.gap.copy() if gap is nodes.gap else gap
            own = slice(first[start] + 1, last[end - 1])
            gap[own] = np.minimum(gap[own], SPACE)
            gap[first[start + 1 : end]] = np.where(begins[start + 1 : end], LINE, CELL)
    return None if gap is nodes.gap else replace(nodes, gap=gap)


@once
def flat_grids(nodes: NodeTable) -> dict[int, int]:
    """By row, the elements whose children are the cells of a table, one line after the other; and their columns.

    Their classes name the head and each column, as in Javadoc: ``table-header col-first``, ``col-first even-row``.
    """
    columns = Counter(nodes.parent.item(row) for row in rows_named(nodes, _HEAD_NAMED))
    grids = ((row, number) for row, number in columns.items() if 1 < number <= _MOST_COLUMNS)
    return {row: number for row, number in grids if _has_columns(nodes, row, number)}


def _has_columns(nodes: NodeTable, row: int, columns: int) -> bool:
    """Whether the classes of the children of an element say in which column each of them is."""
    classes = [set(nodes.looks[nodes.look.item(cell)][2].split()) for cell in nodes.children_of(row)]
    if len(classes) % columns or len(classes) == columns:
        return False
    named = [set[str].intersection(*classes[column::columns]) for column in range(columns)]
    return all(names.difference(*named[:column], *named[column + 1 :]) for column, names in enumerate(named))


def has_heading(nodes: NodeTable, cell: int) -> bool:
    """Whether a cell, given by its row, holds a heading."""
    return bool(np.isin(nodes.tag[cell : nodes.end[cell]], _HEADINGS).any())


def grid(nodes: NodeTable, cells: Ints, columns: int = 0) -> list[list[int]]:
    """The cells of a table: for each line the row of the cell that begins in each column, -1 where none does.

    The first line is the head; it is empty if the table has none. A cell that spans others is written once.

    ``cells``: rows of the cells, ascending. ``columns``: number of cells in each line of a flat grid.
    """
    if columns:
        return [cells[i : i + columns].tolist() for i in range(0, len(cells), columns)]
    placed = _placed(nodes, cells)
    places = {column: i for i, column in enumerate(sorted({cell.column for cell in placed}))}
    lines = [[-1] * len(places) for _ in range(1 + max(cell.line for cell in placed))]
    for cell in placed:
        lines[cell.line][places[cell.column]] = cell.row
    return lines if _has_head(nodes, placed) else [[-1] * len(places), *lines]


def cells_of(nodes: NodeTable, table: int) -> Ints:
    """Rows of the cells of a table, given by its row, and of the tables in it."""
    tags = nodes.tag[table + 1 : int(nodes.end[table])]
    found = (tags == _CELLS[0]) | (tags == _CELLS[1])
    rows: Ints = found.nonzero()[0] + table + 1
    return rows


def _placed(nodes: NodeTable, rows: Ints) -> list[_Cell]:
    """The cells with their places; lines without a cell are left out, and no cell reaches out of its row group.

    The foot is below all other lines, wherever it is written.
    """
    if rows_tagged(nodes, _FOOT):
        in_foot = nodes.tag[nodes.parent[nodes.parent[rows]]] == _FOOT
        rows = np.append(rows[~in_foot], rows[in_foot])
    cells: list[_Cell] = []
    taken: dict[int, int] = {}  # by column, the last line that a cell above covers
    line, column, above, group = -1, 0, -1, -1
    for row in rows.tolist():
        parent = int(nodes.parent[row])
        if parent != above:
            above, line, column = parent, line + 1, 0
            if group != nodes.parent[parent]:
                group, taken = nodes.parent[parent], {}
        while taken.get(column, -1) >= line:
            column += 1
        element = nodes.elements[row]
        cells.append(_Cell(row, line, column, element.tag == "th" or element.get("role") in HEADS))
        wide = _span(element, "colspan", _MOST_COLUMNS) or 1
        high = _span(element, "rowspan", _MOST_LINES) or _MOST_LINES
        if high > 1:
            taken |= dict.fromkeys(range(column, min(column + wide, _MOST_COLUMNS)), line + high - 1)
        column += wide
    return cells


def _span(element: etree._Element, name: str, most: int) -> int:
    """How far a cell spans; 0 lines reach to the end of the row group."""
    value = (element.get(name) or element.get(f"aria-{name}") or "").strip()
    return min(most, int(value[:6])) if value.isascii() and value.isdecimal() else 1


def _has_head(nodes: NodeTable, cells: Sequence[_Cell]) -> bool:
    """Whether the first line is the head: in ``thead``, of header cells, or all bold where the next is not."""
    first = [cell for cell in cells if cell.line == 0]
    rest = [cell for cell in cells if cell.line == 1]
    if any(nodes.elements[int(nodes.parent[nodes.parent[cell.row]])].tag == "thead" for cell in first):
        return True
    filled = [cell for cell in first if nodes.first_leaf[cell.row] < nodes.last_leaf[cell.row]]
    if len(filled) < 2:
        return False
    if all(cell.head for cell in filled):
        return True
    return all(_is_bold(nodes, cell.row) for cell in filled) and not all(_is_bold(nodes, cell.row) for cell in rest)


def _is_bold(nodes: NodeTable, row: int) -> bool:
    bold = np.flatnonzero(np.isin(nodes.tag[row + 1 : nodes.end[row]], _BOLD))[:1] + row + 1
    return any(nodes.leaves_of(first) == nodes.leaves_of(row) for first in bold.tolist())
