"""The DOM tree for segmentation: nodes with text or pictures; a chain of single children is one node."""

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from scrapy_pagelets.base.arrays import Bools, Floats, Ints
from scrapy_pagelets.page.nodes import TAG, TEXT, NodeTable, levels_of

_SEEN: Final = np.array([TEXT, TAG["img"]])


@dataclass(eq=False)
class Tree:
    """Nodes in preorder; the leaves are the runs of text and the pictures of the page, in document order."""

    rows: Ints  # (k,) row in the page's node table; for a chain, that of its topmost element
    of: Ints  # (n,) number of the node that each row of the node table belongs to, -1 for rows without leaves
    parent: Ints  # (k,) -1 at the root
    #: (k,) ``first:last`` are the leaves of the subtree
    first: Ints
    last: Ints
    depth: Ints  # (k,) 0 at the root
    seen: Ints  # (m,) row of each leaf: the run of text or the picture itself

    def __post_init__(self) -> None:
        self.size = self.last - self.first  # (k,) number of leaves of the subtree
        self.inner = self.size > 1  # (k,) whether the node has children
        self.leaves = np.flatnonzero(~self.inner)  # (m,) node of each leaf
        #: (k,) node after the last one of the subtree: ``slice(v, end[v])`` is the subtree
        self.end: Ints = np.append(self.leaves, len(self))[self.last - 1] + 1
        self.children = np.bincount(self.parent[1:], minlength=len(self))  # (k,) number of children
        self.levels = levels_of(self.depth)  # nodes of each depth from the root down; siblings are adjacent

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def siblings(self) -> tuple[Ints, Ints]:
        """(k,) The previous and the next sibling of each node, -1 for none."""
        order = np.argsort(self.parent, kind="stable")
        one, next_ = order[:-1], order[1:]
        same = self.parent[one] == self.parent[next_]
        before, after = np.full(len(self), -1), np.full(len(self), -1)
        before[next_[same]], after[one[same]] = one[same], next_[same]
        return before, after

    def total(self, column: Floats) -> Floats:
        """Sum of a column, (k, ...), over the subtree of each node."""
        sums = np.zeros((len(self) + 1, *column.shape[1:]))
        np.cumsum(column, axis=0, out=sums[1:])
        return sums[self.end] - sums[:-1]

    def largest(self, column: Ints | Floats) -> Ints | Floats:
        """(k,) Largest value of a column, (k,), in the subtree of each node."""
        largest = column.copy()
        for level in reversed(self.levels[1:]):
            np.maximum.at(largest, self.parent[level], largest[level])
        return largest

    def in_chains(self, column: Floats | Bools) -> Floats:
        """(k,) Sum of a column of the rows, (n,), over the chain that each node represents."""
        here = self.of >= 0
        return np.bincount(self.of[here], weights=column[here], minlength=len(self)).astype(np.float64)

    def meeting(self, one: Ints, other: Ints) -> Ints:
        """(e,) Lowest common ancestor of pairs of different leaves, ``one`` and ``other``: (e,), 0 to m - 1."""
        # The lowest common ancestor of leaves i - 1 and i is the parent of the topmost node that begins with leaf i.
        # That of a range of leaves is the highest of these: a range minimum query, answered by a sparse table.
        between = self.parent[np.searchsorted(self.first, np.arange(1, len(self.leaves)))]
        low, high = np.minimum(one, other), np.maximum(one, other)
        power = np.frexp(high - low)[1] - 1
        table = [between]
        for k in range(int(power.max(initial=0))):
            shifted = table[-1][1 << k :]
            kept = table[-1][: len(shifted)]
            table.append(np.where(self.depth[kept] <= self.depth[shifted], kept, shifted))
        ancestor = np.empty(len(low), np.int64)
        for k, row in enumerate(table):
            here = power == k
            left, right = row[low[here]], row[high[here] - (1 << k)]
            ancestor[here] = np.where(self.depth[left] <= self.depth[right], left, right)
        return ancestor


def compact(nodes: NodeTable) -> Tree:
    """Make the tree of nodes with text or pictures, empty without any; a chain of single children is one node."""
    seen = np.flatnonzero(np.isin(nodes.tag, _SEEN))
    first, last = (np.searchsorted(seen, rows) for rows in (np.arange(len(nodes)), nodes.end))
    count = last - first
    top = np.arange(len(nodes))  # topmost row of the chain that each row is in
    depth = np.zeros(len(nodes), np.int64)
    for rows in nodes.levels[1:]:
        above = nodes.parent[rows]
        alone = count[rows] == count[above]
        top[rows] = np.where(alone, top[above], rows)
        depth[rows] = depth[above] + ~alone
    rows = np.flatnonzero((top == np.arange(len(nodes))) & (count > 0))
    number = np.full(len(nodes), -1)
    number[rows] = np.arange(len(rows))
    of = np.where(count > 0, number[top], -1)
    parent = np.where(rows > 0, of[nodes.parent[rows]], -1)
    return Tree(rows, of, parent, first[rows], last[rows], depth[rows], seen)
