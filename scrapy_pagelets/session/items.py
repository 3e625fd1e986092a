"""Items on their way to the pipelines: they get the context of their page, and those of first pages wait."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final
from weakref import WeakSet

from scrapy import signals
from scrapy.crawler import Crawler
from scrapy.exceptions import DontCloseSpider
from scrapy.http import HtmlResponse
from scrapy.utils.asyncio import is_asyncio_available

from scrapy_pagelets.decision.site import Site
from scrapy_pagelets.session.crawl_session import session_of
from scrapy_pagelets.session.page_context import PageContext, context_of, copied, current, response_left
from scrapy_pagelets.session.scrapy_hooks import after_responses, before_closing, before_scraper_closes, wrap_items
from scrapy_pagelets.session.shared_crawl import lease_of

#: Seconds that an item waits at most.
LIMIT: Final = 15.0
#: Items that wait at the same time; their responses have no more bytes than the scraper may process at once.
_MOST: Final = 32


@dataclass(eq=False)
class _Held:
    """An item that waits, with its response, the context and the key of its page."""

    item: Any
    response: HtmlResponse
    context: PageContext
    site: Site
    key: int
    timer: asyncio.TimerHandle | None = None

    def has(self, pages: int) -> bool:
        """True if that many pages of the class are known; does not lock."""
        page_class = self.site.learnt.counted_class(self.key)
        return page_class is None or page_class.pages >= pages


class FirstPages:
    """Let items wait until ``PAGELETS_FIRST_PAGES`` pages of their page's class are known.

    A waiting item has left the scraper: its response does not count against ``SCRAPER_SLOT_MAX_ACTIVE_SIZE``, other
    items and the links of its page go on. It is released when its class has enough pages, when too many others wait,
    after 15 seconds, and as soon as the spider is idle or closes; ``pagelets/first_pages/<why>`` counts the reasons
    ``enough``, ``full``, ``late``, ``idle`` and ``closing``.
    """

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler
        self.session = session_of(crawler)
        self._held: list[_Held] = []
        self.session.progress.waiting["until more pages like them are known"] = self._held.__len__
        self._running: set[asyncio.Task[None]] = set()
        self._closing = False
        self._room = asyncio.Semaphore(max(1, crawler.settings.getint("CONCURRENT_ITEMS")))
        self._max_size = crawler.settings.getint("SCRAPER_SLOT_MAX_ACTIVE_SIZE")
        self._process = wrap_items(crawler, self.process_or_hold)
        before_closing(crawler, self._close)
        before_scraper_closes(crawler, self._close_and_wait)
        crawler.signals.connect(self.spider_idle, signals.spider_idle)
        crawler.signals.connect(self._release_ready, signals.response_received)

    async def process_or_hold(self, item: Any, *, response: Any) -> None:
        """Process an item, or let it wait."""
        context, held = context_of(response, self.session), None
        has_to_wait = context is not None and (response.request is None or response.meta.get("pagelets_probe", True))
        if context is not None and has_to_wait and not self._closing:
            with suppress(Exception):  # the pipelines will meet it again, and report it
                as_yielded = copied(item)  # the spider may change it while the page is learnt
                if (learnt := context.learnt_by) is None:
                    learnt = await self.session.compute(context.size, self._learn, context)
                held = _Held(as_yielded, response, context, *learnt)
            self._release_ready()
        if held is None or self._closing or held.has(self.session.config.first_pages):
            await self._process(item, response=response)
        else:
            self._hold(held)

    def _learn(self, context: PageContext) -> tuple[Site, int]:
        self.session.sites.learn(context.page)
        return self.session.sites.of(context.page), context.page.key

    def _hold(self, held: _Held) -> None:
        self.session.count("first_pages/held")
        self._held.append(held)
        held.context.item_arrived()
        self.session.leases.hold(lease_of(held.response))
        held.timer = asyncio.get_running_loop().call_later(LIMIT, self._release, held, "late")
        while len(self._held) > _MOST or sum(len(one.response.body) for one in self._held) > self._max_size:
            self._release(self._held[0], "full")

    def _release(self, held: _Held, why: str) -> None:
        self._held.remove(held)
        if held.timer is not None:
            held.timer.cancel()
        self.session.count(f"first_pages/{why}")
        task = asyncio.ensure_future(self._process_held(held))
        self._running.add(task)
        task.add_done_callback(self._processed)

    async def _process_held(self, held: _Held) -> None:
        try:
            async with self._room:
                await self._process(held.item, response=held.response)
        finally:
            held.context.item_left()
            self.session.leases.let_go(lease_of(held.response))

    def _processed(self, task: asyncio.Task[None]) -> None:
        self._running.discard(task)
        engine: Any = self.crawler.engine
        if not self._running and engine._slot is not None:
            engine._slot.nextcall.schedule()  # or the engine would notice only at its next heartbeat that it is idle

    def _release_ready(self) -> None:
        """Release the items whose class has enough pages by now."""
        for held in [one for one in self._held if one.has(self.session.config.first_pages)]:
            self._release(held, "enough")

    def _release_all(self, why: str) -> None:
        while self._held:
            self._release(self._held[0], why)

    def spider_idle(self) -> None:
        """Release all items: no other page is on its way."""
        self._release_all("idle")
        if self._running:
            raise DontCloseSpider

    def _close(self) -> None:
        self._closing = True
        self._release_all("closing")

    async def _close_and_wait(self) -> None:
        self._close()
        await asyncio.gather(*self._running)


def follow_items(crawler: Crawler) -> None:
    """Make `current_context` available to item pipelines, and let the items of first pages wait.

    Item pipelines call this when they are opened. Each item is copied, because a spider may change it and yield it
    again while the pipelines still write to it.
    """
    if crawler in _followed:
        return
    _followed.add(crawler)
    session = session_of(crawler)

    async def process_in_context(item: Any, *, response: Any) -> None:
        with current(response, session) as context:
            await process(item if context is None else copied(item), response=response)

    process = wrap_items(crawler, process_in_context)
    after_responses(crawler, lambda response: response_left(response, session))
    waits = session.config.first_pages > 1 and not getattr(crawler.spider, "holds_first_pages", False)
    if waits and is_asyncio_available():
        FirstPages(crawler)


_followed: WeakSet[Crawler] = WeakSet()
