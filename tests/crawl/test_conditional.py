"""``PAGELETS_CHANGED=only``: the feed has what is new or has changed, and what is not modified is not loaded."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from hashlib import md5
from pathlib import Path
from typing import Any

import pytest

from scrapy_pagelets.page.urls import key
from scrapy_pagelets.recrawl import version_store
from scrapy_pagelets.recrawl.version_store import FILE, PageVersion, Validators, VersionStore, change
from tests.crawling import Crawl, answer, crawl, page, pagelets, run_spider
from tests.server import Reply, Route, SiteServer, html, redirect

MENU = ("/", "/a", "/b", "/c")
CONDITIONS = ("If-None-Match", "If-Modified-Since")


def sent(server: SiteServer, path: str) -> dict[str, str]:
    """The conditions of the last request for a path."""
    return {name: value for name, value in server.headers[path].items() if name in CONDITIONS}


def versioned(server: SiteServer, body: str) -> Route:
    """A page with an ETag, which is not sent again to who has it."""
    etag = f'"{md5(body.encode()).hexdigest()}"'

    def route(path: str) -> Reply:
        known = sent(server, path).get("If-None-Match") == etag
        return Reply(304, {"ETag": etag}) if known else html(body, ETag=etag)

    return route


def dated(server: SiteServer, body: str, moment: str) -> Route:
    def route(path: str) -> Reply:
        known = sent(server, path).get("If-Modified-Since") == moment
        return Reply(304) if known else html(body, Last_Modified=moment)

    return route


def serve(server: SiteServer) -> None:
    """A site with an ETag for each page; ``/deep`` is linked from the content of ``/a`` alone."""
    for path in MENU:
        more = '<p>More about it <a href="/deep">is written there</a></p>' if path == "/a" else ""
        server.routes[path] = versioned(server, page(path[1:] or "home", MENU, more=more))
    server.routes["/deep"] = versioned(server, page("deep", MENU))


@pytest.fixture
def site():
    with SiteServer() as server:
        serve(server)
        yield server


def recrawl(
    tmp_path: Path, server: SiteServer, name: str, more: Mapping[str, Any] | None = None, **options: Any
) -> Crawl:
    server.hits.clear()
    settings = {"PAGELETS_STORE": str(tmp_path / "store"), "PAGELETS_CHANGED": "only", **(more or {})}
    return crawl(tmp_path, "site", url=server.url(""), settings=settings, feed=f"{name}.jsonl", **options)


def paths(found: Crawl) -> list[str]:
    return sorted("/" + url.split("/", 3)[3] for url in found.urls)


def asked(server: SiteServer) -> list[str]:
    return sorted(set(server.hits) - {"/robots.txt"})


EVERY = sorted((*MENU, "/deep"))


def test_what_is_not_modified_is_not_sent_again_but_its_links_are_followed(tmp_path, site):
    first = recrawl(tmp_path, site, "1")
    assert paths(first) == EVERY
    second = recrawl(tmp_path, site, "2")
    assert (second.lines, asked(site)) == ([], EVERY)
    assert all(sent(site, path) for path in EVERY)
    assert second.stat("recrawl/not_modified") == 5
    assert "5 pages are the same as in the earlier crawl, and left out (5 of them were not sent again)" in second.log
    site.routes["/deep"] = versioned(site, page("other", MENU))
    third = recrawl(tmp_path, site, "3")
    assert [(path, line["changed"]) for path, line in zip(paths(third), third.lines, strict=True)] == [
        ("/deep", "changed")
    ]
    assert (third.stat("recrawl/not_modified"), third.errors, third.warnings) == (4, [], [])


def test_the_command_says_so_if_nothing_has_changed(tmp_path, site):
    recrawl(tmp_path, site, "1")
    settings = f"-s PAGELETS_STORE={tmp_path / 'store'} -s PAGELETS_CHANGED=only -s AUTOTHROTTLE_ENABLED=0".split()
    done = pagelets("crawl", site.url(""), "-o", "2.jsonl", *settings, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "5 pages left out: the same as in the earlier crawl\n" in done.stdout
    assert "next:" not in done.stdout  # there is nothing in the feed to report


def test_a_date_will_do_and_so_will_nothing(tmp_path, site):
    moment = "Wed, 25 Nov 2026 10:00:00 GMT"
    site.routes["/b"] = dated(site, page("b", MENU), moment)
    site.routes["/c"] = answer(page("c", MENU))
    recrawl(tmp_path, site, "1")
    second = recrawl(tmp_path, site, "2")
    assert second.lines == []
    assert (sent(site, "/b"), sent(site, "/c")) == ({"If-Modified-Since": moment}, {})
    counts = [second.stat(f"recrawl/{name}") for name in ("not_modified", "same", "left_out")]
    assert counts == [4, 1, 1]
    assert "5 pages are the same as in the earlier crawl, and left out (4 of them were not sent again)" in second.log


def test_a_page_with_a_new_footer_is_sent_and_left_out(tmp_path, site):
    recrawl(tmp_path, site, "1")
    site.routes["/b"] = versioned(site, page("b", MENU).replace("All rights", "Today all rights"))
    second = recrawl(tmp_path, site, "2")
    assert (second.lines, second.stat("recrawl/left_out")) == ([], 1)


def test_a_redirect_does_not_carry_the_condition_of_another_page(tmp_path, site):
    for name in "12":
        recrawl(tmp_path, site, name)
    etag = sent(site, "/b")
    site.routes["/b"] = lambda path: redirect("/new")
    site.routes["/new"] = versioned(site, page("new", MENU))
    third = recrawl(tmp_path, site, "3")
    assert (sent(site, "/b"), sent(site, "/new"), paths(third)) == (etag, {}, ["/new"])
    fourth = recrawl(tmp_path, site, "4")
    assert fourth.lines == []
    assert sent(site, "/new").keys() == {"If-None-Match"}


def test_without_the_setting_everything_is_loaded_and_told(tmp_path, site):
    recrawl(tmp_path, site, "1")
    second = recrawl(tmp_path, site, "2", {"PAGELETS_CHANGED": "tell"})
    assert {line["changed"] for line in second.lines} == {"same"}
    assert not any(sent(site, path) for path in EVERY)


def test_the_http_cache_asks_itself_and_what_it_has_is_left_out_all_the_same(tmp_path, site):
    cache = {
        "HTTPCACHE_ENABLED": 1,
        "HTTPCACHE_DIR": str(tmp_path / "cache"),
        "HTTPCACHE_POLICY": "scrapy.extensions.httpcache.RFC2616Policy",
    }
    first = recrawl(tmp_path, site, "1", cache)
    second = recrawl(tmp_path, site, "2", cache)
    assert (paths(first), second.lines) == (EVERY, [])
    assert (second.stats["httpcache/revalidate"], second.stat("recrawl/not_modified")) == (5, 0)
    assert second.stat("recrawl/left_out") == 5


def test_with_the_cache_an_unasked_answer_is_no_page(tmp_path, site):
    site.routes["/b"] = lambda path: Reply(304, {"Content-Type": "text/html"})
    found = recrawl(tmp_path, site, "1", {"HTTPCACHE_ENABLED": 1, "HTTPCACHE_DIR": str(tmp_path / "cache")})
    assert (paths(found), found.stat("pages/missing/304")) == (["/", "/a", "/c", "/deep"], 1)


def test_a_page_that_was_loaded_for_a_template_is_not_asked_for_again(tmp_path, site):
    recrawl(tmp_path, site, "1")
    for file in (tmp_path / "store").glob("pagelets-sites-*"):
        file.unlink()
    site.routes["/"] = versioned(site, page("new", MENU))
    second = recrawl(tmp_path, site, "2")
    assert (paths(second), second.stat("probe/handed_over")) == (["/"], 3)
    assert max(site.hits.count(path) for path in EVERY) == 1


def test_a_limited_number_of_pages_counts_those_that_are_not_sent(tmp_path, site):
    recrawl(tmp_path, site, "1")
    second = recrawl(tmp_path, site, "2", pages=3)
    assert len(asked(site)) == second.stat("recrawl/not_modified") == 3


def test_a_server_that_says_not_modified_unasked_loses_a_page_and_the_crawl_says_so(tmp_path, site):
    site.routes["/b"] = lambda path: Reply(304)
    found = recrawl(tmp_path, site, "1", code=1)
    assert paths(found) == ["/", "/a", "/c", "/deep"]
    assert len(found.errors) == len(found.warnings) == 1
    assert "/b is lost: its server says that it is not modified, though nobody has asked that" in found.warnings[0]
    assert "1 pages were not sent, their servers answered 304 unasked. What to do: look at what" in found.errors[0]


def test_a_page_that_is_no_longer_stored_is_loaded_again(tmp_path, site):
    recrawl(tmp_path, site, "1")
    route = site.routes["/b"]

    def forgetting(path: str) -> Any:
        with closing(sqlite3.connect(tmp_path / "store" / FILE, isolation_level=None)) as base:
            base.execute("DELETE FROM validators WHERE key = ?", (key(site.url("b")),))
            base.execute("UPDATE pages SET hash = 'other', words = NULL WHERE key = ?", (key(site.url("b")),))
        return route(path)

    site.routes["/b"] = forgetting
    second = recrawl(tmp_path, site, "2")
    assert (site.hits.count("/b"), paths(second), second.errors) == (2, ["/b"], [])


STRANGER = """
class Spider(scrapy.Spider):
    name = "stranger"
    async def start(self):
        for path in "ab":
            yield Request(self.base + path, meta={"pagelets_conditional": path == "a"})
    def parse(self, response):
        yield {"url": response.url}
