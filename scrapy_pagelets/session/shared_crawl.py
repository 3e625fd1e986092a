"""The part of this process in a crawl that several processes share through Redis, and the requests it works on."""

import asyncio
import os
import re
import socket
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from secrets import token_hex
from typing import Any, Final

from scrapy.crawler import Crawler
from scrapy.http import Response
from scrapy.utils.asyncio import is_asyncio_available
from scrapy.utils.job import job_dir
from xxhash import xxh3_64_hexdigest

from scrapy_pagelets.base.errors import ConfigError
from scrapy_pagelets.session.config import Config
from scrapy_pagelets.session.response_store import SharedResponses
from scrapy_pagelets.session.threads import in_waiting_thread
from scrapy_pagelets.shared.frontier import Frontier
from scrapy_pagelets.shared.server import RedisAway, Server
from scrapy_pagelets.shared.shared_stores import SharedSites

_PAUSE: Final = 0.2  # seconds between two questions whether another process has ended its search
_ONE_VERSION: Final = "let nobody else write into this Redis, and use one version of the project in all processes"


class SharedCrawl:
    """The part of one process in a shared crawl."""

    def __init__(
        self, config: Config, crawler: Crawler, warn: Callable[..., None], record_loss: Callable[..., None]
    ) -> None:
        if not is_asyncio_available():
            raise ConfigError("PAGELETS_REDIS needs the asyncio reactor: leave TWISTED_REACTOR at Scrapy's default")
        if job := job_dir(crawler.settings):
            raise ConfigError(f"JOBDIR ({job}) cannot be combined with PAGELETS_REDIS, which keeps the job itself")
        self._warn, self._record_loss = warn, record_loss
        host = re.sub(r"[^A-Za-z0-9-]+", "-", socket.gethostname())
        self.worker = f"{host}-{os.getpid()}-{token_hex(2)}"  # name of this process, which no other has
        spider: Any = crawler.spider
        starts = "\n".join(map(str, getattr(spider, "start_urls", ())))
        name = config.redis_key or f"{spider.name}:{xxh3_64_hexdigest(starts.encode())[:8]}"
        self.server = Server(config.redis, f"pagelets:{name}:", warn)
        failed = partial(warn, "store/failed", "%s")
        self.frontier = Frontier(self.server, self.worker, config.redis_lease)  # the requests of the crawl
        self.sites = SharedSites(self.server, failed, self.unreadable)  # the sites that all processes learn
        self.responses = SharedResponses(self.server, failed)  # responses that were loaded for templates

    def unreadable(self, sentence: str) -> None:
        """Report an entry of Redis that cannot be read."""
        self._warn("shared/unreadable", "%s", sentence)
        self._record_loss("entries of the shared crawl could not be read", _ONE_VERSION)

    @asynccontextmanager
    async def searching(self, site: str, exchange: Callable[[], None]) -> AsyncIterator[None]:
        """Wait until no other process searches for a template of a site, and keep the others from it meanwhile.

        ``exchange``: reads what they have found, and writes what is found here.
        """
        try:
            while not (is_ours := await in_waiting_thread(self.frontier.begin_search, site)):
                if self.server.closing.is_set():
                    break
                await asyncio.sleep(_PAUSE)
        except RedisAway:  # the crawl is closing
            is_ours = False
        try:
            await in_waiting_thread(exchange)
            yield
            await in_waiting_thread(exchange)
        finally:
            with suppress(RedisAway):  # then the search ends when this process has ended
                if is_ours:
                    await in_waiting_thread(self.frontier.release, "searching", site)


LEASE: Final = "_pagelets_lease"  # request meta: the lease of the request in a shared crawl


class Leases:
    """Know when a request is done: its callback has yielded everything, and all its items are written.

    Whoever takes an item out of the scraper to process it later holds its request (`hold`, `let_go`), as the engine
    does. Without a shared crawl, requests have no lease, and nothing happens. All methods are called in the reactor.
    """

    def __init__(self) -> None:
        self.done: set[str] = set()  # leases of the requests that are done, until somebody has taken note of them
        self.changed: Callable[[], None] = lambda: None  # called when a request is done
        self.failed: Callable[[Exception], None] = lambda _: None  # called with the error when a request is abandoned
        self._abandoned: set[str] = set()
        self.in_engine: set[str] = set()
        self._holds: Counter[str] = Counter()

    def __contains__(self, lease: str) -> bool:
        return lease in self.in_engine or lease in self._holds or lease in self.done

    def begin(self, lease: str) -> None:
        """Note that the engine has got a request."""
        self.in_engine.add(lease)

    def end(self, lease: str) -> None:
        """Note that the engine is through with a request."""
        self.in_engine.discard(lease)
        self._check(lease)

    def hold(self, lease: str | None) -> None:
        """Hold a request whose item waits; a request without a lease is ignored."""
        if lease is not None:
            self._holds[lease] += 1

    def let_go(self, lease: str | None) -> None:
        """Let go of a request whose item is written, or dropped."""
        if lease is not None:
            self._holds[lease] -= 1
            if self._holds[lease] <= 0:
                del self._holds[lease]
            self._check(lease)

    def abandon(self, lease: str | None, error: Exception) -> None:
        """Give up a request that cannot be finished here: it is never done, and goes to another process."""
        if lease is not None:
            self._abandoned.add(lease)
        self.failed(error)

    def _check(self, lease: str) -> None:
        if lease not in self.in_engine and lease not in self._holds and lease not in self._abandoned:
            self.done.add(lease)
            self.changed()

    @property
    def waiting(self) -> list[str]:
        """Leases of the requests of which only items are left, which wait."""
        return [lease for lease in self._holds if lease not in self.in_engine]

    @property
    def all(self) -> list[str]:
        """Leases of the requests that are not done."""
        return list(self.in_engine | self._holds.keys())


def lease_of(response: Response) -> str | None:
    """Return the lease of the request of a response, None without one."""
    return None if response.request is None else response.request.meta.get(LEASE)
