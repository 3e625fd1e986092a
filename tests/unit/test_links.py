"""Tables, votes, HITS, the six versions, PageRank and co-citation against numpy, networkx and brute force."""

from __future__ import annotations

import subprocess
import sys
from functools import cache
from itertools import product

import networkx
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from benchmarks.links import compare, local_templates, means, report, shares, shingles
from scrapy_pagelets.base.errors import QueryError
from scrapy_pagelets.feed.feed_reader import FeedError
from scrapy_pagelets.links.clever import BEST, ROOTS, VERSIONS, base_set, clever, hits, roots
from scrapy_pagelets.links.link_tables import Query, read
from scrapy_pagelets.links.pagerank import pagerank
from scrapy_pagelets.links.votes import Votes, cocitations, host_weights, related, votes
from tests.oracles import shared_templates
from tests.oracles.cocitation import weighted_cocitations


def pagelet(text, *urls, role="content", number=0):
    links = [url if isinstance(url, dict) else {"url": url, "anchor": ""} for url in urls]
    return {"id": number, "role": role, "text": text, "links": links}


def line(url, *pagelets):
    return {"url": url, "title": f"Title of {url}", "pagelets": list(pagelets)}


def scores(tables, values):
    """The scores above zero by URL, rounded to three digits."""
    return {tables.urls[i]: round(float(values[i]), 3) for i in np.flatnonzero(values > 5e-4)}


def cited_with(tables, url, **options):
    """Scores of `related` for an existing page."""
    page = tables.find(url)
    assert page is not None
    return related(tables, page, **options)


small = st.integers(0, 5)
matrices = st.integers(1, 6).flatmap(
    lambda rows: st.integers(1, 6).flatmap(
        lambda columns: st.lists(
            st.lists(st.sampled_from([0.0, 0.0, 0.5, 1.0, 2.0]), min_size=columns, max_size=columns),
            min_size=rows,
            max_size=rows,
        )
    )
)


class TestHits:
    @settings(deadline=None)
    @given(matrices)
    def test_scores_are_the_principal_singular_vectors_of_numpy(self, rows):
        weights = np.array(rows)
        left, values, right = np.linalg.svd(weights)
        gap = values[0] - (values[1] if len(values) > 1 else 0.0)
        assume(gap > 1e-2)
        hubs, authorities = hits(csr_array(weights), iterations=5000)
        assert hubs == pytest.approx(np.abs(left[:, 0]), abs=1e-6)
        assert authorities == pytest.approx(np.abs(right[0]), abs=1e-6)

    @settings(deadline=None)
    @given(matrices, st.data())
    def test_two_weights_give_the_principal_eigenvector_of_their_product(self, rows, data):
        weights = np.array(rows)
        other = weights * data.draw(st.floats(0.1, 1.0)) * (1 + np.arange(weights.shape[1]))
        product_ = weights.T @ other
        values = np.linalg.eigvals(product_)
        order = np.argsort(-np.abs(values))
        assume(np.abs(values[order[0]]) - (np.abs(values[order[1]]) if len(values) > 1 else 0) > 1e-2)
        _, authorities = hits(weights, other, iterations=5000)
        assert product_ @ authorities == pytest.approx(values[order[0]].real * authorities, abs=1e-5)

    def test_a_graph_without_edges_has_no_authorities(self):
        hubs, authorities = hits(csr_array((3, 2)))
        assert not hubs.any()
        assert not authorities.any()
        assert [len(found) for found in hits(np.zeros((0, 0)))] == [0, 0]

    def test_iterations_are_checked(self):
        with pytest.raises(ValueError, match="iterations is 0"):
            hits(np.ones((2, 2)), iterations=0)


