"""Template detection: Figures 4 and 5 on tables, in SQL and incrementally, against a literal implementation."""

from __future__ import annotations

import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import networkx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrapy_pagelets.evidence.partition import partition
from scrapy_pagelets.page.page import Page
from scrapy_pagelets.papers.shared_pagelets import relational
from scrapy_pagelets.papers.shared_pagelets.global_templates import (
    AUTHORITIES,
    Components,
    GlobalTemplates,
    RepeatedPagelet,
    global_templates,
    local_templates,
)
from scrapy_pagelets.papers.shared_pagelets.pagelet_shingles import shingles

SITE = Path(__file__).parents[1] / "site"
#: The two forms of each algorithm.
LOCAL = pytest.mark.parametrize("local", [local_templates, relational.local_templates])
GLOBAL = pytest.mark.parametrize("connected", [global_templates, relational.global_templates])
DETECT = pytest.mark.parametrize(
    "detect",
    [
        local_templates,
        relational.local_templates,
        lambda table, **other: global_templates(table, chain_of(table), **other),
        lambda table, **other: relational.global_templates(table, chain_of(table), **other),
    ],
)


def chain_of(table):
    """LINKS from each page to the next."""
    pages = sorted({row[0] for row in table})
    return list(pairwise(pages))


def rows(pages):
    """PAGELETS of pages with these shingles."""
    return [(page, number, shingle) for page, shingles in pages.items() for number, shingle in enumerate(shingles)]


NUMBERS = st.integers(-3, 6)


@st.composite
def crawls(draw, names=NUMBERS):
    """Pages with shingles (one of ten, 0 for none), links and sites, and sketches of some pages."""
    pages = draw(st.dictionaries(names, st.lists(st.integers(-2, 7), min_size=1, max_size=5), max_size=8))
    ends = st.one_of(names, st.sampled_from(sorted(pages))) if pages else names
    links = draw(st.lists(st.tuples(ends, ends), max_size=12))
    sites = {page: draw(st.sampled_from("xyz")) for page in pages}
    sketches = draw(st.none() | st.fixed_dictionaries({}, optional={page: st.integers(0, 4) for page in sorted(pages)}))
    return pages, links, sites, sketches


def literally(pages, links, sites, sketches, authority=None, least=2):
    """Definition 4, literally: equal shingles and, with an authority, connected pages.

    Duplicates are one page: by their sketches, or, in Figure 4 alone, by their shingles.
    """
    original = {}
    first: dict[object, object] = {}
    for page in sorted(pages):
        by_shingles = sketches is None and authority is None
        mark = tuple(pages[page]) if by_shingles else (sketches or {}).get(page, ("page", page))
        original[page] = first.setdefault(mark, page)
    found = []
    for shingle in {s for owned in pages.values() for s in owned if s}:
        graph = networkx.Graph()
        graph.add_nodes_from(page for page in pages if shingle in pages[page] and original[page] == page)
        members = set(graph)
        if authority is None:
            networkx.add_path(graph, sorted(members))
        if authority in ("links", "either"):
            for ends in links:
                one, other = (original.get(end) for end in ends)
                if one in members and other in members:
                    graph.add_edge(one, other)
        if authority in ("domain", "either"):
            for page in pages:
                if original[page] in members:
                    graph.add_edge(original[page], ("site", sites[page]))
        for component in networkx.connected_components(graph):
            owners = sorted(component & members)
            if len(owners) >= least:
                pagelets = [(p, i) for p in owners for i, s in enumerate(pages[p]) if s == shingle]
                found.append(RepeatedPagelet(shingle, tuple(pagelets)))
    return sorted(found)


def stream(pages, links, sites, sketches, authority, order=None):
    crawl = GlobalTemplates(authority)
    for page in order or sorted(pages):
        crawl.add(
            page,
            enumerate(pages[page]),
            [target for source, target in links if source == page],
            site=sites[page],
            sketch=None if sketches is None else sketches.get(page, 1000 + sorted(pages).index(page)),
        )
    return crawl.templates()


@given(crawls(), st.integers(2, 4))
def test_local_is_figure_4(crawl, least):
    pages, links, sites, sketches = crawl
    expected = literally(pages, links, sites, sketches, None, least)
    assert local_templates(rows(pages), sketches=sketches, least=least) == expected


@settings(deadline=None)
@given(crawls(), st.sampled_from(AUTHORITIES), st.integers(2, 3))
def test_global_is_figure_5(crawl, authority, least):
    pages, links, sites, sketches = crawl
    expected = literally(pages, links, sites, sketches, authority, least)
    table = rows(pages)
    assert global_templates(table, links, authority=authority, sites=sites, sketches=sketches, least=least) == expected


