"""The scheduler of a crawl that several processes share through Redis."""

import asyncio
import logging
import zlib
from collections import deque
from contextlib import suppress
from typing import Any, Final

from scrapy import Request, Spider, signals
from scrapy.core.scheduler import BaseScheduler, Scheduler
from scrapy.crawler import Crawler
from scrapy.exceptions import DontCloseSpider
from scrapy.utils.defer import deferred_f_from_coro_f

from scrapy_pagelets.base.caches import RecentKeys
from scrapy_pagelets.base.errors import PageletsError
from scrapy_pagelets.session.crawl_session import abort_crawl, session_of
from scrapy_pagelets.session.requests import fingerprint_of, from_json, key_of, to_json
from scrapy_pagelets.session.scrapy_hooks import after_requests, before_closing, look_for_work, mark_failed
from scrapy_pagelets.session.shared_crawl import LEASE
from scrapy_pagelets.session.threads import in_waiting_thread
from scrapy_pagelets.shared.frontier import Lease, State, Waiting
from scrapy_pagelets.shared.server import RedisAway, RedisFull

logger = logging.getLogger(__name__)

_LEAST: Final = 0.02  # seconds between two exchanges with Redis
_HUNGRY: Final = 0.1  # the same while this process waits for requests
_BEATS: Final = 6  # exchanges in the time after which a process that makes none is taken for dead
_MOST_SEEN: Final = 100_000  # fingerprints that need not be sent to Redis again
_FULL: Final = (
    "%s. This process stops. Nothing is lost: give Redis more memory (maxmemory, or room on its disk), and start the "
    "processes again with the same settings"
)


