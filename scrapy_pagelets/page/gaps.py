"""Gaps that roles, classes and inline styles make between elements that their tags leave in one line; tabs."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby, islice, pairwise, takewhile
from typing import Any, Final

import numpy as np

from scrapy_pagelets.base.arrays import Ints
from scrapy_pagelets.base.caches import once
from scrapy_pagelets.base.characters import lazily
from scrapy_pagelets.page.looks import AS_CELL, AS_LINE, AS_SPACE, BLOCKS, CODE_LINE, TABS, Look
from scrapy_pagelets.page.nodes import CELL, GLUED, LINE, SPACE, TAG, TEXT, NodeTable, attributes_at, tags_of

HEADS: Final = ("columnheader", "rowheader")  # roles of the cells that head a column or a line
_STYLED: Final = lazily(rf"(?<![\w-])display\s*:\s*(?:(table-cell)|{BLOCKS})(?![\w-])", re.IGNORECASE)
_TABLES: Final = ("table", "grid", "treegrid")
_TABLE_STYLED: Final = lazily(r"(?<![\w-])display\s*:\s*table(?![\w-])", re.IGNORECASE)
_CELLS: Final = (TAG["td"], TAG["th"])
_PLACED: Final = AS_SPACE | AS_CELL | AS_LINE
_PRE: Final = TAG["pre"]


def gap_of(signs: int, style: str) -> int:
    """The gap that the signs of a look, see `looks`, and an inline style make before and after an element."""
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
    """Whether role or inline style say that an element is a table."""
    return look[3] in _TABLES or _TABLE_STYLED.search(style) is not None


def gaps_of(columns: Mapping[str, Any]) -> Ints:
    """(m,) the gaps of a node table, also those that roles, classes and styles make; in code, a line is the widest.

    ``columns``: columns of a node table by name.
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


_LISTS: Final = ("ul", "ol")
_LABELS: Final = tags_of("label button")
_MAIN: Final = tags_of("main h1")
_RUNS: Final = lazily(r"#|javascript:")
_BUTTON, _ITEM = TAG["button"], TAG["li"]
#: Attributes of a tab, or of the link in it, that name the panel.
_TARGETS: Final = ("aria-controls", "data-bs-target", "data-target", "href")


@once
def panels_of(nodes: NodeTable) -> dict[int, int]:
    """Find the label of each panel: by row of the panel, the row of the tab."""
    if not (nodes.signs & TABS).any():
        return {}
    kinds = [
        _kind(look[0], look[3]) if signs & TABS else "" for look, signs in zip(nodes.looks, nodes.signs, strict=True)
    ]
    by_kind: dict[str, list[int]] = {"tab": [], "tabpanel": [], "links": [], "labels": [], "buttons": []}
    named = np.array([bool(kind) for kind in kinds])[nodes.look] & (nodes.tag != TEXT)
    for row in np.flatnonzero(named).tolist():
        by_kind[kinds[nodes.look.item(row)]].append(row)
    by_kind["buttons"] = [next(up for up in nodes.above(row) if nodes.tag[up] != _ITEM) for row in by_kind["buttons"]]
    tabs = by_kind["tab"] or [link for row in nodes.outermost(by_kind["links"]) for link in _links_in(nodes, row)]
    found = _by_names(nodes, tabs) if tabs else {}
    hrefs = ((row, nodes.links.href[nodes.links_in(row)]) for row in by_kind["links"])
    names = {f"#{look[1]}" for look in nodes.looks if look[1]}
    running = (row for row, leading in hrefs if all(_RUNS.match(href) and href not in names for href in leading))
    labelled = _labelled(nodes, sorted({*by_kind["labels"], *running, *by_kind["buttons"]}))
    for labels, panels in (*_in_order(nodes, tabs, by_kind["tabpanel"]), *labelled):
        has_main = any(np.isin(nodes.tag[row : nodes.end[row]], _MAIN).any() for row in panels)  # then it is a column
        if len(panels) == len(labels) > 1 and found.keys().isdisjoint(panels) and not has_main:
            found |= dict(zip(panels, labels, strict=True))
    return found


def begins_with(nodes: NodeTable, panel: int, tab: int) -> bool:
    """Whether a panel begins with the label of its tab, in a line of it, or follows another one with the same words."""
    own, label = nodes.leaves_of(panel), nodes.leaves_of(tab)
    number = label.stop - label.start
    before = slice(max(label.stop, own.start - number), own.start)
    begins = nodes.strings[label] == nodes.strings[own][:number] and (nodes.gap[own][number : number + 1] >= LINE).all()
    return bool(begins) or nodes.strings[label] == nodes.strings[before]