@settings(deadline=None)
@given(crawls(), st.sampled_from(AUTHORITIES))
def test_streaming_is_batch(crawl, authority):
    pages, links, sites, sketches = crawl
    expected = global_templates(rows(pages), links, authority=authority, sites=sites, sketches=sketches)
    assert stream(pages, links, sites, sketches, authority) == expected


@settings(deadline=None)
@given(crawls(), st.sampled_from(AUTHORITIES), st.randoms())
def test_streaming_in_any_order(crawl, authority, random):
    """Except that of duplicates, the first one added counts."""
    pages, links, sites, _ = crawl
    order = sorted(pages)
    random.shuffle(order)
    expected = stream(pages, links, sites, {}, authority)
    assert stream(pages, links, sites, {}, authority, order) == expected


@settings(deadline=None, max_examples=30)
@given(st.one_of(crawls(), crawls(st.text("ab/é登", max_size=3))), st.sampled_from(AUTHORITIES), st.integers(2, 3))
def test_relational_form_is_the_same(crawl, authority, least):
    pages, links, sites, sketches = crawl
    table = rows(pages)
    options = {"sketches": sketches, "least": least}
    assert relational.local_templates(table, **options) == local_templates(table, **options)
    options |= {"authority": authority, "sites": sites}
    assert relational.global_templates(table, links, **options) == global_templates(table, links, **options)


@settings(deadline=None)
@given(crawls(), st.randoms())
def test_order_of_rows_does_not_matter(crawl, random):
    pages, links, _, sketches = crawl
    table = rows(pages)
    local, connected = local_templates(table, sketches=sketches), global_templates(table, links, sketches=sketches)
    table *= 2
    random.shuffle(table)
    random.shuffle(links)
    turned = [(target, source) for source, target in links]
    assert local_templates(table, sketches=sketches) == local
    assert global_templates(table, turned, sketches=sketches) == connected


@pytest.mark.parametrize("seed", range(5))
def test_larger_crawl_in_every_form(seed):
    rng = np.random.default_rng(seed)
    pages = {page: (10 * rng.pareto(0.7, rng.integers(1, 9))).astype(int).tolist() for page in range(300)}
    links = rng.integers(0, 330, (400, 2))
    table, pairs = np.array(rows(pages)), links.tolist()
    expected = literally(pages, pairs, {}, None, "links")
    assert len(expected) > 20
    assert global_templates(table, links) == relational.global_templates(table, links) == expected
    assert stream(pages, pairs, dict.fromkeys(pages), None, "links") == expected
    assert local_templates(table) == literally(pages, pairs, {}, None)


def test_long_chain_of_links():
    """A page between others that lacks the pagelet splits the template in two."""
    n = 3000
    table = rows({page: [7, 10 + page] for page in range(n) if page != 1000} | {1000: [8, 9]})
    links = [(page, page + 1) for page in range(n - 1)]
    expected = [tuple(range(1000)), tuple(range(1001, n))]
    for form in (global_templates, relational.global_templates):
        assert [template.pages for template in form(table, links)] == expected


@LOCAL
def test_copies_of_one_page_are_no_template(local):
    assert local(rows({page: [1, 2, 3] for page in range(10_000)})) == []
    assert local(rows({page: [5, 6] for page in "abcdefgh"})) == []


@GLOBAL
def test_figure_5_has_no_step_for_copies(connected):
    assert len(connected(rows({page: [1, 2, 3] for page in range(1000)}), list(pairwise(range(1000))))) == 3


@DETECT
def test_site_where_all_pages_are_equal(detect):
    assert detect(rows({page: [page, 7] for page in range(1, 9)}), sketches=dict.fromkeys(range(9), 42)) == []
    assert len(detect(rows({page: [5, 6] for page in "abcdefgh"}), sketches={})) == 2


@DETECT
def test_copies_beside_other_pages(detect):
    pages = {f"copy {i:05}": [7, 1] for i in range(1000)} | {"other": [7, 2]}
    copies = {page: 1 for page in pages if page != "other"}
    assert detect(rows(pages), sketches=copies) == [RepeatedPagelet(7, (("copy 00000", 0), ("other", 0)))]
    assert detect(rows(pages), sketches=copies, least=3) == []


