"""One logistic model for each size class of nodes."""

from __future__ import annotations

import numpy as np
import pytest

from scrapy_pagelets import Page
from scrapy_pagelets.decision.classifiers import SIZES, fit, size_class
from scrapy_pagelets.decision.page_features import NODE_FEATURES, node_features, page_features


def test_sizes_are_told_by_the_words_below():
    page = Page.parse(b"<body><p>one two three<p>one two three four<p>%s<hr></body>" % (b"word " * 300), "http://h/")
    words = page.nodes.total(page.nodes.spread(page.nodes.words))
    brute = [sum(count >= bound for bound in SIZES) for count in words.tolist()]
    assert size_class(page.nodes).tolist() == brute
    assert set(brute) >= {0, 1, 2, 5}


def test_features_of_a_node_are_those_of_its_leaves():
    page = Page.parse(b"<body><ul><li><a href=/a>A b</a><li><a href=/c>C</a></ul><p>No link at all</body>", "http://h/")
    columns = page_features(page, {})
    nodes = node_features(page, columns)
    assert nodes.shape == (len(page.nodes), len(NODE_FEATURES))
    weight = page.nodes.words + 0.1
    mean = (columns * weight[:, None]).sum(axis=0) / weight.sum()
    assert nodes[0, 8 : 8 + 20] == pytest.approx(mean[:20], rel=1e-4)
    leaf = page.nodes.leaves[2]
    assert nodes[leaf, 8:28] == pytest.approx(columns[2, :20], rel=1e-4)


def test_each_size_class_has_a_rule_of_its_own():
    rng = np.random.default_rng(0)
    columns, sizes = rng.normal(size=(4000, 3)), rng.integers(0, 6, 4000)
    template = (columns[:, 0] > 0) == (sizes % 2 == 0)  # no single linear model can separate these
    learnt = fit(columns, sizes, template, np.ones(4000))
    assert np.mean((learnt(columns, sizes) > 0) == template) > 0.97


def test_a_class_that_shows_one_kind_alone_says_nothing():
    columns, sizes = np.array([[0.0], [1.0], [0.0], [1.0]]), np.array([0, 0, 1, 1])
    learnt = fit(columns, sizes, np.array([True, True, False, True]), np.ones(4))
    assert learnt(columns, sizes)[:2].tolist() == [0, 0]
    assert learnt(columns, sizes)[2] < learnt(columns, sizes)[3]


def test_values_beyond_those_seen_are_cut_off():
    rng = np.random.default_rng(0)
    columns = rng.uniform(-1, 1, size=(500, 1))
    learnt = fit(columns, np.zeros(500, np.int64), columns[:, 0] > 0, np.ones(500))
    far, edge = learnt(np.array([[1e9], [1.0]]), np.zeros(2, np.int64))
    assert far == pytest.approx(edge, rel=0.02)
