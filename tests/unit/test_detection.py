"""Template detection: Figures 4 and 5 in SQL and page by page, against the definitions."""

from __future__ import annotations

from itertools import groupby, pairwise
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrapy_pagelets.evidence.partition import partition
from scrapy_pagelets.page.page import Page
from scrapy_pagelets.papers.shared_pagelets import relational
from scrapy_pagelets.papers.shared_pagelets.incremental import GlobalTemplates
from scrapy_pagelets.papers.shared_pagelets.pagelet_shingles import shingles
from tests.oracles.shared_templates import RepeatedPagelet, global_templates, local_templates

SITE = Path(__file__).parents[1] / "site"
#: One row for each pagelet of a template.
FOUND = """
    SELECT DISTINCT p.shingle, g.component, p.page, p.pagelet FROM pagelets p
    JOIN page_groups g ON g.shingle = p.shingle AND g.page = p.page
    JOIN (SELECT shingle, component FROM page_groups GROUP BY shingle, component HAVING COUNT(*) >= {least}) t
    ON t.shingle = g.shingle AND t.component = g.component
    ORDER BY p.shingle, g.component, p.page, p.pagelet
"""


def in_sql(table, links=None, *, sites=None, sketches=None, least=2):
    """The templates by the statements on DuckDB: of Figure 4, or with links of Figure 5."""
    pages = sorted({row[0] for row in table})
    key = pa.string() if pages and isinstance(pages[0], str) else pa.int64()
    marks = [f"sketch {sketches[page]}" if page in sketches else f"page {page}" for page in pages]
    own = [sites[page] if sites else str(page) for page in pages]
    ends = [pair for pair in links or () if {*pair} <= {*pages}]
    tables = {
        "pages": {"page": pa.array(pages, key), "sketch": pa.array(marks, pa.string())},
        "sites": {"page": pa.array(pages, key), "site": pa.array(own, pa.string())},
        "pagelets": {
            "page": pa.array([row[0] for row in table], key),
            "pagelet": pa.array([row[1] for row in table], pa.int64()),
            "shingle": pa.array([row[2] for row in table], pa.int64()),
        },
        "links": {"src": pa.array([s for s, _ in ends], key), "dst": pa.array([t for _, t in ends], key)},
    }
    with duckdb.connect(":memory:") as connection:

        def make(*steps):
            for name, select in steps:
                connection.execute(f"CREATE OR REPLACE TEMP TABLE {name} AS {select}")

        for name, columns in tables.items():
            connection.register(name, pa.table(columns))
        make(*relational.CANDIDATES)
        if links is None:
            make(("page_groups", relational.LOCAL_GROUPS))
        else:
            make(("candidate_links", relational.CANDIDATE_LINKS), ("stars", relational.TEMPLATE_LINKS))
            changed = 1
            while changed:
                make(*relational.ROUND)
                [(changed,)] = connection.sql(relational.CHANGED).fetchall()
                make(("stars", "SELECT * FROM next_stars"))
            make(("page_groups", relational.GLOBAL_GROUPS))
        rows = connection.sql(FOUND.format(least=least)).fetchall()
    groups = groupby(rows, lambda row: row[:2])
    return sorted(RepeatedPagelet(shingle, tuple(row[2:] for row in group)) for (shingle, _), group in groups)


def page_by_page(table, links, *, sketches=None, order=None):
    crawl = GlobalTemplates()
    for page in order or sorted({row[0] for row in table}):
        shingles = [row[2] for row in table if row[0] == page]
        targets = [target for source, target in links if source == page]
        crawl.add(page, shingles, targets, sketch=(sketches or {}).get(page))
    return crawl.templates()


def with_pages(found):
    """What `page_by_page` returns, of the templates of the definitions."""
    return [(template.shingle, template.pages) for template in found]


def rows(pages):
    """PAGELETS of pages with these shingles."""
    return [(page, number, shingle) for page, shingles in pages.items() for number, shingle in enumerate(shingles)]


NUMBERS = st.integers(-3, 6)


@st.composite
def crawls(draw, names=NUMBERS):
    """PAGELETS with one of ten shingles, 0 for none, links and sites of the pages, and sketches of some."""
    pages = draw(st.dictionaries(names, st.lists(st.integers(-2, 7), min_size=1, max_size=5), max_size=8))
    ends = st.one_of(names, st.sampled_from(sorted(pages))) if pages else names
    links = draw(st.lists(st.tuples(ends, ends), max_size=12))
    sites = {page: draw(st.sampled_from("xyz")) for page in pages}
    sketches = draw(st.fixed_dictionaries({}, optional={page: st.integers(0, 4) for page in sorted(pages)}))
    return rows(pages), links, sites, sketches


