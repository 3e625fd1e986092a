"""The forms of GCuts and CClus that only a benchmark compares, pair by pair; the charts of the benchmarks."""

import numpy as np
import pytest
from lxml import etree

from benchmarks.charts import Axis, chart
from benchmarks.printed_segments import FORMS, unlearnt, unlearnt_pairs, without_parents
from scrapy_pagelets import Page
from scrapy_pagelets.papers.graph_cuts.gcuts import Described, energy_of
from scrapy_pagelets.papers.graph_cuts.segment_weights import load

PAGE = b"""<div id=a><ul><li><a href=/1>One</a><li><a href=/2>Two</a></ul></div>
<div id=b><h1>Head</h1><p>Some longer words of an article, which go on.<p>More of them.</div><p>Imprint"""
WEIGHTS = load("inner")


@pytest.fixture(scope="module")
def described():
    return Described.of(Page.parse(PAGE, "http://example.com/"))


def together(described, one, other):
    """Probability that two nodes belong together: a sum of their differences with equal weights, in a sigmoid."""
    differences = np.abs(described.columns[one] - described.columns[other]) / WEIGHTS.scale
    return 1 / (1 + np.exp(differences.sum() / len(differences)))


def test_without_parents_only_their_costs_are_left_out(described):
    printed, found = energy_of(described, WEIGHTS), without_parents(described, WEIGHTS)
    assert printed.edge.any()
    assert not found.edge.any()
    for name in ("data", "hidden", "weight"):
        assert np.array_equal(getattr(found, name), getattr(printed, name))


def test_the_unlearnt_energy_pair_by_pair(described):
    energy, tree = unlearnt(described, WEIGHTS), described.tree
    inner = np.flatnonzero(tree.inner)
    for node in range(len(tree)):
        for label, other in enumerate(inner):
            apart = (described.columns[node] - described.columns[other]) / WEIGHTS.scale
            assert energy.data[node, label] == pytest.approx(np.sqrt((apart**2).sum()), abs=1e-5)
    for node in range(1, len(tree)):
        assert energy.edge[node] == pytest.approx(together(described, node, tree.parent[node]))
    for one, other, weight in zip(energy.one, energy.other, energy.weight, strict=True):
        assert weight == pytest.approx(together(described, tree.leaves[one], tree.leaves[other]))


def test_the_unlearnt_probabilities_pair_by_pair(described):
    leaves = described.tree.leaves
    found = unlearnt_pairs(described, leaves, WEIGHTS)
    assert found.shape == (len(leaves), len(leaves))
    for i, one in enumerate(leaves):
        for j, other in enumerate(leaves):
            assert found[i, j] == pytest.approx(together(described, one, other))


@pytest.mark.parametrize("name", FORMS)
def test_every_form_cuts_a_page_and_obeys_lambda(described, name):
    cut = FORMS[name].costed(described, WEIGHTS)
    assert len(cut(1.0)) == len(described.tree.leaves)
    assert set(cut(1e9).tolist()) == {0}


def test_a_chart_has_its_lines_where_the_values_are():
    axis = Axis("value", {0.0: "0", 10.0: "ten"})
    drawn = etree.fromstring(chart({"a": [(0, 0), (10, 10)], "b": [(5, 5)]}, axis, axis).encode())
    lines = [line.get("points") for line in drawn.iter("{*}polyline")]
    assert lines == ["60,330 580,30", "320,180"]
    assert {"value", "0", "ten", "a", "b"} <= {text.text for text in drawn.iter("{*}text")}