class TestQuery:
    def test_quotes_operators_and_repetition_mean_nothing(self):
        assert Query('"Foo" AND -foo (bar:BAR*) + FOO~2').terms == {"foo", "and", "bar", "2"}

    @pytest.mark.parametrize("text", ["", "  ", '"" + - ( ) *', "\x00", "\ud800"])
    def test_a_query_without_words_is_refused(self, text):
        with pytest.raises(QueryError, match="has no words: give"):
            Query(text)

    def test_the_window_is_fifty_characters_of_whole_words(self):
        text = f"java {'x' * 44} Link {'x' * 44} java"
        assert Query("java").find(text, ["Link"])[2] == [0 + 2]
        assert Query("java").find(f"java {'x' * 45} Link {'x' * 45} java", ["Link"])[2] == [0]
        assert Query("java").find(f"javascript {'x' * 40} Link", ["Link"])[2] == [0]

    def test_anchors_are_found_one_after_the_other(self):
        far = " and so on" * 12
        text = f"More{far} java More{far} More"
        assert Query("java").find(text, ["More", "More", "More"])[2] == [0, 1, 0]
        assert Query("java").find(text, ["More", "", "not there", "More"])[2] == [0, 0, 0, 1]

    def test_anchors_are_found_whatever_their_case_and_white_space(self):
        assert Query("JAVA").find("one\n\ntwo\tＪava", ["Two java"])[2] == [1]

    def test_matches_and_terms_are_counted(self):
        assert Query("b a c").find("A b, a; ab")[:2] == (frozenset("ab"), 3)


class TestTables:
    def test_links_of_all_spellings_lead_to_one_page(self):
        links = ["https://h/b#top", "http://h:80/b?utm_source=x", "http://H/b", "http://other/#x"]
        tables = read([line("http://h/a", pagelet("text", *links)), line("http://h/b")])
        assert tables.urls == ["http://h/a", "http://h/b", "http://other/"]
        assert tables.target.tolist() == [1, 1, 1, 2]
        assert tables.crawled.tolist() == [True, True, False]
        assert tables.titles == ["Title of http://h/a", "Title of http://h/b", ""]
        assert tables.find("https://OTHER") == 2
        assert tables.find("http://nowhere/") is None

    def test_broken_urls_are_left_out(self):
        links = ["http://[half", "mailto:a@b", "javascript:x()", "", "/relative", "http://", "http://h:port/", "\ud800"]
        tables = read([line("http://[broken/", pagelet("text", *links, "http://h/")), line("", pagelet("text"))])
        assert [tables.urls[i] for i in tables.target] == ["http://h:port/", "http://h:port/"]
        assert tables.find("http://[broken/") == 0
        assert len(tables.hosts) == len(tables.sites) == len(tables.urls)
        assert not votes(tables, within=True).near.any()

    def test_of_a_page_that_comes_twice_the_last_time_counts(self):
        lines = [
            line(
                "http://h/a", pagelet("guitar", "http://h/b", role="navigation"), pagelet("x", "http://h/c", number=1)
            ),
            line("http://h/b", pagelet("guitar", "http://h/c", "http://h/c", number=7)),
            line("https://h/a#top", pagelet("nothing", "http://h/c", number=3)),
        ]
        tables = read(lines, Query("guitar"))
        assert tables.page.tolist() == [1, 0]
        assert tables.number.tolist() == [7, 3]
        assert tables.source.tolist() == [0, 0, 1]
        assert tables.terms.tolist() == [0, 1, 0]
        assert tables.labels == ["guitar", "nothing"]
        assert tables.urls[0] == "https://h/a#top"

    def test_hosts_and_sites(self):
        tables = read(
            [line(f"http://{host}/") for host in ("a.h.com", "b.h.com", "h.co.uk", "a.h.com:80", "1.2.3.4:5")]
        )
        assert sorted(tables.hosts.tolist()) == [0, 1, 2, 3]
        one, same, *others = tables.sites.tolist()
        assert one == same
        assert len({one, *others}) == 3
        assert not tables.single_site

    def test_no_pages_make_empty_tables(self):
        tables = read([], Query("guitar"))
        assert (len(tables.urls), len(tables.page), len(tables.source)) == (0, 0, 0)
        assert len(votes(tables).hub) == 0
        assert len(pagerank(tables)) == 0
        assert [len(found) for found in clever(tables)] == [0, 0, 0]

    @pytest.mark.parametrize(
        "bad",
        [
            [1],
            5,
            None,
            {},
            {"url": None, "pagelets": []},
            {"url": "http://h/", "pagelets": 5},
            {"url": "http://h/", "pagelets": [{"id": 0}]},
            {"url": "http://h/", "pagelets": [pagelet(None, "http://h/")]},
            {"url": "http://h/", "pagelets": [pagelet("text", {"url": None, "anchor": ""})]},
        ],
    )
    def test_what_is_no_page_is_refused(self, bad):
        with pytest.raises(FeedError, match="line 2 is not a page"):
            read([line("http://h/a"), bad])


