"""Complete subdigraphs: as large as those that networkx finds, and made of harmless links."""

from itertools import count

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_pagelets.evidence.complete_subdigraph import Subdigraph
from scrapy_pagelets.evidence.menu_links import candidates, link_targets
from scrapy_pagelets.page.urls import key
from tests.trees import page

PAGES = st.integers(0, 13)
DIGRAPHS = st.dictionaries(PAGES, st.sets(PAGES), max_size=14)
URL = "http://example.com/a/b/page.html"


def mutual(links, pages):
    """The undirected graph of the pages that link to each other."""
    graph = nx.Graph()
    graph.add_nodes_from(pages)
    graph.add_edges_from((a, b) for a in pages for b in pages if a != b and b in links[a] and a in links[b])
    return graph


@given(DIGRAPHS, st.randoms())
def test_the_largest_clique_with_the_newest_page(links, random):
    order = list(links)
    random.shuffle(order)
    graph = Subdigraph(order, 4)
    for loaded in range(1, len(order) + 1):
        newest = order[loaded - 1]
        found = graph.add(newest, links[newest])
        cliques = [set(c) for c in nx.find_cliques(mutual(links, order[:loaded]))]
        assert newest in found
        assert found <= max((c for c in cliques if found <= c), key=len)
        assert len(found) == max(len(c) for c in cliques if newest in c)
        assert len(graph.best) == max(len(c) for c in cliques)
        assert all(b in links[a] for a in graph.best for b in graph.best if a != b)
        assert graph.done == (len(graph.best) >= 4)


@given(DIGRAPHS)
def test_links_to_oneself_do_not_count(links):
    with_self, without = Subdigraph([], 4), Subdigraph([], 4)
    for page_, targets in links.items():
        assert with_self.add(page_, targets | {page_}) == without.add(page_, targets - {page_})


@pytest.mark.parametrize("size", [2, 3, 4, 7])
def test_a_menu_is_found_with_as_many_loads_as_it_has_to_have(size):
    menu = range(500)
    graph = Subdigraph(menu, size)
    loads = 0
    while not graph.done and (newest := graph.next()) is not None:
        loads += 1
        graph.add(newest, menu)
    assert loads == size
    assert graph.best == set(range(size))


def test_what_the_loaded_pages_link_to_comes_first():
    graph = Subdigraph([1, 2, 3, 4, 5, 6], 4)
    assert graph.next() == 1
    graph.add(1, [5, 3])
    assert graph.next() == 3
    graph.add(3, [1, 5, 6])
    assert [graph.next(), graph.next(), graph.next(), graph.next(), graph.next()] == [5, 6, 2, 4, None]


def test_a_page_that_was_added_is_not_asked_for():
    graph = Subdigraph([1, 2], 3)
    graph.add(1, [2])
    assert [graph.next(), graph.next()] == [2, None]


def test_without_a_clique_the_best_is_one_page():
    graph = Subdigraph([1, 2, 3], 4)
    assert graph.best == set()
    for newest in (1, 2, 3):
        assert graph.add(newest, []) == {newest}
    assert graph.best == {1}
    assert not graph.done
    assert graph.next() is None


def test_forty_pages_that_all_link_each_other():
    graph = Subdigraph([], 100)
    for newest in range(40):
        assert len(graph.add(newest, range(40))) == newest + 1


# candidates


def found(html, url=URL):
    """Targets of the candidates of a page, best first."""
    nodes = page(html, url)
    return [nodes.nodes.links.target[i] for i in candidates(nodes)]


@pytest.mark.parametrize(
    "link",
    [
        "<a href='http://other.org/x'>",
        "<a href='http://sub.example.com/x'>",
        "<a href='http://example.com:8000/x'>",
        "<a href='javascript:go()'>",
        "<a href='mailto:a@example.com'>",
        "<a href='tel:1'>",
        "<a href=''>",
        "<a href=' '>",
        "<a href='#part'>",
        "<a href='page.html'>",
        "<a href='./page.html#x'>",
        "<a href='https://www.example.com/../x.pdf'>",
        "<a href='x.pdf'>",
        "<a href='x.zip?y=1'>",
        "<a href='/logout'>",
        "<a href='/?action=delete&id=1'>",
        "<a href='/x' rel='nofollow'>",
        "<a href='/x' rel='NOOPENER NoFollow'>",
        "<a href='/x' rel=external>",
        "<a href='/x' data-method=delete>",
        "<a href='/x' data-method=POST>",
        "<a href='/x' data-turbo-method=delete>",
        "<a href='/x' data-confirm='Really?'>",
        "<a href='/x' onclick=\"return confirm('Really?')\">",
        "<a href='/x' hx-post='/x'>",
        "<a href='/x' download>",
        "<a href='/x?page=2'>",
        "<a href='/x' title='Abmelden'>",
        "<a href='/x' aria-label='Log out'>",
        "<a href='/abmelden'>",
        "<a href='/%64elete/1'>",
        "<a href='/cart/clear'>",
        "<a href='/%25E9%2580%2580%25E5%2587%25BA'>",
        "<a href='http://user@example.com/x'>",
        r"<a href='http://internal\path\@example.com/x'>",
        r"<a href='\\internal\x'>",
        "<a href='file://example.com/etc/passwd'>",
        "<a href='FILE://example.com/etc/passwd'>",
        "<a href='ftp://example.com/x'>",
        "<a href='data:text/html,x'>",
        "<a href='view-source:http://example.com/x'>",
        "<a href='http://example.com:0/x'>",
        "<a href='/x&#10;y'>",
        "<a href='http://[broken'>",
        "<a name=x>",
        "<link href='/x' rel=next>",
    ],
)
def test_links_that_are_left_out(link):
    assert found(f"<p>{link}text</a>") == []


