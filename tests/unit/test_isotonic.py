"""Isotonic smoothing: the optimum according to several oracles, on trees of all shapes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import Bounds, LinearConstraint, linprog, milp
from scipy.sparse import coo_array, csr_array, hstack, identity
from scipy.sparse.csgraph import maximum_flow

from scrapy_pagelets.page.page import Page
from scrapy_pagelets.papers.page_level import sections, smooth
from tests.oracles.exact_smoothing import isotonic, objective, smooth_distinct, smooth_exact

#: Shapes that pages have, and that they should not have: parents of n rows.
SHAPES = {
    "chain": lambda n: np.arange(-1, n - 1),
    "star": lambda n: np.r_[-1, np.zeros(n - 1, np.int64)],
    "binary": lambda n: np.r_[-1, np.arange(n - 1) // 2],
    "comb": lambda n: np.r_[-1, np.arange(n - 1) // 2 * 2],
}


def levels_of(parent):
    depth = np.zeros(len(parent), np.int64)
    for row in range(1, len(parent)):
        depth[row] = depth[parent[row]] + 1
    return np.split(np.argsort(depth, kind="stable"), np.cumsum(np.bincount(depth))[:-1])


def random_parent(rng, n):
    return np.array([-1, *(int(rng.integers(row)) for row in range(1, n))])


def random_page(rng, n, grid=None):
    """A tree, its levels, scores and weights, some of them zero; scores on a grid make ties."""
    parent = random_parent(rng, n)
    x = rng.random(n) if grid is None else rng.integers(grid + 1, size=n) / grid
    return parent, levels_of(parent), x, rng.integers(0, 4, n) / 2


def brute_force(parent, x, w, c, values):
    """Minimum of the objective over all monotone scores with these values."""
    y = np.asarray(values)[np.indices((len(values),) * len(x)).reshape(len(x), -1)]
    above = y[parent[1:]]
    cost = w @ np.abs(x[:, None] - y) + c * (above != y[1:]).sum(0)
    return cost[(above <= y[1:]).all(0)].min()


def linear_program(parent, x, w):
    """Minimum of the objective for c=0: variables y and e >= |x - y|."""
    n = len(x)
    one, none = identity(n), csr_array((n, n))
    edges = np.arange(1, n)
    signs = np.r_[np.ones(n - 1), -np.ones(n - 1)]
    order = coo_array((signs, (np.r_[edges, edges] - 1, np.r_[parent[1:], edges])), (n - 1, n)).tocsr()
    rows = [hstack((one, -one)), hstack((-one, -one)), hstack((order, none[1:]))]
    limits = np.concatenate((x, -x, np.zeros(n - 1)))
    matrix = csr_array(np.concatenate([block.toarray() for block in rows]))
    found = linprog(np.concatenate((np.zeros(n), w)), A_ub=matrix, b_ub=limits, bounds=(None, None))
    assert found.status == 0
    return found.fun


def integer_program(parent, x, w, c):
    """Minimum for c>0: variables y, e >= |x - y|, and for each edge z of {0, 1} >= y_child - y_parent."""
    n = len(x)
    one = np.eye(n)
    none = np.zeros((n, n - 1))
    step = np.zeros((n - 1, n))
    step[np.arange(n - 1), np.arange(1, n)] = 1
    step[np.arange(n - 1), parent[1:]] -= 1
    zero = np.zeros((n - 1, n))
    matrix = np.block([[one, one, none], [-one, one, none], [step, zero, zero[:, 1:]], [-step, zero, np.eye(n - 1)]])
    lower = np.concatenate((x, -x, np.zeros(2 * (n - 1))))
    found = milp(
        np.concatenate((np.zeros(n), w, np.full(n - 1, c))),
        constraints=LinearConstraint(matrix, lower, np.inf),
        integrality=np.concatenate((np.zeros(2 * n), np.ones(n - 1))),
        bounds=Bounds(0, 1),
        options={"mip_rel_gap": 0},
    )
    assert found.status == 0
    return found.fun


def closure(parent, x, w, c):
    """Minimum of the objective for scores 0 and 1, as a minimum cut; x, w and c are multiples of 1/8."""
    n = len(x)
    source, sink, never = n, n + 1, 10**9
    edges = []
    for row in range(n):
        edges.append((source, row, round(64 * w[row] * x[row])))  # the row is 0
        edges.append((row, sink, round(64 * w[row] * (1 - x[row]))))  # the row is 1
    for row in range(1, n):
        edges.append((parent[row], row, never))  # the parent is 1 and the child is 0
        edges.append((row, parent[row], round(64 * c)))  # the child alone is 1
    tails, heads, capacities = (np.array(column, np.int32) for column in zip(*edges, strict=True))
    graph = csr_array(coo_array((capacities, (tails, heads)), (n + 2, n + 2)))
    return maximum_flow(graph, source, sink).flow_value / 64


def assert_monotone(parent, y):
    assert (y[parent[1:]] <= y[1:]).all()


@pytest.mark.parametrize("c", [0, 0.1, 0.5, 2])
@pytest.mark.parametrize("n", range(1, 7))
def test_grid_equals_brute_force(n, c):
    rng = np.random.default_rng(n)
    for _ in range(20):
        parent, levels, x, w = random_page(rng, n)
        y = smooth(levels, parent, x, w, c, 5)
        assert_monotone(parent, y)
        assert set(y) <= set(np.linspace(0, 1, 5))
        assert objective(parent, x, y, w, c) == pytest.approx(brute_force(parent, x, w, c, np.linspace(0, 1, 5)))


@pytest.mark.parametrize("c", [0, 0.1, 0.5, 2])
@pytest.mark.parametrize("n", range(1, 6))
def test_exact_equals_brute_force_over_any_values(n, c):
    rng = np.random.default_rng(n)
    for grid in [None] * 10 + [3] * 10:
        parent, levels, x, w = random_page(rng, n, grid)
        y = smooth_exact(levels, parent, x, w, c)
        assert_monotone(parent, y)
        assert set(y) <= set(x)
        values = np.unique(np.concatenate((x, (x[1:] + x[:-1]) / 2, rng.random(2))))
        assert objective(parent, x, y, w, c) == pytest.approx(brute_force(parent, x, w, c, values))


@pytest.mark.parametrize("shape", [*SHAPES, "random"])
def test_no_penalty_equals_linear_program(shape):
    rng = np.random.default_rng(1)
    n = 120
    parent, levels, x, w = random_page(rng, n)
    if shape != "random":
        parent = SHAPES[shape](n)
        levels = levels_of(parent)
    y = isotonic(levels, parent, x, w)
    assert_monotone(parent, y)
    assert objective(parent, x, y, w, 0) == pytest.approx(linear_program(parent, x, w))


@pytest.mark.parametrize("c", [0.05, 0.3, 1])
@pytest.mark.parametrize("seed", range(3))
def test_penalty_equals_integer_program(c, seed):
    parent, levels, x, w = random_page(np.random.default_rng(seed), 25)
    y = smooth_exact(levels, parent, x, w, c)
    assert objective(parent, x, y, w, c) == pytest.approx(integer_program(parent, x, w, c), abs=1e-6)


@pytest.mark.parametrize("c", [0, 0.125, 0.5, 2])
def test_two_levels_equal_minimum_cut(c):
    rng = np.random.default_rng(2)
    for n in (1, 2, 10, 60, 200):
        parent, levels, x, w = random_page(rng, n, 8)
        y = smooth(levels, parent, x, w, c, 2)
        assert set(y) <= {0, 1}
        assert objective(parent, x, y, w, c) == pytest.approx(closure(parent, x, w, c))


@pytest.mark.parametrize("c", [0, 0.3])
def test_no_penalty_by_heaps_equals_dynamic_program(c):
    """On a grid that includes all scores, the scores agree: both choose the lowest of equal optima."""
    rng = np.random.default_rng(3)
    for n in (1, 2, 30, 300):
        parent, levels, x, w = random_page(rng, n, 16)
        x[rng.integers(n)] = 0
        exact, grid = smooth_exact(levels, parent, x, w, c), smooth(levels, parent, x, w, c, 17)
        assert objective(parent, x, exact, w, c) == pytest.approx(objective(parent, x, grid, w, c))
        if c == 0:
            assert (exact == grid).all()


pages = st.integers(1, 40).flatmap(
    lambda n: st.tuples(
        st.tuples(*(st.integers(0, max(0, row - 1)) for row in range(1, n))).map(lambda p: np.array([-1, *p])),
        st.lists(st.floats(0, 1), min_size=n, max_size=n).map(np.array),
        st.lists(st.floats(0, 100), min_size=n, max_size=n).map(np.array),
    )
)


@settings(deadline=None)
@given(pages, st.sampled_from([0, 0.01, 0.3, 5]), st.integers(2, 70))
def test_any_page(page, c, k):
    parent, x, w = page
    levels = levels_of(parent)
    grid, exact = smooth(levels, parent, x, w, c, k), smooth_exact(levels, parent, x, w, c)
    best = objective(parent, x, exact, w, c)
    tolerance = 1e-9 * (1 + w.sum())
    assert_monotone(parent, grid)
    assert_monotone(parent, exact)
    assert best - tolerance <= objective(parent, x, grid, w, c) <= best + w.sum() / 2 / (k - 1) + tolerance
    # No worse than a single section, nor than isotonic regression without c.
    flat = np.full(len(x), np.sort(x)[np.searchsorted(np.cumsum(w[np.argsort(x)]), w.sum() / 2)] if w.any() else 0)
    assert best <= objective(parent, x, flat, w, c) + tolerance
    assert best <= objective(parent, x, isotonic(levels, parent, x, w), w, c) + tolerance
    # Smoothing again changes nothing if sections cost nothing.
    assert objective(parent, exact, smooth_exact(levels, parent, exact, w, 0), w, 0) <= tolerance


@settings(deadline=None)
@given(pages)
def test_idempotent_without_penalty(page):
    parent, x, w = page
    levels = levels_of(parent)
    w = w + 1
    y = isotonic(levels, parent, x, w)
    assert (isotonic(levels, parent, y, w) == y).all()
    z = smooth(levels, parent, x, w, 0)
    assert (smooth(levels, parent, z, w, 0) == z).all()


def test_monotone_scores_stay():
    rng = np.random.default_rng(4)
    parent, levels, x, w = random_page(rng, 500)
    for row in range(1, 500):
        x[row] = max(x[row], x[parent[row]])
    assert (isotonic(levels, parent, x, w + 1) == x).all()


def test_ties_go_to_less_template():
    levels, parent = [np.array([0]), np.array([1])], np.array([-1, 0])
    x, w = np.array([1.0, 0.0]), np.ones(2)
    assert smooth(levels, parent, x, w, 0).tolist() == [0, 0]
    assert isotonic(levels, parent, x, w).tolist() == [0, 0]


def test_high_cost_makes_one_section_and_no_cost_the_most():
    parent, levels, x, w = random_page(np.random.default_rng(5), 200)
    counts = [sections(parent, smooth(levels, parent, x, w, c)).max() for c in (0, 0.1, 0.3, 1, 1e6)]
    assert counts == sorted(counts, reverse=True)
    assert counts[0] > 20
    assert counts[-1] == 0


def by_distinct_values(parent, x, w, c, values):
    """Minimum of the objective as the slides print it, over all monotone scores with these values."""
    y = np.asarray(values)[np.indices((len(values),) * len(x)).reshape(len(x), -1)]
    cost = w @ np.abs(x[:, None] - y) + c * np.array([len(set(one)) for one in y.T.tolist()])
    return cost[(y[parent[1:]] <= y[1:]).all(0)].min()


@pytest.mark.parametrize("c", [0, 0.1, 0.5, 2])
@pytest.mark.parametrize("n", range(1, 7))
def test_the_printed_objective_equals_brute_force(n, c):
    rng = np.random.default_rng(17 * n)
    for grid in (4, None):
        parent, levels, x, w = random_page(rng, n, grid)
        values = np.linspace(0, 1, 5) if grid else np.unique(x)
        y = smooth_distinct(levels, parent, x, w, c, values)
        assert_monotone(parent, y)
        cost = w @ np.abs(x - y) + c * len(set(y))
        assert cost == pytest.approx(by_distinct_values(parent, x, w, c, values))


def test_the_penalty_is_for_sections_and_not_for_distinct_values():
    """The formula of the slides counts values, their words sections: two children of one value are two of these."""
    parent, x, w, c = np.array([-1, 0, 0]), np.array([0.8, 1, 1]), np.ones(3), 0.1
    y = smooth(levels_of(parent), parent, x, w, c, 11)
    assert y.tolist() == [1, 1, 1]
    assert objective(parent, x, y, w, c) == pytest.approx(brute_force(parent, x, w, c, x)) == pytest.approx(0.2)
    assert np.abs(x - y).sum() + c * len(set(y)) == pytest.approx(0.3)
    assert smooth_distinct(levels_of(parent), parent, x, w, c, x).tolist() == [0.8, 1, 1]


def test_a_chain_has_as_many_distinct_values_as_sections():
    rng = np.random.default_rng(7)
    parent = SHAPES["chain"](5)
    for _ in range(20):
        x = rng.integers(5, size=5) / 4
        y = smooth(levels_of(parent), parent, x, np.ones(5), 0.3, 5)
        least = by_distinct_values(parent, x, np.ones(5), 0.3, np.unique(x))
        assert objective(parent, x, y, np.ones(5), 0.3) + 0.3 == pytest.approx(least)


def test_order_of_the_levels_does_not_matter():
    """Nor does the numbering of the rows: only the tree counts."""
    rng = np.random.default_rng(6)
    parent, levels, x, w = random_page(rng, 300)
    y = smooth(levels, parent, x, w)
    shuffled = [rng.permutation(rows) for rows in levels]
    assert objective(parent, x, smooth(shuffled, parent, x, w), w, 0.3) == pytest.approx(
        objective(parent, x, y, w, 0.3)
    )
    number = rng.permutation(300)
    moved = np.empty(300, np.int64)
    moved[number] = np.where(parent < 0, -1, number[parent])
    back = np.argsort(number)
    z = smooth([number[rows] for rows in levels], moved, x[back], w[back])
    assert objective(parent, x, z[number], w, 0.3) == pytest.approx(objective(parent, x, y, w, 0.3))


@pytest.mark.parametrize("shape", SHAPES)
def test_five_thousand_rows_of_any_shape(shape):
    rng = np.random.default_rng(7)
    parent = SHAPES[shape](5000)
    levels = levels_of(parent)
    x, w = rng.random(5000), np.ones(5000)
    y = smooth(levels, parent, x, w)
    assert_monotone(parent, y)
    assert objective(parent, x, smooth(levels, parent, x, w, 0), w, 0) == pytest.approx(
        objective(parent, x, isotonic(levels, parent, x, w), w, 0), abs=5000 / 126
    )
    assert len(np.unique(sections(parent, y))) == 1 + (y[parent[1:]] != y[1:]).sum()


@pytest.mark.parametrize("shape", ["star", "binary", "random"])
def test_a_hundred_thousand_rows(shape):
    rng = np.random.default_rng(8)
    n = 100_000
    parent = (
        np.r_[-1, (rng.random(n - 1) * np.arange(1, n)).astype(np.int64)] if shape == "random" else SHAPES[shape](n)
    )
    levels = levels_of(parent)
    x, w = rng.random(n), rng.random(n)
    grid, exact = smooth(levels, parent, x, w, 0, 16), isotonic(levels, parent, x, w)
    assert_monotone(parent, grid)
    assert_monotone(parent, exact)
    assert 0 <= objective(parent, x, grid, w, 0) - objective(parent, x, exact, w, 0) <= w.sum() / 30


def test_deep_page():
    body = b"<div>" * 2000 + b"deep" + b"</div>" * 2000 + b"<p>shallow"
    nodes = Page.parse(body, "http://example.com/").nodes
    x = np.linspace(0.9, 0.1, len(nodes))
    y = smooth(nodes.levels, nodes.parent, x, np.ones(len(nodes)))
    assert len(nodes.levels) > 2000
    assert_monotone(nodes.parent, y)


def test_page_of_one_node():
    levels, parent = [np.array([0])], np.array([-1])
    assert smooth(levels, parent, np.array([0.5]), np.ones(1), 0.3, 3).tolist() == [0.5]
    assert smooth_exact(levels, parent, np.array([0.37]), np.ones(1)).tolist() == [0.37]
    assert isotonic(levels, parent, np.array([0.37]), np.zeros(1)).tolist() == [0.37]
    assert sections(parent, np.array([0.5])).tolist() == [0]
    nodes = Page.parse(b"", "http://example.com/").nodes
    assert smooth(nodes.levels, nodes.parent, np.ones(len(nodes)), np.ones(len(nodes))).tolist() == [1] * len(nodes)


def test_no_weight_at_all():
    parent, levels, x, w = random_page(np.random.default_rng(9), 50)
    for y in (
        smooth(levels, parent, x, w * 0),
        smooth_exact(levels, parent, x, w * 0),
        isotonic(levels, parent, x, w * 0),
    ):
        assert len(np.unique(y)) == 1


def test_sections_are_connected_runs():
    parent = np.array([-1, 0, 1, 1, 0, 4, 0])
    y = np.array([0.1, 0.5, 0.5, 0.9, 0.5, 0.5, 0.1])
    assert sections(parent, y).tolist() == [0, 1, 1, 2, 3, 3, 0]


@settings(deadline=None)
@given(pages)
def test_sections_equal_a_walk(page):
    parent, x, _ = page
    y = np.round(x * 2) / 2
    numbers = {0: 0}
    for row in range(1, len(y)):
        numbers[row] = numbers[int(parent[row])] if y[row] == y[parent[row]] else max(numbers.values()) + 1
    assert sections(parent, y).tolist() == list(numbers.values())


def test_too_large_to_be_exact():
    n = 12_000
    parent = SHAPES["star"](n)
    with pytest.raises(ValueError, match="use smooth"):
        smooth_exact([np.array([0]), np.arange(1, n)], parent, np.arange(n) / n, np.ones(n))
