"""What a site learns from pages in the compiled core: every table and column is the same as with dictionaries."""

from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_pagelets.evidence.evidence import (
    CAPACITY,
    CLASSES,
    CLASSIFIERS,
    WIDTHS,
    Counts,
    Fragments,
    LossyCounter,
    commonest,
    countable_parts,
    keys_of,
    link_sets,
    mostly_links,
    pages_alike,
)
from scrapy_pagelets.evidence.site_counts import outline
from scrapy_pagelets.page.page import Page
from scrapy_pagelets.sites.site_store import pack
from tests.oracles import site_evidence
from tests.trees import soups

SITE = Path(__file__).parents[1] / "site"
FILES = sorted(SITE.rglob("*.html"))

columns = st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(-3, 30), max_size=40, unique=True)


def assert_equal_columns(found, expected):
    """All columns of two dataclasses have the same type and the same bytes."""
    for one in fields(expected):
        column, other = getattr(found, one.name), getattr(expected, one.name)
        if isinstance(other, np.ndarray):
            assert column.dtype == other.dtype, one.name
            assert column.shape == other.shape, one.name
            assert np.array_equal(column, other, equal_nan=column.dtype.kind == "f"), one.name
        else:
            assert column == other, one.name


class Both:
    """The counts of one site, in the core and in Python."""

    def __init__(self, capacity=CAPACITY):
        self.compiled, self.python = Counts(), Counts()
        tables: Any = self.python.tables
        for name, width in WIDTHS.items():
            self.compiled.tables[name] = LossyCounter(width, capacity)
            tables[name] = site_evidence.LossyCounter(width, capacity)

    def count(self, page, number):
        odds = odds_of(page)
        keys = site_evidence.keys_of(page)
        assert_equal_columns(keys_of(page), keys)
        assert outline(page.nodes) == site_evidence.outline(page.nodes)
        assert list(outline(page.nodes)) == list(site_evidence.outline(page.nodes))  # stored in this order
        assert np.array_equal(mostly_links(page.nodes), site_evidence.mostly_links(page.nodes))
        for mask, expected in zip(countable_parts(page.nodes), site_evidence.countable_parts(page.nodes), strict=True):
            assert mask.tolist() == expected.tolist()
        fragments = Fragments.of(page.nodes, keys, odds)
        self.compiled.add(fragments, number)
        self.python.pages += 1
        site_evidence.count_page(self.python.tables, fragments, number)
        assert pack(self.compiled.arrays()) == pack(self.python.arrays())

    def ask(self, page, number, of_class, known):
        nodes, keys, odds = page.nodes, keys_of(page), odds_of(page)
        found = self.compiled.evidence(nodes, keys, odds, number, of_class, known)
        family = self.compiled.family(nodes, keys, of_class, known)
        tables: Any = self.python.tables
        for name, column in (("text", keys.text), ("placed", keys.placed)):
            pages = commonest(self.compiled.tables[name], column, nodes.words)
            assert pages.tolist() == site_evidence.commonest(tables[name], column, nodes.words).tolist()
            assert self.compiled.tables[name].pages(column).tolist() == tables[name][column][:, 0].tolist()
        alike = site_evidence.pages_alike(tables, nodes, keys, known)
        assert pages_alike(self.compiled.tables, nodes, keys, known).tolist() == alike.tolist()
        others, separate = (number, min(of_class, family), known), family < self.python.pages
        expected = site_evidence.evidence_of(self.python.tables, family, nodes, keys, odds, *others, separate=separate)
        assert_equal_columns(found, expected)
        return found


def odds_of(page):
    """Log odds that depend on the page alone."""
    rng = np.random.default_rng(page.key % 1000)
    return rng.normal(0, 3, (len(page.nodes), CLASSIFIERS))


def test_real_pages():
    both = Both()
    pages = [Page.parse(path.read_bytes(), f"http://tomcat.test/{path.relative_to(SITE)}") for path in FILES]
    for page in pages:
        both.ask(page, 0, 0, False)
        both.count(page, len(page.url) % 3)
    of_class = [sum(len(page.url) % 3 == number for page in pages) for number in range(3)]
    shared = [both.ask(page, len(page.url) % 3, of_class[len(page.url) % 3], True) for page in pages]
    assert max(one.text.max() for one in shared) > 0.9


@given(st.lists(st.tuples(soups, st.integers(0, CLASSES - 1)), max_size=6), st.sampled_from([3, 20, 60_000]))
def test_any_pages(soups_of_site, capacity):
    both, of_class = Both(capacity), [0] * CLASSES
    for place, (html, number) in enumerate(soups_of_site):
        page = Page.parse(html.encode(), f"http://example.com/{place}")
        both.ask(page, number, of_class[number], False)
        both.count(page, number)
        of_class[number] += 1
        both.ask(page, number, of_class[number], True)


def test_a_class_that_shares_nothing_with_the_rest():
    """After a relaunch, a class is a site of its own."""
    both = Both()
    for place in range(9):
        words = "alt" if place < 5 else "neu"
        html = f"<body><ul><li>{words}<li><a href=/{words}>{words} {words}</a></ul><p>{words} {place}".encode()
        page = Page.parse(html, f"http://example.com/{place}")
        both.count(page, place // 5)
    found = both.ask(page, 1, 4, True)
    assert found.pages == 3
    assert both.ask(page, 1, 9, False).pages == 9


@given(st.lists(st.tuples(columns, st.floats(0, 9)), max_size=12), st.integers(1, 30), columns)
def test_tables(batches, capacity, asked):
    found, expected = LossyCounter(2, capacity), site_evidence.LossyCounter(2, capacity)
    for keys, value in batches:
        for table in (found, expected):
            table.add(np.array(keys, np.int64), np.array([1, value]))
        assert len(found) == len(expected) <= capacity
    (one, sums), (other, other_sums) = found.items(), expected.items()
    assert one.tolist() == other.tolist()
    assert sums.dtype == other_sums.dtype
    assert sums.tolist() == other_sums.tolist()
    keys = np.array(asked, np.int64)
    assert found[keys].tolist() == expected[keys].tolist()
    assert found.has(keys).tolist() == expected.has(keys).tolist()


def test_a_table_grows_and_shrinks():
    keys = np.random.default_rng(5).integers(-(2**63), 2**63 - 1, 200_000)
    found, expected = LossyCounter(3, 150_000), site_evidence.LossyCounter(3, 150_000)
    for table in (found, expected):
        table.add(keys[:100_000], np.array([2.0, 0.1, -1]))
        table.add(keys[50_000:140_000], np.arange(270_000.0).reshape(-1, 3))
        table.add(keys[140_000:], np.array([1, 1e9, 1e-9]))
    assert len(found) == 140_000
    assert [column.tobytes() for column in found.items()] == [column.tobytes() for column in expected.items()]
    with pytest.raises(ValueError, match="shape"):
        found.add(keys[:3], np.ones((2, 3)))


@given(soups, st.randoms(use_true_random=False))
def test_sets_of_links(html, random):
    nodes = Page.parse(html.encode(), "http://example.com/").nodes
    targets = np.array([random.choice([0, 5, 7, -(2**62)]) for _ in nodes.links.row], np.int64)
    assert link_sets(nodes, targets).tolist() == site_evidence.link_sets(nodes, targets).tolist()
