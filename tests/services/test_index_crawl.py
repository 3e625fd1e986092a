"""Real crawls into indexes: repeated, two at once, and while the server is unavailable."""

from __future__ import annotations

import json
import sqlite3
import subprocess
from contextlib import closing
from threading import Event

import pytest

from scrapy_pagelets.index.sqlite import SQLiteIndex
from scrapy_pagelets.index.targets import open_index
from tests.crawling import crawl, finished, letters, menu_site, options, run_spider, scrapy, start, words
from tests.server import SiteServer

NAMES = ["home", *"abcdefgh"]
#: Pages go to the index one by one, as soon as they arrive.
ONE_BY_ONE = {"PAGELETS_FIRST_PAGES": 1, "CONCURRENT_REQUESTS": 1, "PAGELETS_PROBE": 0}


def indexed(target):
    """Return the pages that an index finds by the words of their contents, in any order."""
    found = {}
    with open_index(target) as index:
        for name in NAMES:
            for hit in index.search(f"{letters(name)}word7", 100):
                found[hit.url] = {match.number: match.text for match in hit.pagelets if match.role == "content"}
    return found


def of_feed(lines):
    return {line["url"]: {pagelet["id"]: pagelet["text"] for pagelet in line["pagelets"]} for line in lines}


def test_a_crawl_fills_an_index(tmp_path):
    path = str(tmp_path / "pages.sqlite")
    with SiteServer(routes=menu_site(*NAMES)) as server:
        found = crawl(tmp_path, "site", url=server.url(""), settings={"PAGELETS_INDEX": path})
    assert indexed(path) == of_feed(found.lines)
    assert len(found.lines) == len(NAMES)
    assert found.stat("index/pages") == len(NAMES)
    assert found.errors == found.warnings == []
    with SQLiteIndex(path) as index:
        (hit,) = index.search("Title of home")[:1]
        assert (hit.url, hit.pagelets[0].role) == (server.url(""), "title")
    assert [file.name for file in tmp_path.iterdir() if "pagelets-index" in file.name] == []


def test_a_finished_crawl_purges_pages_that_no_longer_exist(tmp_path):
    path = str(tmp_path / "pages.sqlite")
    settings = {"PAGELETS_INDEX": path, "PAGELETS_INDEX_PURGE": 1}
    with SiteServer(routes=menu_site(*NAMES)) as server:
        first = crawl(tmp_path, "site", url=server.url(""), settings=settings)
        server.routes.clear()
        server.routes.update(menu_site(*NAMES[:-2]))
        ended = {**settings, **ONE_BY_ONE, "CLOSESPIDER_ITEMCOUNT": 1}
        part = crawl(tmp_path, "site", url=server.url(""), settings=ended, feed="2.jsonl")
        assert part.stats["finish_reason"] == "closespider_itemcount"
        assert set(indexed(path)) == set(first.urls)
        again = crawl(tmp_path, "site", url=server.url(""), settings=settings, feed="3.jsonl")
    assert indexed(path) == of_feed(again.lines)
    assert again.stat("index/purged") == 2


def test_an_index_of_another_version_ends_the_crawl_before_it_begins(tmp_path):
    path = str(tmp_path / "pages.sqlite")
    with SQLiteIndex(path) as index:
        index.base.execute("UPDATE meta SET value = '0' WHERE key = 'version'")
    with SiteServer(routes=menu_site(*NAMES)) as server:
        found = crawl(tmp_path, "site", url=server.url(""), settings={"PAGELETS_INDEX": path}, code=1)
        assert server.hits == []
    assert found.errors == [f"{path} is an index of version 0, not 1: create a new one, under another name."]


def test_an_invalid_name_ends_the_crawl_before_it_begins(tmp_path):
    found = crawl(tmp_path, "site", url="http://127.0.0.1:1/", settings={"PAGELETS_INDEX": "pages.txt"}, code=1)
    assert len(found.errors) == 1
    assert found.errors[0].startswith(
        "PAGELETS_INDEX cannot be used: 'pages.txt' is not the name of an index: give a path"
    )


