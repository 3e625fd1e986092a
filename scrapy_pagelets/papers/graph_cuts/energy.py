"""The energy that GCuts minimises, and the labellings of least energy.

Source: Chakrabarti, Kumar, Punera 2008, equation (1) with the constraints (3) to (8) of section 4.2, and label
expansion after Boykov, Veksler, Zabih 2001. ``docs/algorithms/gcuts-2008.md`` derives all that is ours:
`cheapest_cover`, for ``gcuts`` and ``gcuts-top``; `minimise`, a semi-Markov dynamic program, because the maximal
visible nodes of a labelling cut the sequence of leaves into intervals with the leaves of one node each; and the graph
of `expand`, in which a parent with a visible label has two vertices, whose third state is the invisible label, so that
an expansion also makes nodes invisible wherever that pays.
"""

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Final

import numpy as np

from scrapy_pagelets.base.arrays import Bools, Floats, Ints
from scrapy_pagelets.papers.graph_cuts.tree import Tree

#: The label of nodes that only hold the tree together. Leaves never have it; the parent of an invisible node does.
INVISIBLE = -1
#: Integer steps per unit of cost: the cuts are computed in integers, as sums of floats are not exact.
_SCALE: Final = 10_000
_SWEEPS: Final = 5


@dataclass(frozen=True, eq=False)
class Energy:
    """Costs of a labelling of the nodes of a tree with the labels 0 to K - 1 and ``INVISIBLE``."""

    tree: Tree  # the tree whose nodes are labelled
    data: Floats  # (k, K) D, the cost of each visible label for each node
    hidden: Floats  # (k,) D of the invisible label; leaves never have it
    edge: Floats  # (k,) V of the edge to the parent, at least 0: paid if the node is visible and the parent is not
    #: one, other: (e,) leaves, 0 to m - 1, that are neighbours: ``one < other``, no pair twice
    one: Ints
    other: Ints
    weight: Floats  # (e,) V of the neighbours, at least 0: paid if their labels differ

    def of(self, labels: Ints) -> float:
        """Energy of a labelling, (k,): no leaf is invisible, and each node below a visible one has its label."""
        tree, visible = self.tree, labels != INVISIBLE
        nodes = np.flatnonzero(visible)
        leaf = labels[tree.leaves]
        cut = leaf[self.one] != leaf[self.other]
        hanging = visible[1:] & ~visible[tree.parent[1:]]
        costs = self.data[nodes, labels[nodes]], self.hidden[~visible], self.edge[1:][hanging], self.weight[cut]
        return float(sum(cost.sum() for cost in costs))


