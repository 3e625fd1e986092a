"""What small corrections change, compared with NumPy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_pagelets.decision.corrections import decided_together, has_copies, has_lone_heading
from scrapy_pagelets.decision.half_lines import signs_with_words
from tests.oracles import small_corrections as expected
from tests.trees import page, soups

values = st.lists(st.sampled_from((0.0, 0.31, 0.4, 0.5, 0.7, 0.89, 1.0)), min_size=1, max_size=30)
BLOCK = "<div><p>One two three four five six seven<p>and so on and so on and so on and so on<p>to the end.</div>"


def assert_equal(html, of_leaves):
    nodes = page(html).nodes
    told = np.resize(np.array(of_leaves), len(nodes.leaves))
    assert decided_together(nodes, told).tolist() == expected.decided_together(nodes, told).tolist()
    assert signs_with_words(nodes, told).tolist() == expected.signs_with_words(nodes, told).tolist()
    assert has_lone_heading(nodes, told < 0.5) == expected.has_lone_heading(nodes, told < 0.5)
    assert has_copies(nodes) == expected.has_copies(nodes)


@given(soups, values)
def test_any_page(html, of_leaves):
    assert_equal(html, of_leaves)


@pytest.mark.parametrize("between", ["", "<p>a", "<h2>b</h2>", "<div>", "<ul><li>c<li>d</ul>", "<p>-<b>x</b>"])
@given(of_leaves=values)
def test_lists_headings_and_copies(between, of_leaves):
    assert_equal(f"<h1>Tea</h1>{BLOCK}{between}{BLOCK}<ul><li>One<li>Two - <b>!</b><li><b>Three</b></ul>", of_leaves)


def test_copies_are_behind_each_other():
    assert has_copies(page(BLOCK * 2).nodes)
    assert not has_copies(page(f"<div>{BLOCK}</div>").nodes)


def test_columns_of_another_page_are_refused():
    nodes = page("<p>One<p>Two").nodes
    for function in (decided_together, signs_with_words):
        with pytest.raises(ValueError, match="not a templateness for each leaf"):
            function(nodes, np.zeros(3))
    with pytest.raises(ValueError, match="not have a value for each leaf"):
        has_lone_heading(nodes, np.zeros(3, np.bool_))
