"""The page behind an item, for pipelines and middlewares, and items that wait until their site is known."""

import asyncio
from contextlib import suppress
from contextvars import ContextVar
from copy import copy
from dataclasses import dataclass
from datetime import UTC, datetime
from threading import RLock
from typing import Any, Final
from weakref import WeakKeyDictionary, ref

from itemadapter import ItemAdapter
from scrapy import Item, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import DontCloseSpider
from scrapy.http import HtmlResponse, Response
from scrapy.utils.asyncio import is_asyncio_available

from scrapy_pagelets.archives.record import date_of
from scrapy_pagelets.decision.decision import decided
from scrapy_pagelets.decision.site import Site
from scrapy_pagelets.feed.page_record import PageRecord, RecordOptions
from scrapy_pagelets.page.page import Page
from scrapy_pagelets.papers.methods import FUSED
from scrapy_pagelets.session import scrapy_hooks
from scrapy_pagelets.session.crawl_session import CrawlSession, session_of
from scrapy_pagelets.session.response_store import is_html
from scrapy_pagelets.session.shared_crawl import lease_of
from scrapy_pagelets.session.threads import let_go

_current: ContextVar["PageContext | None"] = ContextVar("pagelets_context", default=None)
_places: ContextVar[dict[str, str]] = ContextVar("pagelets_places")


class PageContext:
    """The page of a response and its record, which all items of the response share; it may be used in threads."""

    def __init__(self, response: HtmlResponse, session: CrawlSession) -> None:
        self.url = response.url  # URL of the response
        self.failed = False  # True if the page could not be cut
        self._response = ref(response)  # Scrapy holds the response as long as its items are in the pipelines
        self._session = session
        self._lock = RLock()
        self._page: Page | None = None
        self._record: PageRecord | None = None
        self._fetched_at = fetched_at(response)
        #: The headers `ETag` and `Last-Modified`; None for those that there are not.
        self.validators = _header(response, "ETag"), _header(response, "Last-Modified")
        self._items = 0
        self._has_left = False

    def item_arrived(self) -> None:
        """Note that an item of the page waits, or is in the pipelines."""
        self._items += 1

    def item_left(self) -> None:
        """Note that an item of the page has left the pipelines."""
        self._items -= 1
        self._release()

    def response_left(self) -> None:
        """Note that the spider has yielded everything that the response leads to."""
        self._has_left = True
        self._release()

    def _release(self) -> None:
        """Let go of a page without items at once: response and selector are a cycle, which would be collected late."""
        response = self._response()
        if self._items or not self._has_left or response is None:
            return
        self._session.forget(response)
        let_go(self._page, self._record)
        self._page, self._record = None, None

    @property
    def response(self) -> HtmlResponse:
        """The response, as long as its items are to be processed."""
        response = self._response()
        assert response is not None
        return response

    @property
    def page(self) -> Page:
        """The parsed page."""
        with self._lock:
            if self._page is None:
                self._page = self._session.page(self.response)
            return self._page

    @property
    def lease(self) -> str | None:
        """The lease of the page's request in a shared crawl, None without one."""
        response = self._response()
        return None if response is None else lease_of(response)

    @property
    def record(self) -> PageRecord:
        """The record of the page, made once; the site of the page learns it first."""
        with self._lock:
            if self._record is None:
                page, sites, config = self.page, self._session.sites, self._session.config
                sites.learn(page)
                site = sites[page.site]
                by_method = None if config.detection == FUSED else sites.templateness(page)
                decision = decided(page, site, by_method, config.keep)
                page_class = copy(site.page_class(page))  # others may join it later
                self._record = PageRecord(page, decision, page_class, self._fetched_at, RecordOptions.of(config))
            return self._record

    def fail(self) -> None:
        """Log the exception that is being handled, once per page."""
        if not self.failed:
            self.failed = True
            self._session.failed(self.url)


def fetched_at(response: Response) -> str:
    """Return when a page was fetched: request meta ``pagelets_fetched_at``, the ``Date`` header, or now."""
    if response.request is not None and (known := response.request.meta.get("pagelets_fetched_at")):
        return str(known)
    return date_of(_header(response, "Date") or "") or datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _header(response: Response, name: str) -> str | None:
    value = response.headers.get(name)
    return None if value is None else value.decode("latin-1")


def current_context() -> PageContext | None:
    """Return the context of the item that is being processed; None if the item does not come from an HTML page."""
    return _current.get()


