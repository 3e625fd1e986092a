"""Killed jobs of the spider `site`: the next run sends unanswered requests again, and yields the settling pages."""

from __future__ import annotations

import pickle
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from itertools import count
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scrapy import Request, Spider
from scrapy.http import HtmlResponse

from scrapy_pagelets.crawler.spiders.request_journal import Held, RequestJournal
from scrapy_pagelets.session.response_store import ResponseStore
from tests.crawling import Crawl, answer, crawl, not_found, options, page, pages_asked_for, start
from tests.malicious import Malicious
from tests.server import Route, SiteServer, html, redirect

AT_ONCE = 8  # CONCURRENT_REQUESTS_PER_DOMAIN of the project: the server may answer them after the process has ended
NAMES = ["home", *(f"p{number}" for number in range(40))]
PATHS = ["/", *(f"/{name}" for name in NAMES[1:])]
JOURNAL = "pagelets-journal.sqlite"


class Site:
    """The menu site, whose server kills the crawler after a number of requests."""

    def __init__(self, *kills: int, paths: list[str] = PATHS) -> None:
        self.paths = paths
        self.kills = list(kills)
        self.asked: list[str] = []
        self.kill: Any = None

    def route(self, path: str) -> Any:
        self.asked.append(path)
        if self.kills and len(self.asked) == self.kills[0]:
            self.kills.pop(0)
            self.kill()
        return html(page(path.strip("/") or "home", self.paths))

    def routes(self, **others: Route) -> dict[str, Route]:
        return dict.fromkeys(self.paths, self.route) | {f"/{name}": route for name, route in others.items()}


def killed(tmp_path: Path, site: Site, url: str, settings: dict[str, Any], **arguments: Any) -> list[Path]:
    """Crawl until the process is killed; return the files of the settling pages that are in the journal."""
    command = ["crawl", "site", "-o", str(tmp_path / "feed.jsonl"), *options(settings, {"url": url, **arguments})]
    process = start(*command)
    site.kill = process.kill
    _, log = process.communicate(timeout=120)
    assert process.returncode == -9, log[-3000:]
    with closing(sqlite3.connect(f"file:{tmp_path / 'job' / JOURNAL}?mode=ro", uri=True)) as base:
        tokens = {token for (token,) in base.execute("SELECT token FROM held")}
    return [file for file in sorted((tmp_path / "job" / "pagelets-responses").iterdir()) if file.name in tokens]


def paths(found: Crawl) -> list[str]:
    return sorted("/" + url.split("/", 3)[3] for url in found.urls)


def test_pages_that_scrapy_considers_answered_are_yielded_after_the_process_was_killed(tmp_path):
    """Scrapy has saved the fingerprints of these requests, but not that most of them are still pending."""
    settings = {"JOBDIR": str(tmp_path / "job"), "PAGELETS_FIRST_PAGES": 400}
    site = Site(100, paths=["/", *(f"/p{number}" for number in range(240))])
    with SiteServer(routes=site.routes()) as server:
        held = len(killed(tmp_path, site, server.url(""), settings))
        assert held > 0
        assert (tmp_path / "job" / "requests.seen").stat().st_size > 0
        found = crawl(tmp_path, "site", url=server.url(""), settings=settings)
    assert paths(found) == sorted(site.paths)
    assert len(site.asked) <= len(site.paths) + 100 + AT_ONCE - held
    assert found.errors == found.warnings == []


@pytest.mark.parametrize(("settle", "kills"), [(100, [30]), (100, [15, 40]), (10, [35]), (1, [20])])
def test_every_page_is_yielded_once_although_the_process_was_killed(tmp_path, settle, kills):
    settings = {"JOBDIR": str(tmp_path / "job"), "PAGELETS_FIRST_PAGES": settle}
    site = Site(*kills)
    with SiteServer(routes=site.routes()) as server:
        for _ in kills:
            before = len(site.asked)
            held = len(killed(tmp_path, site, server.url(""), settings))
            assert len(site.asked) > before
        asked = len(site.asked) + AT_ONCE
        found = crawl(tmp_path, "site", url=server.url(""), settings=settings)
    assert paths(found) == sorted(PATHS)
    assert found.stats["finish_reason"] == "finished"
    assert found.errors == found.warnings == []
    assert list((tmp_path / "job" / "pagelets-responses").iterdir()) == []
    assert len(site.asked) <= asked + len(PATHS) - held  # settling pages are not requested again
    assert all("slogan" not in line["text"] for line in found.lines if line["template"]["pages"] > 20)


