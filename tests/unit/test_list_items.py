"""Items of one list are decided together where the passes are in doubt, and nothing else is."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_pagelets.decision.corrections import decided_together
from tests.trees import page, soups


@pytest.mark.parametrize(
    ("html", "before", "after"),
    [
        ("<ul><li>One<li>Two<li>Three</ul>", [0.4, 0.4, 0.7], [0.5, 0.5, 0.5]),
        ("<ul><li>One<li>Two</ul>", [0.2, 0.8], [0.2, 0.5]),  # what is surely content stays
        ("<ul><li>One<li>Two<li>Three</ul>", [0.4, 0.4, 0.94], [0.58, 0.58, 0.94]),  # no doubt about the third
        ("<ul><li>One<li>Two</ul>", [0.6, 0.7], [0.6, 0.7]),  # not torn
        ("<ul><li class=a>One<li class=b>Two</ul>", [0.3, 0.6], [0.3, 0.6]),  # of two looks
        ("<ul><li>One</ul><ul><li>Two</ul>", [0.3, 0.6], [0.3, 0.6]),  # of two lists
        ("<div>One</div><div>Two</div>", [0.3, 0.6], [0.3, 0.6]),  # a text, and what is beside it
        (f"<ul><li>{'One word or two. ' * 6}<li>{'And more of it. ' * 6}", [0.4, 0.7], [0.4, 0.7]),  # long texts
        ("<ul><li>One and two<li>Three</ul>", [0.4, 0.8], [0.5, 0.5]),  # words count
        (
            "<ul><li><b>One</b> <b>Two</b><li>Three</ul>",
            [0.35, 0.6, 0.75],
            [0.475, 0.475, 0.5667],
        ),  # the inner ones come last
        ("", [], []),
    ],
)
def test_items_in_doubt_have_the_mean_of_their_list(html, before, after):
    found = decided_together(page(html).nodes, np.array(before, np.float64))
    assert found.tolist() == pytest.approx(after, abs=5e-3)


@given(soups, st.data())
def test_nothing_leaves_the_bounds_of_its_list_or_changes_without_doubt(html, data):
    nodes = page(html).nodes
    values = st.lists(st.floats(0, 1), min_size=len(nodes.leaves), max_size=len(nodes.leaves))
    before = np.array(data.draw(values), np.float64)
    after = decided_together(nodes, before)
    changed = after != before
    assert ((before[changed] > 0.3) & (before[changed] < 0.9)).all()
    assert not changed.any() or before.min() <= after.min() <= after.max() <= before.max()
