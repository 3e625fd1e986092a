"""Crawls that several processes share through a real Redis."""

from __future__ import annotations

import argparse
import json
import pickle
import signal
import subprocess
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from scrapy import Request

from scrapy_pagelets.crawler.commands import merge as merge_command
from scrapy_pagelets.crawler.commands.all_commands import run_command
from scrapy_pagelets.session.requests import PageFingerprinter
from scrapy_pagelets.shared.frontier import Frontier
from scrapy_pagelets.shared.server import Server
from tests.crawling import SETTINGS, SITE, options, scrapy, start
from tests.malicious import Malicious
from tests.redis_server import RedisServer
from tests.server import SiteServer, html

LIMIT = 90
#: Seconds after which the requests of a killed process are taken over.
LEASE = 1
#: A page that a test may keep waiting.
GATE = "/miscellaneous/faq.html"


class Workers:
    """Processes that crawl the site together."""

    def __init__(self, folder: Path, redis: RedisServer, server: SiteServer) -> None:
        self.folder, self.redis, self.server = folder, redis, server
        self.processes: list[subprocess.Popen[str]] = []

    def start(self, **settings: Any) -> subprocess.Popen[str]:
        every = {**SETTINGS, "PAGELETS_REDIS": self.redis.url, "PAGELETS_REDIS_LEASE": LEASE, **settings}
        command = ["crawl", "site", "-o", str(self.folder / "feed.jsonl")]
        command += options(every, {"url": self.server.url("index.html")})
        with open(self.folder / f"{len(self.processes)}.log", "wb") as log:
            process = start(*command, stdout=log.fileno(), stderr=log.fileno())
        self.processes.append(process)
        return process

    def wait(self) -> list[int]:
        return [process.wait(timeout=LIMIT) for process in self.processes]

    def log(self, number: int) -> str:
        return (self.folder / f"{number}.log").read_text(encoding="utf-8")

    @property
    def parts(self) -> list[Path]:
        return sorted(self.folder.glob("feed.part-*.jsonl"))

    def merged(self) -> list[dict[str, Any]]:
        """The lines of the merged feed, by URL."""
        out = self.folder / "merged.jsonl"
        merge(*self.parts, out=out)
        lines = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
        return sorted(lines, key=lambda line: str(line["url"]))


@pytest.fixture
def site() -> Iterator[SiteServer]:
    with SiteServer(SITE) as server:
        yield server


@pytest.fixture
def workers(tmp_path: Path, empty_redis: RedisServer, site: SiteServer) -> Iterator[Workers]:
    found = Workers(tmp_path, empty_redis, site)
    yield found
    for process in found.processes:
        if process.poll() is None:
            process.kill()
            process.wait()


def merge(*parts: Path, out: Path, field: str = "url") -> int:
    return run_command(merge_command.run, argparse.Namespace(parts=list(map(str, parts)), out=str(out), field=field))


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + LIMIT
    while not condition():
        assert time.monotonic() < deadline, "it does not come to that"
        time.sleep(0.01)


def closed_gate(site: SiteServer, more: bytes = b"") -> Event:
    """Keep everybody who asks for one page, which may get more content, waiting until the event is set."""
    gate, body = Event(), (SITE / GATE[1:]).read_bytes().replace(b"</body>", more + b"</body>")
    site.routes[GATE] = lambda path: (200, {"Content-Type": "text/html"}, body, gate)
    return gate


