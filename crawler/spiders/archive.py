"""The spider ``archive``: clean what was crawled before."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from itertools import islice
from typing import Any, Final, Self

from scrapy import Spider, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import IgnoreRequest
from scrapy.http import HtmlResponse, Response
from scrapy.http.request import NO_CALLBACK

from scrapy_pagelets.archives.reader import Record, expand, records
from scrapy_pagelets.archives.resources import Resources
from scrapy_pagelets.crawler.items import page_item
from scrapy_pagelets.crawler.spiders import arguments
from scrapy_pagelets.middlewares.archived import archived, place_of
from scrapy_pagelets.middlewares.rendering import RENDER
from scrapy_pagelets.page import Page
from scrapy_pagelets.session.crawl_session import call_off, session_of
from scrapy_pagelets.session.threads import in_thread

logger = logging.getLogger(__name__)

#: Records read by one visit to a thread.
_BATCH: Final = 32
#: Pages that wait for the browser at once.
_WAITING: Final = 8


class ArchiveSpider(Spider):
    """Read pages from WARC files or folders in two passes: learn all sites, then yield each page as an item.

    Nothing is fetched, even if pages are rendered: what is on them comes from the archive as well. They are rendered in
    the first pass, learnt as they are shown, and kept on disk for the second. What is not a page is counted in
    ``pagelets/archive/skipped/<why>``.

    Arguments (``-a name=value``)
    -----------------------------
    path : a WARC file (plain, gzip or zstd), a glob, or a folder of WARC or HTML files
    base : what URLs of HTML files begin with, before their path below the folder; without it they are ``file://`` URLs
    """

    name = "archive"
    #: What is blank in its items is for the pipelines to fill.
    yields_blanks = True

    def __init__(self, path: str = "", base: str = "", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if not path:
            raise ValueError("the spider archive needs something to read: -a path=FILE, a glob in quotes, or a folder")
        if complaint := arguments.unknown(kwargs, "path and base"):
            logger.warning("%s", complaint)
        self.path, self.base = path, arguments.beginning("base", base)
        self.sources = expand(path)

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Self:
        try:
            return super().from_crawler(crawler, *args, **kwargs)
        except ValueError as error:
            call_off(crawler, error)

    async def start(self) -> AsyncIterator[Any]:
        self.session = session_of(self.crawler)
        self.session.resources = Resources(self.sources, self.base)
        found = await self._learn()
        logger.info("%d pages in %d sources; cleaning them", found, len(self.sources))
        async for record in self._records():
            # The archive is the queue: only as many requests are made as are worked at.
            if self.crawler.engine.needs_backout():
                await self.crawler.signals.wait_for(signals.scheduler_empty)
            try:
                request = archived(record, self.base)
            except ValueError as error:
                self.session.tell("archive/skipped/no_url", "%s is left out, its URL is broken: %s", record.url, error)
                continue
            if self.session.config.render:
                request.meta[RENDER] = False  # it has been, unless that failed
            yield request

    def parse(self, response: Response, **_: Any) -> Iterator[Any]:
        yield page_item(response.url, self.session.config)

    async def _learn(self) -> int:
        """First pass: every page becomes known, so that the first one is cleaned as well as the last; their number."""
        skipped: Counter[str] = Counter()
        found = 0
        rendering: set[asyncio.Task[None]] = set()
        async for record in self._records(skipped):
            found += 1
            if not self.session.config.render:
                await in_thread(self._learn_page, record)
                continue
            rendering.add(asyncio.create_task(self._render(record)))
            if len(rendering) >= _WAITING:
                _, rendering = await asyncio.wait(rendering, return_when=asyncio.FIRST_COMPLETED)
        if rendering:
            await asyncio.wait(rendering)
        for why, count in skipped.items():
            self.session.count(f"archive/skipped/{why}", count)
        if not found:
            reasons = ", ".join(f"{count} {why}" for why, count in skipped.items()) or "it is empty"
            self.session.count("start/failed")
            logger.error("%s has no HTML page: %s", self.path, reasons)
        return found

    def _learn_page(self, record: Record) -> None:
        try:
            declared = record.headers.get("Content-Type", [""])[0]
            page = Page.parse(record.body, record.url, declared, self.session.config.limits)
            self.session.sites.learn(page)
        except Exception:
            self.session.failed(record.url)

    async def _render(self, record: Record) -> None:
        """Render a page, learn it, and keep it for the second pass."""
        engine = self.crawler.engine
        assert engine is not None
        try:
            request = archived(record, self.base).replace(callback=NO_CALLBACK)
            response = await engine.download_async(request)
            assert isinstance(response, HtmlResponse)
            await in_thread(self._keep, place_of(request), response)
        except (ValueError, IgnoreRequest):
            pass  # the second pass tells of it
        except Exception:
            self.session.failed(record.url)

    def _keep(self, place: str, response: HtmlResponse) -> None:
        self.session.spool.put(place, response)
        self.session.sites.learn(self.session.page(response))

    async def _records(self, skipped: Counter[str] | None = None) -> AsyncIterator[Record]:
        for source in self.sources:
            found = records(source, self.base, skipped, quiet=skipped is None)
            while batch := await in_thread(_take, found):
                for record in batch:
                    yield record


def _take(found: Iterator[Record]) -> list[Record]:
    return list(islice(found, _BATCH))