@DETECT
def test_page_with_a_pagelet_twice_counts_once(detect):
    assert detect(rows({"a": [7, 7, 7, 1], "b": [2]})) == []
    found = detect(rows({"a": [7, 7, 1], "b": [7, 2]}))
    assert found == [RepeatedPagelet(7, (("a", 0), ("a", 1), ("b", 0)))]
    assert found[0].pages == ("a", "b")


@DETECT
def test_pagelets_without_a_shingle(detect):
    assert detect(rows({"a": [0, 1], "b": [0, 2], "c": [0, 3]})) == []


@DETECT
def test_empty_tables(detect):
    assert detect([]) == []
    assert detect(np.zeros((0, 3), np.int64)) == []


@GLOBAL
def test_links_need_the_pagelet_on_both_sides(connected):
    table = rows({"a": [7, 1], "hub": [2, 3], "b": [7, 4], "c": [7, 5]})
    assert connected(table, [("hub", "a"), ("hub", "b"), ("b", "unknown"), ("unknown", "c"), ("a", "a")]) == []
    assert connected(table, [("c", "a")]) == [RepeatedPagelet(7, (("a", 0), ("c", 0)))]
    assert connected(table, []) == []


@GLOBAL
def test_links_of_duplicates_are_links_of_their_original(connected):
    table = rows({"a": [7, 1], "a again": [7, 1], "b": [7, 2]})
    copies = {"a": 1, "a again": 1}
    assert connected(table, [("a again", "b")], sketches=copies) == [RepeatedPagelet(7, (("a", 0), ("b", 0)))]
    assert connected(table, [("a again", "a")], sketches=copies) == []


@GLOBAL
def test_authority(connected):
    """Two pages of a site, a page of another site that links to them, and an unrelated page with the same licence."""
    one, two, sister = "http://a.example.com/1", "http://b.example.com/2", "http://sister.org/"
    table = rows({one: [7, 1], two: [7, 2], sister: [7, 3], "http://stranger.net/": [7, 4]})
    links = [(sister, one)]
    assert [t.pages for t in connected(table, links)] == [(one, sister)]
    assert [t.pages for t in connected(table, links, authority="domain")] == [(one, two)]
    assert [t.pages for t in connected(table, links, authority="either")] == [(one, two, sister)]
    sites = {one: 1, two: 2, sister: 2, "http://stranger.net/": 1}
    found = connected(table, links, authority="domain", sites=sites)
    assert [t.pages for t in found] == [(one, "http://stranger.net/"), (two, sister)]


def test_authority_of_a_streaming_crawl():
    crawl = GlobalTemplates("domain")
    for page, shingle in (("http://a.example.com/", 1), ("http://b.example.com/", 2), ("http://other.org/", 3)):
        crawl.add(page, [(0, 7), (1, shingle)])
    assert [t.pages for t in crawl.templates()] == [("http://a.example.com/", "http://b.example.com/")]


def test_templates_grow_during_a_crawl():
    crawl = GlobalTemplates()
    crawl.add("b", [(0, 7), (1, 2)], ["a", "c"])
    assert crawl.templates() == []
    crawl.add("a", [(0, 7), (1, 1)], sketch=1)
    assert [t.pages for t in crawl.templates()] == [("a", "b")]
    assert crawl.templates(least=3) == []
    crawl.add("d", [(0, 7), (1, 4)])
    crawl.add("d", [(0, 9)], ["b"])
    crawl.add("copy of a", [(0, 7), (1, 1)], ["c"], sketch=1)
    crawl.add("c", [(0, 7), (1, 3), (2, 7)])
    assert crawl.templates() == [RepeatedPagelet(7, (("a", 0), ("b", 0), ("c", 0), ("c", 2), ("d", 0)))]


def test_least_pages_of_a_template():
    pages = {page: [1 if page < 30 else 2, 3 if page < 2 else 4, 1000 + page] for page in range(100)}
    assert [t.shingle for t in local_templates(rows(pages))] == [1, 2, 3, 4]
    assert [t.shingle for t in local_templates(rows(pages), least=3)] == [1, 2, 4]


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20))), st.sets(st.integers(0, 25)))
def test_components_are_those_of_networkx(edges, alone):
    graph, found = networkx.empty_graph(sorted(alone)), Components[int]()
    for vertex in alone:
        found.add(vertex)
    for one, other in edges:
        graph.add_nodes_from((one, other))
        assert found.union(one, other) == (not networkx.has_path(graph, one, other))
        graph.add_edge(one, other)
    assert {frozenset(group) for group in found.groups()} == set(map(frozenset, networkx.connected_components(graph)))
    assert len(found) == networkx.number_connected_components(graph)


