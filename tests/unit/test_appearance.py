"""Appearance of nodes: boxes by brute force; gaps, alignment, fonts and colours of a page laid out by hand."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrapy_pagelets.papers.graph_cuts.appearance import (
    APPEARANCE,
    PAIR_APPEARANCE,
    SITUATION_APPEARANCE,
    _boxes,
    appearance,
    pair_appearance,
    situation_appearance,
)
from scrapy_pagelets.papers.graph_cuts.tree import compact
from tests.services.test_gcuts import laid_out
from tests.trees import page, soups

#: Two columns of two boxes each, and a line below both.
HTML = "<div><div><p>a<p>b</div><div><p>c<p>d</div></div><p>e"
BOXES = {"a": (0, 0, 300, 20), "b": (0, 36, 300, 20), "c": (400, 0, 600, 20), "d": (400, 20, 500, 20)}
BOXES["e"] = (0, 216, 1000, 20)


@pytest.fixture
def made():
    parsed = page(HTML)
    layout = laid_out(parsed).layout
    layout.visible[:] = True
    for leaf, string in zip(parsed.nodes.leaves, parsed.nodes.strings, strict=True):
        for name, value in zip(("x", "y", "width", "height"), BOXES[string.strip()], strict=True):
            getattr(layout, name)[leaf] = value
    layout = replace(layout, page_width=1000, page_height=236)
    return compact(parsed.nodes), layout


def node(tree, first, last):
    return int(np.flatnonzero((tree.first == first) & (tree.last == last))[0])


def column(columns, names, name):
    return columns[:, names.index(name)]


def test_gaps_and_alignment(made):
    tree, layout = made
    columns = appearance(tree, layout)
    body, both, left, right = node(tree, 0, 5), node(tree, 0, 4), node(tree, 0, 2), node(tree, 2, 4)

    def of(name, at):
        return columns[at, APPEARANCE.index(name)]

    assert of("children_beside", both) == 1
    assert of("children_beside", body) == of("children_beside", left) == 0
    assert of("largest_gap", left) == pytest.approx(np.log1p(16 / 16))
    assert of("largest_gap", right) == 0
    assert of("largest_gap", body) == pytest.approx(np.log1p(160 / 16))
    assert of("largest_gap", both) == pytest.approx(np.log1p(100 / 16))
    assert (of("children_aligned", left), of("children_of_one_width", left)) == (1, 1)
    assert (of("children_aligned", right), of("children_of_one_width", right)) == (1, 0)
    assert (of("width", both), of("left", right), of("bottom", body)) == (1, 0.4, 1)
    beside = situation_appearance(tree, layout, columns)
    gap_before = column(beside, SITUATION_APPEARANCE, "gap_before")
    assert gap_before[node(tree, 4, 5)] == of("largest_gap", body)
    assert gap_before[both] == -1
    assert column(beside, SITUATION_APPEARANCE, "width_of_parent")[left] == 0.3


def test_pairs_have_their_distance(made):
    tree, layout = made
    a, b, c, _, e = tree.leaves
    columns = appearance(tree, layout)
    features = pair_appearance(tree, layout, columns, np.array([a, a, a]), np.array([b, c, e]))
    assert column(features, PAIR_APPEARANCE, "on_one_line").tolist() == [0, 1, 0]
    assert column(features, PAIR_APPEARANCE, "left_edge").tolist() == [1, 0, 1]
    assert column(features, PAIR_APPEARANCE, "gap_below") == pytest.approx(np.log1p(np.array([16, 0, 196]) / 16))
    assert column(features, PAIR_APPEARANCE, "gap_beside") == pytest.approx(np.log1p(np.array([0, 100, 0]) / 16))


def test_fonts_and_colours(made):
    tree, layout = made
    layout.font_size[tree.seen[4]] = 32
    layout.background[tree.rows[node(tree, 2, 4)]] = 0x000000FF
    columns = appearance(tree, layout)
    line, right = node(tree, 4, 5), node(tree, 2, 4)
    assert column(columns, APPEARANCE, "font_size")[line] == 2
    assert column(columns, APPEARANCE, "largest_font")[0] == 2
    assert column(columns, APPEARANCE, "font_size")[0] == pytest.approx(1.2)
    steps = column(columns, APPEARANCE, "background_step")
    assert steps[right] == 1
    assert steps[line] == 0
    pairs = pair_appearance(tree, layout, columns, tree.leaves[:1], tree.leaves[4:])
    assert column(pairs, PAIR_APPEARANCE, "one_font").tolist() == [0]


@settings(max_examples=60)
@given(soups, st.integers(0, 5))
def test_boxes_enclose_the_visible_leaves(html, seed):
    parsed = laid_out(page(html), seed)
    if not len(parsed.nodes.leaves):
        return
    tree, layout = compact(parsed.nodes), parsed.layout
    boxes = _boxes(tree, layout)
    for at in range(len(tree)):
        rows = [row for row in tree.seen[tree.first[at] : tree.last[at]] if layout.visible[row]]
        sides = [
            (layout.x[r], layout.y[r], layout.x[r] + layout.width[r], layout.y[r] + layout.height[r]) for r in rows
        ]
        left, top, right, bottom = zip(*sides, strict=True) if rows else ([0],) * 4
        assert boxes[at].tolist() == [min(left), min(top), max(right), max(bottom)]
    columns = appearance(tree, layout)
    beside = situation_appearance(tree, layout, columns)
    assert columns.shape == (len(tree), len(APPEARANCE))
    assert beside.shape == (len(tree), len(SITUATION_APPEARANCE))
    assert np.isfinite(beside).all()