def pages(site: SiteServer) -> Counter[str]:
    return Counter(path for path in site.hits if path != "/robots.txt")


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What one process by itself makes of the site: the text of each page by its path."""
    feed = tmp_path_factory.mktemp("alone") / "feed.jsonl"
    with SiteServer(SITE) as server:
        command = ["crawl", "site", "-o", str(feed), *options({}, {"url": server.url("index.html")})]
        assert scrapy(*command).returncode == 0
        lines = [json.loads(line) for line in feed.read_text(encoding="utf-8").splitlines()]
        return {line["url"].removeprefix(server.url()): line["text"] for line in lines}


def texts(workers: Workers) -> dict[str, str]:
    return {line["url"].removeprefix(workers.server.url()): line["text"] for line in workers.merged()}


def test_three_processes_crawl_a_site_as_one_does(workers, alone):
    for _ in range(3):
        workers.start(PAGELETS_REDIS_LEASE=LIMIT)  # a busy machine is no death
    assert workers.wait() == [0, 0, 0]
    assert max(pages(workers.server).values()) == 1
    assert len(workers.parts) == 3
    assert texts(workers) == alone
    logs = [workers.log(number) for number in range(3)]
    # One process has searched for the template of the class, for all.
    assert sum("'pagelets/templates/probed': 1" in log for log in logs) == 1
    assert not any("ERROR" in log or "WARNING" in log for log in logs)


def test_what_a_killed_process_was_doing_is_done_by_others(workers, alone):
    gate = closed_gate(workers.server)
    workers.start(PAGELETS_PROBE=0)
    workers.start(PAGELETS_PROBE=0)
    until(lambda: GATE in workers.server.hits)
    pid = holder(workers)
    killed = next(number for number, one in enumerate(workers.processes) if one.pid == pid)
    workers.processes[killed].send_signal(signal.SIGKILL)
    until(lambda: workers.server.hits.count(GATE) == 2)
    gate.set()
    assert sorted(workers.wait()) == [-signal.SIGKILL, 0]
    assert texts(workers).keys() == alone.keys()
    assert workers.redis.client.keys("*") == workers.redis.client.keys("*:finished")


def holder(workers: Workers) -> int:
    """Process id of the worker that has leased the page behind the gate."""
    page = PageFingerprinter().fingerprint(Request(workers.server.url(GATE))).hex()
    [key] = workers.redis.client.keys("*:leases")
    leases: Any = workers.redis.client.hgetall(key)
    [worker] = [worker for lease, worker in leases.items() if lease.decode().startswith(page)]
    return int(worker.decode().rsplit("-", 2)[1])


@pytest.fixture
def other(workers: Workers) -> Iterator[Frontier]:
    """Another process of the crawl that the first worker has begun."""
    client: Any = workers.redis.client
    until(lambda: bool(client.keys("*:meaning")))
    [key] = client.keys("*:meaning")
    server = Server(workers.redis.url, key.decode().removesuffix("meaning"), lambda *_: None)
    frontier = Frontier(server, "other", LEASE)
    assert frontier.begin(client.get(key).decode())
    yield frontier
    server.close()


@pytest.fixture
def one(workers: Workers) -> subprocess.Popen[str]:
    return workers.start(PAGELETS_PROBE=0)


def test_a_process_that_is_taken_for_dead_goes_on(one, other, workers, alone):
    # The first page is left to the first worker, which would find nothing without it.
    until(lambda: bool(pages(workers.server)))
    until(lambda: bool(other.exchange(wants=1)[1]))

    def waits() -> bool:
        state, _ = other.exchange()
        return (state.queued, state.leased) == (0, 1) and state.held > 0

    until(waits)  # for the request that the other one has
    one.send_signal(signal.SIGSTOP)
    until(lambda: other.exchange()[0].held == 0)
    one.send_signal(signal.SIGCONT)
    other.exchange(leaves=True)
    assert workers.wait() == [0]
    assert texts(workers).keys() == alone.keys()


def test_the_crawl_waits_while_redis_is_away(workers, alone):
    gate = closed_gate(workers.server)
    workers.start(PAGELETS_PROBE=0)
    until(lambda: GATE in workers.server.hits)
    workers.redis.stop()
    gate.set()
    until(lambda: "the crawl waits for it" in workers.log(0))
    workers.redis.start()
    assert workers.wait() == [0]
    assert max(pages(workers.server).values()) == 1
    assert texts(workers).keys() == alone.keys()
    warnings = [line for line in workers.log(0).splitlines() if "] WARNING: " in line]
    assert ["cannot be reached, the crawl waits for it" in line for line in warnings] == [True, False]
    assert "was restarted: this process repeats what it has told it last" in warnings[1]
    assert "is back, the crawl goes on" in workers.log(0)


def test_a_full_redis_stops_the_crawl_which_can_be_continued(workers, alone):
    gate = closed_gate(workers.server, b'<a href="/late.html">A link that cannot be queued</a>')
    workers.server.routes["/late.html"] = lambda path: html("<p>A page that is found late.")
    workers.start(PAGELETS_PROBE=0)
    until(lambda: GATE in workers.server.hits)
    workers.redis.client.config_set("maxmemory", 1)
    try:
        gate.set()
        assert workers.wait() == [1]
    finally:
        workers.redis.client.config_set("maxmemory", 0)
    assert "is full" in workers.log(0)
    assert "Nothing is lost: give Redis more memory" in workers.log(0)
    assert "This run has lost something" not in workers.log(0)
    assert "Traceback" not in workers.log(0)
    workers.start(PAGELETS_PROBE=0)
    assert workers.wait() == [1, 0]
    assert texts(workers).keys() == alone.keys() | {"late.html"}


def compared(workers: Workers) -> int:
    """Number of pages in the log of contents."""
    client: Any = workers.redis.client
    return sum(client.llen(key) for key in client.keys("*:contents"))


def test_a_crawl_that_redis_has_lost_ends_with_one_sentence(workers):
    gate = closed_gate(workers.server)
    workers.start(PAGELETS_PROBE=0, PAGELETS_FIRST_PAGES=1)
    until(lambda: GATE in workers.server.hits and compared(workers) > 1)
    workers.redis.client.flushall()
    gate.set()
    assert workers.wait() == [1]
    errors = [line for line in workers.log(0).splitlines() if "] ERROR: " in line]
    assert ["does not know the crawl any more: it was flushed" in line for line in errors] == [True]
    assert "Traceback" not in workers.log(0)


def test_what_a_restarted_redis_has_lost_is_done_again_or_told_again(workers, alone):
    gate = closed_gate(workers.server)
    workers.start(PAGELETS_PROBE=0, PAGELETS_FIRST_PAGES=1)
    until(lambda: bool(compared(workers)))
    with workers.redis.lost():  # as little as there can be: what is older than five seconds is not told again
        before = compared(workers)
        until(lambda: GATE in workers.server.hits and compared(workers) > before + 1)
    gate.set()
    assert workers.wait() == [0]
    assert max(pages(workers.server).values()) == 1
    assert texts(workers).keys() == alone.keys()
    assert "'pagelets/redis/restarted': 1" in workers.log(0)


def test_entries_that_cannot_be_read_are_left_out_and_reported(workers, alone, tmp_path):
    gate = closed_gate(workers.server)
    workers.start(PAGELETS_PROBE=0, PAGELETS_FIRST_PAGES=1)
    until(lambda: GATE in workers.server.hits and bool(compared(workers)))
    client: Any = workers.redis.client
    [key] = client.keys("*:contents")
    client.rpush(key, b"anything")
    prefix, bad = key.decode().removesuffix("contents"), pickle.dumps(Malicious(tmp_path / "code"))
    client.hset(f"{prefix}requests", mapping={"cut:1000": b"anything", "pickle:1001": zlib.compress(bad)})
    client.zadd(f"{prefix}queue", {"cut:1000": 0, "pickle:1001": 0, "without a request:1002": 0})
    gate.set()
    assert workers.wait() == [1]
    lines = workers.merged()
    assert {line["url"].removeprefix(workers.server.url()) for line in lines} == alone.keys()
    assert all(line["sketch"] for line in lines)
    log = workers.log(0)
    assert "'pagelets/shared/unreadable': 4" in log
    assert "This run has lost something: 4 entries of the shared crawl could not be read" in log
    assert not (tmp_path / "code").exists()
    assert "Traceback" not in log


def test_a_crawl_without_redis_ends_with_one_sentence(workers):
    assert workers.start(PAGELETS_REDIS="redis://127.0.0.1:1/0").wait(timeout=LIMIT) == 1
    errors = [line for line in workers.log(0).splitlines() if "] ERROR: " in line]
    assert len(errors) == 1
    assert "Redis at 127.0.0.1:1/0 cannot be used: start a server (redis-server)" in errors[0]
    assert "Traceback" not in workers.log(0)


@pytest.mark.parametrize(
    ("options_of_crawl", "sentence"),
    [
        (("-s", "JOBDIR={}"), "JOBDIR ({}) cannot be combined with PAGELETS_REDIS"),
        (("-a", "pages=5"), "-a pages cannot be combined with PAGELETS_REDIS"),
        (("-o", "feed.csv"), "feed.csv cannot be written by a shared crawl: choose JSON lines"),
    ],
)
def test_what_cannot_be_shared_is_refused(empty_redis, tmp_path, options_of_crawl, sentence):
    command = ["crawl", "site", "-a", "url=http://127.0.0.1:1/", "-s", f"PAGELETS_REDIS={empty_redis.url}"]
    done = scrapy(*command, *(part.format(tmp_path) for part in options_of_crawl))
    assert done.returncode == 1
    assert sentence.format(tmp_path) in done.stderr
    assert "Traceback" not in done.stderr


def line(url: str, text: str = "") -> bytes:
    return json.dumps({"url": url, "text": text}).encode() + b"\n"


def test_a_merged_feed_has_each_page_from_one_part(tmp_path, capsys):
    one, other, out = tmp_path / "one.jsonl", tmp_path / "other.jsonl", tmp_path / "out.jsonl"
    one.write_bytes(line("a", "1") + line("b", "1") + line("items", "1") + b'{"url": "cut", "te')
    other.write_bytes(line("b", "2") + line("items", "2") + line("items", "3") + b'{"no": "url"}\n' * 2)
    for parts in ((one, other), (other, one)):
        assert merge(*parts, out=out) == 0
        kept = line("a", "1") + line("b", "1") + line("items", "2") + line("items", "3") + b'{"no": "url"}\n' * 2
        assert out.read_bytes() == kept
    printed = capsys.readouterr()
    assert "6 lines of 2 parts, 2 left out that another part has" in printed.out
    assert "the last line of one.jsonl is cut" in printed.err


def test_a_part_that_cannot_be_merged_is_named_and_no_feed_is_written(tmp_path, capsys):
    part, out = tmp_path / "part.jsonl", tmp_path / "out.jsonl"
    part.write_bytes(b"no JSON\n" + line("a"))
    assert merge(part, out=out) == 1
    assert "part.jsonl cannot be merged: line 1 is not a page, it is not JSON" in capsys.readouterr().err
    assert not out.exists()
    assert merge(tmp_path / "none.jsonl", out=out) == 1
    assert merge(part, out=part) == 1