"""


def test_spiders_of_others_ask_for_it_request_by_request(tmp_path, site):
    settings = {"PAGELETS_STORE": str(tmp_path / "store"), "PAGELETS_CHANGED": "only"}
    for number, left in enumerate((["/a", "/b"], [])):
        (tmp_path / "feed.jsonl").unlink(missing_ok=True)
        found = run_spider(tmp_path, STRANGER, base=site.url(""), settings=settings)
        assert (paths(found), found.stat("recrawl/not_modified")) == (left, number)
    assert (list(sent(site, "/a")), sent(site, "/b")) == (["If-None-Match"], {})


def test_pages_are_left_out_against_a_feed_too(tmp_path, site):
    old = crawl(tmp_path, "site", url=site.url(""), feed="old.jsonl")
    (tmp_path / "less.jsonl").write_text("".join(json.dumps(line) + "\n" for line in old.lines[1:]))
    settings = {"PAGELETS_EARLIER_FEED": str(tmp_path / "less.jsonl"), "PAGELETS_CHANGED": "only"}
    found = crawl(tmp_path, "site", url=site.url(""), settings=settings)
    assert [(line["url"], line["changed"]) for line in found.lines] == [(old.urls[0], "new")]


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({}, "PAGELETS_CHANGED is only, but there is no earlier crawl to compare with: set PAGELETS_STORE to a folder"),
        (
            {"PAGELETS_STORE": "store", "PAGELETS_INDEX": "x.sqlite", "PAGELETS_INDEX_PURGE": 1},
            "PAGELETS_INDEX_PURGE deletes the pages that PAGELETS_CHANGED=only leaves out: switch one of them off",
        ),
    ],
)
def test_what_cannot_be_combined_ends_the_crawl_before_it_begins(tmp_path, settings, sentence):
    given = {"PAGELETS_CHANGED": "only", **settings}
    found = crawl(tmp_path, "site", url="http://127.0.0.1:1/", settings=given, code=1)
    assert len(found.errors) == 1
    assert found.errors[0].startswith(sentence)


# The store


def test_validators_are_those_of_an_earlier_crawl_not_of_this_one(tmp_path):
    known = Validators('"x"', None, ("http://h/a",))
    for finished, expected in ((False, None), (True, None), (True, known)):  # the runs of a job are one crawl
        store = VersionStore(tmp_path, "job")
        assert store.validators(1) == expected
        store.put(1, PageVersion.of("one"), known)
        assert store.validators(1) is None
        store.close(finished=finished)


def test_a_confirmed_page_stays_what_it_was(tmp_path):
    for _ in range(2):
        store = VersionStore(tmp_path)
        if store.find(1) is None:
            store.put(1, PageVersion.of("one"), Validators('"x"', None, ()))
        else:
            store.confirm(1)
            assert change(store.find(1), PageVersion.of("one")).kind == "same"
            assert store.validators(1) is None
        store.close(finished=True)
    store = VersionStore(tmp_path)
    assert store.validators(1) == Validators('"x"', None, ())
    store.close()


def test_validators_go_with_their_page_and_a_damaged_row_is_none(tmp_path, monkeypatch):
    monkeypatch.setattr(version_store, "MOST_PAGES", 1)
    store = VersionStore(tmp_path)
    for number in (1, 2):
        store.put(number, PageVersion.of("one"), Validators('"x"', None, ()))
    store.close(finished=True)
    with closing(sqlite3.connect(tmp_path / FILE, isolation_level=None)) as base:
        assert base.execute("SELECT key FROM validators").fetchall() == [(2,)]
        base.execute("UPDATE validators SET links = x'00'")
    store = VersionStore(tmp_path)
    assert store.validators(2) is None
    store.close()