class SharedScheduler(BaseScheduler):
    """Share the requests of a crawl with other processes, at least once: a request is lost by no killed process.

    Redis queues requests by priority, of equal ones the oldest first. A process leases as many as it can send at a
    time, each until its callback has yielded everything and its items are written (`Leases`); those of a process that
    gives no sign of life are queued again after ``PAGELETS_REDIS_LEASE`` seconds. Start requests are filtered like
    others, because each process makes them. All processes end together. Redis is asked in threads, by one task, which
    waits while Redis is away, and with it the crawl.
    """

    def __init__(self, crawler: Crawler) -> None:
        self.crawler: Any = crawler  # whose engine is made later
        self.session = session_of(crawler)
        assert self.session.shared is not None
        self.shared = self.session.shared
        self._leases = self.session.leases
        self._woken = asyncio.Event()
        self._leases.changed, self._leases.failed = self._woken.set, self._fail
        self._new: list[Waiting] = []
        self._here: deque[Request] = deque()
        self._in_engine: dict[Request, str] = {}
        self._seen = RecentKeys(_MOST_SEEN)
        self._held: set[str] = set()
        self._state = State(queued=1)  # until Redis has been asked
        self._has_nothing_to_do = False
        self._interruptions = 0
        self._closing = False
        self._stopped = ""
        self._stopping: asyncio.Future[None] | None = None
        self._capacity = crawler.settings.getint("CONCURRENT_REQUESTS")
        self._task: asyncio.Task[None] | None = None
        crawler.signals.connect(self.spider_idle, signals.spider_idle)
        before_closing(crawler, self.shared.server.closing.set)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> BaseScheduler:  # type: ignore[override]
        # Commands that show single pages take no part in a crawl.
        return Scheduler.from_crawler(crawler) if session_of(crawler).shared is None else cls(crawler)

    @deferred_f_from_coro_f
    async def open(self, spider: Spider) -> None:
        try:
            joined = await in_waiting_thread(self.shared.frontier.begin, self.session.meaning)
        except PageletsError as error:
            abort_crawl(self.crawler, error)
        if not joined:
            self._state = State(finished=True)
            logger.info("this crawl has just finished: to crawl again, wait ten minutes or set PAGELETS_REDIS_KEY")
            return
        after_requests(self.crawler, self._end_lease)
        self._task = asyncio.ensure_future(self._run())

    def _end_lease(self, request: Request) -> None:
        if (lease := self._in_engine.pop(request, None)) is not None:
            self._leases.end(lease)

    def __len__(self) -> int:
        """Number of requests that wait in Redis and here, as far as this process knows."""
        return self._state.queued + len(self._new) + len(self._here)

    def has_pending_requests(self) -> bool:
        if self._state.finished:
            return False
        return bool(self._here or self._new or self._leases.done or self._state.queued or self._state.leased)

    def enqueue_request(self, request: Request) -> bool:
        if self._state.finished:
            return False
        request.meta.pop(LEASE, None)
        page = fingerprint_of(self.crawler, request)
        is_filtered = not request.dont_filter or bool(request.meta.get("is_start_request"))
        if is_filtered and not self._seen.add(key_of(page)):
            self._count("dupefilter/filtered")
            return False
        self._has_nothing_to_do = False
        try:
            content = zlib.compress(to_json(request, self.crawler.spider), 1)
        except (TypeError, ValueError, RecursionError) as error:
            sentence = "a request cannot be sent to other processes, and is lost if this one is killed: %s: %r"
            self.session.warn("shared/alone", sentence, request.url, error)
            self._here.append(request)
            return True
        self._new.append(Waiting(page, is_filtered, request.priority, content))
        self._woken.set()
        return True

    def next_request(self) -> Request | None:
        if not self._here:
            return None
        request = self._here.popleft()
        if (lease := request.meta.get(LEASE)) is not None:
            self._in_engine[request] = lease
        self._count("scheduler/dequeued")
        if len(self._here) < self._capacity // 2 and self._state.queued:
            self._woken.set()
        return request

    def spider_idle(self) -> None:
        """Keep the spider open until no process has anything left to do."""
        if not self._state.finished:
            self._has_nothing_to_do = True
            self._woken.set()
            raise DontCloseSpider

    @deferred_f_from_coro_f
    async def close(self, reason: str) -> None:
        if self._task is None:
            return
        self._closing = True
        self._woken.set()
        await self._task
        if self._state.finished or self._stopped == "redis_failed":
            return
        try:
            with suppress(RedisFull):
                await self._hand_over()
            done = () if self._new else self._leases.done
            await in_waiting_thread(self.shared.frontier.exchange, done=tuple(done), leaves=True)
        except PageletsError as error:
            logger.warning("others will take over the requests of this process: %s", error)

    def _count(self, stat: str, by: int = 1) -> None:
        if by:
            self.session.stats.inc_value(stat, by)

    async def _run(self) -> None:
        try:
            while not (self._state.finished or self._closing):
                self._woken.clear()
                await self._exchange()
                look_for_work(self.crawler)
                await asyncio.sleep(_LEAST)
                is_hungry = not self._here and not self._state.finished
                beat = self.session.config.redis_lease / _BEATS
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._woken.wait(), min(beat, _HUNGRY) if is_hungry else beat)
        except Exception as error:  # a bug of ours must not keep the crawl from ending
            self._fail(error)

    def _fail(self, error: Exception) -> None:
        """Stop because Redis is full, has lost the crawl or refuses a command."""
        if self._stopped or isinstance(error, RedisAway):  # which says that the crawl is closing
            return
        self._stopped, sentence = ("redis_full", _FULL) if isinstance(error, RedisFull) else ("redis_failed", "%s")
        logger.error(sentence, error, exc_info=not isinstance(error, PageletsError))
        self.crawler.signals.connect(mark_failed, signals.engine_stopped)
        self._stopping = asyncio.ensure_future(self.crawler.engine.close_spider_async(reason=self._stopped))

    async def _exchange(self) -> None:
        # Before the new requests: those that a page has led to are queued before it counts as done.
        done = tuple(self._leases.done)
        await self._hand_over()
        interruptions = self.shared.server.interruptions
        if is_interrupted := interruptions != self._interruptions:
            self._held.clear()
        held = await self._newly_held()
        wants = max(0, self._capacity - len(self._here))
        frontier = self.shared.frontier
        has = [*self._leases.all, *self._leases.done] if is_interrupted else None
        ready = self._has_nothing_to_do and not (self._new or self._leases.all or self._here)
        self._state, leases = await in_waiting_thread(
            frontier.exchange, done=done, held=held, wants=wants, has=has, ready=ready
        )
        self._interruptions = interruptions
        self._leases.done.difference_update(done)
        self._held.difference_update(done)
        self._held.update(held)
        for lease in leases:
            self._take(lease)

    async def _hand_over(self) -> None:
        if new := self._new[:]:
            self._count("dupefilter/filtered", await in_waiting_thread(self.shared.frontier.push, new))
            self._count("scheduler/enqueued", len(new))
            del self._new[: len(new)]

    async def _newly_held(self) -> list[str]:
        """Requests of which only items are left, which wait; others get to know what their pages have taught us."""
        held = [lease for lease in self._leases.waiting if lease not in self._held]
        if self._here or self._leases.in_engine or not held:
            return []
        await in_waiting_thread(self.session.sites.exchange)
        return held

    def _take(self, lease: Lease) -> None:
        if lease.id in self._leases:
            # Taken for dead meanwhile, this process has got it back; Redis does not know that its page is held.
            self._held.discard(lease.id)
            return
        try:
            request = from_json(zlib.decompress(lease.content), self.crawler.spider)
        except Exception as error:  # damaged, or of another version: what is made of it can raise anything
            self.shared.unreadable(f"a request of the shared crawl cannot be read: {error!r}")
            self._leases.done.add(lease.id)
            return
        request.meta[LEASE] = lease.id
        self._leases.begin(lease.id)
        if lease.probed:
            self.shared.responses.expect(lease.id.rpartition(":")[0])
        self._here.append(request)
        self._count("pagelets/shared/leased")
