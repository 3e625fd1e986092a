"""Pages that wait until their site is known well enough."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.http import HtmlResponse

from scrapy_pagelets.middlewares.handover import fingerprint_of
from scrapy_pagelets.middlewares.state import state_of
from scrapy_pagelets.middlewares.threads import in_thread
from scrapy_pagelets.middlewares.visit import fetched_at
from scrapy_pagelets.page import Page

logger = logging.getLogger(__name__)


class HeldPages:
    """Hold back the first pages of each site on disk: the first item is then as clean as the last.

    Parameters
    ----------
    make : the item of a response
    memory : what is held, picklable, for `spider.state`
    """

    def __init__(self, crawler: Crawler, make: Callable[[HtmlResponse], Any], memory: dict[str, Any]) -> None:
        self.crawler = crawler
        self.state = state_of(crawler)
        self._make = make
        self._waiting: dict[str, list[tuple[str, str]]] = memory.setdefault("waiting", {})
        self._settled: set[str] = memory.setdefault("settled", set())

    async def put(self, response: HtmlResponse, page: Page) -> None:
        """Hold a page back; lets all pages of its site go as soon as there are ``PAGELETS_SETTLE``."""
        assert response.request is not None
        token = "held-" + fingerprint_of(self.crawler, response.request)
        await in_thread(self._keep, token, response, page)
        waiting = self._waiting.setdefault(page.site, [])
        waiting.append((token, fetched_at(response)))
        if self.is_settled(page.site) or len(waiting) >= self.state.config.settle:
            self._settled.add(page.site)
            await self._release(page.site)

    def is_settled(self, site: str) -> bool:
        """True if the pages of a site need not wait any more."""
        return site in self._settled

    async def release(self) -> None:
        """Let all pages go."""
        for site in list(self._waiting):
            await self._release(site)

    def _keep(self, token: str, response: HtmlResponse, page: Page) -> None:
        self.state.sites.learn(page)
        self.state.spool.put(token, response)

    async def _release(self, site: str) -> None:
        waiting = self._waiting[site]
        while waiting:
            token, time = waiting.pop(0)
            response = await in_thread(self.state.spool.take, token)
            if response is None:
                self.state.count("pages/lost")
                logger.error("a page that was held back is gone: was the job directory changed?")
                continue
            assert isinstance(response, HtmlResponse)
            assert self.crawler.engine is not None
            response.request = Request(response.url, meta={"pagelets_fetched_at": time})
            await self.crawler.engine.scraper.start_itemproc_async(self._make(response), response=response)