def test_two_crawls_at_once_fill_one_index(tmp_path):
    path, processes = str(tmp_path / "pages.sqlite"), []
    with SiteServer(routes=menu_site(*NAMES)) as one, SiteServer(routes=menu_site(*NAMES)) as other:
        for number, server in enumerate((one, other)):
            settings = options({"PAGELETS_INDEX": path, "PAGELETS_FIRST_PAGES": 1}, {"url": server.url("")})
            processes.append(start("crawl", "site", "-o", str(tmp_path / f"{number}.jsonl"), *settings))
        crawls = []
        for number, process in enumerate(processes):
            _, log = process.communicate(timeout=300)
            done = subprocess.CompletedProcess("", process.returncode, "", log)
            crawls.append(finished(done, tmp_path / f"{number}.jsonl"))
    assert indexed(path) == of_feed(crawls[0].lines + crawls[1].lines)
    assert [len(found.lines) for found in crawls] == [len(NAMES)] * 2
    assert crawls[0].errors == crawls[1].errors == crawls[0].warnings == crawls[1].warnings == []


SPIDER = """
class Spider(scrapy.Spider):
    name = "stranger"

    def __init__(self, url):
        self.start_urls = [url]

    def parse(self, response):
        yield {"url": response.url + "#first", "title": "A title of their own"}
        yield {"url": response.url + "#second"}
        yield {"name": "once more"}
        yield {"name": "and again"}
"""


def test_items_of_one_page_are_distinguished_only_by_their_urls(tmp_path):
    path = str(tmp_path / "pages.sqlite")
    settings = {"PAGELETS_INDEX": path, "PAGELETS_FIELDS": {"pagelets": None, "url": "url"}, "PAGELETS_PROBE": 0}
    with SiteServer(routes=menu_site("home")) as server:
        found = run_spider(tmp_path, SPIDER, url=server.url(""), settings=settings)
        urls = [server.url("") + end for end in ("#first", "#second", "")]
    assert found.stat("index/pages") == 3
    assert sorted(indexed(path)) == sorted(urls)
    with closing(sqlite3.connect(path)) as base:
        titles = dict(base.execute("SELECT url, title FROM pages"))
    assert titles == dict(zip(urls, ["A title of their own", "Title of home", "Title of home"], strict=True))


# A server that becomes unavailable


def is_spooled(folder):
    """Wait until pages wait on disk."""
    pause = Event()
    for _ in range(2000):
        if any(file.stat().st_size for file in folder.glob("pagelets-index-*.jsonl")):
            return
        pause.wait(0.05)
    raise AssertionError("no page was put on disk")


def site_that(actions):
    """The menu site; something happens before some of its pages are sent. The last link is followed first."""
    routes = menu_site(*NAMES)

    def acting(route, action):
        def answered(path):
            action()
            return route(path)

        return answered

    return routes | {path: acting(routes[path], action) for path, action in actions.items()}


@pytest.fixture
def server_again(postgres):
    """The server, which is running again after the test."""
    yield postgres
    if not postgres.runs:
        postgres.start()


def test_nothing_is_lost_when_the_server_is_killed_and_started_again(tmp_path, database, server_again):
    job = tmp_path / "job"

    def back():
        is_spooled(job)
        server_again.start()

    settings = {**ONE_BY_ONE, "PAGELETS_INDEX": database, "JOBDIR": str(job)}
    with SiteServer(routes=site_that({"/f": server_again.kill, "/a": back})) as server:
        found = crawl(tmp_path, "site", url=server.url(""), settings=settings)
    assert indexed(database) == of_feed(found.lines)
    assert len(found.lines) == len(NAMES)
    assert found.stat("index/away") == 1
    assert found.stat("index/spooled") == found.stat("index/unspooled") > 0
    assert found.stat("index/left") == found.stat("index/lost") == 0
    assert found.errors == []
    assert len(found.warnings) == 1
    assert found.warnings[0].endswith("; pages wait on disk until it is available")
    assert list(job.glob("pagelets-index-*")) == []


