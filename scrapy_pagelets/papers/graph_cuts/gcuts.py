"""GCuts: segmentation of least energy.

Source: Chakrabarti, Kumar, Punera 2008, *A Graph-Theoretic Approach to Webpage Segmentation*; see
``docs/algorithms/gcuts-2008.md``.

``strict`` is the paper's energy. A node pays its distance to the node whose label it has, by a learnt metric.
Neighbouring leaves pay for being separated, and so do visible children of invisible nodes. Logistic regressions give
these costs. If only leaves that are consecutive in the document are neighbours, the energy is minimised exactly. On a
rendered page, label expansion starts from that minimum.

Two forms are ours. They keep the part of the paper that its own ablation finds to matter, the tree: each node is a
label of its own, and only invisible nodes cost anything. The paper leaves that cost open. In ``regions`` it is learnt
from features of a node, its children, its siblings and its parent. In ``blocks``, two more estimates count: the paper's
regression over pairs of leaves, and the blocks of VIPS. What one of them has learnt from the look of some pages, the
others do not repeat.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from scrapy_pagelets.base.arrays import Floats, Ints
from scrapy_pagelets.decision.classifiers import sigmoid
from scrapy_pagelets.decision.site import Site
from scrapy_pagelets.page.page import Page
from scrapy_pagelets.papers.graph_cuts.appearance import appearance, pair_appearance, situation_appearance
from scrapy_pagelets.papers.graph_cuts.cover import cover, segments_of
from scrapy_pagelets.papers.graph_cuts.energy import Energy
from scrapy_pagelets.papers.graph_cuts.exact import exact
from scrapy_pagelets.papers.graph_cuts.expansion import expand
from scrapy_pagelets.papers.graph_cuts.neighbours import following, rendered
from scrapy_pagelets.papers.graph_cuts.segment_features import (
    NODE_FEATURES,
    node_features,
    pair_features,
    situation_features,
)
from scrapy_pagelets.papers.graph_cuts.segment_weights import Weights
from scrapy_pagelets.papers.graph_cuts.tree import Tree, compact
from scrapy_pagelets.papers.vips.vips import vips

#: The paper's energy; the same without the costs of parents and children; the same with nothing learnt.
STRICT, NO_PARENTS, NOT_LEARNT = "strict", "np", "nl"
#: Each inner node is a label, as in the paper, up to this many costs of a page (nodes times labels): time and memory
#: grow with them. Only pages of several thousand nodes have more.
_COSTS: Final = 4_000_000
#: Number of leaves of a page, evenly spaced, whose pairs are asked for in ``blocks``: the cost is quadratic in it.
_LEAVES: Final = 100
#: Permitted degrees of coherence at which VIPS is asked, from regions to small blocks.
_COHERENCES: Final = range(5, 10)
#: Bound of the log odds of each estimate, so that none of them decides alone.
_SURE: Final = 4.0
#: The penalty for a given number of segments is searched between 2**-_RANGE and 2**_RANGE; halvings of that range.
_RANGE, _HALVINGS = 20, 40


@dataclass(frozen=True, eq=False)
class Described:
    """A page with the features that its costs are computed from.

    Attributes
    ----------
    page : with at least one run of text or picture
    tree : of its text and pictures
    columns, situation : (k, F) features of the nodes, without and with features of their surroundings; on a rendered
        page, both include the nodes' appearance
    """

    page: Page
    tree: Tree
    columns: Floats
    situation: Floats

    @classmethod
    def of(cls, page: Page, templateness: Floats | None = None) -> Described:
        """Describe a page; templateness defaults to that of the page-level classifier."""
        if templateness is None:
            templateness = Site("").templateness(page)
        tree = compact(page.nodes)
        columns = node_features(page, tree, templateness)
        situation = situation_features(page.nodes, tree, columns)
        if page.layout is None:
            return cls(page, tree, columns, situation)
        looks = appearance(tree, page.layout)
        beside = situation_appearance(tree, page.layout, looks)
        return cls(page, tree, np.hstack((columns, looks)), np.hstack((situation, beside)))

    def pairs(self, one: Ints, other: Ints) -> Floats:
        """(e, F) Features of pairs of nodes, neither of which contains the other.

        Parameters
        ----------
        one, other : (e,) nodes
        """
        layout, own = self.page.layout, len(NODE_FEATURES)
        features = pair_features(self.page.nodes, self.tree, self.columns[:, :own], one, other)
        if layout is None:
            return features
        return np.hstack((features, pair_appearance(self.tree, layout, self.columns[:, own:], one, other)))


#: A function from the penalty, the paper's lambda, to the number of the segment of each leaf of a tree, (m,).
Cut = Callable[[float], Ints]


def regions(described: Described, weights: Weights) -> Cut:
    """Return the cut of a page by the learnt cost of nodes alone.

    The penalty weighs separating what belongs together against joining what does not.
    """
    return _by_tree(described.tree, weights.whole(described.situation.astype(np.float32)))


def blocks(described: Described, weights: Weights) -> Cut:
    """Return the cut of a page by the mean log odds of three estimates that a node is in one segment.

    They are the learnt cost of nodes, the mean probability of the pairs of leaves that meet at the node, and the share
    of these pairs that VIPS has in one block, averaged over degrees of coherence.
    """
    tree, count = described.tree, len(described.tree.leaves)
    some = np.unique(np.linspace(0, count - 1, min(count, _LEAVES)).astype(np.int64))
    one, other = (some[ends] for ends in np.triu_indices(len(some), 1))
    structure = vips(described.page)
    rows = (structure.of_rows(pdoc)[tree.seen] for pdoc in _COHERENCES)
    votes = np.mean([block[one] == block[other] for block in rows], axis=0)
    together = weights.pairs(described.pairs(tree.leaves[one], tree.leaves[other]))
    meeting = tree.meeting(one, other)
    met = np.bincount(meeting, minlength=len(tree))
    odds = [weights.whole(described.situation.astype(np.float32))]
    for of_pairs in (together, votes):
        mean = np.bincount(meeting, of_pairs, len(tree)) / np.maximum(1, met)
        odds.append(_log_odds(np.where(met > 0, mean, 0.5)))
    return _by_tree(tree, np.clip(odds, -_SURE, _SURE).mean(axis=0))


def _by_tree(tree: Tree, odds: Floats) -> Cut:
    """The cut of a page by the log odds that all leaves of each node are in one segment, (k,)."""
    whole = sigmoid(np.clip(odds, -30, 30))
    return lambda penalty: segments_of(tree, cover(tree, tree.size * (penalty * whole - (1 - whole))))


def _log_odds(probability: Floats) -> Floats:
    least = sigmoid(np.array(-_SURE))
    likely = np.clip(probability, least, 1 - least)
    return np.log(likely / (1 - likely))


def labelled(described: Described, weights: Weights, form: str = STRICT) -> Cut:
    """Return the cut of a page by the paper's energy: connected leaves of one label are a segment.

    Parameters
    ----------
    form : ``STRICT``, ``NO_PARENTS`` or ``NOT_LEARNT``

    Raises
    ------
    ImportError : if a rendered page is cut without PyMaxflow
    """
    costs = energy_of(described, weights, form)

    def cut(penalty: float) -> Ints:
        energy = replace(costs, edge=penalty * costs.edge, weight=penalty * costs.weight)
        labels = exact(energy)
        if described.page.layout is not None:
            labels = expand(energy, labels)
        return _components(energy, labels[described.tree.leaves])

    return cut


def energy_of(described: Described, weights: Weights, form: str) -> Energy:
    """The paper's energy of a page, with a penalty of 1."""
    tree, learnt = described.tree, form != NOT_LEARNT
    space = (described.columns - weights.center) / weights.scale
    space = space @ weights.metric.T if learnt else space / np.sqrt(space.shape[1])
    labels = space[_prototypes(tree, space)]
    squares = (space**2).sum(axis=1)[:, None] + (labels**2).sum(axis=1) - 2 * space @ labels.T
    layout = described.page.layout
    one, other = following(tree) if layout is None else rendered(tree, layout)
    if learnt:
        p, q = tree.leaves[one], tree.leaves[other]
        edge = weights.edge(described.situation)
        weight = weights.neighbours(described.pairs(p, q))
    else:
        edge = _similarity(space, np.arange(len(tree)), np.maximum(tree.parent, 0))
        weight = _similarity(space, tree.leaves[one], tree.leaves[other])
    if form == NO_PARENTS:
        edge = np.zeros(len(tree))
    return Energy(tree, np.sqrt(np.maximum(0, squares)), np.zeros(len(tree)), edge, one, other, weight)


