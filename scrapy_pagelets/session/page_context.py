"""The page behind an item, for pipelines and middlewares."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from copy import copy
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from threading import RLock
from typing import Any
from weakref import WeakKeyDictionary, ref

from itemadapter import ItemAdapter
from scrapy import Item
from scrapy.http import HtmlResponse, Response

from scrapy_pagelets.decision.decision import decided
from scrapy_pagelets.decision.site import Site
from scrapy_pagelets.feed.page_record import PageRecord, RecordOptions
from scrapy_pagelets.page.page import Page
from scrapy_pagelets.papers.methods import FUSED
from scrapy_pagelets.session.crawl_session import CrawlSession
from scrapy_pagelets.session.response_store import is_html
from scrapy_pagelets.session.shared_crawl import lease_of
from scrapy_pagelets.session.threads import let_go

_current: ContextVar[PageContext | None] = ContextVar("pagelets_context", default=None)
_places: ContextVar[dict[str, str]] = ContextVar("pagelets_places")


class PageContext:
    """The page of a response and its record, which all items of the response share.

    Its methods may run in a thread.
    """

    def __init__(self, response: HtmlResponse, session: CrawlSession) -> None:
        self.url = response.url  # URL of the response
        self.size = len(response.body)  # of the response, in bytes
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
        """Let go of the page as soon as it has no item left.

        The garbage collector would come late: a response and its selector, which holds the parsed page, are a cycle.
        """
        response = self._response()
        if self._items or not self._has_left or response is None:
            return
        self._session.forget(response)
        let_go(self._page, self._record)
        self._page, self._record = None, None

    @property
    def page(self) -> Page:
        """The parsed page."""
        with self._lock:
            if self._page is None:
                response = self._response()
                assert response is not None
                self._page = self._session.page(response)
            return self._page

    @property
    def lease(self) -> str | None:
        """The lease of the page's request in a shared crawl, None without one."""
        response = self._response()
        return None if response is None else lease_of(response)

    @property
    def learnt_by(self) -> tuple[Site, int] | None:
        """The site that has learnt the page, and the key of the page; None if that is not known without waiting."""
        response = self._response()
        page = None if response is None else self._session.parsed(response)
        site = None if page is None else self._session.sites.in_memory(page)
        return None if page is None or site is None or page.key not in site.learnt.seen else (site, page.key)

    @property
    def record(self) -> PageRecord:
        """The record of the page, made once; the site of the page learns it first."""
        with self._lock:
            if self._record is None:
                page, sites, config = self.page, self._session.sites, self._session.config
                sites.learn(page)
                site = sites.of(page)
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
    moment = datetime.now(UTC)
    with suppress(ValueError, OverflowError):
        moment = parsedate_to_datetime((response.headers.get("Date") or b"").decode("latin-1")).astimezone(UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


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


@contextmanager
def current(response: Any, session: CrawlSession) -> Iterator[PageContext | None]:
    """Make the context of a response the current one while one of its items is in the pipelines."""
    context = context_of(response, session)
    context_before, places_before = _current.set(context), _places.set({})
    if context is not None:
        context.item_arrived()
    try:
        yield context
    finally:
        _current.reset(context_before)
        _places.reset(places_before)
        if context is not None:
            context.item_left()


def response_left(response: Any, session: CrawlSession) -> None:
    """Let go of the page of a response of which the spider has yielded everything, as soon as its items have left."""
    if isinstance(response, HtmlResponse):
        if (context := _contexts.get(response)) is not None:
            context.response_left()
        else:
            session.forget(response)


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