class TestVotes:
    def test_a_page_has_no_vote_for_itself_nor_for_its_site(self):
        text = pagelet("text", "http://a.com/", "http://www.a.com/2", "http://b.com/")
        tables = read([line("http://a.com/", text), line("http://b.com/")])
        assert [tables.urls[i] for i in votes(tables).target] == ["http://b.com/"]
        assert [tables.urls[i] for i in votes(tables, within=True).target] == ["http://www.a.com/2", "http://b.com/"]

    def test_a_site_of_its_own_is_ranked_inside(self):
        tables = read([line("http://a.com/", pagelet("text", "http://a.com/2")), line("http://www.a.com/2")])
        assert len(votes(tables).hub) == 1
        assert len(votes(tables, within=False).hub) == 0

    def test_the_best_link_of_an_edge_counts(self):
        far = "and so on " * 12
        links = [{"url": "http://b.com/", "anchor": anchor} for anchor in ("one", "guitar guitar", "guitar")]
        text = f"one {far} guitar guitar {far} guitar"
        tables = read([line("http://a.com/", pagelet(text, *links)), line("http://b.com/")], Query("guitar"))
        assert votes(tables).near.tolist() == [2]
        assert tables.near.tolist() == [0, 2, 1]

    def test_templates_are_left_out(self):
        menu, text = pagelet("x", "http://b.com/", role="navigation"), pagelet("y", "http://c.com/", number=1)
        tables = read([line("http://a.com/", menu, text)])
        assert votes(tables).hub.tolist() == [1]
        assert votes(tables, templates=True).hub.tolist() == [0, 1]
        assert votes(tables, templates=True, pagelets=False).hub.tolist() == [0, 0]

    @settings(deadline=None)
    @given(st.sets(st.tuples(small, small)), st.lists(st.integers(0, 2), min_size=6, max_size=6))
    def test_host_weights_equal_their_definition(self, pairs, voter):
        """Pages are hubs; k and l are counted edge by edge."""
        pairs = sorted(pairs)
        hub, target = (np.array(column, np.int64) for column in (zip(*pairs, strict=True) if pairs else ((), ())))
        authority, hubs = host_weights(Votes(hub, hub, target, np.zeros_like(hub)), np.array(voter))
        for (p, q), a, h in zip(pairs, authority, hubs, strict=True):
            assert a == 1 / sum(y == q and voter[x] == voter[p] for x, y in pairs)
            assert h == 1 / sum(x == p and voter[y] == voter[q] for x, y in pairs)


def guitars():
    """A worked example: two shops and a list cite makers, one of them with a menu and a pagelet on another topic."""
    maker = {name: {"url": f"http://{name}.com/", "anchor": name} for name in ("fender", "gibson", "nokia", "host")}
    menu = pagelet("guitar host", maker["host"], role="navigation", number=9)
    return [
        line("http://shop.org/", pagelet("guitar: fender", maker["fender"]), menu),
        line("http://list.org/", pagelet("guitar: fender or gibson", maker["fender"], maker["gibson"]), menu),
        line(
            "http://home.org/",
            pagelet("my phone is by nokia", maker["nokia"]),
            pagelet("my guitar is by gibson", maker["gibson"], number=1),
        ),
        line("http://plain.org/", pagelet("phones by nokia", maker["nokia"])),
        *(line(link["url"], pagelet(f"{link['anchor']} makes things")) for link in maker.values()),
    ]


