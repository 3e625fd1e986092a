"""GCuts: segments of least energy.

Source: Chakrabarti, Kumar, Punera 2008, *A Graph-Theoretic Approach to Webpage Segmentation*; see
``docs/algorithms/gcuts-2008.md``.

``strict`` is the paper's energy. A node pays its distance to the node whose label it has, by a learnt metric.
Neighbouring leaves, and the visible children of invisible nodes, pay for being parted, by logistic regressions. The
energy is minimised exactly where neighbours follow each other in the document. Where the page is rendered, expansions
start from that minimum.

The default keeps of the paper what its own ablation finds to matter, the tree: each node is a label of its own, and
only invisible nodes cost anything. The paper leaves that cost open. Here it is learnt from what a node, its children,
its siblings and its parent are like.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from scrapy_pagelets.nodes import Floats, Ints
from scrapy_pagelets.page import Page
from scrapy_pagelets.segmentation.appearance import appearance, pair_appearance, situation_appearance
from scrapy_pagelets.segmentation.cover import cover, segments_of
from scrapy_pagelets.segmentation.energy import Energy
from scrapy_pagelets.segmentation.exact import exact
from scrapy_pagelets.segmentation.expansion import expand
from scrapy_pagelets.segmentation.neighbours import following, rendered
from scrapy_pagelets.segmentation.segment_features import (
    NODE_FEATURES,
    node_features,
    pair_features,
    situation_features,
)
from scrapy_pagelets.segmentation.segment_weights import Weights
from scrapy_pagelets.segmentation.tree import Tree, compact
from scrapy_pagelets.templates.site import Site
from scrapy_pagelets.templates.trees import sigmoid

#: The paper's energy, and the same without the costs of parents and children, or with nothing learnt.
STRICT, NO_PARENTS, NOT_LEARNT = "strict", "np", "nl"
#: Labels that a page has at most: further ones would be much like one of these. The paper has all inner nodes.
_LABELS: Final = 32
#: Leaves below a node that is a label.
_LEAST: Final = 3
#: The penalty for a number of segments lies between 2 to the power of minus this and of this; halvings of the range.
_RANGE, _HALVINGS = 20, 40


@dataclass(frozen=True, eq=False)
class Described:
    """A page with all that the costs are made from.

    Attributes
    ----------
    page : with one run of text or picture at least
    tree : of its text and pictures
    columns, situation : (k, F) features of the nodes, and with those of their surroundings; of a rendered page, with
        what they look like
    """

    page: Page
    tree: Tree
    columns: Floats
    situation: Floats

    @classmethod
    def of(cls, page: Page, templateness: Floats | None = None) -> Described:
        """Describe a page; without templateness, by what the page-level classifier says of it."""
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
        """(e, F) features of pairs of nodes, neither of them in the other.

        Parameters
        ----------
        one, other : (e,) nodes
        """
        layout, own = self.page.layout, len(NODE_FEATURES)
        found = pair_features(self.page.nodes, self.tree, self.columns[:, :own], one, other)
        if layout is None:
            return found
        return np.hstack((found, pair_appearance(self.tree, layout, self.columns[:, own:], one, other)))


#: Penalty, the lambda of the paper, to the number of the segment of each leaf of a tree, (m,).
Cut = Callable[[float], Ints]


def cuts(described: Described, weights: Weights) -> Cut:
    """How a page is cut. The penalty weighs parting what belongs together against joining what does not."""
    tree = described.tree
    odds = weights.whole(described.situation.astype(np.float32))
    whole = sigmoid(np.clip(odds, -30, 30))

    def cut(penalty: float) -> Ints:
        return segments_of(tree, cover(tree, tree.size * (penalty * whole - (1 - whole))))

    return cut


def labelled(described: Described, weights: Weights, form: str = STRICT) -> Cut:
    """How a page is cut by the paper's energy: connected leaves of one label are a segment.

    Parameters
    ----------
    form : ``STRICT``, ``NO_PARENTS`` or ``NOT_LEARNT``

    Raises
    ------
    ImportError : when a rendered page is cut without PyMaxflow
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
        edge = _likeness(space, np.arange(len(tree)), np.maximum(tree.parent, 0))
        weight = _likeness(space, tree.leaves[one], tree.leaves[other])
    if form == NO_PARENTS:
        edge = np.zeros(len(tree))
    return Energy(tree, np.sqrt(np.maximum(0, squares)), np.zeros(len(tree)), edge, one, other, weight)


def by_number(cut: Cut, wanted: int) -> Ints:
    """(m,) segments by the penalty with which there are as many as wanted, or nearly.

    Parameters
    ----------
    cut : of a page, by the penalty
    wanted : number of segments

    Raises
    ------
    ValueError : if none are wanted
    """
    if wanted < 1:
        raise ValueError(f"segments is {wanted}: a page has 1 at least")
    low, high = -float(_RANGE), float(_RANGE)
    best = cut(2.0**low)
    for _ in range(_HALVINGS):
        if _count(best) == wanted:
            break
        middle = (low + high) / 2
        found = cut(2.0**middle)
        low, high = (middle, high) if _count(found) > wanted else (low, middle)
        best = min(best, found, key=lambda labels: abs(_count(labels) - wanted))
    return best


def _count(labels: Ints) -> int:
    return len(np.unique(labels))


def _prototypes(tree: Tree, space: Floats) -> Ints:
    """The nodes that are labels: the root, then each time the node that is farthest from the labels so far."""
    nodes = np.flatnonzero(tree.size >= _LEAST) if tree.size[0] >= _LEAST else np.zeros(1, np.int64)
    found = [int(nodes[0])]
    distance = ((space[nodes] - space[found[0]]) ** 2).sum(axis=1)
    while len(found) < _LABELS and distance.max() > 0:
        found.append(int(nodes[distance.argmax()]))
        np.minimum(distance, ((space[nodes] - space[found[-1]]) ** 2).sum(axis=1), out=distance)
    return np.array(found)


def _likeness(space: Floats, one: Ints, other: Ints) -> Floats:
    """(e,) how alike nodes are, 1 at most, by a sum of their features that nobody has weighed."""
    return 2 * sigmoid(-np.abs(space[one] - space[other]).sum(axis=1) / np.sqrt(space.shape[1]))


def _components(energy: Energy, labels: Ints) -> Ints:
    """(m,) numbers of the connected leaves of one label."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    same = labels[energy.one] == labels[energy.other]
    ends = energy.one[same], energy.other[same]
    graph = csr_array((np.ones(len(ends[0]), np.int8), ends), shape=(len(labels), len(labels)))
    return np.asarray(connected_components(graph, directed=False)[1], np.int64)
