"""GCuts: segmentation of least energy.

Source: Chakrabarti, Kumar, Punera 2008, *A Graph-Theoretic Approach to Webpage Segmentation*; see
``docs/algorithms/gcuts-2008.md``.

``cut_by_energy`` minimises the paper's energy: a node pays its distance to the node whose label it has, by a learnt
metric; neighbouring leaves pay for being separated, and so do visible children of invisible nodes. If only consecutive
leaves are neighbours, the energy is minimised exactly; on a rendered page, label expansion starts from that minimum.

Two forms are ours. They keep the tree: each node is a label of its own, and only invisible nodes cost anything.
``cut_into_regions`` learns that cost from features of a node, its children, its siblings and its parent.
``cut_into_blocks`` adds the paper's regression over pairs of leaves, and the blocks of VIPS, which err differently.

``cut_by_clusters`` is CClus, the paper's baseline (section 4.1, after Ailon, Charikar, Newman 2005): two leaves in
different segments cost lambda times the probability that they belong together, two in one segment the probability that
they do not. Moves of single leaves are ours.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final, Self

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import cdist
from scipy.special import logit

from scrapy_pagelets.base.arrays import Bools, Floats, Ints
from scrapy_pagelets.decision.classifiers import sigmoid
from scrapy_pagelets.decision.site import Site
from scrapy_pagelets.page.page import Page
from scrapy_pagelets.papers.graph_cuts import segment_features
from scrapy_pagelets.papers.graph_cuts.appearance import appearance, pair_appearance, situation_appearance
from scrapy_pagelets.papers.graph_cuts.energy import Energy, cheapest_cover, expand, minimise, segments_of
from scrapy_pagelets.papers.graph_cuts.segment_weights import Logistic, Weights
from scrapy_pagelets.papers.graph_cuts.tree import Tree, compact
from scrapy_pagelets.papers.vips.vips import vips

#: Each inner node is a label, as in the paper, up to this many costs of a page (nodes times labels): time and memory
#: grow with them. Only pages of several thousand nodes have more.
_COSTS: Final = 4_000_000
#: Number of leaves of a page, evenly spaced, whose pairs are asked for in ``cut_into_blocks``: a quadratic number.
_LEAVES: Final = 100
_COHERENCES: Final = range(5, 10)  # permitted degrees of coherence at which VIPS is asked, from regions to small blocks
_SURE: Final = 4.0  # bound of the log odds of each estimate, so that none of them decides alone
#: The penalty for a given number of segments is searched between 2**-_RANGE and 2**_RANGE; halvings of that range.
_RANGE, _HALVINGS = 20, 40
#: A function from the penalty, the paper's lambda, to the number of the segment of each leaf of a tree, (m,).
Cut = Callable[[float], Ints]
_TRIALS: Final = 10  # number of random pivot orders to try
#: Most items to cluster, all pairs of which are compared: on larger pages small subtrees, instead of leaves.
_MAX_ITEMS: Final = 800
_CHUNK: Final = 20_000  # number of pairs whose features are computed at once


@dataclass(frozen=True, eq=False)
class Described:
    """A page with the features that its costs are computed from."""

    page: Page  # with at least one run of text or picture
    tree: Tree  # of its text and pictures
    #: (k, F) features of the nodes, without and with features of their surroundings; on a rendered page, both include
    #: the nodes' appearance
    columns: Floats
    situation: Floats

    @classmethod
    def of(cls, page: Page, templateness: Floats | None = None) -> Self:
        """Describe a page; templateness defaults to that of the page-level classifier."""
        if templateness is None:
            templateness = Site("").templateness(page)
        tree = compact(page.nodes)
        columns = segment_features.node_features(page, tree, templateness)
        situation = segment_features.situation_features(page.nodes, tree, columns)
        if page.layout is None:
            return cls(page, tree, columns, situation)
        looks = appearance(tree, page.layout)
        around = situation_appearance(tree, page.layout, looks)
        return cls(page, tree, np.hstack((columns, looks)), np.hstack((situation, around)))

    def pairs(self, one: Ints, other: Ints) -> Floats:
        """(e, F) Features of pairs of nodes, neither of which contains the other. ``one`` and ``other``: (e,) nodes."""
        layout, own = self.page.layout, len(segment_features.NODE_FEATURES)
        features = segment_features.pair_features(self.page.nodes, self.tree, self.columns[:, :own], one, other)
        if layout is None:
            return features
        return np.hstack((features, pair_appearance(self.tree, layout, self.columns[:, own:], one, other)))


Costed = Callable[[Described, Weights], Cut]  # a function from a described page and weights to the cut of the page


def cut_into_regions(described: Described, weights: Weights) -> Cut:
    """Return the cut of a page by the learnt cost of nodes alone; the penalty weighs separating against joining."""
    return _by_tree(described.tree, weights.whole(described.situation.astype(np.float32)))


def cut_into_blocks(described: Described, weights: Weights) -> Cut:
    """Return the cut of a page by the mean log odds of three estimates that a node is in one segment.

    They are the learnt cost of nodes, the mean probability of the pairs of leaves that meet at the node, and the share
    of these that VIPS has in one block, averaged over degrees of coherence.
    """
    tree = described.tree
    one, other = segment_features.evenly(len(tree.leaves), _LEAVES)
    structure = vips(described.page)
    rows = (structure.of_rows(pdoc)[tree.seen] for pdoc in _COHERENCES)
    votes = np.mean([block[one] == block[other] for block in rows], axis=0)
    together = weights.pairs(described.pairs(tree.leaves[one], tree.leaves[other]))
    meeting = tree.meeting(one, other)
    met = np.bincount(meeting, minlength=len(tree))
    odds = [weights.whole(described.situation.astype(np.float32))]
    for of_pairs in (together, votes):
        mean = np.bincount(meeting, of_pairs, len(tree)) / np.maximum(1, met)
        odds.append(logit(np.where(met > 0, mean, 0.5)))
    return _by_tree(tree, np.clip(odds, -_SURE, _SURE).mean(axis=0))


def _by_tree(tree: Tree, odds: Floats) -> Cut:
    """The cut of a page by the log odds that all leaves of each node are in one segment, (k,)."""
    whole = sigmoid(np.clip(odds, -30, 30))
    return lambda penalty: segments_of(tree, cheapest_cover(tree, tree.size * (penalty * whole - (1 - whole))))


def cut_by_energy(described: Described, weights: Weights) -> Cut:
    """The cut by the paper's energy: connected leaves of one label. ImportError if rendered, without PyMaxflow."""
    costs = energy_of(described, weights)

    def cut(penalty: float) -> Ints:
        energy = weighed(costs, penalty)
        labels = minimise(energy)
        if described.page.layout is not None:
            labels = expand(energy, labels)
        return connected(energy, labels[described.tree.leaves])

    return cut