class TestVersions:
    def ranked(self, version, lines=None, query="guitar", **options):
        tables = read(lines or guitars(), Query(query))
        found = clever(tables, version, **options)
        return tables, found

    def test_roots_are_found_by_their_content(self):
        tables, found = self.ranked(BEST)
        base = {tables.urls[i] for i in np.flatnonzero(roots(tables))}
        assert base == {"http://shop.org/", "http://list.org/", "http://home.org/"}
        assert {tables.urls[i] for i in np.flatnonzero(found.base)} - base == {
            "http://fender.com/",
            "http://gibson.com/",
            "http://nokia.com/",
            "http://host.com/",  # although only a menu links there
        }

    @pytest.mark.parametrize("within", [None, True])
    def test_all_versions_clean_the_same_base_set(self, within):
        bases = [self.ranked(version, within=within)[1].base.tolist() for version in VERSIONS]
        assert bases == [bases[0]] * len(VERSIONS)

    def test_pages_vote_for_all_that_they_link_to(self):
        tables, found = self.ranked("page")
        assert set(scores(tables, found.authorities)) == {
            f"http://{name}.com/" for name in ("fender", "gibson", "nokia", "host")
        }

    def test_fnm_takes_pages_without_the_word_away(self):
        """The makers' pages lack the word, so no authority is left."""
        _, found = self.ranked("page-fnm")
        assert not found.authorities.any()
        lines = [*guitars(), line("http://fender.com/", pagelet("guitars and a guitar"))]
        tables, found = self.ranked("page-fnm", lines)
        assert scores(tables, found.authorities) == {"http://fender.com/": 1.0}

    def test_page_fnm_looks_at_the_menu_too(self):
        menu = pagelet("guitar", role="navigation")
        lines = [*guitars(), line("http://fender.com/", menu), line("http://gibson.com/", menu)]
        tables, found = self.ranked("page-fnm", lines)
        assert set(scores(tables, found.authorities)) == {"http://fender.com/", "http://gibson.com/"}

    def test_pagelets_of_another_topic_have_no_vote(self):
        """The community of gibson and fender is the larger one; without FNM nokia's stays where it is alone."""
        tables, found = self.ranked("pagelet-ft-fnm")
        assert set(scores(tables, found.authorities)) == {"http://fender.com/", "http://gibson.com/"}
        assert {tables.labels[i] for i in np.flatnonzero(found.hubs > 5e-4)} == {
            "guitar: fender",
            "guitar: fender or gibson",
            "my guitar is by gibson",
        }
        tables, found = self.ranked("page")
        assert scores(tables, found.authorities)["http://nokia.com/"] > 0

    def test_templates_have_no_vote(self):
        tables, found = self.ranked("pagelet-fnm", query="host guitar")
        assert scores(tables, found.authorities)["http://host.com/"] > 0
        tables, found = self.ranked("pagelet-ft-fnm", query="host guitar")
        assert "http://host.com/" not in scores(tables, found.authorities)

    def test_scores_equal_a_calculation_by_hand(self):
        """Every host has one page and one vote; fender has anchors with one match, gibson as well, so w is 2."""
        tables, found = self.ranked("pagelet-ft-fnm")
        weights = 2 * np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
        left, _, right = np.linalg.svd(weights)
        by_url = scores(tables, found.authorities)
        assert by_url["http://fender.com/"] == pytest.approx(abs(right[0, 0]), abs=1e-3)
        assert by_url["http://gibson.com/"] == pytest.approx(abs(right[0, 1]), abs=1e-3)
        hubs = {tables.labels[i]: value for i, value in enumerate(found.hubs) if value > 5e-4}
        assert hubs["guitar: fender or gibson"] == pytest.approx(abs(left[1, 0]), abs=1e-3)

    def test_many_pages_of_a_host_have_one_vote(self):
        """Ten pages of one host against three hosts, for two authorities of one community."""
        both = pagelet("guitar", "http://a.com/", "http://b.com/")
        lines = [line(f"http://many.org/{n}", pagelet("guitar", "http://a.com/")) for n in range(10)]
        lines += [line(f"http://{n}.net/", pagelet("guitar", "http://b.com/")) for n in "cde"]
        lines += [line("http://hub.org/", both), line("http://a.com/"), line("http://b.com/")]
        tables, found = self.ranked(BEST, lines)
        by_url = scores(tables, found.authorities)
        assert by_url["http://b.com/"] > 1.5 * by_url["http://a.com/"]

    def test_inside_a_site_pages_take_the_place_of_hosts(self):
        """A page with three pagelets has one vote, as has a page with one."""
        many = [pagelet("guitar", "http://h.com/a", number=n) for n in range(3)]
        lines = [line("http://h.com/many", *many)]
        lines += [line(f"http://h.com/{n}", pagelet("guitar", "http://h.com/b", "http://h.com/a")) for n in "cd"]
        lines += [line("http://h.com/a"), line("http://h.com/b")]
        tables, found = self.ranked(BEST, lines)
        weights = np.array([[1 / 3, 0]] * 3 + [[1, 1]] * 2), np.array([[1, 0]] * 3 + [[1, 1]] * 2)
        _, expected = hits(*weights)
        assert scores(tables, found.authorities) == {
            f"http://h.com/{name}": pytest.approx(value, abs=1e-3) for name, value in zip("ab", expected, strict=True)
        }

    def test_the_best_of_many_pages_are_roots(self):
        """The 200th page has the word twice, so all pages that have it twice are included."""
        lines = [line(f"http://h.com/{n}", pagelet("a " * (n % 7) + "b " * (n == 1))) for n in range(ROOTS + 80)]
        found = roots(read(lines, Query("a b")))
        assert np.flatnonzero(found).tolist() == [n for n in range(ROOTS + 80) if n % 7 > 1 or n == 1]

    def test_parents_are_few_children_are_all(self):
        lines = [line(f"http://p{n}.com/", pagelet("x", "http://root.com/")) for n in range(80)]
        children = [f"http://c{n}.com/" for n in range(80)]
        lines += [line("http://root.com/", pagelet("guitar", *children)), *map(line, children)]
        tables = read(lines, Query("guitar"))
        base = base_set(votes(tables), roots(tables))
        assert base.sum() == 1 + 50 + 80

    def test_an_unknown_version_is_refused(self):
        with pytest.raises(ValueError, match=r"no version 'x': choose from page, page-fnm"):
            clever(read(guitars(), Query("guitar")), "x")

    @pytest.mark.parametrize(("version", "within"), list(product(VERSIONS, (None, True))))
    @pytest.mark.parametrize("query", ["zzz", "the " * 10_000, " ".join(f"word{n}" for n in range(10_000)), "is by my"])
    def test_any_query_has_an_answer(self, version, within, query):
        tables, found = self.ranked(version, query=query, within=within)
        assert found.authorities.shape == (len(tables.urls),)
        assert np.linalg.norm(found.authorities) == pytest.approx(1.0) or not found.authorities.any()
        assert not found.authorities[~tables.crawled].any()


