"""The least energy if only consecutive leaves are neighbours, by a semi-Markov dynamic program.

The maximal visible nodes of a labelling cut the sequence of leaves into intervals. Each interval has the leaves of
one node. So the best labelling of the first leaves is the best last interval after the best labelling of the leaves
before it. The program is not in the paper: see ``docs/algorithms/gcuts-2008.md``.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from scrapy_pagelets.base.arrays import Floats, Ints
from scrapy_pagelets.papers.graph_cuts.energy import INVISIBLE, Energy


def exact(energy: Energy) -> Ints:
    """(k,) Labelling of least energy; neighbours that are not consecutive are ignored.

    Time and memory grow with the product of nodes and labels.

    Examples
    --------
    >>> from scrapy_pagelets import Page
    >>> from scrapy_pagelets.papers.graph_cuts.tree import compact
    >>> tree = compact(Page.parse(b"<p>one<b>two</b></p><p>three", "http://example.com/").nodes)
    >>> data = np.array([[1.0, 1], [0, 1], [0, 1], [0, 1], [1, 0]])  # body, p, its leaves, the other p
    >>> zero, none = np.zeros(5), np.zeros(0, np.int64)
    >>> exact(Energy(tree, data, zero, zero, none, none, zero[:0])).tolist()
    [-1, 0, 0, 0, 1]
    """
    tree, between = energy.tree, energy.between
    visible = tree.total(energy.data) - tree.total(np.where(tree.inner, energy.hidden, 0))[:, None]
    visible[1:] += energy.edge[1:, None]
    count, labels = len(tree.leaves), energy.data.shape[1]
    best = np.zeros((count + 1, labels))  # least energy of the first leaves, by the label of the last of them
    before = np.zeros((count + 1, labels))  # the same, by the label of the leaf that follows them
    chosen = np.zeros((count + 1, labels), np.int64)
    column = np.arange(labels)
    order = np.argsort(tree.last, kind="stable")
    ends = np.searchsorted(tree.last[order], np.arange(1, count + 2)).tolist()
    for leaf, (start, stop) in enumerate(pairwise(ends), 1):
        nodes = order[start:stop]
        costs = before[tree.first[nodes]] + visible[nodes]
        pick = costs.argmin(axis=0)
        chosen[leaf] = nodes[pick]
        best[leaf] = costs[pick, column]
        if leaf < count:
            np.minimum(best[leaf], best[leaf].min() + between[leaf], out=before[leaf])
    return _traced_back(energy, best, before, chosen)


def _traced_back(energy: Energy, best: Floats, before: Floats, chosen: Ints) -> Ints:
    """The labelling, traced back from its last leaf."""
    tree = energy.tree
    labels = np.full(len(tree), INVISIBLE)
    leaf = len(tree.leaves)
    label = int(best[leaf].argmin())
    while leaf:
        node = chosen[leaf, label]
        labels[node : tree.end[node]] = label
        leaf = int(tree.first[node])
        if before[leaf, label] < best[leaf, label]:
            label = int(best[leaf].argmin())
    return labels
