"""The spider ``archive``, which cleans pages of an earlier crawl."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import suppress
from itertools import islice
from typing import Any, Final, Self

from scrapy import Spider, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import IgnoreRequest
from scrapy.http import HtmlResponse, Response
from scrapy.http.request import NO_CALLBACK
from scrapy.settings import BaseSettings

from scrapy_pagelets import urls
from scrapy_pagelets.archives.reader import Record, expand, records
from scrapy_pagelets.archives.resources import Resources
from scrapy_pagelets.crawler.items import page_item
from scrapy_pagelets.crawler.spiders import arguments
from scrapy_pagelets.middlewares.archived import archive_request, response_token
from scrapy_pagelets.middlewares.rendering import RENDER
from scrapy_pagelets.page import Page
from scrapy_pagelets.session.crawl_session import abort_crawl, mark_failed, session_of
from scrapy_pagelets.session.threads import in_thread
from scrapy_pagelets.templates.detections import ETDM
from scrapy_pagelets.templates.known_subdigraphs import KnownSubdigraphs, LinkedPages

logger = logging.getLogger(__name__)

#: Records read by one call in a thread.
_BATCH: Final = 32
#: Pages rendered at the same time.
_RENDERING: Final = 8


class ArchiveSpider(Spider):
    """Read pages from WARC files or folders in two passes: learn all sites, then yield each page as an item.

    Nothing is fetched, even if pages are rendered: their resources come from the archive as well. Pages are rendered in
    the first pass, and the rendered responses are stored on disk for the second. Records that are not pages are counted
    in ``pagelets/archive/skipped/<why>``.

    Arguments (``-a name=value``)
    -----------------------------
    path : a WARC file (plain, gzip or zstd), a glob, or a folder of WARC or HTML files
    base : URL prefix of HTML files, which precedes their path below the folder; without it they have ``file://`` URLs
    """

    name = "archive"
    #: The pipelines fill blank fields of its items.
    yields_blanks = True

    def __init__(self, path: str = "", base: str = "", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if not path:
            raise ValueError("the spider archive needs a path: -a path=FILE, a glob in quotes, or a folder")
        if problem := arguments.unknown(kwargs, "path and base"):
            logger.warning("%s", problem)
        self.path, self.base = path, arguments.beginning("base", base)
        self.sources = expand(path)

    @classmethod
    def update_settings(cls, settings: BaseSettings) -> None:
        super().update_settings(settings)
        settings.set("PAGELETS_FIRST_PAGES", 1, "spider")  # all pages are known before the first one is cleaned

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Self:
        try:
            return super().from_crawler(crawler, *args, **kwargs)
        except ValueError as error:
            abort_crawl(crawler, error)

    async def start(self) -> AsyncIterator[Any]:
        self.session = session_of(self.crawler)
        self.session.resources = Resources(self.sources, self.base)
        config = self.session.config
        self._subdigraphs = KnownSubdigraphs(config.probe) if config.detection == ETDM else None
        pages = await self._learn()
        if self._subdigraphs is not None:
            await self._learn_subdigraphs(self._subdigraphs)
        logger.info("%d pages in %d sources; cleaning them", pages, len(self.sources))
        async for record in self._records():
            # The archive is the queue: make no more requests than the engine can process.
            if self.crawler.engine.needs_backout():
                await self.crawler.signals.wait_for(signals.scheduler_empty)
            try:
                request = archive_request(record, self.base)
            except ValueError as error:
                self.session.warn("archive/skipped/no_url", "%s is skipped, its URL is invalid: %s", record.url, error)
                continue
            if self.session.config.render:
                request.meta[RENDER] = False  # the first pass has rendered it, or failed to
            yield request

    def parse(self, response: Response, **_: Any) -> Iterator[Any]:
        yield page_item(response.url, self.session.config)

    async def _learn(self) -> int:
        """Learn every page, so that the first one is cleaned as well as the last; return the number of pages."""
        skipped: Counter[str] = Counter()
        pages = 0
        rendering: set[asyncio.Task[None]] = set()
        async for record in self._records(skipped):
            pages += 1
            if not self.session.config.render:
                await in_thread(self._learn_page, record)
                continue
            rendering.add(asyncio.create_task(self._render(record)))
            if len(rendering) >= _RENDERING:
                _, rendering = await asyncio.wait(rendering, return_when=asyncio.FIRST_COMPLETED)
        if rendering:
            await asyncio.wait(rendering)
        for reason, count in skipped.items():
            self.session.count(f"archive/skipped/{reason}", count)
        if not pages:
            reasons = ", ".join(f"{count} {reason}" for reason, count in skipped.items()) or "it is empty"
            self.session.count("start/failed")
            logger.error("%s has no HTML page: %s", self.path, reasons)
            self.crawler.signals.connect(mark_failed, signals.engine_stopped)
        return pages

    def _learn_page(self, record: Record) -> None:
        try:
            self._learn_parsed(self._parsed(record))
        except Exception:
            self.session.failed(record.url)

    def _parsed(self, record: Record) -> Page:
        declared = record.headers.get("Content-Type", [""])[0]
        return Page.parse(record.body, record.url, declared, self.session.config.limits)

    def _learn_parsed(self, page: Page) -> None:
        page_class = self.session.sites.learn(page)
        if self._subdigraphs is not None:
            self._subdigraphs.add(page, page_class)

    async def _learn_subdigraphs(self, subdigraphs: KnownSubdigraphs) -> None:
        """Learn the templates of complete subdigraphs, whose pages are read once more."""
        waiting: dict[int, list[LinkedPages]] = {}
        for linked in await in_thread(list, subdigraphs.found()):
            for key in linked.missing:
                waiting.setdefault(key, []).append(linked)
        async for record in self._records():
            if sets := waiting.pop(urls.key(record.url), []):
                await in_thread(self._add_to_sets, record, sets)

    def _add_to_sets(self, record: Record, sets: Iterable[LinkedPages]) -> None:
        """Read a page again for some sets, and learn those that are complete with it."""
        page = self._read_again(record)
        for linked in sets:
            if page is None or page.key not in linked.missing:
                linked.pages.clear()  # the set stays incomplete
                continue
            linked.add(page)
            if linked.is_complete:
                key_page = linked.pages.pop(linked.key_page)
                self.session.sites.learn_set(key_page, list(linked.pages.values()))

    def _read_again(self, record: Record) -> Page | None:
        """The page of a record of the first pass; None if it could not be learnt there."""
        with suppress(Exception):  # the first pass has reported it
            if not self.session.config.render:
                return self._parsed(record)
            response = self.session.responses.read(response_token(archive_request(record, self.base)))
            assert isinstance(response, HtmlResponse)
            return self.session.page(response)
        return None

    async def _render(self, record: Record) -> None:
        """Render a page, learn it, and store it for the second pass."""
        engine = self.crawler.engine
        assert engine is not None
        try:
            request = archive_request(record, self.base).replace(callback=NO_CALLBACK)
            response = await engine.download_async(request)
            assert isinstance(response, HtmlResponse)
            await in_thread(self._store_rendered, response_token(request), response)
        except (ValueError, IgnoreRequest):
            pass  # the second pass reports it
        except Exception:
            self.session.failed(record.url)

    def _store_rendered(self, token: str, response: HtmlResponse) -> None:
        self.session.responses.put(token, response)
        self._learn_parsed(self.session.page(response))

    async def _records(self, skipped: Counter[str] | None = None) -> AsyncIterator[Record]:
        for source in self.sources:
            all_records = records(source, self.base, skipped, quiet=skipped is None)
            while batch := await in_thread(_next_batch, all_records):
                for record in batch:
                    yield record


def _next_batch(all_records: Iterator[Record]) -> list[Record]:
    return list(islice(all_records, _BATCH))