class TestCommunities:
    """The tightly-knit-community effect (Bar-Yossef & Rajagopalan 2002, Section 5)."""

    @staticmethod
    @cache
    def crawl(pages=1000, shared=60):
        """A template that links its pages with each other, with the word in it; beside it, ten pages cite three."""
        menu = pagelet("guitar shop", *(f"http://shop{n}.com/" for n in range(shared)), role="navigation", number=1)
        lines = [line(f"http://shop{n}.com/", pagelet("one guitar"), menu) for n in range(pages)]
        makers = [f"http://maker{n}.com/" for n in range(3)]
        lines += [line(f"http://fan{n}.org/", pagelet("guitar makers", *makers)) for n in range(10)]
        return read([*map(line, makers), *lines], Query("guitar")), makers

    def top(self, tables, values, count=50):
        best = np.argsort(-values, kind="stable")[:count]
        return [tables.urls[i] for i in best if values[i] > 5e-4]

    @pytest.mark.parametrize("version", ["page", "page-fnm", "pagelet", "pagelet-fnm"])
    def test_a_template_fills_the_top_without_ft(self, version):
        tables, makers = self.crawl()
        top = self.top(tables, clever(tables, version).authorities)
        assert len(top) == 50
        assert not set(top) & set(makers)

    @pytest.mark.parametrize("version", ["pagelet-ft", "pagelet-ft-fnm"])
    def test_and_not_with_it(self, version):
        tables, makers = self.crawl()
        assert self.top(tables, clever(tables, version).authorities) == makers

    def test_pagerank_does_not_count_templates_either(self):
        tables, makers = self.crawl(pages=100)
        assert set(self.top(tables, pagerank(tables), 3)) == set(makers)
        assert not set(self.top(tables, pagerank(tables, templates=True), 50)) & set(makers)


graphs = st.sets(st.tuples(small, small), max_size=20)


class TestPagerank:
    @settings(deadline=None)
    @given(graphs)
    def test_it_equals_networkx(self, pairs):
        urls = [f"http://h{n}.com/" for n in range(6)]
        lines = [line(url, pagelet("x", *(urls[j] for i, j in pairs if i == n))) for n, url in enumerate(urls)]
        graph = networkx.DiGraph((i, j) for i, j in pairs if i != j)
        graph.add_nodes_from(range(6))
        tables = read(lines)
        found = dict(zip(tables.urls, pagerank(tables), strict=True))
        expected = networkx.pagerank(graph, 0.85, tol=1e-10, max_iter=1000)
        assert found == {urls[n]: pytest.approx(value, abs=1e-6) for n, value in expected.items()}

    def test_pages_that_were_not_crawled_have_none(self):
        tables = read([line("http://h/a", pagelet("x", "http://h/b", "http://h/c")), line("http://h/b")])
        assert pagerank(tables).round(3).tolist() == [0.351, 0.649, 0.0]