def test_a_server_that_is_down_at_the_start_gets_all_pages_when_it_is_back(tmp_path, database, server_again):
    job = tmp_path / "job"
    server_again.stop()

    def back():
        is_spooled(job)
        server_again.start()

    settings = {**ONE_BY_ONE, "PAGELETS_INDEX": database, "JOBDIR": str(job)}
    with SiteServer(routes=site_that({"/a": back})) as server:
        found = crawl(tmp_path, "site", url=server.url(""), settings=settings)
    assert indexed(database) == of_feed(found.lines)
    assert len(found.lines) == len(NAMES)
    assert found.errors == []
    assert "Connection refused" in found.warnings[0]


def test_pages_that_are_left_at_the_end_are_sent_later(tmp_path, database, server_again):
    with SiteServer(routes=site_that({"/c": server_again.kill})) as server:
        settings = {**ONE_BY_ONE, "PAGELETS_INDEX": database, "JOBDIR": str(tmp_path / "job")}
        found = crawl(tmp_path, "site", url=server.url(""), settings=settings)
    files = sorted((tmp_path / "job").glob("pagelets-index-*.jsonl"))
    left = [json.loads(line)["url"] for file in files for line in file.read_text().splitlines()]
    assert found.stat("index/left") == len(left) > 0
    assert len(found.lines) == len(NAMES)
    assert found.warnings[-1].startswith(f"{len(left)} pages are not in postgresql://127.0.0.1:")
    assert f"they wait in {tmp_path}/job/pagelets-index-" in found.warnings[-1]
    server_again.start()
    assert set(indexed(database)) == set(found.urls) - set(left)
    for file in files:
        done = scrapy("pagelets", "index", str(file), database)
        assert done.returncode == 0, done.stderr
    assert indexed(database) == of_feed(found.lines)


# The command


@pytest.fixture
def feed(tmp_path):
    lines = [{"url": f"http://example.com/{name}", "title": "", "pagelets": [pagelet(words(name))]} for name in NAMES]
    path = tmp_path / "feed.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def pagelet(text):
    return {"id": 0, "xpaths": [], "role": "content", "templateness": 0.1, "text": text, "words": 60, "links": []}


def test_the_command_writes_a_feed_to_an_index(tmp_path, feed):
    path = str(tmp_path / "pages.sqlite")
    done = scrapy("pagelets", "index", str(feed), path)
    assert (done.returncode, done.stdout) == (0, f"9 pages with 9 pagelets are in {path}\n"), done.stderr
    feed.write_text("".join(feed.read_text().splitlines(keepends=True)[:4]))
    done = scrapy("pagelets", "index", str(feed), path, "--purge")
    assert done.stdout == f"4 pages with 4 pagelets are in {path}, 5 pages were deleted\n"
    assert len(indexed(path)) == 4


def test_pages_that_waited_are_not_purged(tmp_path, feed):
    path, waited = str(tmp_path / "pages.sqlite"), tmp_path / "waited.jsonl"
    lines = [json.loads(line) for line in feed.read_text().splitlines()]
    for crawled, chosen in (("2026-01-01", lines), ("2026-02-01", lines[:3])):
        found = [json.dumps(line | {"crawled": f"{crawled}T00:00:00.000Z"}) for line in chosen]
        waited.write_text("\n".join(found) + "\n")
        done = scrapy("pagelets", "index", str(waited), path, "--purge")
        assert done.returncode == 0, done.stderr
    assert done.stdout == f"3 pages with 3 pagelets are in {path}, 6 pages were deleted\n"
    assert len(indexed(path)) == 3


@pytest.mark.parametrize(
    ("content", "index", "message"),
    [
        ("", "pages.sqlite", "it has no pages"),
        ('{"url": "http://a/", "pagelets": []}\n{"a": 1}\n', "pages.sqlite", "line 2 is not a page"),
        ('{"url": "http://a/", "pagelets": []}\n{"a', "pages.sqlite", "line 2 is not a page"),
        ("", "pages.txt", "is not the name of an index: give a path that ends in .sqlite or .ndjson"),
        ('{"url": "http://a/", "text": "b"}\n', "postgresql://pagelets@127.0.0.1:1/base", "cannot be used now"),
    ],
)
def test_the_command_says_in_a_sentence_what_is_wrong(tmp_path, content, index, message):
    (tmp_path / "feed.jsonl").write_text(content)
    done = scrapy("pagelets", "index", str(tmp_path / "feed.jsonl"), index, cwd=tmp_path)
    assert done.returncode == 1
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1
