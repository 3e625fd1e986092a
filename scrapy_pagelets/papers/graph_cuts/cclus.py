"""CClus: segments by correlation clustering of the leaves, the baseline of GCuts.

Source: Chakrabarti, Kumar, Punera 2008, section 4.1, after Ailon, Charikar, Newman 2005. Two leaves in different
segments cost lambda times the probability that they belong together. Two leaves in one segment cost the probability
that they do not. Moves of single leaves are ours; see ``docs/algorithms/gcuts-2008.md``.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from scrapy_pagelets.base.arrays import Bools, Floats, Ints
from scrapy_pagelets.papers.graph_cuts.gcuts import Cut, Described
from scrapy_pagelets.papers.graph_cuts.segment_weights import Logistic, Weights
from scrapy_pagelets.papers.graph_cuts.tree import Tree

#: Number of random pivot orders to try.
_TRIALS: Final = 10
#: Largest number of items to cluster: the number of pairs is quadratic. On larger pages, small subtrees are clustered
#: instead of leaves.
_MAX_ITEMS: Final = 800
#: Number of pairs whose features are computed at once.
_CHUNK: Final = 20_000


def clusters(described: Described, weights: Weights) -> Cut:
    """Return the cut of a page: a function from the penalty to the number of the cluster of each leaf of the tree."""
    nodes = _items(described.tree)
    together = probabilities(described, nodes, weights.pairs)
    part = np.repeat(np.arange(len(nodes)), described.tree.size[nodes])
    return lambda penalty: cluster(together, penalty)[part]


def probabilities(described: Described, nodes: Ints, model: Logistic) -> Floats:
    """(k, k) Probability that two of the nodes are in one segment, for all pairs; 1 on the diagonal."""
    one, other = np.triu_indices(len(nodes), 1)
    together = np.eye(len(nodes))
    for at in range(0, len(one), _CHUNK):
        i, j = one[at : at + _CHUNK], other[at : at + _CHUNK]
        together[i, j] = together[j, i] = model(described.pairs(nodes[i], nodes[j]))
    return together


def cluster(together: Floats, penalty: float) -> Ints:
    """(k,) Number of the cluster of each item: the best of some runs with random pivots, improved by single moves.

    Parameters
    ----------
    together : (k, k) probability that two items belong together
    penalty : lambda
    """
    joined = joining(together, penalty)
    count = len(joined)
    random = np.random.default_rng(0)
    starts = [np.zeros(count, np.int64), np.arange(count)]
    starts += [_pivots(joined <= 0, random.permutation(count)) for _ in range(_TRIALS)]
    best = min(starts, key=lambda labels: cost(joined, labels))
    return np.unique(_moved(joined, best), return_inverse=True)[1].astype(np.int64)


def joining(together: Floats, penalty: float) -> Floats:
    """(k, k) Cost of having two items in one cluster rather than in two."""
    joined = 1 - together - penalty * together
    np.fill_diagonal(joined, 0)
    return joined


def cost(joined: Floats, labels: Ints) -> float:
    """Cost of a clustering, minus the cost of the clustering with each item alone."""
    return float(joined[labels[:, None] == labels].sum() / 2)


def _pivots(alike: Bools, order: Ints) -> Ints:
    """(k,) Clusters of pivots: each takes the remaining items that cost no more with it than apart from it."""
    labels = np.full(len(order), -1)
    for pivot in order.tolist():
        if labels[pivot] < 0:
            labels[(labels < 0) & alike[pivot]] = pivot
    return labels


def _moved(joined: Floats, labels: Ints) -> Ints:
    """Move single items to the cluster where they cost least, until none moves. Each move lowers the cost."""
    labels = np.unique(labels, return_inverse=True)[1]
    moved = True
    while moved:
        moved = False
        for item in range(len(labels)):
            cluster_costs = np.bincount(labels, weights=joined[item], minlength=len(labels) + 1)
            least = int(cluster_costs.argmin())
            if cluster_costs[least] < cluster_costs[labels[item]] - 1e-9:
                cluster_sizes = np.bincount(labels, minlength=len(labels) + 1)
                labels[item] = least if cluster_sizes[least] else int(cluster_sizes.argmin())
                moved = True
    return labels


def _items(tree: Tree) -> Ints:
    """The smallest nodes that contain each leaf once and are at most ``_MAX_ITEMS``."""
    size = 1
    while True:
        small = tree.size <= size
        small[1:] &= tree.size[tree.parent[1:]] > size
        nodes = np.flatnonzero(small)
        if len(nodes) <= _MAX_ITEMS:
            return nodes
        size *= 2
