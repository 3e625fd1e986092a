"""Bad sites, pages and arguments: each is explained in a sentence and counted, and crawl and feed stay intact."""

import re
import socket

import pytest

from scrapy_pagelets.crawler.spiders.site_spider import SiteSpider
from tests.crawling import answer, crawl, menu_site, not_found, page, pages_asked_for, words
from tests.server import SiteServer, redirect


def refused(tmp_path, spider, **arguments):
    """Return the only error of a crawl that did not begin."""
    found = crawl(tmp_path, spider, code=1, **arguments)
    assert len(found.errors) == 1, found.log
    assert "Spider opened" not in found.log
    assert found.lines == []
    return found.errors[0]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({}, "the spider site needs a start page: -a url=https://example.com/"),
        ({"urls": "nowhere.txt"}, "the file of start pages cannot be read: [Errno 2] No such file or directory"),
        ({"url": "http://a.invalid/", "depth": "x"}, "depth is 'x': give a whole number, 0 for no limit"),
    ],
)
def test_bad_arguments_end_the_crawl_of_a_site_before_it_begins(tmp_path, arguments, sentence):
    assert sentence in refused(tmp_path, "site", **arguments)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({}, "the spider archive needs a path: -a path=FILE"),
        (
            {"path": "nowhere/at/all"},
            "nowhere/at/all does not exist: give a page, a WARC file, a glob in quotes, or a folder",
        ),
        ({"path": "tests/site", "base": "example.com"}, "base is 'example.com': give the beginning of a URL"),
    ],
)
def test_bad_arguments_end_the_crawl_of_an_archive_before_it_begins(tmp_path, arguments, sentence):
    assert sentence in refused(tmp_path, "archive", **arguments)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"url": "http://a.invalid/", "urls": "urls.txt"}, "or -a urls=FILE with one per line, not both"),
        ({"urls": "urls.txt"}, "urls.txt has no start page: write one per line"),
        ({"url": "ftp://a.invalid/"}, "'ftp://a.invalid/' is not the URL of a page: give one like https://"),
        ({"url": "http://[broken/"}, "'http://[broken/' is not the URL of a page"),
        ({"url": "http:///path"}, "'http:///path' is not the URL of a page"),
        ({"url": "http://a:port/"}, "'http://a:port/' is not the URL of a page"),
        ({"url": "a page"}, "'a page' is not the URL of a page"),
        ({"url": "http://a.invalid/", "sitemap": "yes"}, "sitemap is 'yes': give 1 for yes, 0 for no, or the URL"),
        ({"url": "http://a.invalid/", "sitemap": "file:///x.xml"}, "sitemap is 'file:///x.xml': give 1 for yes"),
        (
            {"url": "http://a.invalid/", "listed": "1"},
            "listed and since are for the pages of sitemaps: add -a sitemap=1",
        ),
        ({"sitemap": "http://a.invalid/", "since": "soon"}, "since is 'soon': give a day like 2026-11-20, or a time"),
        ({"url": "http://a.invalid/", "pages": "-1"}, "pages is '-1': give a whole number"),
        ({"url": "http://a.invalid/", "pages": "\u00b2"}, "pages is '\u00b2': give a whole number"),
    ],
)
def test_arguments_are_refused_in_a_sentence(tmp_path, monkeypatch, arguments, sentence):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "urls.txt").write_text("# nothing yet\n\n", encoding="utf-8")
    with pytest.raises(ValueError, match=re.escape(sentence)):
        SiteSpider(**arguments)


def test_an_unknown_argument_is_reported_and_the_crawl_goes_on(tmp_path):
    with SiteServer(routes=menu_site("home", "a")) as server:
        found = crawl(tmp_path, "site", url=server.url(""), depht=1, _job="4711")
    assert len(found.lines) == 2
    assert found.warnings == [
        "unknown argument depht: the spider takes url, urls, depth, pages, sitemap, listed and since"
    ]