def weighed(energy: Energy, penalty: float) -> Energy:
    """The energy with its costs of pairs multiplied by the penalty, the paper's lambda."""
    return replace(energy, edge=penalty * energy.edge, weight=penalty * energy.weight)


def energy_of(described: Described, weights: Weights) -> Energy:
    """The paper's energy of a page, with a penalty of 1."""
    tree = described.tree
    space = (described.columns - weights.center) / weights.scale @ weights.metric.T
    distance = cdist(space, space[_prototypes(tree, space)])
    layout = described.page.layout
    one, other = segment_features.consecutive(len(tree.leaves))
    if layout is not None:
        one, other = segment_features.beside(tree, layout)
    edge = weights.edge(described.situation)
    weight = weights.neighbours(described.pairs(tree.leaves[one], tree.leaves[other]))
    return Energy(tree, distance, np.zeros(len(tree)), edge, one, other, weight)


def by_number(cut: Cut, wanted: int) -> Ints:
    """(m,) Segments for the penalty that gives the ``wanted`` number of them, or the nearest; ValueError below one."""
    if wanted < 1:
        raise ValueError(f"segments is {wanted}: give a number from 1")
    low, high = -float(_RANGE), float(_RANGE)
    best = cut(2.0**low)
    for _ in range(_HALVINGS):
        if _count(best) == wanted:
            break
        middle = (low + high) / 2
        segments = cut(2.0**middle)
        low, high = (middle, high) if _count(segments) > wanted else (low, middle)
        best = min(best, segments, key=lambda labels: abs(_count(labels) - wanted))
    return best


def _count(labels: Ints) -> int:
    return len(np.unique(labels))


def _prototypes(tree: Tree, space: Floats) -> Ints:
    """The nodes that are labels: the inner nodes, or the root and then, each time, the one farthest from the others."""
    nodes = np.flatnonzero(tree.inner) if tree.inner[0] else np.zeros(1, np.int64)
    most = max(1, _COSTS // len(tree))
    if len(nodes) <= most:
        return nodes
    chosen, distance = [], np.full(len(nodes), np.inf)
    for _ in range(most):
        chosen.append(int(nodes[distance.argmax()]))
        np.minimum(distance, ((space[nodes] - space[chosen[-1]]) ** 2).sum(axis=1), out=distance)
    return np.array(chosen)


def connected(energy: Energy, labels: Ints) -> Ints:
    """(m,) Number of the segment of each leaf: connected leaves of one label."""
    same = labels[energy.one] == labels[energy.other]
    ends = energy.one[same], energy.other[same]
    graph = csr_array((np.ones(len(ends[0]), np.int8), ends), shape=(len(labels), len(labels)))
    return np.asarray(connected_components(graph, directed=False)[1], np.int64)


def cut_by_clusters(described: Described, weights: Weights) -> Cut:
    """Return the cut of a page: a function from the penalty to the number of the cluster of each leaf of the tree."""
    nodes = items(described.tree)
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

    ``together``: (k, k) probability that two items belong together. ``penalty``: lambda.
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


def items(tree: Tree) -> Ints:
    """The smallest nodes that contain each leaf once and are at most ``_MAX_ITEMS``."""
    size = 1
    while True:
        small = tree.size <= size
        small[1:] &= tree.size[tree.parent[1:]] > size
        nodes = np.flatnonzero(small)
        if len(nodes) <= _MAX_ITEMS:
            return nodes
        size *= 2
