"""The shared frontier on a real Redis: no request is ever lost, and none is given to two processes that live."""

from __future__ import annotations

import json
import logging
import pickle
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import mkdtemp

import pytest
from scrapy import FormRequest, Request
from xxhash import xxh3_64_intdigest

from scrapy_pagelets.base.errors import ConfigError
from scrapy_pagelets.decision.site import Site
from scrapy_pagelets.duplicates.content_store import ContentStore, PageText
from scrapy_pagelets.page.page import Page
from scrapy_pagelets.session.requests import from_json, to_json
from scrapy_pagelets.session.response_store import SharedResponses
from scrapy_pagelets.session.shared_crawl import Leases
from scrapy_pagelets.shared.frontier import CrawlLost, Frontier, Waiting
from scrapy_pagelets.shared.server import RedisAway, RedisFull, Server
from scrapy_pagelets.shared.shared_stores import SharedContents, SharedSites
from tests.malicious import Malicious
from tests.redis_server import RedisServer

#: Seconds after which a worker that is silent counts as dead.
LEASE = 0.3
KEY = "pagelets:test:"
#: What a pickle creates if it is read.
CODE = Path(mkdtemp()) / "code"


def ignored(*_: str) -> None:
    """What a server says in passing."""


@pytest.fixture
def server(empty_redis: RedisServer) -> Iterator[Server]:
    connection = Server(empty_redis.url, KEY, ignored)
    yield connection
    connection.close()


@pytest.fixture
def join(server: Server) -> Callable[[str], Frontier]:
    def joined(worker: str) -> Frontier:
        frontier = Frontier(server, worker, LEASE)
        assert frontier.begin("one meaning")
        return frontier

    return joined


def asked(*pages: str, priority: int = 0, filtered: bool = True) -> list[Waiting]:
    return [Waiting(page, filtered, priority, page.encode()) for page in pages]


def leased(frontier: Frontier, wants: int = 10) -> list[str]:
    return [lease.id.partition(":")[0] for lease in frontier.exchange(wants=wants)[1]]


def test_requests_go_out_by_priority_and_age_and_each_page_once(join):
    one, other = join("one"), join("other")
    assert one.push(asked("a", "b", "a")) == 1
    assert other.push(asked("b", "c")) == 1
    assert one.push(asked("urgent", priority=5)) == 0
    assert leased(one, 2) == ["urgent", "a"]
    assert leased(other) == ["b", "c"]
    assert one.push(asked("a")) == 1  # leased pages are known as well
    assert one.push(asked("a", filtered=False)) == 0
    assert leased(one) == ["a"]


def test_what_is_done_is_gone_and_the_last_one_ends_the_crawl(join, empty_redis):
    one, other = join("one"), join("other")
    one.push(asked("a", "b"))
    (a,), (b,) = (frontier.exchange(wants=1)[1] for frontier in (one, other))
    state, _ = one.exchange(done=[a.id], ready=True)
    assert (state.queued, state.leased, state.finished) == (0, 1, False)
    state, _ = other.exchange(held=[b.id])
    assert (state.queued, state.leased, state.held) == (0, 0, 1)
    assert not one.exchange(ready=True)[0].finished  # an item still waits
    assert other.exchange(done=[b.id], ready=True)[0].finished
    assert one.exchange(ready=True)[0].finished
    assert empty_redis.client.keys() == [f"{KEY}finished".encode()]
    assert not Frontier(one._server, "late", LEASE).begin("one meaning")


def test_a_worker_that_is_silent_loses_its_requests_and_its_claims(join):
    dead, alive = join("dead"), join("alive")
    dead.push(asked("a", "b", "c"))
    a, b, _ = dead.exchange(wants=3)[1]
    dead.exchange(done=[a.id], held=[b.id])
    assert (dead.claim("probed"), alive.claim("probed")) == (True, False)
    assert (dead.begin_search("site"), alive.begin_search("site")) == (True, False)
    taken: list[str] = []
    while len(taken) < 2:  # its lease ends
        taken += leased(alive)
    assert sorted(taken) == ["b", "c"]
    assert (alive.claim("probed"), alive.begin_search("site")) == (True, True)


