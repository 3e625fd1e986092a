"""What pages ask of robots, by their metadata, a header and ``data-nosnippet``."""

import pytest

from scrapy_pagelets.decision.decision import decided
from scrapy_pagelets.decision.site import Site
from scrapy_pagelets.feed.page_record import PageRecord
from scrapy_pagelets.page.page import Page
from scrapy_pagelets.rules.robots import marked, of_header

STORY = "The boat left at six, and nobody on the pier had slept. It came back with two baskets of herring."
LINKS = '<p><a href=/a>One</a> and <a rel="Nofollow noopener" href=/b>another</a> of the links to other pages</p>'


def page(head="", body="", header="", agent="", *, obey=False):
    html = f"<html><head>{head}</head><body><p>{STORY}</p>{LINKS}{body}</body></html>".encode()
    return marked(Page.parse(html, "http://a/"), html, header, agent, obey=obey)


@pytest.mark.parametrize(
    ("head", "robots"),
    [
        ('<meta name="robots" content="noindex">', ["noindex"]),
        ('<META NAME="Robots" CONTENT=" NoIndex ,NOFOLLOW">', ["noindex", "nofollow"]),
        ('<meta name="robots" content="none">', ["noindex", "nofollow"]),
        ('<meta name="robots" content="index, follow, all, max-snippet:-1, max-image-preview:large">', []),
        ('<meta name="robots" content="noarchive, noai, some-day, 7, ,,">', ["noarchive", "noai"]),
        ('<meta name="robots" content="noindex"><meta name="robots" content="noindex, noarchive">',
         ["noindex", "noarchive"]),
        ('<meta name="googlebot" content="noindex">', []),
        ('<meta name="ourbot" content="noindex">', ["noindex"]),
        ('<meta name="robots">', []),
        (f'<meta name="robots" content="{"x," * 100_000}noindex">', []),
    ],
)  # fmt: skip
def test_directives_of_the_metadata(head, robots):
    assert list(page(head, agent="ourbot").marks.robots) == robots


@pytest.mark.parametrize(
    ("header", "robots"),
    [
        ("noindex", ["noindex"]),
        ("None", ["noindex", "nofollow"]),
        ("googlebot: noindex, nofollow", []),
        ("ourbot: noindex, nofollow", ["noindex", "nofollow"]),
        ("googlebot: noindex, ourbot: nofollow", ["nofollow"]),
        ("noarchive, googlebot: noindex", ["noarchive"]),
        ("unavailable_after: Wed, 25 Jun 2031 15:00:00 GMT, noindex", ["noindex"]),
        ("max-snippet: 20, *: nofollow", ["nofollow"]),
        (":,:,,noindex", ["noindex"]),
    ],
)
def test_directives_of_the_header(header, robots):
    assert list(of_header(header, "ourbot")) == robots
    assert list(page(header=header, agent="ourbot").marks.robots) == robots


def test_a_page_that_asks_nothing_is_left_alone():
    html = f"<p>{STORY}</p>{LINKS}".encode()
    received = Page.parse(html, "http://a/")
    assert marked(received, html) is received


def test_links_are_ignored_only_if_the_directives_are_obeyed():
    nofollow = '<meta name="robots" content="nofollow">'
    assert page(nofollow).marks.ignored_links == frozenset()
    assert page(obey=True).marks.ignored_links == {1}
    assert page(nofollow, obey=True).marks.ignored_links == {0, 1}


def test_what_no_snippet_may_show_is_stripped_only_if_that_is_obeyed():
    hidden = "<p>Before <span data-nosnippet>the secret of the smoke house</span> and after the break, as they say.</p>"

    def text(found):
        return PageRecord(found, decided(found, Site("a"))).text

    told, obeyed = page(body=hidden), page(body=hidden, obey=True)
    assert told.marks.robots == obeyed.marks.robots == ("data-nosnippet",)
    assert "the secret of the smoke house" in text(told)
    assert "secret" not in text(obeyed)
    assert "Before and after the break" in text(obeyed)
    assert page(body="<p>about data-nosnippet</p>").marks.robots == ()