def by_number(cut: Cut, wanted: int) -> Ints:
    """(m,) Segments for the penalty that gives the wanted number of them, or the number nearest to it.

    Parameters
    ----------
    cut : of a page
    wanted : number of segments

    Raises
    ------
    ValueError : if fewer than one is wanted
    """
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
    """The nodes that are labels: the inner nodes, or the farthest of them if there are too many.

    Those are the root, then repeatedly the node farthest from the labels so far.
    """
    nodes = np.flatnonzero(tree.inner) if tree.inner[0] else np.zeros(1, np.int64)
    most = max(1, _COSTS // len(tree))
    if len(nodes) <= most:
        return nodes
    chosen, distance = [], np.full(len(nodes), np.inf)
    for _ in range(most):
        chosen.append(int(nodes[distance.argmax()]))
        np.minimum(distance, ((space[nodes] - space[chosen[-1]]) ** 2).sum(axis=1), out=distance)
    return np.array(chosen)


def _similarity(space: Floats, one: Ints, other: Ints) -> Floats:
    """(e,) Similarity of nodes, at most 1, by the unweighted sum of the differences of their features."""
    return 2 * sigmoid(-np.abs(space[one] - space[other]).sum(axis=1) / np.sqrt(space.shape[1]))


def _components(energy: Energy, labels: Ints) -> Ints:
    """(m,) Number of the component of each leaf: connected leaves of one label."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    same = labels[energy.one] == labels[energy.other]
    ends = energy.one[same], energy.other[same]
    graph = csr_array((np.ones(len(ends[0]), np.int8), ends), shape=(len(labels), len(labels)))
    return np.asarray(connected_components(graph, directed=False)[1], np.int64)
