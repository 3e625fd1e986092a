"""The frontier that many processes share: requests that wait, and requests that a process works on."""

import json
from collections.abc import Collection, Sequence
from secrets import token_hex
from typing import Any, Final, NamedTuple

from scrapy_pagelets.base.errors import ConfigError
from scrapy_pagelets.shared.server import LastSeconds, RedisProblem, Server

NAMES: Final = (  # the keys of a crawl, behind its prefix; all are deleted when the crawl has finished
    "crawl", "number", "pages", "requests", "queue", "leases", "held", "workers", "ready", "last", "patience",
    "probing", "probed", "searching", "responses", "meaning", "sites", "versions",
    "contents",
)  # fmt: skip
REMEMBERED: Final = 600  # seconds for which a finished crawl is known, so that no late process begins it again
_BATCH: Final = 500  # requests that are written at once


class CrawlLost(RedisProblem):
    """Raised if Redis, at the address ``name``, was restarted without its data, or flushed, and has lost the crawl."""

    def __init__(self, name: str) -> None:
        why = "it was flushed, or restarted without its data"
        remedy = "Start Redis with --appendonly yes, and crawl again"
        super().__init__(f"Redis at {name} does not know the crawl any more: {why}. {remedy}")


class Waiting(NamedTuple):
    """A request to be queued."""

    page: str  # fingerprint of the request
    filter: bool  # whether the request is dropped if the page was requested before
    priority: int  # as in Scrapy, the highest first
    content: bytes  # the request as bytes


class Lease(NamedTuple):
    """A request that this process works on."""

    id: str  # fingerprint of the request and a number, parted by a colon
    content: bytes  # the request as bytes
    probed: bool  # whether its response may be stored, because it was loaded for a template


class State(NamedTuple):
    """The state of the frontier."""

    queued: int = 0  # number of requests that wait
    leased: int = 0  # number of requests that any process works on
    held: int = 0  # number of pages whose links are known, and whose items wait for other pages of their site
    finished: bool = False  # whether nothing is left, and all processes know it


class Frontier:
    """The frontier of a crawl, as one of its processes sees it. Its methods wait for Redis, so use it in threads.

    Scripts, which Redis runs one at a time, make all changes: a request is always in the queue, leased, held or done.
    Those of a process that was silent for ``lease`` seconds are queued again. A restarted Redis may have lost the last
    seconds: what this process, ``worker``, has told it in them is told again.
    """

    def __init__(self, server: Server, worker: str, lease: float) -> None:
        self.worker = worker
        self._server = server
        self._lease = lease
        self._crawl = ""
        self._pushed: LastSeconds[Waiting] = LastSeconds()
        self._done: LastSeconds[str] = LastSeconds()
        self._restarts = server.restarts
        self._begin = server.script("begin.lua")
        self._push = server.script("push.lua")
        self._exchange = server.script("exchange.lua")

    def begin(self, meaning: str) -> bool:
        """Join the crawl, or begin it; False if it has just finished, ConfigError if its ``meaning`` is another."""
        if not (known := self._begin([token_hex(8), meaning, *NAMES])):
            return False
        crawl, theirs = known
        self._crawl = crawl.decode()
        if theirs != meaning.encode():
            raise ConfigError(
                "this process would learn something else than the others of the crawl: give all of them the same "
                "version of scrapy-pagelets and the same settings, or give this crawl a PAGELETS_REDIS_KEY of its own"
            )
        return True

    def push(self, requests: Sequence[Waiting]) -> int:
        """Queue requests; return the number of those whose pages are known. RedisFull if there is no memory left."""
        dropped = 0
        self._pushed.add(requests)
        for start in range(0, len(requests), _BATCH):
            arguments: list[Any] = [self._crawl]
            for one in requests[start : start + _BATCH]:
                arguments += one.page, int(one.filter), one.priority, one.content
            dropped += self._push(arguments)
        return dropped

    def exchange(
        self,
        *,
        done: Collection[str] = (),
        held: Collection[str] = (),
        wants: int = 0,
        has: Collection[str] | None = None,
        ready: bool = False,
        leaves: bool = False,
    ) -> tuple[State, list[Lease]]:
        """Tell what this process has done, and that it lives; get requests to work on, or `CrawlLost`.

        ``done``: requests that are done; ``held``: those whose page is held; ``wants``: how many to lease at most.
        ``has``: all that this process works on, if a reply may have been lost: others are queued again, and what it has
        reserved is released. ``ready``: nothing left to do. ``leaves``: it ends, and its requests are queued again.
        """
        restarts = self._server.restarts
        if is_behind := restarts != self._restarts:
            done = {*done, *self._done.all()}
        self._done.add(done)
        about: dict[str, Any] = {"worker": self.worker, "crawl": self._crawl, "lease": self._lease, "wants": wants}
        about |= {"done": list(done), "held": list(held), "ready": ready, "leaves": leaves}
        about |= {"names": NAMES, "remembered": REMEMBERED, "run": self._server.run}
        if has is not None:
            about["has"] = list(has)
        word, *reply = self._exchange([json.dumps(about)])
        if word == b"restarted":
            return State(queued=1), []
        if word == b"lost":
            raise CrawlLost(self._server.name)
        if is_behind:
            self.push(self._pushed.all())
        self._restarts = restarts
        if word == b"finished":
            return State(finished=True), []
        queued, leased, in_hand, *leases = reply
        found = [Lease(leases[i].decode(), leases[i + 1], bool(leases[i + 2])) for i in range(0, len(leases), 3)]
        return State(queued, leased, in_hand), found

    def claim(self, page: str) -> bool:
        """Reserve a page that is to be loaded for a template; False if anybody has requested it, or is about to."""
        key = self._server.key

        def claim(redis: Any) -> bool:
            if redis.hget(key + "pages", page) == b"requested" or redis.sismember(key + "probed", page):
                return False
            if not redis.hsetnx(key + "probing", page, self.worker):
                return False
            # Between the two questions, a process may have taken the request.
            if redis.hget(key + "pages", page) != b"requested":
                return True
            redis.hdel(key + "probing", page)
            return False

        return self._server.call(claim)

    def begin_search(self, site: str) -> bool:
        """Reserve the search for a template of a site; False if another process is searching."""
        return bool(self._server.call(lambda redis: redis.hsetnx(self._server.key + "searching", site, self.worker)))

    def release(self, kind: str, name: str) -> None:
        """Release what was reserved: a page, ``probing``, or the search for a template of a site, ``searching``."""
        self._server.call(lambda redis: redis.hdel(self._server.key + kind, name))