lists = st.lists(st.tuples(st.integers(0, 2), st.lists(st.integers(0, 6), max_size=6)), max_size=8)


class TestCocitation:
    @settings(deadline=None)
    @given(lists, st.integers(0, 6), st.integers(1, 6))
    def test_it_equals_brute_force(self, pagelets, page, most):
        """Three hosts cite seven pages in pagelets; for each pair, only the best pagelet of a host counts."""
        target = [f"http://t{n}.com/" for n in range(7)]
        lines = [
            line(f"http://host{host}.com/{n}", pagelet("x", *(target[i] for i in cited)))
            for n, (host, cited) in enumerate(pagelets)
        ]
        tables = read([*lines, *map(line, target)])
        expected = dict.fromkeys(target, 0.0)
        for i in range(7):
            for host in range(3):
                sets = [set(cited) for h, cited in pagelets if h == host and {i, page} <= set(cited) and i != page]
                expected[target[i]] += max((1 / (len(s) - 1) for s in sets if len(s) <= most), default=0.0)
        found = cited_with(tables, target[page], within=False, most=most)
        assert {url: found[tables.urls.index(url)] for url in target} == pytest.approx(expected)

    @settings(deadline=None)
    @given(lists, st.integers(0, 6))
    def test_plain_counts_equal_brute_force(self, pagelets, page):
        """Three pages cite seven pages, each in several pagelets."""
        target = [f"http://t{n}.com/" for n in range(7)]
        parts = {host: [set(cited) for h, cited in pagelets if h == host] for host in range(3)}
        lines = [
            line(f"http://host{host}.com/", *(pagelet("x", *(target[i] for i in cited)) for cited in found))
            for host, found in parts.items()
        ]
        tables = read([*lines, *map(line, target)])
        expected = [sum(any({i, page} <= s for s in found) for found in parts.values()) for i in range(7)]
        expected[page] = 0
        number = tables.find(target[page])
        assert number is not None
        found = cocitations(tables, number, within=False)
        assert [found[tables.urls.index(url)] for url in target] == expected

    @settings(deadline=None)
    @given(lists, st.integers(0, 6), st.sampled_from([1.0, 2.0, 5.0]))
    def test_weighted_counts_equal_brute_force(self, pagelets, page, weight):
        """Three pages cite seven pages, each in several pagelets; some of these are template."""
        target = [f"http://t{n}.com/" for n in range(7)]
        parts = {host: [set(cited) for h, cited in pagelets if h == host] for host in range(3)}
        lines = [
            line(
                f"http://host{host}.com/",
                *(pagelet("x", *(target[i] for i in cited)) for cited in found),
                pagelet("menu", *target, role="navigation"),
            )
            for host, found in parts.items()
        ]
        tables = read([*lines, *map(line, target)])
        expected = [0.0] * 7
        for i in set(range(7)) - {page}:
            for sets in parts.values():
                if any({i, page} <= cited for cited in sets):
                    expected[i] += weight
                elif {i, page} <= set().union(*sets):
                    expected[i] += 1
        number = tables.find(target[page])
        assert number is not None
        found = weighted_cocitations(tables, number, pagelet=weight, within=False)
        assert [found[tables.urls.index(url)] for url in target] == expected

    def test_templates_and_other_pagelets_of_the_page_do_not_count(self):
        a, b, c, d = (f"http://{name}.com/" for name in "abcd")
        lines = [line("http://h.org/", pagelet("x", a, b), pagelet("y", a, c, role="navigation"), pagelet("z", d))]
        tables = read([*lines, line("http://i.org/")])
        assert scores(tables, cited_with(tables, a)) == {b: 1.0}
        number = tables.find(a)
        assert number is not None
        assert scores(tables, cocitations(tables, number)) == {b: 1.0}

    def test_inside_a_site_each_page_has_a_vote(self):
        urls = [f"http://h.com/{name}" for name in "abc"]
        lines = [line(f"http://h.com/{n}", pagelet("x", *urls), pagelet("y", *urls[:2])) for n in range(3)]
        tables = read(lines)
        assert scores(tables, cited_with(tables, urls[0])) == {urls[1]: 3.0, urls[2]: 1.5}

    def test_directories_do_not_count(self):
        urls = [f"http://t{n}.com/" for n in range(51)]
        tables = read([line("http://h.com/", pagelet("x", *urls)), line("http://i.com/", pagelet("x", *urls[:2]))])
        assert scores(tables, cited_with(tables, urls[0])) == {urls[1]: 1.0}


