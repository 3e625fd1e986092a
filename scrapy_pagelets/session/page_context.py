"""The response behind an item, for pipelines."""

from __future__ import annotations

from contextlib import suppress
from contextvars import ContextVar
from copy import copy
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from threading import RLock
from typing import Any
from weakref import WeakKeyDictionary, WeakSet, ref

from itemadapter import ItemAdapter
from scrapy import Item
from scrapy.crawler import Crawler
from scrapy.http import HtmlResponse, Response

from scrapy_pagelets.nodes import Floats, Ints
from scrapy_pagelets.page import Page
from scrapy_pagelets.segmentation.methods import labels_of
from scrapy_pagelets.segmentation.pagelet import Pagelet, pagelets_of
from scrapy_pagelets.session.crawl_session import CrawlSession, session_of
from scrapy_pagelets.templates.site_counts import Template

_visit: ContextVar[PageContext | None] = ContextVar("pagelets_visit", default=None)
_places: ContextVar[dict[str, str]] = ContextVar("pagelets_places")


class PageContext:
    """A page on its way through spider and pipelines, with what has been found out about it.

    All items of one response share it. Its methods may run in a thread.

    Attributes
    ----------
    url : of the response
    fetched_at : when the response was made, as in the feed
    failed : True if an error of ours keeps the page from being cut
    """

    def __init__(self, response: HtmlResponse, session: CrawlSession) -> None:
        self.url = response.url
        self.fetched_at = fetched_at(response)
        self.failed = False
        self._response = ref(response)  # Scrapy holds it as long as its items are in the pipelines, and no longer
        self._session = session
        self._lock = RLock()
        self._page: Page | None = None
        self._pagelets: dict[bool, list[Pagelet]] = {}
        self._cut: tuple[Ints, Floats] | None = None

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
    def template(self) -> Template | None:
        """The template of the page."""
        return self._session.sites.of(self.page).template(self.page)

    def pagelets(self, *, whole: bool = False) -> list[Pagelet]:
        """The pagelets of the page, weighed by what is known of its site; the page becomes part of that.

        Parameters
        ----------
        whole : leave pagelets whole that hold both content and template
        """
        with self._lock:
            if self._cut is None:
                self._session.sites.learn(self.page)
                templateness = self._session.templateness(self.page)
                self._cut = self._labels(templateness), templateness
            if whole not in self._pagelets:
                self._pagelets[whole] = pagelets_of(self.page, *self._cut, whole=whole)
            return self._pagelets[whole]

    def _labels(self, templateness: Floats) -> Ints:
        config = self._session.config
        return labels_of(self.page, config.segmenter, templateness, **config.options)

    def fail(self) -> None:
        """Log the exception that is being handled, once a page."""
        if not self.failed:
            self.failed = True
            self._session.failed(self.url)


def fetched_at(response: Response) -> str:
    """When a response was made: request meta ``pagelets_fetched_at``, the ``Date`` header, or now."""
    if response.request is not None and (known := response.request.meta.get("pagelets_fetched_at")):
        return str(known)
    moment = datetime.now(UTC)
    with suppress(ValueError, OverflowError):
        moment = parsedate_to_datetime((response.headers.get("Date") or b"").decode("latin-1")).astimezone(UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def current_context() -> PageContext | None:
    """The visit whose item is being processed; None for an item that comes from no HTML page."""
    return _visit.get()


def current_places() -> dict[str, str]:
    """Where our fields are in the item that is being processed: its names of them, by those of the feed."""
    return _places.get({})


def provide_contexts(crawler: Crawler) -> None:
    """Let pipelines know the response behind each item; to be called when they are opened.

    Scrapy hands items to the pipelines without it, and only the scraper knows it for sure: a task inherits the context
    of the response that led to its request, and an item of an errback passes no spider middleware. So the scraper's
    public entry for items is wrapped. An item of a page is copied there: a spider may change what it has yielded and
    yield it again, while the pipelines still write to it.
    """
    if crawler in _wrapped:
        return
    _wrapped.add(crawler)
    assert crawler.engine is not None
    scraper: Any = crawler.engine.scraper
    session = session_of(crawler)
    process = scraper.start_itemproc_async

    async def start_itemproc_async(item: Any, *, response: Any) -> None:
        visit = context_of(response, session)
        visit_before, places_before = _visit.set(visit), _places.set({})
        try:
            await process(item if visit is None else _copied(item), response=response)
        finally:
            _visit.reset(visit_before)
            _places.reset(places_before)

    scraper.start_itemproc_async = start_itemproc_async


def _copied(item: Any) -> Any:
    """A shallow copy of an item; of a type that cannot be copied, the item."""
    if not ItemAdapter.is_item(item):
        return item
    with suppress(Exception):
        return item.copy() if isinstance(item, Item) else copy(item)
    return item


_wrapped: WeakSet[Crawler] = WeakSet()
_visits: WeakKeyDictionary[HtmlResponse, PageContext] = WeakKeyDictionary()


def context_of(response: Any, session: CrawlSession) -> PageContext | None:
    """The visit that all who have to do with a response share; None if it is no page."""
    # The items of an errback come with the error page, if there was one.
    if not isinstance(response, HtmlResponse) or not 200 <= response.status < 300:
        return None
    if (visit := _visits.get(response)) is None:
        visit = _visits[response] = PageContext(response, session)
    return visit