def start_page_that(tmp_path, routes, path="", robots="", **settings):
    """Run a crawl that gets no page; return it and the sentence that explains why."""
    with SiteServer(routes=routes) as server:
        if robots:
            server.routes["/robots.txt"] = answer(robots, Content_Type="text/plain")
        found = crawl(tmp_path, "site", url=server.url(path), settings=settings, code=1)
    assert found.lines == []
    assert found.stat("start/failed") == 1
    assert len(found.errors) == 1, found.errors
    return found.errors[0].replace(server.url(""), "/"), server.hits


def test_a_site_that_is_down(tmp_path):
    with socket.socket() as taken:  # bound and not listening: connections are refused
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/"
        found = crawl(tmp_path, "site", url=url, code=1)
    [sentence] = found.errors
    assert sentence.startswith(f"{url} cannot be loaded: ")
    assert sentence.endswith("; check the URL and whether the site is up")
    assert found.stat("start/failed") == 1


def test_a_host_that_does_not_exist(tmp_path):
    found = crawl(tmp_path, "site", url="http://nowhere.invalid/", settings={"RETRY_ENABLED": 0}, code=1)
    [sentence] = found.errors
    assert "http://nowhere.invalid/ cannot be loaded: " in sentence
    assert found.stat("start/failed") == 1


def test_a_missing_start_page(tmp_path):
    sentence, _ = start_page_that(tmp_path, {"/": not_found})
    assert sentence == "/ returned status 404: nothing to crawl; check the URL"


def test_robots_txt_that_forbids_all(tmp_path):
    sentence, hits = start_page_that(tmp_path, menu_site("home", "a"), robots="User-agent: *\nDisallow: /")
    assert sentence.endswith("forbids /: nothing to crawl (ROBOTSTXT_OBEY)")
    assert hits == ["/robots.txt"]


def test_a_start_page_that_redirects_in_a_loop(tmp_path):
    routes = {"/": lambda path: redirect("/b"), "/b": lambda path: redirect("/")}
    sentence, hits = start_page_that(tmp_path, routes)
    assert sentence.endswith("redirects in a loop: nothing to crawl; check the URL")
    assert len(hits) < 30


def test_a_start_page_that_is_not_html(tmp_path):
    routes = {"/a.pdf": answer(b"%PDF-1.4", Content_Type="application/pdf")}
    sentence, _ = start_page_that(tmp_path, routes, "a.pdf")
    assert sentence == "/a.pdf is not an HTML page (application/pdf): give the URL of a page"


def test_one_of_two_start_pages_is_enough(tmp_path):
    with SiteServer(routes={"/": answer(page("home"))}) as server:
        (tmp_path / "urls.txt").write_text(f"{server.url('lost')}\n{server.url('')}\n", encoding="utf-8")
        found = crawl(tmp_path, "site", urls=tmp_path / "urls.txt")
    assert found.urls == [server.url("")]
    assert found.stat("start/failed") == 1


def test_robots_txt_that_forbids_a_part(tmp_path):
    with SiteServer(routes=menu_site("home", *"abcd")) as server:
        server.routes["/robots.txt"] = answer("User-agent: *\nDisallow: /a", Content_Type="text/plain")
        found = crawl(tmp_path, "site", url=server.url(""))
    assert sorted(found.urls) == sorted(map(server.url, ("", "b", "c", "d")))
    assert "/a" not in server.hits
    assert found.stat("pages/missing/forbidden") == 1
    assert found.errors == []


@pytest.mark.parametrize("menu", [[], ["/", "/index.html", "#top"]])
def test_a_site_of_one_page_keeps_its_text(tmp_path, menu):
    with SiteServer(routes={"/": answer(page("home", menu))}) as server:
        found = crawl(tmp_path, "site", url=server.url(""))
    [line] = found.lines
    assert words("home") in line["text"]
    assert pages_asked_for(server.hits) == ["/"]
    assert len(found.warnings) == 1
    assert "a single page does not reveal its template" in found.warnings[0]
    assert found.stat("sites/of_one_page") == 1
    assert found.errors == []