def test_components_of_a_long_path():
    found = Components[int]()
    for vertex in range(100_000):
        assert found.union(vertex, vertex + 1)
    assert found.find(0) == found.find(100_000)
    assert not found.union(100_000, 0)
    assert len(found) == 1
    with pytest.raises(KeyError):
        found.find(-1)


@pytest.fixture(scope="module")
def site():
    """PAGELETS and LINKS of the bundled site."""
    table, links = [], []
    for path in sorted(SITE.rglob("*.html")):
        page = Page.parse(path.read_bytes(), f"http://example.com/{path.relative_to(SITE)}")
        pagelet = partition(page.nodes)
        found = shingles(page, pagelet)
        exact = np.where(found.candidates, found.exact, 0).tolist()
        table += [(page.key, number, shingle) for number, shingle in enumerate(exact)]
        links += [(page.key, target) for target in page.nodes.links.key.tolist()]
    return table, links


def test_bundled_site(site):
    table, links = site
    pages = {page for page, _, _ in table}
    local, connected = local_templates(table), global_templates(table, links)
    assert local == relational.local_templates(table)
    assert connected == relational.global_templates(table, links)
    assert connected == stream_of(table, links)
    assert sum(set(template.pages) == pages for template in connected) >= 5
    # Its pages link to each other in their menu, so Figure 5 finds nearly all of Figure 4.
    assert {t.shingle for t in connected} <= {t.shingle for t in local}
    assert len(connected) >= 0.8 * len(local)
    on_ten = local_templates(table, least=10)
    assert 5 <= len(on_ten) < len(local)


def stream_of(table, links):
    crawl = GlobalTemplates()
    for page in sorted({page for page, _, _ in table}):
        crawl.add(page, [row[1:] for row in table if row[0] == page], [t for source, t in links if source == page])
    return crawl.templates()


@LOCAL
@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        ([(1, 2)], "three columns"),
        ([(1, 2, 3), (1, 2, 3, 4)], "three columns"),
        (np.zeros((2, 2), np.int64), "three columns"),
        (np.zeros(3, np.int64), "three columns"),
        ([(1, 2, 3), ("a", 2, 3)], "all integers or all strings"),
        ([(1, 2, "x")], "64-bit"),
        ([(1, 2, 1 << 63)], "64-bit"),
        ([(1, 0.5, 3)], "64-bit"),
    ],
)
def test_bad_tables(local, table, sentence):
    with pytest.raises(ValueError, match=sentence):
        local(table)


@DETECT
def test_bad_least(detect):
    with pytest.raises(ValueError, match="least is 1"):
        detect([], least=1)


@GLOBAL
@pytest.mark.parametrize(
    ("table", "links", "options", "sentence"),
    [
        ([(1, 0, 7)], [(1, 2, 3)], {}, "LINKS have two columns"),
        ([(1, 0, 7)], np.zeros((1, 3), np.int64), {}, "LINKS have two columns"),
        ([(1, 0, 7)], [], {"authority": "charm"}, "links, domain, either"),
        ([(1, 0, 7)], [], {"authority": "domain"}, "the page 1 is not a URL"),
        ([(1, 0, 7)], [], {"authority": "either", "sites": {2: "x"}}, "the site of the page 1"),
        ([(1, 0, 7)], [], {"least": 0}, "least is 0"),
    ],
)
def test_bad_graphs(connected, table, links, options, sentence):
    with pytest.raises(ValueError, match=sentence):
        connected(table, links, **options)


def test_bad_stream():
    with pytest.raises(ValueError, match="choose from"):
        GlobalTemplates("charm")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="not a URL"):
        GlobalTemplates("domain").add(1, [])
    with pytest.raises(ValueError, match="least is 1"):
        GlobalTemplates().templates(1)


def test_without_duckdb():
    code = "import sys; sys.modules['duckdb'] = None\nfrom scrapy_pagelets.papers.shared_pagelets import relational\n"
    done = subprocess.run(
        [sys.executable, "-c", code + "relational.local_templates([])"], capture_output=True, text=True, timeout=120
    )
    assert done.stderr.splitlines()[-1].startswith("ImportError: ")
    assert "pip install 'scrapy-pagelets[corpus]'" in done.stderr.splitlines()[-1]


def test_import_is_light():
    code = "import sys, scrapy_pagelets.papers.shared_pagelets.relational\n"
    code += "print({'scipy', 'duckdb', 'pyarrow'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.stdout == "set()\n"
