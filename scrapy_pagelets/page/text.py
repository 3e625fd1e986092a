"""Write nodes as text or cleaned HTML: what a reader sees, in document order, each word exactly once."""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

import numpy as np
from lxml import etree

from scrapy_pagelets.base.arrays import Bools, Ints
from scrapy_pagelets.base.caches import once
from scrapy_pagelets.base.characters import lazily, normalised, quoted, readable
from scrapy_pagelets.core import give
from scrapy_pagelets.core.limits import is_composed as is_composed
from scrapy_pagelets.core.text import anchors_of as anchors_of
from scrapy_pagelets.core.text import first_of_items as first_of_items
from scrapy_pagelets.core.text import paths_of as paths_of
from scrapy_pagelets.core.text import roots as roots
from scrapy_pagelets.core.text import runs_of as runs_of
from scrapy_pagelets.core.text import text_of as text_of
from scrapy_pagelets.core.text import told_of as told_of
from scrapy_pagelets.core.text import without_invisible as without_invisible
from scrapy_pagelets.core.text import words_in as words_in
from scrapy_pagelets.core.text import written_leaves as written_leaves
from scrapy_pagelets.page import code, data_tables, formulas
from scrapy_pagelets.page.nodes import GAPS, GLUED, LINE, SPACE, TAG, NodeTable, rows_named, rows_tagged
from scrapy_pagelets.page.page import Page
from scrapy_pagelets.page.urls import absolute

# Attributes that cleaned HTML keeps: without these, links, images and tables lose their meaning.
_ATTRIBUTES: Final = frozenset("href src alt title colspan rowspan lang dir datetime start reversed".split())
_NUMBERS: Final = frozenset("colspan rowspan start".split())
_VOID: Final = frozenset("img br hr picture source wbr".split())
#: What has other names in cleaned HTML: parsers read the first three verbatim, so that nothing in them can be escaped,
#: and `head` contains a body whose tag was omitted.
_RENAMED: Final = {"xmp": "pre", "listing": "pre", "plaintext": "pre", "head": "div"}
_NAME: Final = lazily(r"[a-z][a-z0-9-]*")
_SCRIPT: Final = lazily(r"[\s\0-\x1f]*(?:javascript|vbscript|data):", re.IGNORECASE)
#: Characters that no reader sees: zero-width space, word joiner, byte order mark, soft hyphen; and those of icon fonts.
_INVISIBLE: Final = lazily("[\u200b\u2060\ufeff\u00ad\u180e\ue000-\uf8ff]")
#: A line of these alone is what remained of a menu, a heading or a signature, or an editor's empty line with joiners.
LEFT_OVER: Final = " |/\\·•:;,.-–—¶#§»«>…\u200c\u200d\u200e\u200f"
_ITEMS: Final = TAG["li"]


def plain(nodes: NodeTable, keep: Bools) -> str:
    """Text of the leaves to keep, for readers: blank lines between blocks, line breaks and cells as on the page.

    Items of lists begin with a hyphen, and marks of footnotes are in brackets. Of a formula that a script has set, one
    form is written. Marks alone on a line and characters that nobody sees are left out; letters are in form NFC.

    ``keep``: (m,) a mask of the leaves.
    """
    nodes, leaves = write_leaves(nodes, keep)
    text = text_of(nodes, leaves, first_of_items(nodes, leaves) - _lines_of_code(nodes))
    if text.isascii():
        return text
    seen = without_invisible(text)
    return seen if is_composed(seen) else normalised("NFC", seen)


def write_leaves(nodes: NodeTable, keep: Bools) -> tuple[NodeTable, Ints]:
    """The node table with the strings that the text of a page has, and (k,) the leaves that it is made of.

    ``keep``: (m,) a mask of the leaves.
    """
    in_lines = data_tables.in_lines(nodes)
    nodes = code.without_blanks(nodes if in_lines is None else in_lines, keep)
    return _with_brackets(formulas.with_one_form(nodes, keep)), written_leaves(nodes, keep)


def _lines_of_code(nodes: NodeTable) -> frozenset[int]:
    items = np.array(rows_tagged(nodes, _ITEMS) if nodes.spaces else [], np.int64)
    blocks = nodes.outermost(rows_tagged(nodes, TAG["pre"])) if len(items) else []
    within = [items[slice(*np.searchsorted(items, (block, nodes.end[block])))] for block in blocks]
    rows = [row for each in within for row in each.tolist()]
    return frozenset(np.flatnonzero(nodes.leaves_below(rows)).tolist()) if rows else frozenset()