def _kind(tag: str, role: str) -> str:
    """What an element may be: a tab, a panel, a list of links that are tabs, or what is around labels and panels."""
    if role in ("tab", "tabpanel"):
        return role
    if "-" in tag:
        return "tabpanel" if tag.endswith("l") else "tab"
    return "links" if tag in _LISTS else "labels" if tag == "div" else "buttons" if tag == "button" else ""


def _links_in(nodes: NodeTable, row: int) -> list[int]:
    return [*map(int, nodes.links.row[nodes.links_in(row)])]


def _by_names(nodes: NodeTable, tabs: Sequence[int]) -> dict[int, int]:
    """The tabs whose attributes, or those of the link in them, name the panel."""
    first = dict(zip(*(column.tolist() for column in np.unique(nodes.look, return_index=True)), strict=True))
    named = {look[1]: first[number] for number, look in enumerate(nodes.looks) if look[1] and number in first}
    within = sorted({(row, tab) for tab in tabs for row in (tab, *islice(_links_in(nodes, tab), 1))})
    found: dict[int, list[int]] = {}
    for name in _TARGETS:
        for (_, tab), value in zip(within, attributes_at(nodes, [row for row, _ in within], name), strict=True):
            panel = named.get(value.strip().removeprefix("#"), -1)
            if panel >= nodes.end[tab]:
                found.setdefault(panel, []).append(tab)
    # Several choose from what is in one, unless they are one label for each width of the screen.
    texts = {panel: {" ".join(nodes.strings[nodes.leaves_of(tab)]) for tab in own} for panel, own in found.items()}
    return {panel: own[-1] for panel, own in found.items() if len(texts[panel]) == 1}


def _in_order(nodes: NodeTable, tabs: Sequence[int], panels: Sequence[int]) -> Iterator[tuple[list[int], list[int]]]:
    """Yield the tabs of a list, and the panels that follow before the next one."""
    kinds = {**dict.fromkeys(tabs, True), **dict.fromkeys(nodes.outermost(panels), False)}
    groups = [(is_tab, list(rows)) for is_tab, rows in groupby(sorted(kinds), kinds.__getitem__)]
    yield from ((labels, rows) for (is_tab, labels), (_, rows) in pairwise(groups) if is_tab)


def _labelled(nodes: NodeTable, rows: Iterable[int]) -> Iterator[tuple[list[int], list[int]]]:
    """Yield the labels or buttons in an element, and as many elements in the one that follows it, or that follow them.

    Of a list, which may be alone in an element around it, these are all that follow.
    """
    for row in rows:
        labels = [child for child in nodes.children_of(row) if nodes.tag.item(child) != TAG["input"]]
        labels = [child for child in labels if nodes.tag.item(child) != TAG["div"] or nodes.words_of(child)]
        if len(labels) < 2:
            continue
        first = [*takewhile(lambda row: nodes.tag.item(row) in _LABELS, labels)]
        if len(first) > 1 and len(labels) == 2 * len(first):
            yield first, labels[len(first) :]
        if np.array_equal(np.isin(nodes.tag[labels], _LABELS), np.arange(len(labels)) % 2 == 0):  # one by one
            yield labels[::2], labels[1::2]
        if not all(nodes.tag[label] in _LABELS or _leads_nowhere(nodes, label) for label in labels):
            continue
        is_list = nodes.tag.item(row) != TAG["div"]
        if is_list and nodes.leaves_of(above := nodes.parent.item(row)) == nodes.leaves_of(row):
            row = above
        siblings = [child for child in nodes.children_of(nodes.parent.item(row)) if child > row]
        inside = nodes.children_of(siblings[0]) if siblings else []
        yield labels, inside if len(inside) == len(labels) else siblings if is_list else siblings[: len(labels)]


def _leads_nowhere(nodes: NodeTable, row: int) -> bool:
    """Whether an element has the role of a button, or is a link without an address, or an item with nothing but one."""
    if nodes.looks[nodes.look.item(row)][3] == "button":
        return True
    if nodes.tag.item(row) != TAG["li"]:
        return nodes.tag.item(row) == TAG["a"] and not (nodes.links.row == row).any()
    inside = _links_in(nodes, row) or [child for child in nodes.children_of(row) if nodes.tag.item(child) == _BUTTON]
    return len(inside) == 1 and nodes.leaves_of(inside[0]) == nodes.leaves_of(row)
