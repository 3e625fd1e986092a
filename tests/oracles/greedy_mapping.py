"""Function ETDM of Algorithm 2 of Alarte, Insa, Silva, Tamarit 2014 as it is printed, which pairs children greedily.

Each child of a node takes the free child of the other node that maximises the equality, without a look below them. So
the mapping is an equal top-down one, but not always the largest. Two faults of the print are mended: its used nodes are
those of the first tree only, and it recurses, which deep pages do not allow.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from scrapy_pagelets.base.arrays import Bools, Ints
from scrapy_pagelets.page.nodes import TEXT, NodeTable
from tests.oracles.node_equalities import Equality


def greedy(one: NodeTable, other: NodeTable, equality: Equality, among: Bools | None = None) -> Ints:
    """(k, 2) rows of the first page, each with the row of the second that it is mapped to, in document order."""
    compare = equality(one, other)
    children, images = _children(one, among), _children(other, None)
    root = np.zeros(1, np.int64)
    stack = [(0, 0)] if (among is None or among[0]) and compare(root, root)[0] else []
    pairs: list[tuple[int, int]] = []
    while stack:
        row, image = stack.pop()
        pairs.append((row, image))
        free = images[image]
        for child in children[row]:
            if not len(free):
                break
            equal = compare(np.full(len(free), child), free)
            best = int(equal.argmax())
            if equal[best] > 0:
                stack.append((int(child), int(free[best])))
                free = np.delete(free, best)
    return np.array(sorted(pairs), np.int64).reshape(-1, 2)


def greedy_template(key_page: NodeTable, pages: Sequence[NodeTable], equality: Equality) -> tuple[Bools, Bools]:
    """(n,) rows of the key page in the template by Algorithm 2, and those of them that say the same on all pages."""
    rows = same = np.ones(len(key_page), np.bool_)
    texts = key_page.spread(key_page.text)
    for page in pages:
        if len(pairs := greedy(key_page, page, equality, rows)):
            own, image = pairs.T
            rows, equal = np.zeros(len(key_page), np.bool_), np.zeros(len(key_page), np.bool_)
            rows[own] = True
            equal[own] = (key_page.tag[own] != TEXT) | (texts[own] == page.spread(page.text)[image])
            same = same & equal
    return rows, same & rows


def _children(nodes: NodeTable, among: Bools | None) -> list[Ints]:
    """The children of each row in document order."""
    rows = np.arange(1, len(nodes))
    rows = rows if among is None else rows[among[1:]]
    order = rows[np.argsort(nodes.parent[rows], kind="stable")]
    return np.split(order, np.searchsorted(nodes.parent[order], np.arange(1, len(nodes))))
