"""The downloader middleware that answers requests with responses already loaded for a template."""

import asyncio
from types import SimpleNamespace
from typing import Any

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.downloadermiddlewares.stats import DownloaderStats
from scrapy.http import Response

from scrapy_pagelets.probing.prober import RECEIVED, RESPONSE_KEY, Identities, IdentityDiffers, key_of_response
from scrapy_pagelets.session.crawl_session import Component
from scrapy_pagelets.session.response_store import FRAMES, RenderedResponse
from scrapy_pagelets.session.scrapy_hooks import is_starting
from scrapy_pagelets.session.threads import in_thread


class HandoverMiddleware(Component):
    """Answer requests with responses that were loaded for a template, so that no page is fetched twice.

    A request gets the response that `MenuSubdigraphMiddleware` has loaded, or is loading, for its URL, if it would be
    sent with the same headers, by the same route, and without a session. All middlewares process it once, on its way to
    the spider. If one nearer the downloader may change requests (any with a ``process_request`` but Scrapy's stats and
    cache), nothing is handed over, or loaded for templates.
    """

    for_single_pages = False

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._identities = Identities(crawler, self)

    async def process_request(self, request: Request) -> Response | None:
        sent = self._identities.of(request)
        if RESPONSE_KEY in request.meta:
            # A middleware may have given a probe another identity than the request of its key page has.
            expected = request.meta[RESPONSE_KEY]
            if sent.obstacle is not None or key_of_response(self.crawler, request, sent.identity) != expected:
                raise IdentityDiffers
            request.meta["dont_merge_cookies"] = True  # nor may its response change the cookies of the spider
            return None
        self.session.sent[request] = sent
        if sent.obstacle is not None or (key := key_of_response(self.crawler, request, sent.identity)) is None:
            return None
        if (loading := self.session.menu_loads.pop(key, None)) is not None:
            await asyncio.wait({loading})
        elif not self.session.handovers.has(key):
            return None
        if (stored := await in_thread(self.session.handovers.take, key)) is None:
            return None
        self.session.count("probe/handed_over")
        if stored.request is not None:
            request.meta.update(stored.request.meta)
        if isinstance(stored, RenderedResponse):
            request.meta[FRAMES] = stored.frames
        response = stored.replace(request=request)
        # Subtract in advance what `DownloaderStats` will count: it counted the response when it was loaded.
        if self.crawler.get_downloader_middleware(DownloaderStats) is not None:
            subtract = self.session.stats.inc_value
            stats: Any = SimpleNamespace(inc_value=lambda key, count=1, **_: subtract(key, -count))
            DownloaderStats(stats).process_response(request, response)
        return response

    def process_response(self, request: Request, response: Response) -> Response:
        self.session.cut_bodies.arrived(request, response)
        if RESPONSE_KEY in request.meta:
            request.meta[RECEIVED] = response.copy()  # decompression changes the headers in place
        return response

    def scheduler_empty(self) -> None:
        """Cancel probes that are still loading if they alone keep the crawl from finishing."""
        engine: Any = self.crawler.engine
        active = engine.downloader.active
        if not active or is_starting(self.crawler) or not engine.scraper.slot.is_idle():
            return
        if all(RESPONSE_KEY in request.meta for request in active):
            self.session.cancel_menu_loads()

    def spider_closed(self, reason: str) -> None:
        if self.session.menu_loads:
            self.session.count("probe/unclaimed", len(self.session.menu_loads))
        if reason == "finished":  # a later crawl with this job directory must not get what is old by then
            for key in self.session.responses.keys(""):
                self.session.responses.remove(key)
        self.session.cancel_menu_loads()