def one_bad_page(tmp_path, name, body, **headers):
    """Crawl a site with one bad page; return the line of that page and the warning about it."""
    with SiteServer(routes=menu_site("home", *"abcd")) as server:
        for path in ("/", "/a", "/b", "/c", "/d"):
            server.routes[path] = answer(page(path[1:] or "home", ["/", "/a", "/b", "/c", "/d", "/bad"]))
        server.routes["/bad"] = answer(body, **headers)
        found = crawl(tmp_path, "site", url=server.url(""))
    assert sorted(found.urls) == sorted(map(server.url, ("", "a", "b", "c", "d", "bad")))
    assert all("slogan" not in line["text"] for line in found.lines if not line["url"].endswith("/bad"))
    assert found.stat(f"pages/{name}") == 1
    assert len(found.warnings) == 1
    assert found.warnings[0].startswith(server.url("bad"))
    assert found.errors == []
    return next(line for line in found.lines if line["url"].endswith("/bad"))


def test_an_empty_page(tmp_path):
    line = one_bad_page(tmp_path, "blank", b"")
    assert (line["text"], line["pagelets"], line["title"]) == ("", [], "")


def test_a_page_of_30_megabytes(tmp_path):
    picture = f'<img src="data:image/png;base64,{"iVBORw0KGgo" * 2_500_000}">'
    body = page("large", ["/", "/a"], more=picture + f"<p>{words('much')}</p>" * 4_000)
    line = one_bad_page(tmp_path, "large", body)
    assert line["text"].count("muchword0") == 4_000


def test_a_page_of_5000_nested_divs(tmp_path):
    body = f"<html><body><p>{words('top')}</p>{'<div>' * 5000}{words('deep')}</body></html>"
    line = one_bad_page(tmp_path, "too_deep", body)
    assert words("top") in line["text"]


def test_a_page_in_its_title(tmp_path):
    line = one_bad_page(tmp_path, "open_title", f"<title>Tea</head><body><p>{words('lost', 100)}".encode())
    assert line["text"] == ""
    assert len(line["title"]) <= 300


def test_a_page_with_a_wrong_charset(tmp_path):
    body = page("caf\xe9").encode("latin-1")
    line = one_bad_page(tmp_path, "wrong_charset", body, Content_Type="text/html; charset=utf-8")
    assert "Heading caf\xe9" in line["text"]


def test_pages_of_any_bytes_are_survived(tmp_path):
    bodies = {
        "/null": b"<html>\x00<body><p>\x00te\x00xt" + b"\x00" * 100,
        "/noise": b"<html><body>" + bytes(range(256)) * 40,
        "/utf16": "\ufeff<html><body><p>sechzehn</p></body></html>".encode("utf-16-le"),
        "/comment": b"<!-- only this -->",
        "/cut": page("cut").encode()[:300],
        "/frameset": b"<frameset><frame src=x></frameset>",
        "/xml": b'<?xml version="1.0" encoding="utf-8"?><!DOCTYPE html><html xmlns="http://www.w3.org/1999/xhtml"><p>x</p></html>',
        "/unknown": '<html><meta charset="klingon"><p>caf\xe9</p></html>'.encode(),
        "/links": b"<a href='//'>a</a><a href='http://'>b</a><a href='http://[::'>c</a><a href='\x01'>d</a><base href='nowhere://'>",
    }
    with SiteServer(routes={path: answer(body) for path, body in bodies.items()}) as server:
        server.routes["/"] = answer(page("home", bodies))
        found = crawl(tmp_path, "site", url=server.url(""))
    assert sorted(found.urls) == sorted(map(server.url, ("", *bodies)))
    assert found.errors == []
    texts = {line["url"].removeprefix(server.url("")): line["text"] for line in found.lines}
    assert (texts["utf16"], texts["unknown"], texts["xml"], texts["comment"]) == ("sechzehn", "caf\xe9", "x", "")
