"""Rows and elements of a node table, one after another."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from lxml import etree

from scrapy_pagelets.base.arrays import Ints
from scrapy_pagelets.page.data_tables import _HEAD, _IN_LAYOUT, _LAYOUT, _LAYOUT_WITH_HEAD, _NO_DATA, _SELDOM, cells_of
from scrapy_pagelets.page.nodes import TAG, TEXT, NodeTable


def elements(root: etree._Element, tag: Ints, parent: Ints, end: Ints) -> list[etree._Element]:
    """(n,) the lxml element of each row of a table, see `NodeTable`; for a run of text, its parent."""
    found: list[etree._Element] = []
    is_text, above, ends = (tag == TEXT).tolist(), parent.tolist(), end.tolist()

    def add_runs() -> None:
        while len(found) < len(ends) and is_text[len(found)]:
            found.append(found[above[len(found)]])

    context = etree.iterwalk(root, events=("start",))
    for _, element in context:
        add_runs()
        found.append(element)
        if ends[len(found) - 1] == len(found):  # a reader sees nothing below it
            context.skip_subtree()
    add_runs()
    return found


def elements_at(nodes: NodeTable, rows: Sequence[int]) -> list[etree._Element]:
    """The lxml elements of some rows of elements, ascending; for a few rows, faster than ``nodes.elements``."""
    return [nodes.elements[row] for row in rows]


def attributes_at(nodes: NodeTable, rows: Sequence[int], name: str) -> list[str]:
    """The values of an attribute of some rows of elements, ascending; "" where there is none."""
    return [str(nodes.elements[row].get(name) or "") for row in rows]


def rows_with(nodes: NodeTable, sign: int) -> list[int]:
    """Rows of the elements whose look has a sign, see `looks.signs`, in document order."""
    of_looks = nodes.signs & sign > 0
    return list(np.flatnonzero(of_looks[nodes.look] & (nodes.tag != TEXT)).tolist())


def rows_named(nodes: NodeTable, names: re.Pattern[str]) -> list[int]:
    """Rows of the elements in whose classes a pattern is found, in document order."""
    rows = np.flatnonzero(nodes.tag != TEXT).tolist()
    return [row for row in rows if names.search(nodes.looks[nodes.look[row]][2])]


def rows_tagged(nodes: NodeTable, tag: int) -> list[int]:
    """Rows with a tag, in document order."""
    return list(np.flatnonzero(nodes.tag == tag).tolist())


def leaves_beginning(nodes: NodeTable, characters: Sequence[str]) -> list[int]:
    """The leaves whose text has one of some characters at each place of its beginning; "" stands for any character."""
    return [leaf for leaf, text in enumerate(nodes.strings) if _begins(text, characters)]


def _begins(text: str, characters: Sequence[str]) -> bool:
    if len(text) < len(characters):
        return False
    return all(not known or one in known for one, known in zip(text, characters, strict=False))


def values_at(elements: Sequence[etree._Element], names: Sequence[str]) -> list[tuple[str, ...]]:
    """The values of some attributes of each element, in the order of the names; "" where there is none."""
    return [tuple(element.get(name) or "" for name in names) for element in elements]


def is_data(nodes: NodeTable, table: int) -> bool:
    """See `core.data_tables.is_data`."""
    cells = cells_of(nodes, table)
    is_head = nodes.tag[cells] == TAG["th"]
    may_be = nodes.looks[nodes.look.item(table)][3] not in _NO_DATA or (is_head[:-1] & ~is_head[1:]).any()
    return bool(may_be) and holds_data(nodes, table, cells)


def holds_data(nodes: NodeTable, table: int, cells: Ints) -> bool:
    """Whether an element with some cells holds data, as `is_data`.

    ``table``: row of the element. ``cells``: rows of its cells, ascending.
    """
    within = slice(table + 1, int(nodes.end[table]))
    if np.isin(nodes.tag[within], _IN_LAYOUT).any():
        return False
    lines = nodes.parent[cells]
    shown = nodes.first_leaf[cells] < nodes.last_leaf[cells]
    if not (np.diff(lines[shown]) == 0).any() or not (np.diff(lines) != 0).any():
        return False
    blocks = np.cumsum(np.append(0, np.isin(nodes.tag[table : nodes.end[table]], _SELDOM)))
    line = np.cumsum(np.diff(lines, prepend=lines[:1]) != 0)
    alone = np.bincount(line)[line] == 1  # such a cell divides the table
    with_blocks = (blocks[nodes.end[cells] - table] > blocks[cells - table]) & ~alone
    most = _LAYOUT_WITH_HEAD if (nodes.tag[cells[line == 0]] == _HEAD).all() else _LAYOUT
    return bool(with_blocks.sum() < most * max(1, shown.sum()))
