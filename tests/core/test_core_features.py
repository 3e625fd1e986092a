"""The features and the sums of trees: every column is what its definition says, to the last bit."""

from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from scrapy_pagelets import Page
from scrapy_pagelets.core.features import region_features
from scrapy_pagelets.decision.classifiers import Classifier, Trees, chosen, node_odds, summed
from scrapy_pagelets.decision.cut import CUT_FEATURES, cut_features
from scrapy_pagelets.decision.model import LABELLED, load, look_tokens
from scrapy_pagelets.decision.page_features import (
    CONTEXT,
    CONTEXT_FEATURES,
    PAGE_FEATURES,
    REGION,
    SITE_FEATURES,
    Feature,
    FeatureTable,
    context_features,
    page_features,
    site_features,
)
from scrapy_pagelets.evidence.evidence import CLASSIFIERS, SiteEvidence
from scrapy_pagelets.page.page import decode, parse
from tests.oracles.context_features import context_features as expected_context
from tests.oracles.cut_features import cut_features as expected_cut
from tests.oracles.page_features import REGION as EXPECTED_REGION
from tests.oracles.page_features import page_features as expected_page
from tests.oracles.site_features import site_features as expected_site
from tests.oracles.trees import node_odds as expected_odds
from tests.oracles.trees import summed as expected_sums
from tests.trees import soups

SITE = Path(__file__).parents[1] / "site"
URL = "http://example.com/a/b.html"
MODEL = load(LABELLED)
#: The same, column by column in NumPy.
EXPECTED: dict[Any, Any] = {
    page_features: expected_page, region_features: EXPECTED_REGION.columns, site_features: expected_site,
    context_features: expected_context, cut_features: expected_cut, node_odds: expected_odds, summed: expected_sums,
}  # fmt: skip


def same(function, *args, names=None):
    """The result of a function of the core, after it was compared with what is expected."""
    found, expected = function(*args), EXPECTED[function](*args)
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    unequal = ~((found == expected) | (np.isnan(found) & np.isnan(expected)))
    assert not unequal.any(), [names[j] for j in np.flatnonzero(unequal.any(axis=0))] if names else unequal.sum()
    return found


def same_sums(trees, columns):
    same(summed, trees, (columns,))


def evidence_of(page, random):
    """Evidence as other pages might give it: shares, counts, and log odds of which some are missing."""
    n, m, links = len(page.nodes), len(page.nodes.leaves), len(page.nodes.links.row)
    odds = np.where(random.random((2, n, CLASSIFIERS)) < 0.3, np.nan, random.normal(0, 3, (2, n, CLASSIFIERS)))
    shares = {
        name: random.choice([0, 0, 0.25, 1 / 3, 1], size).astype(np.float32)
        for names, size in (
            ("text placed variants values class_text", m),
            ("path exact links class_path linked fresh", n),
            ("target", links),
        )
        for name in names.split()
    }
    mass = np.sort(random.exponential(9, n))[::-1]
    return SiteEvidence(pages=int(random.integers(9)), mass=mass, odds=odds[0], shape_odds=odds[1], **shares)


def assert_equal_features(page, model=MODEL, seed=0):
    random = np.random.default_rng(seed)
    columns = same(page_features, page, model.lexicon, model.own_tokens, names=PAGE_FEATURES)
    same(region_features, page.nodes, names=REGION.names)
    same_sums(model.trees, columns)
    odds = same(node_odds, page, columns, random.choice([-1.5, 0.25, 2], len(columns)), model.classifier)
    same(site_features, page, evidence_of(page, random), odds, 3, names=SITE_FEATURES)
    of_leaves = model.trees(columns) * 3
    same(context_features, page.nodes, of_leaves, names=CONTEXT_FEATURES)
    if len(of_leaves):
        of_cuts = same(cut_features, page.nodes, of_leaves, 3, names=CUT_FEATURES)
        same_sums(model.cut, of_cuts)


def page_of(html, url=URL):
    return Page.from_root(parse(html), url)


@given(soups, st.integers(0, 99))
@example("", 0)
@example("x", 0)
@example("<a href=http://example.com>Home</a> <a href=' #top'>top</a><a href=//example.com.org/x>y</a>", 1)
@example("<title>The café bar?</title><p>CAFÉ<p>caf? bar<p>café<p>The caf<p>bar?<p>bar", 3)
@example("<title>Straße 5</title><h1>STRASSE 5</h1><p>STRASSE</p><h2>Ⅷ ٣</h2><div role=main class=nav>²</div>", 2)
def test_all_columns_are_equal(html, seed):
    assert_equal_features(page_of(html), seed=seed)


@pytest.mark.parametrize("path", sorted(SITE.rglob("*.html")), ids=lambda path: path.name)
def test_real_pages(path):
    assert_equal_features(Page.from_root(parse(decode(path.read_bytes())), f"http://example.com/{path.name}"))


@pytest.mark.parametrize("count", [1, 2, 6, 7, 8, 63, 64, 65, 2000])
def test_deep_and_broad_pages(count):
    assert_equal_features(page_of("<p>x" * count))
    assert_equal_features(page_of("<div class=menu>" * count + "x"))
    assert_equal_features(page_of("<h2>News</h2><ul><li><a href=/x>x</a> y</ul>" * count))


