"""The page behind an item, for pipelines and middlewares."""

from __future__ import annotations

from contextlib import suppress
from contextvars import ContextVar
from copy import copy
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from threading import RLock
from typing import Any
from weakref import WeakKeyDictionary, WeakSet, ref

import numpy as np
from itemadapter import ItemAdapter
from scrapy import Item
from scrapy.crawler import Crawler
from scrapy.http import HtmlResponse, Response

from scrapy_pagelets.document.content import corrected, said_of_itself
from scrapy_pagelets.document.headline import Headline, headline_of
from scrapy_pagelets.document.metadata import Metadata, metadata_of
from scrapy_pagelets.nodes import Bools, Floats, Ints
from scrapy_pagelets.page import Page
from scrapy_pagelets.segmentation.methods import labels_of
from scrapy_pagelets.segmentation.pagelet import Pagelet, pagelets_of
from scrapy_pagelets.session.crawl_session import CrawlSession, session_of
from scrapy_pagelets.templates.detections import FUSED
from scrapy_pagelets.templates.roles import CONTENT
from scrapy_pagelets.templates.site_counts import PageClass

_current: ContextVar[PageContext | None] = ContextVar("pagelets_context", default=None)
_places: ContextVar[dict[str, str]] = ContextVar("pagelets_places")


class PageContext:
    """The page of a response, with its pagelets; all items of the response share it.

    Its methods may run in a thread.

    Attributes
    ----------
    url : URL of the response
    fetched_at : when the page was fetched, as in the feed
    failed : True if the page could not be cut
    """

    def __init__(self, response: HtmlResponse, session: CrawlSession) -> None:
        self.url = response.url
        self.fetched_at = fetched_at(response)
        self.failed = False
        self._response = ref(response)  # Scrapy holds the response as long as its items are in the pipelines
        self._session = session
        self._lock = RLock()
        self._page: Page | None = None
        self._told: Metadata | None = None
        self._pagelets: dict[bool, list[Pagelet]] = {}
        self._headline: tuple[Headline | None] | None = None
        self._leaves: tuple[Ints, Floats] | None = None  # label and templateness of each leaf
        self._effect: dict[str, int] = {}

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
    def page_class(self) -> PageClass | None:
        """The class of the page, None if it is new."""
        return self._session.sites.of(self.page).page_class(self.page)

    def cut(self, *, whole: bool = False) -> list[Pagelet]:
        """Cut the page into pagelets, once; their templateness comes from its site, which learns the page first.

        Breadcrumbs that the page itself calls so are template: they are in `metadata`.

        Parameters
        ----------
        whole : do not split pagelets that hold both content and template
        """
        with self._lock:
            if self._leaves is None:
                self._session.sites.learn(self.page)
                unruled = self._templateness()
                templateness, self._effect = self.page.marks.applied(self.page.nodes, unruled)
                self._leaves = self._labels(templateness), templateness
            if whole not in self._pagelets:
                self._pagelets[whole] = pagelets_of(self.page, *self._leaves, whole=whole)
            return self._pagelets[whole]

    def content(self) -> list[Pagelet]:
        """Return the pagelets that are not template, without the template in them."""
        return [pagelet for pagelet in self.cut() if pagelet.role == CONTENT]

    def content_leaves(self) -> Bools:
        """Return a mask of the page's leaves, (m,): True for those of the content."""
        mask = np.zeros(len(self.page.nodes.leaves), np.bool_)
        for pagelet in self.content():
            mask[pagelet.index] = True
        return mask

    def templateness(self) -> Floats:
        """Return the templateness of the page's leaves, (m,), 0 to 1."""
        self.cut()
        assert self._leaves is not None
        return self._leaves[1]

    def effect_of_rules(self) -> dict[str, int]:
        """Return what the rules of the user have done to the page, by the names of the stats."""
        self.cut()
        return self._effect

    def metadata(self) -> dict[str, Any]:
        """Return URL, title, heading, language, time of fetching and what the page tells of itself, as in the feed."""
        page, headline = self.page, self.headline
        known = {
            "url": page.url,
            "title": page.title,
            "headline": headline.text if headline else None,
            "language": page.language,
            "fetched_at": self.fetched_at,
        }
        return known | self._metadata().fields

    def _metadata(self) -> Metadata:
        with self._lock:
            if self._told is None:
                self._told = metadata_of(self.page, self.headline)
            return self._told

    def _templateness(self) -> Floats:
        """What the method that decides says; the default one also heeds what the page tells of itself."""
        found = self._session.sites.templateness(self.page)
        if self._session.config.detection != FUSED:
            return found
        found, told = corrected(self.page.nodes, found, self.headline), self._metadata()
        found[told.trail] = 1
        found[said_of_itself(self.page, self.headline, told.names, told.prices)] = 0
        return found

    @property
    def headline(self) -> Headline | None:
        """The page's own heading."""
        with self._lock:
            if self._headline is None:
                site, named = self._session.sites.of(self.page), self.page.marks.headline
                alike, others = site.pages_alike(self.page), site.pages - 1
                self._headline = (headline_of(self.page, alike, others, named=named),)
            return self._headline[0]

    def _labels(self, templateness: Floats) -> Ints:
        config = self._session.config
        return labels_of(self.page, config.segmenter, templateness, **config.options)

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


def current_context() -> PageContext | None:
    """Return the context of the item that is being processed; None if the item does not come from an HTML page."""
    return _current.get()


def current_places() -> dict[str, str]:
    """Return the names of the fields that we have set on the current item: name in the feed -> name in the item."""
    return _places.get({})


def provide_contexts(crawler: Crawler) -> None:
    """Make `current_context` available to item pipelines; they call this when they are opened.

    Scrapy passes items to the pipelines without their response. Only the scraper knows it reliably: a task inherits the
    context variables of the response that led to its request, and items of errbacks pass no spider middleware. This
    therefore wraps the scraper's public method for items. It also copies each item, because a spider may change an item
    and yield it again while the pipelines still write to it.
    """
    if crawler in _wrapped:
        return
    _wrapped.add(crawler)
    assert crawler.engine is not None
    scraper: Any = crawler.engine.scraper
    session = session_of(crawler)
    process = scraper.start_itemproc_async

    async def start_itemproc_async(item: Any, *, response: Any) -> None:
        context = context_of(response, session)
        context_before, places_before = _current.set(context), _places.set({})
        try:
            await process(item if context is None else copied(item), response=response)
        finally:
            _current.reset(context_before)
            _places.reset(places_before)

    scraper.start_itemproc_async = start_itemproc_async


def copied(item: Any) -> Any:
    """Return a shallow copy of an item, or the item itself if it cannot be copied."""
    if not ItemAdapter.is_item(item):
        return item
    with suppress(Exception):
        return item.copy() if isinstance(item, Item) else copy(item)
    return item


_wrapped: WeakSet[Crawler] = WeakSet()
_contexts: WeakKeyDictionary[HtmlResponse, PageContext] = WeakKeyDictionary()


def context_of(response: Any, session: CrawlSession) -> PageContext | None:
    """Return the context of a response, which all components share; None if the response is not a page."""
    # Items of an errback come with the error response, if there is one.
    if not isinstance(response, HtmlResponse) or not 200 <= response.status < 300:
        return None
    if (context := _contexts.get(response)) is None:
        context = _contexts[response] = PageContext(response, session)
    return context
