"""The cover of least cost: the nodes that stay undivided, each a segment of its own.

It is our form of GCuts, ``gcuts`` and ``gcuts-top``: see ``docs/algorithms/gcuts-2008.md``.
"""

from __future__ import annotations

import numpy as np

from scrapy_pagelets.base.arrays import Bools, Floats, Ints
from scrapy_pagelets.papers.graph_cuts.tree import Tree


def cover(tree: Tree, hidden: Floats) -> Bools:
    """(k,) Nodes that are segments: the cheapest of all sets of subtrees that contain each leaf once.

    This is the energy of GCuts where only the subtree of a node may take its label, at no cost. What remains are the
    costs of the invisible nodes. The minimum takes linear time.

    Parameters
    ----------
    hidden : (k,) cost of each inner node that is divided

    Examples
    --------
    >>> from scrapy_pagelets import Page
    >>> from scrapy_pagelets.papers.graph_cuts.tree import compact
    >>> tree = compact(Page.parse(b"<p>one<b>two</b></p><p>three", "http://example.com/").nodes)
    >>> cover(tree, np.array([-1.0, 0.5, 0, 0, 0])).tolist()  # body is divided, the first p is not
    [False, True, False, False, True]
    """
    # Cost of each node if it is divided, with the best choice for each node below it.
    divided = np.where(tree.inner, hidden, 0.0)
    for level in reversed(tree.levels[1:]):
        np.add.at(divided, tree.parent[level], np.minimum(divided[level], 0))
    invisible: Bools = tree.inner & (divided < 0)
    for level in tree.levels[1:]:
        invisible[level] &= invisible[tree.parent[level]]
    below = np.ones(len(tree), np.bool_)
    below[1:] = invisible[tree.parent[1:]]
    return below & ~invisible


def segments_of(tree: Tree, roots: Bools) -> Ints:
    """(m,) Number of the segment of each leaf, from the nodes that are segments."""
    starts = np.zeros(len(tree.leaves), np.int64)
    starts[tree.first[roots]] = 1
    return np.cumsum(starts) - 1
