"""The requests of the spider: which are pending and which were answered."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from typing import Final, NamedTuple
from weakref import WeakValueDictionary

from scrapy import Request, signals
from scrapy.crawler import Crawler

from scrapy_pagelets.page.page import Page
from scrapy_pagelets.probing.identity import known_fingerprint
from scrapy_pagelets.session.answered import AnsweredRequests

#: Number of recent redirects that are remembered.
_MAX_REMEMBERED: Final = 500


class Arrived(NamedTuple):
    """A page that is not requested any more: its URL after redirects, and the page if it is still in memory."""

    url: str
    page: Page | None


class Traffic:
    """Track the requests of the spider, because their pages need not be loaded for a template as well."""

    def __init__(self, crawler: Crawler, answered: AnsweredRequests) -> None:
        self.crawler = crawler
        self.answered = answered
        self._pending: dict[str, asyncio.Future[Page | None]] = {}
        #: Pages that something else holds: a response that waits or is in use, or a search.
        self._pages: WeakValueDictionary[str, Page] = WeakValueDictionary()
        self._moved: OrderedDict[str, str] = OrderedDict()  # fingerprint -> the URL that it redirects to
        crawler.signals.connect(self.request_scheduled, signals.request_scheduled)

    def expect(self, request: Request) -> None:
        """Record that a request was sent."""
        if (fingerprint := known_fingerprint(self.crawler, request)) is not None:
            self._pending.setdefault(fingerprint, asyncio.get_running_loop().create_future())

    def arrived(self, request: Request, page: Page | None = None) -> None:
        """Record that a request of the spider was answered, by a page or by something else."""
        if (fingerprint := known_fingerprint(self.crawler, request)) is not None:
            self.answered.add_answered(fingerprint)
            self._arrive(fingerprint, page)

    def loaded(self, request: Request, page: Page | None) -> None:
        """Record that a request that was made for a template was answered."""
        if (fingerprint := known_fingerprint(self.crawler, request)) is not None:
            self._arrive(fingerprint, page)

    def _arrive(self, fingerprint: str, page: Page | None) -> None:
        if page is not None:
            self._pages[fingerprint] = page
        pending = self._pending.pop(fingerprint, None)
        if pending is not None and not pending.done():
            pending.set_result(page)

    def request_scheduled(self, request: Request) -> None:
        """Record the redirects, by HTTP or by the page, that have led to a request."""
        for url in request.meta.get("redirect_urls", ()):
            if (fingerprint := known_fingerprint(self.crawler, Request(url))) is None:
                return
            self._moved[fingerprint] = request.url
            self.arrived(Request(url))
        while len(self._moved) > _MAX_REMEMBERED:
            self._moved.popitem(last=False)

    async def arrival(self, url: str, patience: float) -> Arrived | None:
        """Wait for a page that the spider or another search has requested; None if neither has."""
        visited = {url}
        while True:
            if (fingerprint := known_fingerprint(self.crawler, Request(url))) is None:
                return None
            if (pending := self._pending.get(fingerprint)) is not None:
                await asyncio.wait({pending}, timeout=patience)
            moved = self._moved.get(fingerprint, url)
            if moved in visited:
                break
            visited.add(moved)
            url = moved
        if pending is not None:
            return Arrived(url, pending.result() if pending.done() else None)
        page = self._pages.get(fingerprint)
        return Arrived(url, page) if page is not None or self.answered.is_answered(fingerprint) else None
