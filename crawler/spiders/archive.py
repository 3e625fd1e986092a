"""The spider ``archive``: clean what was crawled before."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from functools import partial
from itertools import islice
from typing import Any, Final

from scrapy import Spider
from scrapy.http import HtmlResponse

from scrapy_pagelets.archives import ArchiveError, Record, expand, records
from scrapy_pagelets.crawler.items import page_item
from scrapy_pagelets.middlewares.handover import archived
from scrapy_pagelets.middlewares.state import State, state_of
from scrapy_pagelets.page import Page

logger = logging.getLogger(__name__)

#: Records read by one visit to a thread.
_BATCH: Final = 32


class ArchiveSpider(Spider):
    """Read pages from WARC files or folders in two passes: learn all sites, then yield each page as an item.

    Nothing is fetched. What is not a page is counted in ``pagelets/archive/skipped/<why>``.

    Arguments (``-a name=value``)
    -----------------------------
    path : a WARC file (plain, gzip or zstd), a glob, or a folder of WARC or HTML files
    base : what URLs of HTML files begin with, before their path below the folder; without it they are ``file://`` URLs
    """

    name = "archive"

    def __init__(self, path: str = "", base: str = "", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.path, self.base = path, base
        self.shared: State

    async def start(self) -> AsyncIterator[Any]:
        self.shared = state_of(self.crawler)
        try:
            sources = expand(self.path)
        except ArchiveError as error:
            logger.error("%s (-a path=...)", error)
            self.shared.count("start/failed")
            return
        found = await self._learn(sources)
        logger.info("%d pages in %d sources; cleaning them", found, len(sources))
        async for record in self._records(sources, Counter()):
            yield archived(record, self.base)

    def parse(self, response: HtmlResponse) -> Iterator[Any]:
        yield page_item(response.url)

    async def _learn(self, sources: list[str]) -> int:
        """First pass: every page becomes known, so that the first one is cleaned as well as the last; their number."""
        skipped: Counter[str] = Counter()
        found = 0
        async for record in self._records(sources, skipped):
            found += 1
            await asyncio.to_thread(self._learn_page, record)
        for why, count in skipped.items():
            self.shared.count(f"archive/skipped/{why}", count)
        if not found:
            reasons = ", ".join(f"{count} {why}" for why, count in skipped.items()) or "it is empty"
            logger.error("%s has no HTML page: %s", self.path, reasons)
        return found

    def _learn_page(self, record: Record) -> None:
        page = Page.parse(record.body, record.url, (record.headers.get("Content-Type") or [None])[0])
        self.shared.sites.of(page).learn(page)

    async def _records(self, sources: list[str], skipped: Counter[str]) -> AsyncIterator[Record]:
        for source in sources:
            found = records(source, self.base, skipped)
            while batch := await asyncio.to_thread(partial(_take, found)):
                for record in batch:
                    yield record


def _take(found: Iterator[Record]) -> list[Record]:
    return list(islice(found, _BATCH))
