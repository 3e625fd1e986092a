"""Pagelets for items."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Any, Self

from scrapy.crawler import Crawler
from scrapy.http import HtmlResponse

from scrapy_pagelets.middlewares.state import state_of
from scrapy_pagelets.middlewares.visit import Visit, current_visit, ensure_visits
from scrapy_pagelets.pipelines.fields import Fields
from scrapy_pagelets.segmentation.segment import CONTENT


class SegmentPipeline:
    """Cut the page behind an item into pagelets: sets ``pagelets``, and ``url``, ``title``, ``language`` and ``fetched_at`` where
    the spider has not.

    Items that come from no HTML page pass untouched and are counted in ``pagelets/items/no_page``.
    """  # noqa: D205

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler
        self.state = state_of(crawler)
        self.fields = Fields(self.state)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    def open_spider(self) -> None:
        ensure_visits(self.crawler)

    async def process_item(self, item: Any) -> Any:
        visit = current_visit()
        if visit is None:
            self.state.count("items/no_page")
            return item
        for name, value in (await asyncio.to_thread(self._about, visit)).items():
            self.fields.put(item, name, value, keep=True)
        self.fields.put(item, "pagelets", await asyncio.to_thread(self._records, visit))
        return item

    def _about(self, visit: Visit) -> dict[str, Any]:
        page = visit.page
        return {"url": page.url, "title": page.title, "language": page.language, "fetched_at": fetched_at(visit.response)}

    def _records(self, visit: Visit) -> list[dict[str, Any]]:
        every = self.state.config.export == "all"
        return [pagelet.record() for pagelet in visit.pagelets() if every or pagelet.role == CONTENT]


def fetched_at(response: HtmlResponse) -> str:
    """When the response was made: request meta ``pagelets_fetched_at``, the ``Date`` header, or now."""
    known = response.meta.get("pagelets_fetched_at")
    return str(known) if known else datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