def cheapest_cover(tree: Tree, hidden: Floats) -> Bools:
    """(k,) Nodes that are segments: the cheapest of all sets of subtrees that contain each leaf once.

    This is the energy where only the subtree of a node may take its label, at no cost, in linear time. ``hidden``: (k,)
    cost of each inner node that is divided.
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


def minimise(energy: Energy) -> Ints:
    """(k,) Labelling of least energy, in O(k K); neighbours that are not consecutive are ignored."""
    tree, beside = energy.tree, energy.other == energy.one + 1
    between = np.zeros(len(tree.leaves), energy.weight.dtype)  # V of each leaf and the one before it, 0 for none
    between[energy.other[beside]] = energy.weight[beside]
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


def expand(energy: Energy, labels: Ints) -> Ints:
    """(k,) Labelling that no expansion improves, or the one after five sweeps over the labels; needs PyMaxflow.

    ``labels``: (k,) a feasible labelling to start from; in whole steps of cost, the result has no more energy.
    """
    integral = quantised(energy)
    least = integral.of(labels)
    order = np.random.default_rng(0)
    for _ in range(_SWEEPS):
        before = least
        for label in order.permutation(energy.data.shape[1]).tolist():
            candidate, value = expansion(integral, labels, label)
            assert value <= least, "an expansion has raised the energy"
            if value < least:
                labels, least = candidate, value
        if least == before:
            break
    return labels


def quantised(energy: Energy) -> Energy:
    """The same energy in whole steps of cost."""
    names = ("data", "hidden", "edge", "weight")
    return replace(energy, **{name: np.rint(getattr(energy, name) * _SCALE).astype(np.int64) for name in names})


def expansion(energy: Energy, labels: Ints, label: int) -> tuple[Ints, float]:
    """(k,) Best labelling in which each node takes the label, keeps its own, or is invisible; its energy.

    ``energy``: in whole steps, see ``quantised``. ``labels``: (k,) a feasible labelling.
    """
    tree, visible = energy.tree, labels != INVISIBLE
    size = len(tree)
    # Vertex v: on the sink's side if node v takes the label. Vertex size + v: on the source's side if it keeps its own.
    double = tree.inner & visible & (labels != label)
    linear = np.zeros(2 * size, np.int64)
    taken, hidden = energy.data[:, label], _hidden(energy)
    kept = energy.data[np.arange(size), np.where(visible, labels, label)]
    linear[:size] = taken - np.where(tree.inner, hidden, kept)
    linear[size:] = np.where(double, hidden - kept, 0)
    pairs = _pairs(energy, labels, label, linear)
    never = int(np.abs(linear).sum() + pairs[2].sum()) + 1
    keeping = np.where(tree.inner, size, 0) + np.arange(size)
    parent, child = tree.parent[1:], np.arange(1, size)
    both, under = np.flatnonzero(double), double[parent]
    forbidden = (
        np.concatenate((keeping[both], keeping[parent][under], child)),
        np.concatenate((both, keeping[child][under], parent)),
    )
    sink = _cut(linear, pairs, forbidden, never)
    rest = np.where(~tree.inner | (double & ~sink[size:]), labels, INVISIBLE)
    expanded = np.where(sink[:size], label, rest)
    return expanded, energy.of(expanded)


def _hidden(energy: Energy) -> Floats:
    """(k,) Cost of making a node invisible. Its parent is invisible too, which saves the cost of the edge to it."""
    tree = energy.tree
    edge = np.where(tree.parent < 0, 0, energy.edge)
    below = np.zeros_like(edge)
    np.add.at(below, tree.parent[1:], edge[1:])
    return np.asarray(energy.hidden + below - edge)


def _pairs(energy: Energy, labels: Ints, label: int, linear: Ints) -> tuple[Ints, Ints, Ints]:
    """Edges between neighbours, and their capacities; terms of a single vertex are added to ``linear``."""
    one, other = energy.tree.leaves[energy.one], energy.tree.leaves[energy.other]
    now = np.where(labels[one] != labels[other], energy.weight, 0)
    first_keeps = np.where(labels[one] != label, energy.weight, 0)
    other_keeps = np.where(labels[other] != label, energy.weight, 0)
    np.add.at(linear, one, other_keeps - now)
    np.subtract.at(linear, other, other_keeps)
    return one, other, first_keeps + other_keeps - now


def _cut(linear: Ints, pairs: tuple[Ints, Ints, Ints], forbidden: tuple[Ints, Ints], never: int) -> Any:
    """(v,) Whether each vertex is on the sink's side of a minimum cut."""
    graph = _graph()
    vertices = graph.add_grid_nodes(len(linear))
    graph.add_grid_tedges(vertices, np.maximum(linear, 0), np.maximum(-linear, 0))
    for start, end, capacity in (pairs, (*forbidden, np.full(len(forbidden[0]), never))):
        graph.add_edges(start, end, capacity, np.zeros_like(capacity))
    graph.maxflow()
    return graph.get_grid_segments(vertices)


def _graph() -> Any:
    try:
        from maxflow import GraphInt
    except ImportError:
        raise ImportError("label expansion needs PyMaxflow: pip install 'scrapy-pagelets[render]'") from None
    return GraphInt()
