"""The metric: loss and gradient compared with their definitions, and the effect of learning."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_pagelets.papers.graph_cuts.segment_weights import NEIGHBOURS, Group, learn_metric, loss


def groups_of(seed, count=2, size=9, features=3):
    random = np.random.default_rng(seed)
    return [
        Group.of(random.normal(size=(size, features)), random.integers(0, 3, size)) for _ in range(count)
    ]  # fmt: skip


def loss_by_definition(groups, linear):
    """The cost function of the paper, with a pull and a push of one half each, triple by triple."""
    total, count = 0.0, 0
    for group in groups:
        image = [linear @ row for row in group.columns]

        def square(i, j, image=image):
            return float(((image[i] - image[j]) ** 2).sum())

        for node, near in group.target.tolist():
            count += 1
            total += 0.5 * square(node, near)
            total += 0.5 * sum(
                max(0.0, 1 + square(node, near) - square(node, other))
                for other in range(len(image))
                if group.segment[other] != group.segment[node]
            )
    return total / count


@given(st.integers(0, 10_000))
def test_the_loss_is_that_of_the_paper(seed):
    groups = groups_of(seed)
    linear = np.random.default_rng(seed + 1).normal(size=(2, 3))
    assert loss(groups, linear)[0] == pytest.approx(loss_by_definition(groups, linear))


@given(st.integers(0, 10_000))
def test_the_gradient_is_that_of_finite_differences(seed):
    groups = groups_of(seed)
    linear = np.random.default_rng(seed + 1).normal(size=(2, 3))
    gradient = loss(groups, linear)[1]
    step = 1e-6
    for place in np.ndindex(*linear.shape):
        there, back = linear.copy(), linear.copy()
        there[place] += step
        back[place] -= step
        difference = (loss(groups, there)[0] - loss(groups, back)[0]) / (2 * step)
        assert gradient[place] == pytest.approx(difference, abs=1e-4)


@given(st.integers(0, 10_000))
def test_targets_are_the_nearest_of_the_same_segment(seed):
    (group,) = groups_of(seed, 1)
    for node in range(len(group.columns)):
        chosen = group.target[group.target[:, 0] == node, 1]
        alike = [j for j in range(len(group.columns)) if j != node and group.segment[j] == group.segment[node]]
        alike.sort(key=lambda j: ((group.columns[j] - group.columns[node]) ** 2).sum())
        assert set(chosen.tolist()) == set(alike[:NEIGHBOURS])


def test_the_learnt_metric_uses_the_feature_that_separates_segments():
    random = np.random.default_rng(0)
    groups = []
    for _ in range(4):
        segment = random.integers(0, 3, 30)
        columns = random.normal(size=(30, 5))
        columns[:, 0] = segment + 0.05 * random.normal(size=30)  # the other features are noise
        groups.append(Group.of(columns, segment))
    start = np.eye(5)
    learnt = learn_metric(groups, rank=2, iterations=100)
    assert learnt.shape == (2, 5)
    assert loss(groups, learnt)[0] < 0.5 * loss(groups, start)[0]
    strength = (learnt**2).sum(axis=0)
    assert strength[0] > 5 * strength[1:].max()


def test_segments_of_one_node_teach_nothing():
    group = Group.of(np.eye(3), np.arange(3))
    assert group.target.shape == (0, 2)
    with pytest.raises(ValueError, match="no segment has two nodes"):
        learn_metric([group], rank=2, iterations=5)
