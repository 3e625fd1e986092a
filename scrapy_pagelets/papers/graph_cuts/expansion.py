"""Label expansion: one label at a time grows to the least energy that this can give, by a minimum cut.

Source: Chakrabarti, Kumar, Punera 2008, section 4.2, after Boykov, Veksler, Zabih 2001. The graph is not the one of the
paper's Figure 1, which charges too much where a parent or a child is invisible, and has no place for the parents' own
costs. In the graph here, a parent with a visible label has two vertices, whose third state is the invisible label. So
an expansion also makes nodes invisible wherever that pays. ``docs/algorithms/gcuts-2008.md`` derives the graph.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import numpy as np

from scrapy_pagelets.base.arrays import Floats, Ints
from scrapy_pagelets.papers.graph_cuts.energy import INVISIBLE, Energy

#: Integer steps per unit of cost: the cuts are computed in integers, as sums of floats are not exact.
_SCALE: Final = 10_000
_SWEEPS: Final = 5


def expand(energy: Energy, labels: Ints) -> Ints:
    """(k,) Labelling that no expansion improves, or the one after five sweeps over the labels.

    Parameters
    ----------
    labels : (k,) a feasible labelling to start from; in whole steps of cost, the result has no more energy

    Raises
    ------
    ImportError : without PyMaxflow
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

    Parameters
    ----------
    energy : in whole steps, see ``quantised``
    labels : (k,) a feasible labelling
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
    """(k,) Cost of making a node invisible.

    The parent of an invisible child is invisible too. So making the child invisible saves the cost of the edge between
    them.
    """
    tree = energy.tree
    edge = np.where(tree.parent < 0, 0, energy.edge)
    below = np.zeros_like(edge)
    np.add.at(below, tree.parent[1:], edge[1:])
    hidden: Floats = energy.hidden + below - edge
    return hidden


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