def test_nobody_is_taken_for_dead_after_a_time_in_which_redis_was_away(join, empty_redis):
    one, other = join("one"), join("other")
    one.push(asked("a"))
    assert leased(one) == ["a"]
    other.exchange()
    # As if nobody had been able to reach Redis for a long time.
    for key in ("last", "patience"):
        empty_redis.client.set(KEY + key, 0)
    empty_redis.client.zadd(KEY + "workers", {"one": 0, "other": 0})
    assert leased(other) == []
    assert one.exchange()[0].leased == 1


def test_requests_of_which_a_worker_does_not_know_are_queued_again(join):
    one = join("one")
    one.push(asked("a", "b"))
    a, _ = one.exchange(wants=2)[1]
    assert one.exchange(has=[a.id])[0].queued == 1
    assert leased(one) == ["b"]


def test_a_worker_that_leaves_gives_its_requests_back(join):
    one, other = join("one"), join("other")
    one.push(asked("a", "b"))
    a, _ = one.exchange(wants=2)[1]
    one.exchange(done=[a.id], leaves=True)
    assert leased(other) == ["b"]


def test_a_page_is_loaded_for_a_template_or_requested_but_not_both(join):
    one, other = join("one"), join("other")
    one.push(asked("a", "b"))
    assert one.claim("a")
    assert leased(other) == ["b"]
    assert not one.claim("b")
    one.release("probing", "a")
    assert leased(other) == ["a"]


def test_a_new_crawl_knows_nothing_of_one_that_redis_has_lost(join, empty_redis):
    for hash_of, field in (("probing", "a"), ("searching", "site")):
        empty_redis.client.hset(KEY + hash_of, field, "a process of the lost crawl")
    one = join("one")
    one.push(asked("a"))
    assert leased(one) == ["a"]
    assert one.begin_search("site")


def test_a_crawl_that_redis_has_lost_is_an_error(join, empty_redis):
    one = join("one")
    empty_redis.client.flushall()
    one.push(asked("a"))
    with pytest.raises(CrawlLost, match="Start Redis with --appendonly yes"):
        one.exchange()
    assert empty_redis.client.keys() == []


def test_processes_that_would_not_learn_the_same_are_refused(join, server):
    join("one")
    with pytest.raises(ConfigError, match="same version"):
        Frontier(server, "other", LEASE).begin("another meaning")


def test_a_full_redis_takes_no_request_but_what_is_done(join, empty_redis):
    one = join("one")
    one.push(asked("a"))
    (a,) = one.exchange(wants=1)[1]
    empty_redis.client.config_set("maxmemory", 1)
    try:
        with pytest.raises(RedisFull):
            one.push(asked("b"))
        assert one.exchange(done=[a.id])[0].leased == 0
    finally:
        empty_redis.client.config_set("maxmemory", 0)
    one.push(asked("b"))
    assert leased(one) == ["b"]


def test_a_server_that_is_away_is_waited_for_until_the_crawl_closes(empty_redis, caplog):
    caplog.set_level(logging.INFO)
    said: list[str] = []
    server = Server(empty_redis.url, KEY, lambda stat, _, sentence: said.append(f"{stat}: {sentence}"))
    empty_redis.stop()
    server.closing.set()
    with pytest.raises(RedisAway):
        server.call(lambda redis: redis.get("x"))
    empty_redis.start()
    assert server.call(lambda redis: redis.get("x")) is None
    server.close()
    parts = (("redis/away: ", "cannot be reached"), ("redis/restarted: ", "was restarted"))
    assert [start in one and end in one for (start, end), one in zip(parts, said, strict=True)] == [True] * 2
    assert "is back" in caplog.text
    assert (server.interruptions, server.restarts) == (2, 1)


def test_a_server_that_cannot_be_used_is_refused(empty_redis):
    with pytest.raises(ConfigError, match=r"^Redis at 127\.0\.0\.1:1/0 cannot be used: start a server"):
        Server("redis://:secret@127.0.0.1:1/0", KEY, ignored)
    empty_redis.client.config_set("maxmemory", "1gb")
    empty_redis.client.config_set("maxmemory-policy", "allkeys-lru")
    try:
        with pytest.raises(ConfigError, match="set maxmemory-policy to noeviction"):
            Server(empty_redis.url, KEY, ignored)
    finally:
        empty_redis.client.config_set("maxmemory-policy", "noeviction")
        empty_redis.client.config_set("maxmemory", 0)


