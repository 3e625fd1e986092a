"""The energy of GCuts and its two solvers, compared with brute force and another maximum-flow solver."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order, maximum_flow

from scrapy_pagelets.page.nodes import TAG, TEXT
from scrapy_pagelets.papers.graph_cuts import energy as expansions
from scrapy_pagelets.papers.graph_cuts.energy import (
    INVISIBLE,
    Energy,
    cheapest_cover,
    expand,
    expansion,
    minimise,
    quantised,
    segments_of,
)
from scrapy_pagelets.papers.graph_cuts.tree import compact
from tests.oracles.constraints import feasible
from tests.oracles.printed_cuts import expanded_from_one_label
from tests.trees import page, soups

shapes = st.recursive(st.just(()), lambda below: st.lists(below, min_size=2, max_size=3), max_leaves=5)
seeds = st.integers(0, 2**32 - 1)


def tree_of(shape):
    def html(part):
        return "<div>" + ("".join(map(html, part)) or "x") + "</div>"

    return compact(page(html(shape)).nodes)


def energy_of(tree, seed, labels=3, *, chain=False):
    """Random costs; with ``chain``, neighbours are the consecutive leaves, else random pairs."""
    random = np.random.default_rng(seed)
    count = len(tree.leaves)
    pairs = np.array([(i, j) for j in range(count) for i in range(j) if chain <= (j == i + 1)], np.int64)
    pairs = pairs.reshape(-1, 2)
    pairs = pairs if chain else pairs[random.random(len(pairs)) < 0.6]
    size = len(tree)
    return Energy(
        tree, random.random((size, labels)), random.normal(size=size), random.random(size), pairs[:, 0], pairs[:, 1],
        2 * random.random(len(pairs)),
    )  # fmt: skip


def labellings(tree, labels, choices=None):
    """All feasible labellings, limited to the choices of each node if these are given."""
    choices = choices or [range(INVISIBLE, labels)] * len(tree)
    every = (np.array(labelling) for labelling in product(*choices))
    return [labelling for labelling in every if feasible(tree, labelling)]


def energy_by_definition(energy, labels):
    """Equation (1) term by term."""
    tree, total = energy.tree, 0.0
    for node, label in enumerate(labels):
        total += energy.hidden[node] if label == INVISIBLE else energy.data[node, label]
        if node and labels[tree.parent[node]] == INVISIBLE != label:
            total += energy.edge[node]
    leaf = [labels[node] for node in tree.leaves]
    return total + sum(w for i, j, w in zip(energy.one, energy.other, energy.weight, strict=True) if leaf[i] != leaf[j])


@given(shapes, seeds)
def test_the_energy_is_the_sum_of_its_terms(shape, seed):
    energy = energy_of(tree_of(shape), seed, 2)
    for labels in labellings(energy.tree, 2):
        assert energy.of(labels) == pytest.approx(energy_by_definition(energy, labels))


@settings(max_examples=40)
@given(shapes, seeds)
def test_the_exact_program_equals_brute_force(shape, seed):
    energy = energy_of(tree_of(shape), seed, chain=True)
    result = minimise(energy)
    assert feasible(energy.tree, result)
    least = min(energy.of(labels) for labels in labellings(energy.tree, 3))
    assert energy.of(result) == pytest.approx(least)


@given(shapes, seeds)
def test_the_cover_equals_brute_force(shape, seed):
    tree = tree_of(shape)
    hidden = np.random.default_rng(seed).normal(size=len(tree))
    roots = cheapest_cover(tree, hidden)

    def cost(invisible):
        return sum(hidden[v] for v in invisible)

    inner = np.flatnonzero(tree.inner).tolist()
    sets = (
        {v for v, chosen in zip(inner, choice, strict=True) if chosen} for choice in product((0, 1), repeat=len(inner))
    )
    least = min(cost(chosen) for chosen in sets if all(not v or tree.parent[v] in chosen for v in chosen))
    above = {v for v in inner if any(v < root < tree.end[v] for root in np.flatnonzero(roots))}
    assert cost(above) == pytest.approx(least)
    assert (np.bincount(segments_of(tree, roots)) == tree.size[roots]).all()


@settings(max_examples=40)
@given(shapes, seeds, st.integers(0, 2))
def test_an_expansion_equals_brute_force(shape, seed, label):
    tree = tree_of(shape)
    energy = quantised(energy_of(tree, seed))
    every = labellings(tree, 3)
    start = every[seed % len(every)]
    result, value = expansion(energy, start, label)
    assert feasible(tree, result)
    choices = [{int(start[node]), label, INVISIBLE} for node in range(len(tree))]
    assert value == energy.of(result) == min(map(energy.of, labellings(tree, 3, choices)))


@given(shapes, seeds)
def test_expansions_never_raise_the_energy_and_stay_feasible(shape, seed):
    energy = energy_of(tree_of(shape), seed)
    start = minimise(energy)
    result = expand(energy, start)
    assert feasible(energy.tree, result)
    integral = quantised(energy)
    assert integral.of(result) <= integral.of(start)
    assert all(expansion(integral, result, label)[1] >= integral.of(result) for label in range(3))


@given(shapes, seeds)
def test_expansions_cannot_improve_the_exact_program(shape, seed):
    energy = quantised(energy_of(tree_of(shape), seed, chain=True))
    start = minimise(energy)
    for label in range(3):
        assert expansion(energy, start, label)[1] == energy.of(start)


@given(shapes, seeds)
def test_the_exact_program_is_a_lower_bound_without_the_other_pairs(shape, seed):
    energy = energy_of(tree_of(shape), seed, 2)
    beside = energy.other == energy.one + 1
    chain = replace(energy, one=energy.one[beside], other=energy.other[beside], weight=energy.weight[beside])
    least = min(energy.of(labels) for labels in labellings(energy.tree, 2))
    assert chain.of(minimise(energy)) <= least + 1e-9


def test_the_star_on_which_the_start_of_the_paper_fails():
    # Eight children gain 1 each if they leave the label of their parent, which costs 1.5 once. No expansion of a
    # single label finds that, as each child needs a different one. See docs/algorithms/gcuts-2008.md, "The star".
    children = 8
    tree = tree_of([()] * children)
    data = np.ones((children + 1, children + 1))
    data[0, 0] = 0
    data[np.arange(1, children + 1), np.arange(1, children + 1)] = 0
    hidden = np.zeros(children + 1)
    hidden[0] = 1.5
    none = np.zeros(0, np.int64)
    energy = Energy(tree, data, hidden, np.zeros(children + 1), none, none, np.zeros(0))
    assert energy.of(np.zeros(children + 1, np.int64)) == 8
    assert energy.of(expanded_from_one_label(energy)) == 8
    assert energy.of(minimise(energy)) == 1.5


@pytest.mark.parametrize("children", [4, 8])
def test_the_star_whose_labels_are_its_inner_nodes(children):
    """The second example of the document: all costs are distances, and being invisible costs nothing."""
    tree = tree_of([((), ())] * children)
    inner = np.flatnonzero(tree.inner)
    place = np.zeros((len(tree), children))
    for axis, child in enumerate(inner[1:]):
        place[child : tree.end[child], axis] = 1 / 3
    data = np.linalg.norm(place[:, None] - place[inner], axis=2)
    edge = np.where(tree.inner, 1.5 / children, 1.0)
    none = np.zeros(0, np.int64)
    energy = Energy(tree, data, np.zeros(len(tree)), edge, none, none, np.zeros(0))
    assert energy.of(expanded_from_one_label(energy)) == pytest.approx(children)
    assert energy.of(minimise(energy)) <= 1.5 + 1e-9


@given(shapes, seeds)
def test_expansions_from_one_label_end_where_none_helps(shape, seed):
    energy = quantised(energy_of(tree_of(shape), seed, chain=True))
    result = expanded_from_one_label(replace(energy, **{
        name: getattr(energy, name) / 10_000 for name in ("data", "hidden", "edge", "weight")
    }))  # fmt: skip
    assert feasible(energy.tree, result)
    assert energy.of(minimise(energy)) <= energy.of(result) <= energy.of(np.zeros(len(energy.tree), np.int64))
    for label in range(3):
        choices = [{int(own), label, INVISIBLE} for own in result]
        assert energy.of(result) == min(map(energy.of, labellings(energy.tree, 3, choices)))


def test_the_graph_of_figure_1_charges_a_split_below_an_invisible_parent():
    """The table of the document: minimum cuts for a parent with two leaves, V = 1 each, by the sides of the leaves."""
    cost = 2  # the sum of V over the children: the weight of each edge

    def cut(*takes):
        # s -> u(s), u(s) -> q, q -> u(t), u(t) -> t; a vertex that takes the label is on the side of t.
        return min(
            cost * (one + sum(not one and q for q in takes) + sum(not q and other for q in takes) + (not other))
            for one, other in product((False, True), repeat=2)
        )

    assert [cut(False, False), cut(False, True), cut(True, True)] == [2, 4, 2]


class ScipyGraph:
    """The methods of PyMaxflow's graph that expansions use, with scipy's solver."""

    def add_grid_nodes(self, count):
        self.count, self.edges = count, []
        return np.arange(count)

    def add_grid_tedges(self, vertices, source, sink):
        self.add_edges(np.full(self.count, self.count), vertices, source, None)
        self.add_edges(vertices, np.full(self.count, self.count + 1), sink, None)

    def add_edges(self, start, end, capacity, _):
        self.edges.append((start, end, capacity))

    def maxflow(self):
        start, end, capacity = (np.concatenate(part) for part in zip(*self.edges, strict=True))
        side = self.count + 2
        graph = csr_array((np.minimum(capacity, 2**30).astype(np.int32), (start, end)), shape=(side, side))
        flow = maximum_flow(graph, self.count, self.count + 1)
        residual = csr_array((graph - flow.flow).maximum(0))
        residual.eliminate_zeros()
        self.source = breadth_first_order(residual, self.count, return_predecessors=False)
        return flow.flow_value

    def get_grid_segments(self, vertices):
        return ~np.isin(vertices, self.source)


@settings(max_examples=40)
@given(shapes, seeds, st.integers(0, 2))
def test_another_solver_finds_the_same_minimum(shape, seed, label):
    tree = tree_of(shape)
    energy = quantised(energy_of(tree, seed))
    every = labellings(tree, 3)
    start = every[seed % len(every)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(expansions, "_graph", ScipyGraph)
        other = expansion(energy, start, label)
    assert other[1] == expansion(energy, start, label)[1]
    assert feasible(tree, other[0])


def test_a_missing_library_is_named():
    tree = tree_of([(), ()])
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(__import__("sys").modules, "maxflow", None)
        with pytest.raises(ImportError, match=r"pip install 'scrapy-pagelets\[render\]'"):
            expand(energy_of(tree, 1), np.zeros(len(tree), np.int64))


@given(soups)
def test_a_tree_has_the_texts_and_pictures_of_its_page(html):
    nodes = page(html).nodes
    tree = compact(nodes)
    seen = [row for row in range(len(nodes)) if nodes.tag[row] in (TEXT, TAG["img"])]
    assert len(tree.leaves) == len(seen)
    for node in range(len(tree)):
        assert tree.children[node] != 1
        assert tree.inner[node] == (tree.children[node] > 0)
        below = [v for v in range(len(tree)) if tree.first[node] <= tree.first[v] and tree.last[v] <= tree.last[node]]
        assert list(range(node, tree.end[node])) == below
        assert tree.of[tree.rows[node]] == node
    for row in range(len(nodes)):
        leaves = [i for i, leaf in enumerate(seen) if row <= leaf < nodes.end[row]]
        node = tree.of[row]
        assert (node == -1) == (not leaves)
        assert node == -1 or (tree.first[node], tree.last[node]) == (leaves[0], leaves[-1] + 1)


@given(shapes)
def test_two_leaves_meet_in_their_lowest_common_ancestor(shape):
    tree = tree_of(shape)
    count = len(tree.leaves)
    pairs = np.array([(i, j) for i in range(count) for j in range(count) if i != j], np.int64).reshape(-1, 2)
    for (i, j), ancestor in zip(pairs, tree.meeting(*pairs.T), strict=True):
        above = [v for v in range(len(tree)) if tree.first[v] <= min(i, j) and max(i, j) < tree.last[v]]
        assert ancestor == above[-1]
