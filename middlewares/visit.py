"""The response behind an item, for pipelines."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Self

from scrapy.crawler import Crawler
from scrapy.http import HtmlResponse, Response

from scrapy_pagelets.middlewares.state import State, state_of
from scrapy_pagelets.page import Page
from scrapy_pagelets.segmentation.segment import Pagelet, segment
from scrapy_pagelets.templates.site import Template

_visit: ContextVar[Visit | None] = ContextVar("pagelets_visit", default=None)


class Visit:
    """A response on its way through spider and pipelines, with what has been found out about its page.

    All items of one response share it. Its methods may run in a thread.
    """

    def __init__(self, response: HtmlResponse, state: State) -> None:
        self.response = response
        self.state = state
        self._pagelets: list[Pagelet] | None = None

    @property
    def page(self) -> Page:
        """The parsed page."""
        return self.state.page(self.response)

    @property
    def template(self) -> Template | None:
        """The template of the page."""
        return self.state.sites.of(self.page).template(self.page)

    def pagelets(self) -> list[Pagelet]:
        """The pagelets of the page, weighed by what is known of its site; the page becomes part of that."""
        if self._pagelets is None:
            site = self.state.sites.of(self.page)
            site.learn(self.page)
            self._pagelets = segment(self.page, site.templateness(self.page), self.state.config.segmenter)
        return self._pagelets


def current_visit() -> Visit | None:
    """The visit whose item is being processed; None for items that come from no HTML page."""
    return _visit.get()


class VisitMiddleware:
    """Remember which response the spider is working on.

    Scrapy hands items to the pipelines without their response. Whatever a callback yields is processed in tasks that are
    started from here and inherit the context; so an item of any type, even one that another pipeline has replaced, finds
    its page, and the spider need not help.
    """

    def __init__(self, state: State) -> None:
        self.state = state

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(state_of(crawler))

    def process_spider_input(self, response: Response) -> None:
        _visit.set(Visit(response, self.state) if isinstance(response, HtmlResponse) else None)


def ensure_visits(crawler: Crawler) -> None:
    """Put the middleware in place for a project that has switched on the pipelines alone."""
    if crawler.get_spider_middleware(VisitMiddleware) is None and crawler.engine is not None:
        methods = crawler.engine.scraper.spidermw.methods["process_spider_input"]
        middleware = VisitMiddleware.from_crawler(crawler)
        if not any(isinstance(getattr(m, "__self__", None), VisitMiddleware) for m in methods):
            methods.append(middleware.process_spider_input)
