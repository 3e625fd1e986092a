"""Pagelets for items."""

from __future__ import annotations

from typing import Any, Self

from scrapy.crawler import Crawler

from scrapy_pagelets.middlewares.state import state_of
from scrapy_pagelets.middlewares.threads import in_thread
from scrapy_pagelets.middlewares.visit import Visit, current_visit, ensure_visits
from scrapy_pagelets.pipelines.fields import Fields
from scrapy_pagelets.segmentation.segment import CONTENT


class SegmentPipeline:
    """Cut the page behind an item into pagelets: sets ``pagelets``.

    Also ``url``, ``title``, ``language`` and ``fetched_at`` where the spider has not set them. Items that come from no
    HTML page pass untouched and are counted in ``pagelets/items/no_page``.
    """

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
        try:
            about, pagelets = await in_thread(self._segmented, visit)
        except Exception:
            visit.fail()
            return item
        for name, value in about.items():
            self.fields.put(item, name, value, keep=True)
        self.fields.put(item, "pagelets", pagelets)
        return item

    def _segmented(self, visit: Visit) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        page, config = visit.page, self.state.config
        every = config.export == "all"
        # Link counts cut, others see: a region that they see is not parted in what it holds of content and template.
        pagelets = visit.pagelets(whole=every and not config.segmenter.startswith("pagelets"))
        about = {"url": page.url, "title": page.title, "language": page.language, "fetched_at": visit.fetched_at}
        return about, [pagelet.record() for pagelet in pagelets if every or pagelet.role == CONTENT]