def test_a_request_is_done_when_nobody_holds_it_any_more():
    leases = Leases()
    for lease in ("plain", "waits", "abandoned"):
        leases.begin(lease)
    leases.hold("waits")
    leases.hold("waits")
    leases.hold(None)  # a request of no shared crawl
    leases.abandon("abandoned", RedisFull("there is no memory"))
    for lease in ("plain", "waits", "abandoned"):
        leases.end(lease)
    assert (leases.done, leases.waiting, leases.in_engine) == ({"plain"}, ["waits"], set())
    leases.let_go("waits")
    assert leases.all == ["waits"]
    leases.let_go("waits")
    assert leases.done == {"plain", "waits"}
    assert "abandoned" not in leases


def page(name: str) -> Page:
    menu = "<div id=menu><a href=a>A</a> <a href=b>B</a> <a href=c>C</a></div>"
    return Page.parse(f"{menu}<p>All there is to say of {name}.".encode(), f"http://example.com/{name}")


def test_what_two_processes_learn_of_a_site_adds_up(server):
    ours, theirs = Site("example.com"), Site("example.com")
    stores = SharedSites(server, ignored, pytest.fail), SharedSites(server, ignored, pytest.fail)
    for site, store, names in ((ours, stores[0], "ab"), (theirs, stores[1], "bc")):
        store.load(site)
        for name in names:
            site.learn(page(name))
    assert [stores[0].save(ours), stores[1].save(theirs)] == [True, True]
    stores[0].load(ours)
    together = Site("example.com")
    for name in "abc":
        together.learn(page(name))
    assert ours.pages == theirs.pages == 3
    probe = page("d")
    assert ours.templateness(probe).tolist() == theirs.templateness(probe).tolist()
    assert ours.templateness(probe).tolist() == together.templateness(probe).tolist()


@pytest.mark.parametrize("bad", [b"anything", zlib.compress(b"anything"), b""])
def test_damaged_data_of_a_site_are_replaced(server, empty_redis, bad):
    said: list[str] = []
    stores = [SharedSites(server, ignored, said.append) for _ in range(2)]
    one, other = Site("example.com"), Site("example.com")
    for site, store in zip((one, other), stores, strict=True):
        store.load(site)
        site.learn(page("a"))
    assert stores[0].save(one)
    empty_redis.client.hset(KEY + "sites", "example.com", bad)
    assert stores[1].save(other)
    assert len(said) == 1
    assert "the data of example.com in Redis are damaged, the site is learnt again" in said[0]
    one.learn(page("b"))
    assert stores[0].save(one)
    assert (one.pages, len(said)) == (2, 1)


def test_a_damaged_response_is_reported(server, empty_redis):
    said: list[str] = []
    responses = SharedResponses(server, said.append)
    for bad in (b"anything", zlib.compress(pickle.dumps(Malicious(CODE)))):
        empty_redis.client.hset(KEY + "responses", "token", bad)
        assert responses.take("token") is None
    assert ["cannot be read and will be fetched again" in sentence for sentence in said] == [True, True]
    assert not CODE.exists()


def test_requests_that_are_no_requests_are_refused():
    good = json.loads(to_json(Request("http://a/"), None))
    for name, value in {"_class": "os.system", "url": 1, "meta": {"set": []}, "cookies": {"dict": [[1]]}}.items():
        bad = {"dict": [*good["dict"], [name, value]]}
        with pytest.raises((ValueError, TypeError)):
            from_json(json.dumps(bad).encode(), None)
    for value in ({1, 2}, object(), Path()):
        with pytest.raises(TypeError, match="is not JSON"):
            to_json(Request("http://a/", meta={"value": value}), None)
    form = FormRequest("http://a/", formdata={"a": "ü"}, headers={"X": b"\xff"}, cookies=[{"name": "a", "value": "b"}])
    again = from_json(to_json(form, None), None)
    assert type(again) is FormRequest
    assert again.to_dict() == form.to_dict()


@pytest.fixture
def contents(join, server) -> Iterator[Callable[[], SharedContents]]:
    """Makes a store of contents for each process; what they cannot read is in `unreadable`."""
    join("one")
    made: list[SharedContents] = []

    def of_process(unreadable: Callable[[str], None] = pytest.fail) -> SharedContents:
        made.append(SharedContents(server, ContentStore(None), unreadable))
        return made[-1]

    yield of_process
    for one in made:
        one.close()