@settings(deadline=None, max_examples=30)
@given(st.one_of(crawls(), crawls(st.text("ab/é登", max_size=3))), st.booleans(), st.integers(2, 3))
def test_the_statements_give_what_the_definitions_say(crawl, of_sites, least):
    table, links, sites, sketches = crawl
    options = {"sketches": sketches, "least": least}
    assert in_sql(table, **options) == local_templates(table, **options)
    options["sites"] = sites if of_sites else None
    assert in_sql(table, links, **options) == global_templates(table, links, **options)


@settings(deadline=None)
@given(crawls())
def test_page_by_page_is_figure_5(crawl):
    table, links, _, sketches = crawl
    expected = global_templates(table, links, sketches=sketches)
    assert page_by_page(table, links, sketches=sketches) == with_pages(expected)


@settings(deadline=None)
@given(crawls(), st.randoms())
def test_the_order_of_pages_does_not_matter(crawl, random):
    """Except that of duplicates, the first one added counts."""
    table, links, _, _ = crawl
    order = sorted({row[0] for row in table})
    random.shuffle(order)
    assert page_by_page(table, links, order=order) == page_by_page(table, links)


@pytest.mark.parametrize("seed", range(3))
def test_a_larger_crawl(seed):
    rng = np.random.default_rng(seed)
    pages = {page: (10 * rng.pareto(0.7, rng.integers(1, 9))).astype(int).tolist() for page in range(300)}
    table, links = rows(pages), rng.integers(0, 330, (400, 2)).tolist()
    expected = global_templates(table, links)
    assert len(expected) > 20
    assert in_sql(table, links, sketches={}) == expected
    assert page_by_page(table, links) == with_pages(expected)


def test_a_long_chain_of_links():
    """A page between others that lacks the pagelet splits the template in two."""
    n = 3000
    table = rows({page: [7, 10 + page] for page in range(n) if page != 1000} | {1000: [8, 9]})
    found = in_sql(table, list(pairwise(range(n))), sketches={})
    assert [template.pages for template in found] == [list(range(1000)), list(range(1001, n))]


def test_a_site_where_all_pages_are_equal():
    table = rows({page: [page, 7] for page in range(1, 9)})
    assert in_sql(table, sketches=dict.fromkeys(range(9), 42)) == []
    chain = list(pairwise(range(1, 9)))
    assert page_by_page(table, chain, sketches=dict.fromkeys(range(9), 42)) == []


def test_a_page_with_a_pagelet_twice_counts_once():
    chain = [("a", "b")]
    assert page_by_page(rows({"a": [7, 7, 7, 1], "b": [2]}), chain) == []
    assert page_by_page(rows({"a": [7, 7, 1], "b": [7, 2]}), chain) == [(7, ["a", "b"])]


def test_links_need_the_pagelet_on_both_sides():
    table = rows({"a": [7, 1], "hub": [2, 3], "b": [7, 4], "c": [7, 5]})
    assert page_by_page(table, [("hub", "a"), ("hub", "b"), ("b", "unknown"), ("unknown", "c"), ("a", "a")]) == []
    assert page_by_page(table, [("c", "a")]) == [(7, ["a", "c"])]
    assert page_by_page(table, []) == []


def test_links_of_duplicates_are_links_of_their_original():
    table = rows({"a": [7, 1], "a again": [7, 1], "b": [7, 2]})
    copies = {"a": 1, "a again": 1}
    assert page_by_page(table, [("a again", "b")], sketches=copies) == [(7, ["a", "b"])]
    assert page_by_page(table, [("a again", "a")], sketches=copies) == []


def test_templates_grow_during_a_crawl():
    crawl = GlobalTemplates()
    crawl.add("b", [7, 2], ["a", "c"])
    assert crawl.templates() == []
    crawl.add("a", [7, 1], sketch=1)
    assert crawl.templates() == [(7, ["a", "b"])]
    crawl.add("d", [7, 4])
    crawl.add("d", [9], ["b"])
    crawl.add("copy of a", [7, 1], ["c"], sketch=1)
    crawl.add("c", [7, 3, 7])
    assert crawl.templates() == [(7, ["a", "b", "c", "d"])]


def test_the_bundled_site():
    """Its pages link to each other in their menu, so Figure 5 finds nearly all of Figure 4."""
    table, links = [], []
    for path in sorted(SITE.rglob("*.html")):
        page = Page.parse(path.read_bytes(), f"http://example.com/{path.relative_to(SITE)}")
        found = shingles(page, partition(page.nodes))
        exact = np.where(found.candidates, found.exact, 0).tolist()
        table += [(page.key, number, shingle) for number, shingle in enumerate(exact)]
        links += [(page.key, target) for target in page.nodes.links.key.tolist()]
    local, connected = in_sql(table, sketches={}), in_sql(table, links, sketches={})
    assert page_by_page(table, links) == with_pages(connected)
    assert sum(set(template.pages) == {row[0] for row in table} for template in connected) >= 5
    assert {t.shingle for t in connected} <= {t.shingle for t in local}
    assert len(connected) >= 0.8 * len(local)
    assert 5 <= len(in_sql(table, sketches={}, least=10)) < len(local)