@settings(deadline=None)
@given(st.lists(st.lists(st.sampled_from(["", "a b", "A, b!", "c", "d e f"]), max_size=4), max_size=6), st.data())
def test_local_detection_on_the_base_set_is_figure_4(texts, data):
    lines = [line(f"http://h/{n}", *(map(pagelet, found))) for n, found in enumerate(texts)]
    tables = read(lines)
    base = np.array([data.draw(st.booleans()) for _ in texts], np.bool_)
    words = [text.lower().replace(",", "").replace("!", "") for found in texts for text in found]
    numbers = {text: number for number, text in enumerate(["", *dict.fromkeys(filter(None, words))])}
    places = [(page, k) for page, found in enumerate(texts) for k in range(len(found))]
    rows = [(*place, numbers[text]) for place, text in zip(places, words, strict=True)]
    # The literal form sets the pagelets of copies aside; here they are template as well.
    of_base = [row for row in rows if base[row[0]]]
    templates = {found.shingle for found in shared_templates.local_templates(of_base)}
    expected = [bool(base[page]) and shingle in templates for page, _, shingle in rows]
    assert local_templates(tables, base, shingles(lines)).tolist() == expected


def test_ft_by_local_detection_needs_no_roles():
    """The menu of three pages is called content in the feed; by Figure 4 it is template on the base set."""
    menu, best = [f"http://shop{n}.com/" for n in range(3)], "http://best.com/"
    lines = [
        line(f"http://h{n}.com/", pagelet("guitar shops", *menu), pagelet(f"a guitar of {'abc'[n]}", best))
        for n in range(3)
    ]
    lines += map(line, [*menu, best])
    tables = read(lines, Query("guitar"))
    assert set(scores(tables, clever(tables, "pagelet-ft", within=False).authorities)) >= set(menu)
    local = local_templates(tables, clever(tables, within=False).base, shingles(lines))
    for version in ("pagelet-ft", "pagelet-ft-fnm"):
        assert scores(tables, clever(tables, version, within=False, template=local).authorities) == {best: 1.0}
    same = [clever(tables, "pagelet", within=False, template=each).authorities for each in (None, local)]
    assert same[0].tolist() == same[1].tolist()


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("local", [False, True])
def test_a_base_set_of_one_page_has_no_authority(version, local, capsys):
    """It links to itself and to a page outside of the crawl."""
    alone = line("http://h.com/", pagelet("a guitar", "http://h.com/", "http://i.com/"))
    lines = [alone, line("http://j.com/", pagelet("a bell"))]
    tables = read(lines, Query("guitar"))
    found = clever(tables, version, template=np.zeros(2, np.bool_) if local else None)
    assert found.base.sum() == 1
    assert not found.authorities.any()
    assert not local_templates(tables, found.base, shingles(lines)).any()
    navigation = np.zeros(len(tables.urls), np.bool_)
    report("sites", {version: [shares(found.authorities, navigation, navigation)]}, 0.5)
    assert f"{version} - - - - 0.000".split() == capsys.readouterr().out.splitlines()[2].split()


def test_means_leave_out_queries_without_authorities():
    assert means([[np.nan, 0.5, 1.0], [np.nan, np.nan, 3.0]]) == [None, 0.5, 2.0]


def test_a_crawl_without_queries_and_content_gets_sentences(capsys):
    lines = [line("http://h.example/a.html", pagelet("a bell", "http://h.example/b.html"))]
    gold = {lines[0]["url"]: {"site": "h", "words": {"bells": 1}, "navigation": True}}
    compare(lines, gold)
    printed = capsys.readouterr().out
    assert "no word is on enough pages of 5 sites to be a query: name more sites with --only" in printed
    assert "no page of content, whose co-cited pages could be counted" in printed


def test_heavy_libraries_wait_until_they_are_needed():
    code = """import sys
import scrapy_pagelets.links.clever, scrapy_pagelets.links.votes, scrapy_pagelets.links.votes
import scrapy_pagelets.crawler.commands.rank
assert not {"scipy", "sklearn"} & set(sys.modules)"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