def test_contents_are_compared_with_those_of_all_processes(contents):
    words = " ".join(f"word{i}" for i in range(60))
    documents = [
        PageText(f"http://{host}/", text, number, host)
        for number, (host, text) in enumerate((("a", words), ("b", words + " more"), ("c", "x " * 30), ("d", words)))
    ]
    alone = ContentStore(None)
    expected = [alone.add(document)[0] for document in documents]
    stores = [contents() for _ in range(2)]
    found = [stores[number % 2].add(document)[0] for number, document in enumerate(documents)]
    # A page that another process repeats, because the first one was killed, gets the same verdict.
    again = [stores[1 - number % 2].add(document)[0] for number, document in enumerate(documents)]
    alone.close()
    assert found == again == expected
    assert [verdict and verdict.url for verdict in found] == [None, "http://a/", None, "http://a/"]


def text(name: str) -> PageText:
    return PageText(f"http://{name}/", " ".join(f"{name}{i}" for i in range(60)), len(name), name)


@pytest.mark.parametrize("begun_again", [False, True])
def test_contents_that_redis_has_lost_with_the_crawl_are_an_error(contents, join, empty_redis, begun_again):
    one = contents()
    one.add(text("a"))
    empty_redis.client.flushall()
    if begun_again:  # the process learns of it at its next exchange
        join("other")
        assert one.add(text("b"))[0] is None
        return
    with pytest.raises(CrawlLost, match="was flushed"):
        one.add(text("b"))
    assert empty_redis.client.keys() == []


def changed(good: bytes, position: int, value: object, columns: Callable[[bytes], bytes] = bytes) -> bytes:
    """A content with another value in its head, and other columns, whose digest is right."""
    head, _, rest = good.partition(b"\n")
    values = json.loads(head)
    values[position], values[-1] = value, xxh3_64_intdigest(columns(rest))
    return json.dumps(values).encode() + b"\n" + columns(rest)


BAD_ENTRIES: list[Callable[[bytes], bytes]] = [
    lambda _: pickle.dumps(Malicious(CODE)),
    lambda _: b"anything",
    lambda _: b"",
    lambda _: b"[]",
    lambda _: b'{"a": 1}\n',
    lambda good: good[:-50],
    lambda good: good[:-1] + bytes([good[-1] ^ 1]),
    lambda good: changed(good, 0, 1),
    lambda good: changed(good, 0, "http://\ud800/"),
    lambda good: changed(good, 1, 1 << 70),
    lambda good: changed(good, 1, [1]),
    lambda good: changed(good, -2, -1),
    lambda good: changed(good, -2, 0),
    lambda good: changed(good, -2, 1 << 60),
    lambda good: changed(good, -2, None),
    lambda good: changed(good, -2, 2, lambda rest: rest[4:8] + rest[:4] + rest[56 * 4 : 56 * 4 + 512]),
]


def test_bad_contents_are_left_out_and_counted(contents, empty_redis):
    one, said = contents(), list[str]()
    other = contents(said.append)
    one.add(text("a"))
    [good] = empty_redis.client.lrange(KEY + "contents", 0, -1)
    for make in BAD_ENTRIES:
        empty_redis.client.rpush(KEY + "contents", make(good))
    verdict, _ = other.add(PageText("http://copy/", text("a").text, 7, "copy"))
    assert verdict is not None
    assert verdict.url == "http://a/"
    assert len(said) == len(BAD_ENTRIES)
    assert not CODE.exists()
    assert said[0].startswith("a content in Redis is damaged or of another version, and is left out: ")


def test_what_a_restarted_redis_has_lost_is_told_again(join, contents, empty_redis):
    one, store = join("one"), contents()
    one.push(asked("a", "kept"))
    a, kept = one.exchange(wants=2)[1]
    store.add(text("early"))
    with empty_redis.lost():
        one.push(asked("b"))
        one.exchange(done=[a.id], held=[kept.id])
        assert one.claim("probed")
        assert one.begin_search("site")
        store.add(text("late"))
    # Another process sees what Redis has kept; the next exchange of the first one tells the rest.
    assert contents().add(text("late"))[0] is None
    assert one.exchange(wants=1, ready=True)[1] == []
    state, _ = one.exchange(has=[kept.id], held=[kept.id], ready=True)
    assert (state.queued, state.leased, state.held, state.finished) == (1, 0, 1, False)
    other = join("other")
    assert leased(other) == ["b"]
    assert (other.claim("probed"), other.begin_search("site")) == (True, True)
    store.add(text("more"))
    assert contents().add(PageText("http://copy/", text("late").text, 7, "copy"))[0] is not None
