"""Sitemaps as the start of a crawl, and as what it is limited to."""

from __future__ import annotations

import gzip
import subprocess
import sys
from datetime import datetime

import pytest

from scrapy_pagelets.crawler.spiders.start_pages import SitemapEntry, moment
from tests.crawling import LIMIT, answer, crawl, menu_site, page
from tests.server import Reply, SiteServer

XML = "http://www.sitemaps.org/schemas/sitemap/0.9"


def sitemap(*entries: tuple[str, str], kind: str = "urlset") -> bytes:
    """Addresses and when they were last modified, "" without a word on that."""
    name = "sitemap" if kind == "sitemapindex" else "url"
    listed = "".join(
        f"<{name}><loc>{url}</loc>{f'<lastmod>{modified}</lastmod>' * bool(modified)}</{name}>"
        for url, modified in entries
    )
    return f'<?xml version="1.0"?><{kind} xmlns="{XML}">{listed}</{kind}>'.encode()


@pytest.fixture
def server():
    with SiteServer(routes=menu_site("home", "a", "b")) as server:
        server.routes["/island"] = answer(page("island", ["/", "/deep"]))
        server.routes["/deep"] = answer(page("deep", ["/"]))
        yield server


def xml(body: bytes) -> Reply:
    return Reply(200, {"Content-Type": "application/xml"}, body)


def paths(found, server):
    return sorted("/" + url.removeprefix(server.url("")) for url in found.urls)


def test_a_sitemap_may_be_the_only_start(tmp_path, server):
    index = sitemap((server.url("one.xml.gz"), ""), kind="sitemapindex")
    server.routes["/map"] = lambda path: xml(index)
    server.routes["/one.xml.gz"] = lambda path: xml(gzip.compress(sitemap((server.url("island"), ""))))
    found = crawl(tmp_path, "site", sitemap=server.url("map"))
    assert paths(found, server) == ["/", "/a", "/b", "/deep", "/island"]
    assert (found.errors, found.warnings) == ([], [])


@pytest.mark.parametrize("how", ["robots", "url"])
def test_only_the_pages_that_sitemaps_list_may_be_wanted(tmp_path, server, how):
    server.routes["/sitemap.xml"] = lambda path: xml(sitemap((server.url("island"), ""), (server.url("b"), "")))
    start = {"url": server.url("a"), "sitemap": 1} if how == "robots" else {"sitemap": server.url("sitemap.xml")}
    # Pages of the menu would be loaded for the template.
    found = crawl(tmp_path, "site", listed=1, settings={"PAGELETS_PROBE": 0}, **start)
    assert paths(found, server) == ["/b", "/island"]
    assert set(server.hits) == {"/robots.txt", "/sitemap.xml", "/b", "/island"}
    assert found.errors == []


def test_pages_that_are_older_than_a_day_are_not_requested(tmp_path, server):
    index = sitemap((server.url("new.xml"), "2026-11-21"), (server.url("old.xml"), "2026-11-19"), kind="sitemapindex")
    new = sitemap(
        (server.url("a"), "2026-11-19T23:59:59Z"),
        (server.url("b"), "2026-11-20"),
        (server.url("island"), ""),
        (server.url("deep"), "yesterday"),
    )
    server.routes |= {"/map": lambda path: xml(index), "/new.xml": lambda path: xml(new)}
    found = crawl(tmp_path, "site", sitemap=server.url("map"), listed=1, since="2026-11-20")
    assert paths(found, server) == ["/b", "/deep", "/island"]
    assert found.stat("sitemaps/older") == 2
    assert "/old.xml" not in server.hits


def test_the_console_takes_days_and_what_sitemaps_list(tmp_path, server):
    entries = (server.url("a"), "2026-11-19"), (server.url("island"), "2026-11-20")
    server.routes["/sitemap.xml"] = lambda path: xml(sitemap(*entries))
    console = [sys.executable, "-m", "scrapy_pagelets.crawler.console", "crawl", server.url("b"), "-o", "feed.jsonl"]
    options = ["--listed", "--since", "2026-11-20", "-s", "PAGELETS_PROBE=0", "-s", "AUTOTHROTTLE_ENABLED=0"]
    done = subprocess.run([*console, *options], cwd=tmp_path, capture_output=True, text=True, timeout=LIMIT)
    assert (done.returncode, "ERROR" in done.stderr) == (0, False)
    assert set(server.hits) == {"/robots.txt", "/sitemap.xml", "/island"}


def test_nothing_new_is_no_error(tmp_path, server):
    server.routes["/map"] = lambda path: xml(sitemap((server.url("a"), "2026-11-19")))
    found = crawl(tmp_path, "site", sitemap=server.url("map"), listed=1, since="2026-11-20")
    assert (found.lines, found.errors) == ([], [])


@pytest.mark.parametrize(
    ("modified", "older"),
    [
        ("2026-11-19", True),
        ("2026-11-20", False),
        ("2026-11-20T11:59:00+00:00", True),
        ("2026-11-20T11:59:00-05:00", False),
        ("2026-11-20T12:00", False),
        ("2026", False),
        ("2026-11", False),
        ("", False),
        ("0001-01-01T00:00:00+23:00", True),
    ],
)
def test_an_entry_is_old_if_that_is_certain(modified, older):
    noon = moment("since", "2026-11-20T12:00")
    assert isinstance(noon, datetime)
    assert SitemapEntry("http://h/", False, modified).is_older(noon) is older
    assert not SitemapEntry("http://h/", False, modified).is_older(None)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"url": "/", "sitemap": 1, "listed": 1}, "/sitemap.xml cannot be loaded (404)"),
        ({"sitemap": "/a"}, "/a is not a sitemap: it begins with html"),
        ({"sitemap": "/empty.xml"}, "/empty.xml is not a sitemap: "),
    ],
)
def test_a_sitemap_that_the_crawl_needs_and_that_cannot_be_read_is_a_loss(tmp_path, server, arguments, sentence):
    server.routes["/empty.xml"] = lambda path: xml(b"")
    given = {name: server.url(value) if isinstance(value, str) else value for name, value in arguments.items()}
    found = crawl(tmp_path, "site", code=1, **given)
    assert [sentence in warning for warning in found.warnings] == [True]
    assert len(found.errors) == 1
    assert "1 sitemaps could not be read, and their pages may be missing. What to do: check the" in found.errors[0]


def test_a_sitemap_of_another_site_leaves_nothing_to_crawl(tmp_path, server):
    server.routes["/map"] = lambda path: xml(sitemap(("http://elsewhere.invalid/", "")))
    found = crawl(tmp_path, "site", url=server.url(""), sitemap=server.url("map"), listed=1, code=1)
    assert found.errors == [f"no sitemap lists a page of {server.host}:{server.port}: nothing to crawl"]


def test_a_sitemap_that_does_not_answer_is_a_loss(tmp_path):
    found = crawl(tmp_path, "site", sitemap="http://127.0.0.1:1/map.xml", code=1)
    assert len(found.errors) == 1
    assert "127.0.0.1:1/map.xml cannot be loaded (" in found.warnings[0]