def comes_from_scraper() -> bool:
    """Return False if the current item was handed to the pipelines past the scraper, which alone knows its page."""
    return _places.get(None) is not None


def current_places() -> dict[str, str]:
    """Return the names of the fields that we have set on the current item: name in the feed -> name in the item."""
    return _places.get({})


def copied(item: Any) -> Any:
    """Return a shallow copy of an item, or the item itself if it cannot be copied."""
    if not ItemAdapter.is_item(item):
        return item
    with suppress(Exception):
        return item.copy() if isinstance(item, Item) else copy(item)
    return item


_contexts: WeakKeyDictionary[HtmlResponse, PageContext] = WeakKeyDictionary()


def context_of(response: Any, session: CrawlSession) -> PageContext | None:
    """Return the context of a response, which all components share; None if the response is not a page."""
    # Items of an errback come with the error response, if there is one.
    if not is_html(response) or not 200 <= response.status < 300:
        return None
    if (context := _contexts.get(response)) is None:
        context = _contexts[response] = PageContext(response, session)
    return context


LIMIT: Final = 15.0  # seconds that an item waits at most
_MOST: Final = 32  # items that wait at the same time; SCRAPER_SLOT_MAX_ACTIVE_SIZE limits their bytes


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

    A waiting item has left the scraper: its response does not count there, other items and the links of its page go on.
    It is released when its class has enough pages, when too many others wait, after 15 seconds, and as soon as the
    spider is idle or closes; stats count these reasons.
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
        self._process = scrapy_hooks.wrap_items(crawler, self.process_or_hold)
        scrapy_hooks.before_closing(crawler, self._close)
        scrapy_hooks.before_scraper_closes(crawler, self._close_and_wait)
        crawler.signals.connect(self.spider_idle, signals.spider_idle)
        crawler.signals.connect(self._release_ready, signals.response_received)

    async def process_or_hold(self, item: Any, *, response: Any) -> None:
        """Process an item, or let it wait."""
        context, held = context_of(response, self.session), None
        has_to_wait = context is not None and (response.request is None or response.meta.get("pagelets_probe", True))
        if context is not None and has_to_wait and not self._closing:
            with suppress(Exception):  # the pipelines will meet it again, and report it
                as_yielded = copied(item)  # the spider may change it while the page is learnt
                learnt = await self.session.compute(response, self._learn, context)
                held = _Held(as_yielded, response, context, *learnt)
            self._release_ready()
        if held is None or self._closing or held.has(self.session.config.first_pages):
            await self._process(item, response=response)
        else:
            self._hold(held)

    def _learn(self, context: PageContext) -> tuple[Site, int]:
        self.session.sites.learn(context.page)
        return self.session.sites[context.page.site], context.page.key

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
        if not self._running:
            scrapy_hooks.look_for_work(self.crawler)

    def _release_ready(self) -> None:
        for held in self._held[:]:
            if held.has(self.session.config.first_pages):
                self._release(held, "enough")

    def spider_idle(self) -> None:
        """Release all items: no other page is on its way."""
        for held in self._held[:]:
            self._release(held, "idle")
        if self._running:
            raise DontCloseSpider

    def _close(self) -> None:
        self._closing = True
        for held in self._held[:]:
            self._release(held, "closing")

    async def _close_and_wait(self) -> None:
        self._close()
        await asyncio.gather(*self._running)


def follow_items(crawler: Crawler) -> None:
    """Make `current_context` available to item pipelines that call this, and let the items of first pages wait."""
    session = session_of(crawler)
    if session.follows_items:
        return
    session.follows_items = True

    async def process_in_context(item: Any, *, response: Any) -> None:
        context = context_of(response, session)
        context_before, places_before = _current.set(context), _places.set({})
        if context is not None:
            context.item_arrived()
            item = copied(item)  # a spider may change an item, and yield it again
        try:
            await process(item, response=response)
        finally:
            _current.reset(context_before)
            _places.reset(places_before)
            if context is not None:
                context.item_left()

    def response_left(response: Any) -> None:
        """Let go of the page of a response of which the spider has yielded everything, when its items have left."""
        if isinstance(response, HtmlResponse):
            if (context := _contexts.get(response)) is not None:
                context.response_left()
            else:
                session.forget(response)

    process = scrapy_hooks.wrap_items(crawler, process_in_context)
    scrapy_hooks.after_responses(crawler, response_left)
    waits = session.config.first_pages > 1 and not getattr(crawler.spider, "holds_first_pages", False)
    if waits and is_asyncio_available():
        FirstPages(crawler)