@pytest.mark.parametrize(
    "link",
    [
        "<a href='/x'>",
        "<a href='/x' rel='noopener noreferrer'>",
        "<a href='/x' data-method=GET>",
        "<a href='//example.com/x'>",
        "<a href='https://example.com:443/x'>",
        "<a href='http://www.example.com/x'>",
        "<a href='http://EXAMPLE.com/x#y'>",
        "<a href='/x' onclick='track(1)'>",
        "<area href='/x'>",
        "<iframe src='/x'>",
    ],
)
def test_links_that_are_followed(link):
    assert [target.replace("www.", "") for target in found(f"<p>{link}text</a>")] == ["http://example.com/x"]


@pytest.mark.parametrize("url", ["https://example.com:443/a/b/page.html", "http://www.EXAMPLE.com:80/a/b/page.html?"])
def test_the_page_itself_may_be_written_in_many_ways(url):
    assert found("<a href='page.html'>self</a><a href='/x'>x</a>", url)[0].endswith("/x")
    assert len(found("<a href='page.html'>self</a><a href='/x'>x</a>", url)) == 1


def test_a_page_that_links_only_to_itself():
    alone = page("<a href=''>a</a><a href='#x'>b</a><a href='page.html'>c</a><a href='?'>d</a>", URL)
    assert candidates(alone) == []
    assert link_targets(alone) == frozenset()
    assert candidates(page("no links")) == []
    graph = Subdigraph([], 4)
    assert graph.next() is None
    assert graph.add(key(URL), link_targets(alone)) == {key(URL)}


def test_a_page_without_a_host_has_no_candidates():
    for url in ("http://[broken/", "about:blank", ""):
        assert candidates(page("<a href='/x'>x</a><a href='http://h/y'>y</a>", url)) == []


def test_a_page_links_to_what_acts_but_it_is_no_candidate():
    html = "<a href='/x'>x</a><a href='/x#y'>x</a><a href='/z'>z</a><a href='/logout'>l</a><a href='/quit'>Log out</a>"
    assert link_targets(page(html, URL)) == {key(f"http://example.com/{name}") for name in ("x", "z", "logout", "quit")}
    assert len(page(html, URL).links) == 5
    assert found(html) == ["http://example.com/x", "http://example.com/z"]


def test_what_is_known_to_be_a_page_comes_first():
    html = page("".join(f"<p><a href='{url}'>{url}</a>" for url in ("/a", "/b.php", "/c.html", "/d/", "/e?id=1")), URL)
    targets = html.nodes.links.target
    ends = [targets[i].removeprefix("http://example.com/") for i in candidates(html)]
    assert ends == ["c.html", "d/", "a", "b.php"]
    ends = [targets[i].removeprefix("http://example.com/") for i in candidates(html, {".php"}, {key(targets[0])})]
    assert ends == ["a", "b.php", "c.html", "d/"]
    assert targets[4] in [targets[i] for i in candidates(html, {"?id"})]


def test_redirected_names_of_one_page_are_one_page():
    """A menu links to 1 and 2, which redirect to 11 and 12; the pages name each other both ways."""
    graph = Subdigraph([1, 2, 3], size=3)
    graph.add(1, [2, 3], names=[11])
    assert graph.add(2, [11, 3], names=[12]) == {1, 2}
    assert graph.add(3, [11, 12]) == {1, 2, 3}
    assert graph.done


def test_links_of_menus_come_before_links_of_prose():
    prose = (
        "<p>Many words with <a href='near.html'>a link</a> in them, <a href=b>one more</a>, <a href=c>c</a> " + "x " * 9
    )
    menu = "<ul><li><a href='/x/'>X</a><li><a href='/y/'>Y</a><li><a href='/z/'>Z</a></ul>"
    assert [t[-3:] for t in found(f"<div>{prose}</div>{menu}")][:3] == ["/x/", "/y/", "/z/"]


def test_a_menu_of_500_links():
    html = "".join(f"<li><a href='/p{n}.html'>{n}</a>" for n in range(500))
    assert found(f"<ul>{html}</ul><p><a href='/p3.html'>again</a>") == [
        f"http://example.com/p{n}.html" for n in range(500)
    ]


def test_a_hundred_thousand_links():
    numbers = count()
    nodes = page("".join(f"<p><b><a href='p{next(numbers)}'>x</a></b> y z" for _ in range(100_000)), URL)
    assert len(candidates(nodes)) == 100_000