def test_requests_that_led_to_no_page_are_not_sent_again(tmp_path):
    settings = {"JOBDIR": str(tmp_path / "job"), "PAGELETS_PROBE": 0, "CONCURRENT_REQUESTS": 1}
    site = Site(8)
    asked: list[str] = []

    def gone(path: str) -> Any:
        asked.append(path)
        return not_found(path)

    routes = site.routes(gone=gone, moved=lambda path: redirect("/p1"), file=answer("x", Content_Type="text/plain"))
    routes["/"] = answer(page("home", ["/gone", "/moved", "/file", *PATHS[1:6]]))
    routes["/p4"] = lambda path: site.route(path)
    site.kills = [4]
    with SiteServer(routes=routes) as server:
        killed(tmp_path, site, server.url(""), settings)
        found = crawl(tmp_path, "site", url=server.url(""), settings=settings)
        hits = Counter(pages_asked_for(server.hits))
    assert set(paths(found)) == {"/", *PATHS[1:]}
    assert len(found.lines) == len(set(found.urls))
    assert hits["/gone"] + hits["/file"] <= 3  # one of them may have been pending
    assert found.errors == []


def test_the_number_of_pages_is_limited_although_the_process_was_killed(tmp_path):
    settings = {"JOBDIR": str(tmp_path / "job")}
    site = Site(10)
    with SiteServer(routes=site.routes()) as server:
        killed(tmp_path, site, server.url(""), settings, pages=15)
        found = crawl(tmp_path, "site", url=server.url(""), settings=settings, pages=15)
    assert len(found.lines) == len(set(found.urls)) == 15
    assert found.errors == found.warnings == []


