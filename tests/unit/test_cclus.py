"""Correlation clustering, ours and as printed: compared with brute force and the trivial clusterings."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_pagelets.papers.graph_cuts.gcuts import cluster, cost, joining
from tests.oracles.printed_cuts import pivots


def random_probabilities(seed, count):
    together = np.random.default_rng(seed).random((count, count))
    together = (together + together.T) / 2
    np.fill_diagonal(together, 1)
    return together


def partitions(count):
    """All partitions as labels."""
    if not count:
        yield []
        return
    for labels in partitions(count - 1):
        for label in range(max(labels, default=-1) + 2):
            yield [*labels, label]


def cost_by_definition(together, penalty, labels):
    """Equation (2) with its lambda, summed pair by pair as in the paper."""
    count = len(labels)
    pairs = [(i, j) for j in range(count) for i in range(j)]
    return sum(1 - together[i, j] if labels[i] == labels[j] else penalty * together[i, j] for i, j in pairs)


@given(st.integers(0, 10_000), st.integers(1, 6), st.sampled_from([0.3, 1.0, 2.0]))
def test_the_cost_is_that_of_the_paper_up_to_a_constant(seed, count, penalty):
    together = random_probabilities(seed, count)
    joined = joining(together, penalty)
    apart = cost_by_definition(together, penalty, list(range(count)))
    for labels in partitions(count):
        assert cost(joined, np.array(labels)) + apart == pytest.approx(cost_by_definition(together, penalty, labels))


@given(st.integers(0, 10_000), st.integers(1, 12), st.sampled_from([0.3, 1.0, 2.0]))
def test_never_above_one_cluster_and_singletons_nor_improved_by_a_move(seed, count, penalty):
    joined = joining(random_probabilities(seed, count), penalty)
    labels = cluster(random_probabilities(seed, count), penalty)
    value = cost(joined, labels)
    assert value <= min(cost(joined, np.zeros(count, np.int64)), cost(joined, np.arange(count))) + 1e-9
    for item in range(count):
        for label in range(count + 1):
            moved = labels.copy()
            moved[item] = label
            assert value <= cost(joined, moved) + 1e-6


@given(st.integers(0, 10_000))
def test_clear_clusters_are_found(seed):
    truth = np.random.default_rng(seed).integers(0, 3, 12)
    together = np.where(truth[:, None] == truth, 0.9, 0.1)
    labels = cluster(together, 1.0)
    assert len(set(zip(truth.tolist(), labels.tolist(), strict=True))) == len(set(truth.tolist())) == labels.max() + 1


@pytest.mark.parametrize("seed", range(5))
def test_no_penalty_separates_all_items_and_a_huge_one_none(seed):
    together = 0.05 + 0.9 * random_probabilities(seed, 8)
    assert cluster(together, 0.0).max() == 7
    assert cluster(together, 1e6).max() == 0


def runs(together, penalty):
    """The clusterings of all runs: of a leaf with those that belong to it rather than not, then of what is left."""

    def of(rest, labels):
        if not rest:
            yield tuple(labels)
        for pivot in rest:
            taken = [q for q in rest if q == pivot or penalty * together[pivot, q] >= 1 - together[pivot, q]]
            found = [pivot if q in taken else label for q, label in enumerate(labels)]
            yield from of([q for q in rest if q not in taken], found)

    return set(of([*range(len(together))], [-1] * len(together)))


@given(st.integers(0, 10_000), st.integers(1, 4), st.sampled_from([0.3, 1.0, 2.0]))
def test_the_printed_form_is_one_of_its_runs(seed, count, penalty):
    together = random_probabilities(seed, count)
    labels = pivots(together, penalty)
    named = [min(np.flatnonzero(labels == label).tolist()) for label in labels]
    every = [[min(i for i, name in enumerate(run) if name == own) for own in run] for run in runs(together, penalty)]
    assert named in every
    least = min(cost_by_definition(together, penalty, run) for run in every)
    assert cost_by_definition(together, penalty, named) >= least - 1e-9


def test_moves_gain_on_average():
    costs = np.zeros(2)
    for seed in range(30):
        together = random_probabilities(seed, 8)
        costs += [cost(joining(together, 1.0), form(together, 1.0)) for form in (cluster, pivots)]
    assert costs[0] < costs[1]
