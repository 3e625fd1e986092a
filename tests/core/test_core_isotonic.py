"""Isotonic smoothing in the compiled core: the same scores, to the last bit."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_pagelets.papers.page_level import _tree, minimise
from tests.oracles import minimum_on_tree
from tests.unit.test_isotonic import SHAPES, levels_of, random_page, random_parent


def assert_equal_scores(parent, x, w, c, k):
    tree, values = _tree(levels_of(parent), parent), np.linspace(0, 1, k)
    found = minimise(tree, values, x, w, c)
    assert found.tolist() == minimum_on_tree.minimise(tree, values, x, w, c).tolist()
    return found


@given(st.integers(0, 2**32), st.integers(1, 60), st.sampled_from([0, 0.3, 1.5, 9]), st.integers(2, 70))
def test_random_trees(seed, n, c, k):
    rng = np.random.default_rng(seed)
    parent, _, x, w = random_page(rng, n, grid=[None, 4][seed % 2])
    assert_equal_scores(parent, x, w * rng.random(n), c, k)
    assert_equal_scores(parent, x, w, c, k)


@pytest.mark.parametrize("shape", [*SHAPES, "random"])
def test_shapes(shape):
    """Their leaves fill several blocks, over which costs are summed."""
    rng = np.random.default_rng(7)
    n = 2000 if shape == "chain" else 5000
    parent = random_parent(rng, n) if shape == "random" else SHAPES[shape](n)
    found = assert_equal_scores(parent, rng.random(n), rng.random(n) * 5, 0.4, 17)
    assert len(np.unique(found)) > 1