@pytest.mark.parametrize("content", [b"", b"a file of something else", b"SQLite format 3\x00 that was cut off", None])
def test_an_unreadable_journal_causes_a_warning_and_loses_no_settling_page(tmp_path, content):
    """None truncates the journal in the middle."""
    settings = {"JOBDIR": str(tmp_path / "job")}
    site = Site(30)
    with SiteServer(routes=site.routes()) as server:
        held = len(killed(tmp_path, site, server.url(""), settings))
        journal = tmp_path / "job" / JOURNAL
        with closing(sqlite3.connect(journal)) as base:
            base.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        whole = journal.read_bytes()
        journal.write_bytes(whole[: len(whole) // 3] if content is None else content)
        found = crawl(tmp_path, "site", url=server.url(""), settings=settings)
    assert len(found.lines) == len(set(found.urls)) >= held > 0
    assert found.errors == []
    if content != b"":  # an empty file is a new one
        # A run that was killed after its first page may also warn that its site has one page.
        assert sum(JOURNAL in sentence for sentence in found.warnings) == found.stat("journal/failed") == 1
        assert f"{JOURNAL} cannot be read and was renamed to {JOURNAL}.broken" in found.warnings[0]


def test_an_unreadable_settling_page_is_requested_again(tmp_path):
    settings = {"JOBDIR": str(tmp_path / "job"), "CONCURRENT_REQUESTS": 2}  # most pages are held when it is killed
    site = Site(30)
    with SiteServer(routes=site.routes()) as server:
        one, other, *_ = killed(tmp_path, site, server.url(""), settings)
        one.write_bytes(pickle.dumps(Malicious(tmp_path / "code")))
        other.write_bytes(other.read_bytes()[:-1])
        found = crawl(tmp_path, "site", url=server.url(""), settings=settings)
    assert paths(found) == sorted(PATHS)
    assert found.errors == []
    assert found.stat("lost") == 0
    assert found.stat("store/failed") == 2
    assert not (tmp_path / "code").exists()


def test_an_unreadable_request_is_left_out_and_reported(tmp_path):
    job = tmp_path / "job"
    settings = {"JOBDIR": str(job), "PAGELETS_PROBE": 0, "CONCURRENT_REQUESTS": 1}
    site = Site(5)
    with SiteServer(routes=site.routes()) as server:
        killed(tmp_path, site, server.url(""), settings)
        code = pickle.dumps(Malicious(job / "code"))
        with closing(sqlite3.connect(job / JOURNAL)) as journal, journal:
            asked = [number for (number,) in journal.execute("SELECT number FROM requests WHERE state = 0")]
            journal.execute("UPDATE requests SET request = ? WHERE number = ?", (code, asked[-1]))
        found = crawl(tmp_path, "site", url=server.url(""), settings=settings, code=1)
    assert len(found.lines) == len(PATHS) - 1
    assert found.stat("journal/failed") == found.stat("lost") == 1
    assert not (job / "code").exists()
    [lost] = found.errors
    assert "1 requests of the job could not be read" in lost
    assert sum(f"request {asked[-1]} of the job cannot be read" in line for line in found.warnings) == 1


def test_a_settling_page_that_vanishes_is_reported_at_the_end(tmp_path):
    settings = {"JOBDIR": str(tmp_path / "job"), "CONCURRENT_REQUESTS": 1, "PAGELETS_PROBE": 0}
    responses = tmp_path / "job" / "pagelets-responses"
    removed: list[Path] = []

    def last(path: str) -> Any:
        """Wait until the first page is held back, and remove it."""
        pause = Event()
        while not (held := [file for file in responses.glob("held-*") if file.suffix != ".new"]):
            pause.wait(0.02)
        held[0].unlink()
        removed.append(held[0])
        return html(page("last"))

    with SiteServer(routes={"/": answer(page("home", ["/last"])), "/last": last}) as server:
        found = crawl(tmp_path, "site", url=server.url(""), settings=settings, code=1)
    assert paths(found) == ["/last"]
    assert found.stat("lost") == found.stat("pages/lost") == len(removed) == 1
    assert found.errors == [
        "This run has lost something: 1 pages that were held back cannot be read from disk. "
        "What to do: crawl them again"
    ]


def test_a_file_that_a_killed_process_was_writing_is_removed(tmp_path):
    """Only whole responses are taken for stored ones."""
    store = ResponseStore(tmp_path)
    store.put("held-one", HtmlResponse("http://a/", body=b"one"))
    (tmp_path / "held-two.new").write_bytes(b"half of a respo")
    again = ResponseStore(tmp_path)
    assert again.keys("held-") == ["held-one"]
    assert [file.name for file in tmp_path.iterdir()] == ["held-one"]


# The journal


class Stranger(Spider):
    """A spider with a callback."""

    name = "stranger"

    def parse(self, response: Any) -> None:
        """Do nothing."""


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    return (tmp_path_factory.mktemp("journals") / "journal" for _ in count())


STEPS = st.lists(st.tuples(st.sampled_from(["ask", "hold", "settle", "again"]), st.integers(0, 9)), max_size=30)


@settings(deadline=None, max_examples=50)
@given(STEPS, STEPS)
def test_a_reopened_journal_has_the_same_state(folders, before, after):
    path = next(folders)
    spider, states = Stranger(), dict[int, str]()
    for steps in (before, after):
        journal = RequestJournal(path)
        assert journal.goes_on == bool(states)
        for step, page_number in steps:
            known = journal.number_of(str(page_number))
            assert (known is not None) == (page_number in states)
            if step == "ask" and known is None:
                journal.ask(str(page_number), Request(f"http://a/{page_number}", spider.parse), spider)
                states[page_number] = "asked"
            elif known is not None and step == "hold" and states[page_number] == "asked":
                journal.hold(Held(known, "a", str(page_number), "then"))
                states[page_number] = "held"
            elif known is not None and step == "again" and states[page_number] == "held":
                journal.ask_again(known)
                states[page_number] = "asked"
            elif known is not None and step == "settle":
                journal.settle(known)
                states[page_number] = "settled"
        asked = {int(request.url.rpartition("/")[2]) for _, request in journal.asked(spider)}
        assert asked == {number for number, state in states.items() if state == "asked"}
        assert {int(held.key) for held in journal.held()} == {n for n, state in states.items() if state == "held"}
        assert journal.numbers[1] == len(states) - len(asked)
        assert journal.complete  # it is not closed: the process may have been killed
        if steps is after:
            journal.close()


def test_a_journal_that_cannot_be_written_is_reported_and_not_complete(tmp_path):
    journal, told = RequestJournal(tmp_path / "journal"), list[str]()
    journal.failed = told.append
    assert journal.ask("a", Request("http://a/"), Stranger()) == 1
    journal.close()
    (tmp_path / "folder").mkdir()
    unusable = RequestJournal(tmp_path / "folder")
    assert not unusable.is_open
    assert not unusable.complete
    assert "cannot be used" in unusable.problem
    assert unusable.ask("a", Request("http://a/"), Stranger()) is None
    assert told == []  # its owner reports the problem


def test_a_request_that_is_not_json_is_reported_and_not_recorded(tmp_path):
    said: list[str] = []
    journal = RequestJournal(tmp_path / "journal")
    journal.failed = said.append
    assert journal.ask("a", Request("http://a/", meta={"a": {1}}), Stranger()) is None
    assert said == ["http://a/ cannot be requested again if this run is interrupted: {1} is not JSON"]
    assert not journal.complete
    journal.close()