@given(st.lists(st.tuples(st.sampled_from([-9.0, -1.5, -1.25, 0.0, 2.5, 30.0]), st.integers(0, 30)), min_size=1))
def test_equal_log_odds_and_those_on_a_cut(leaves):
    """The order of equal log odds is that of the page; a cut keeps what is below it."""
    page = page_of("".join(f"<p>{'word ' * words}." for _, words in leaves))
    odds = np.array([value for value, _ in leaves])
    same(context_features, page.nodes, odds, names=CONTEXT_FEATURES)
    same(cut_features, page.nodes, odds, 5, names=CUT_FEATURES)


def test_another_lexicon_is_not_mistaken_for_the_one_before():
    page = page_of("<div class=menu>x</div>")
    [menu] = look_tokens(("div", "", "menu", ""))
    models = (({menu: 1.5}, ()), ({menu: -2.0}, ()), ({menu: -2.0}, (menu,)))
    columns = {
        same(page_features, page, lexicon, own_tokens, names=PAGE_FEATURES).tobytes() for lexicon, own_tokens in models
    }
    assert len(columns) == 3


def test_a_feature_that_the_core_does_not_compute_is_named(monkeypatch):
    """One that the table does not have any more is left out, and all others stay as they are."""
    nodes = page_of("<h1>Tea</h1><p>All about green tea.<p>And more.").nodes
    odds = np.array([-2.0, 1.0, 0.5])
    plain = context_features(nodes, odds)
    given_names = import_module("scrapy_pagelets.core.features").given
    monkeypatch.setitem(given_names, "CONTEXT", FeatureTable((*CONTEXT.rows[:3], *CONTEXT.rows[4:])))
    assert np.array_equal(context_features(nodes, odds), np.delete(plain, 3, axis=1))
    monkeypatch.setitem(given_names, "CONTEXT", FeatureTable((*CONTEXT.rows, Feature("clear"))))
    with pytest.raises(LookupError, match="does not compute the feature clear"):
        context_features(nodes, odds)


def test_trees_read_a_matrix_in_parts():
    columns = np.random.default_rng(0).normal(size=(70, 149)).astype(np.float32)
    whole = same(summed, MODEL.trees, (columns,))
    parts = same(summed, MODEL.trees, (columns[:, :1], np.asfortranarray(columns[:, 1:90]), columns[:, 90:]))
    assert whole.tolist() == parts.tolist()
    with pytest.raises(ValueError, match="70 and 3 rows"):
        summed(MODEL.trees, (columns[:, :90], columns[:3, 90:]))
    with pytest.raises(IndexError, match="does not have"):
        summed(MODEL.trees, (columns[:, :90],))


@pytest.mark.parametrize("depth", [1, 3, 6, 7, 8])
@pytest.mark.parametrize("rows", [1, 15, 16, 17, 64, 65, 200])
def test_trees_of_any_depth(depth, rows):
    random = np.random.default_rng(depth)
    shape = (5, depth)
    value = random.normal(size=(5, 2**depth)).astype(np.float32)
    trees = Trees(random.integers(0, 4, shape), random.normal(size=shape).astype(np.float32), value, 0.5)
    columns = random.normal(size=(rows, 4)).astype(np.float32)
    columns[0, 0] = np.nan
    same(summed, trees, (columns,))
    bits = columns[:, trees.feature] > trees.border
    expected = value[np.arange(5), (bits << np.arange(depth)).sum(axis=2)].sum(axis=1) + 0.5
    assert trees(columns).tolist() == pytest.approx(expected.tolist(), abs=1e-5)


def test_columns_of_the_wrong_length_are_refused():
    page = page_of("<p>x<p>y")
    with pytest.raises(ValueError, match="1 values instead of 2"):
        context_features(page.nodes, np.zeros(1))
    with pytest.raises(ValueError, match="1 values instead of 2"):
        cut_features(page.nodes, np.zeros(1), 0)
    columns = page_features(page, {})
    one = Classifier(np.ones((6, 3)), np.zeros(6), np.zeros(3), np.ones(3))
    with pytest.raises(ValueError, match="other features"):
        node_odds(page, columns, np.zeros(2), one)


@pytest.mark.parametrize("size", [0, 1, 16, 64, 65, 150])
def test_trees_are_chosen_by_their_sums(size):
    random = np.random.default_rng(size)
    columns = random.normal(size=(200, len(PAGE_FEATURES) + 2)).astype(np.float32)
    parts, rows = (columns[:, :100], np.asfortranarray(columns[:, 100:])), np.sort(random.choice(200, size, False))
    sums = [summed(trees, parts) for trees in MODEL.roles]
    assert chosen(MODEL.roles, parts, rows).tolist() == np.argmax(sums, axis=0)[rows].tolist()
    assert not chosen((MODEL.roles[0], MODEL.roles[0]), parts, rows).any()


def test_trees_are_chosen_for_the_rows_of_a_matrix():
    columns = np.zeros((3, len(PAGE_FEATURES) + 2), np.float32)
    with pytest.raises(IndexError, match="no row 3"):
        chosen(MODEL.roles, (columns,), np.array([3]))
    with pytest.raises(IndexError, match="does not have"):
        chosen(MODEL.roles, (columns[:, :20],), np.array([0]))
