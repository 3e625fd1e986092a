"""Nodes to text, cleaned HTML and Markdown: what a reader sees, in document order, no word lost or doubled."""

from __future__ import annotations

from typing import Final

import numpy as np
from lxml import etree

from scrapy_pagelets.nodes import CELL, GLUED, LINE, PARAGRAPH, SPACE, TEXT, Bools, Ints, NodeTable
from scrapy_pagelets.page import Page

_SEPARATORS: Final = {GLUED: "", SPACE: " ", CELL: "\t", LINE: "\n", PARAGRAPH: "\n\n"}
# What cleaned HTML keeps beside the structure: without these, links, images and tables lose their meaning.
_ATTRIBUTES: Final = frozenset("href src alt title colspan rowspan lang dir datetime start reversed".split())
#: Markdown of more levels than this is of no use, and its converter recurses.
_MARKDOWN_DEPTH: Final = 120


def plain(nodes: NodeTable, keep: Bools) -> str:
    """Text of the leaves to keep: blocks parted by blank lines, lines and cells as in the page.

    Parameters
    ----------
    keep : (m,) a mask of the leaves
    """
    pieces: list[str] = []
    gaps = nodes.gap.tolist()
    widest = GLUED
    glued = True  # no leaf was left out since the last piece
    for leaf, wanted in enumerate(keep.tolist()):
        widest = max(widest, gaps[leaf])
        if not wanted:
            glued = False
            continue
        if pieces:
            exact = nodes.spaces.get(leaf) if widest <= SPACE and glued else None
            # Two words with a left-out one between them were never one word.
            pieces.append((exact or _SEPARATORS[widest]) if glued else _SEPARATORS[max(widest, SPACE)])
        pieces.append(nodes.strings[leaf])
        widest, glued = GLUED, True
    return "".join(pieces)


def xpaths(nodes: NodeTable, keep: Bools) -> list[str]:
    """Paths of the fewest nodes that hold the leaves to keep and no other: ``getpath`` of elements, ``text()[k]`` of runs.

    Parameters
    ----------
    keep : (m,) a mask of the leaves
    """
    paths = []
    for row in roots(nodes, keep).tolist():
        element = nodes.elements[row]
        path = element.getroottree().getpath(element)
        if nodes.tag[row] == TEXT:
            path += f"/text()[{nodes.number[np.searchsorted(nodes.leaves, row)]}]"
        paths.append(path)
    return paths


def roots(nodes: NodeTable, keep: Bools) -> Ints:
    """Rows of the maximal subtrees whose leaves are all kept; a run of text is a subtree of its own."""
    kept = np.concatenate(([0], np.cumsum(keep)))
    first, last = nodes.first_leaf, nodes.last_leaf
    pure = (kept[last] - kept[first] == last - first) & (last > first)
    return np.flatnonzero(pure & ~np.concatenate(([False], pure[nodes.parent[1:]])))


def cleaned(page: Page, keep: Bools) -> str:
    """HTML of the leaves to keep and of their ancestors, without scripts, styles and attributes that only look.

    Images, rules and line breaks stay where a neighbour stays.
    """
    nodes = page.nodes
    kept = nodes.spread(keep.astype(np.int64))
    alive = nodes.total(kept) > 0
    # What carries no text lives with its parent if that holds kept text directly or it is a picture among kept things.
    empty = nodes.first_leaf == nodes.last_leaf
    void = np.array([e.tag in ("img", "br", "hr", "picture", "source", "wbr") for e in nodes.elements]) & empty
    alive |= void & np.concatenate(([False], alive[nodes.parent[1:]]))
    copies: dict[int, etree._Element] = {}
    last: dict[int, etree._Element] = {}
    leaf = 0
    for row in range(len(nodes)):
        is_text = nodes.tag[row] == TEXT
        leaf += is_text
        if not alive[row]:
            continue
        parent = int(nodes.parent[row])
        if is_text:
            _append(copies[parent], last.get(parent), _spaced(nodes, leaf - 1))
        elif parent < 0 or parent not in copies:
            copies[row] = etree.Element("html")
        else:
            copies[row] = last[parent] = etree.SubElement(copies[parent], _name(nodes.elements[row]), _kept(nodes.elements[row]))
    if not copies:
        return ""
    return etree.tostring(copies[0], encoding="unicode", method="html")


def _name(element: etree._Element) -> str:
    tag = str(element.tag)
    return tag if tag.replace("-", "").isalnum() else "span"


def _kept(element: etree._Element) -> dict[str, str]:
    return {str(k): str(v) for k, v in element.items() if k in _ATTRIBUTES}


def _spaced(nodes: NodeTable, leaf: int) -> str:
    space = nodes.spaces.get(leaf) or (" " if nodes.gap[leaf] >= SPACE else "")
    return space + nodes.strings[leaf]


def _append(parent: etree._Element, before: etree._Element | None, text: str) -> None:
    if before is None:
        parent.text = (parent.text or "") + text
    else:
        before.tail = (before.tail or "") + text


def markdown(page: Page, keep: Bools) -> str:
    """Markdown of the leaves to keep, by the library ``markdownify`` (extra ``markdown``).

    Pages nested too deep for the library come back as plain text.
    """
    from markdownify import markdownify

    if page.nodes.depth.max() > _MARKDOWN_DEPTH:
        return plain(page.nodes, keep)
    return str(markdownify(cleaned(page, keep), heading_style="ATX")).strip()