def cleaned(page: Page, keep: Bools) -> str:
    """HTML of the leaves to keep and of their ancestors, without scripts, styles and presentational attributes.

    Images, rules and line breaks are kept if their parent is. Links are absolute. "" if no leaf is kept.

    ``keep``: (m,) a mask of the leaves.
    """
    nodes = page.nodes
    alive = _rows_to_keep(nodes, keep)
    texts = dict(_texts(nodes, np.flatnonzero(keep), alive))
    copies: dict[int, etree._Element] = {0: etree.Element("html")}
    last: dict[int, etree._Element] = {}
    pieces: dict[tuple[etree._Element, bool], list[str]] = {}
    for row in (np.flatnonzero(alive[1:]) + 1).tolist():
        parent = int(nodes.parent[row])
        before = last.get(parent)
        if row in texts:
            pieces.setdefault((copies[parent] if before is None else before, before is not None), []).append(texts[row])
        else:
            element = nodes.elements[row]
            tag = str(element.tag)
            name = _RENAMED.get(tag, tag if _NAME.fullmatch(tag) else "span")
            kept = _kept_attributes(element, page.base)
            copies[row] = last[parent] = etree.SubElement(copies[parent], name, kept)
    for (element, behind), strings in pieces.items():
        setattr(element, "tail" if behind else "text", "".join(strings))
    return etree.tostring(copies[0], encoding="unicode", method="html") if texts else ""


def _rows_to_keep(nodes: NodeTable, keep: Bools) -> Bools:
    """(n,) the leaves to keep, their ancestors, and the void elements whose parent is kept."""
    alive = nodes.sum_below(keep.astype(np.int64)) > 0
    void = np.array([look[0] in _VOID for look in nodes.looks])[nodes.look] & (nodes.first_leaf == nodes.last_leaf)
    for row in np.flatnonzero(void[1:]) + 1:  # `picture` before its `img`
        alive[row] = alive[nodes.parent[row]]
    return alive


def _texts(nodes: NodeTable, leaves: Ints, alive: Bools) -> Iterator[tuple[int, str]]:
    """Yield the row of each leaf and its text, with white space before it if no tag separates it from the last one."""
    separating = alive & (np.array([GAPS.get(look[0], GLUED) for look in nodes.looks])[nodes.look] > GLUED)
    separating[nodes.leaves] = False
    opened = np.cumsum(separating)
    closed = np.cumsum(np.bincount(nodes.end[separating], minlength=len(nodes) + 1))
    before = 0
    for leaf, gap, white in runs_of(nodes, leaves):
        row = int(nodes.leaves[leaf])
        if leaf not in nodes.spaces:
            white = " " if gap >= SPACE and before else ""
        elif not white and gap > GLUED and opened[row] == opened[before] and closed[row] == closed[before]:
            white = "\n" if gap >= LINE else " "
        yield row, white + nodes.strings[leaf]
        before = row


def _kept_attributes(element: etree._Element, base: str) -> dict[str, str]:
    kept = {}
    for name, value in element.items():
        if name in ("href", "src"):
            value = quoted(link_of(base, value))
        if name in _ATTRIBUTES and value and (name not in _NUMBERS or (value.isascii() and value.isdecimal())):
            kept[name] = readable(value)
    return kept


def link_of(base: str, url: str) -> str:
    """Make the URL of an attribute absolute; "" for a script or inline data."""
    if _SCRIPT.match(url):
        return ""
    try:
        return absolute(base, url)
    except ValueError:  # "http://[broken"
        return url


give("text", LEFT_OVER=LEFT_OVER, ITEMS=_ITEMS, is_invisible=_INVISIBLE.match)

_MARK: Final = lazily(r"\d{1,3}|[a-z]|[*†‡§]{1,3}")
_NOTED: Final = lazily(r"(?:^|[\s_-])(?:footnote|noteref)", re.IGNORECASE)  # classes of links to or from a note
_LINK: Final = TAG["a"]


@once
def marks_of_notes(nodes: NodeTable) -> frozenset[int]:
    """Rows of the links whose class says that they are the marks of footnotes, which style sheets raise."""
    rows = (row for row in rows_named(nodes, _NOTED) if nodes.tag.item(row) == _LINK)
    return frozenset(row for row in rows if _MARK.fullmatch(" ".join(nodes.strings[nodes.leaves_of(row)])))


def _with_brackets(nodes: NodeTable) -> NodeTable:
    """The node table with brackets around the marks of footnotes: raised links of a number, a letter or a sign."""
    rows = [row for row in rows_tagged(nodes, TAG["sup"]) if nodes.last_leaf[row] - nodes.first_leaf[row] == 1]
    noted = {nodes.first_leaf.item(row) for row in marks_of_notes(nodes)}
    strings = list(nodes.strings) if rows or noted else nodes.strings
    for leaf in ({nodes.first_leaf.item(row) for row in rows} | noted) - {0}:
        is_beside = nodes.gap[leaf] <= (SPACE if leaf in noted else GLUED) and not strings[leaf - 1].endswith("[")
        if is_beside and nodes.anchor[nodes.leaves[leaf]] and _MARK.fullmatch(strings[leaf]):
            strings[leaf] = f"[{strings[leaf]}]"
    return nodes if strings is nodes.strings else replace(nodes, strings=strings)
