"""Pagelets for items."""

from __future__ import annotations

from typing import Any, Self

from scrapy.crawler import Crawler

from scrapy_pagelets.middlewares.state import state_of
from scrapy_pagelets.middlewares.threads import in_thread
from scrapy_pagelets.middlewares.visit import Visit, current_visit, ensure_visits
from scrapy_pagelets.pipelines.fields import Fields
from scrapy_pagelets.segmentation.segment import CONTENT
from scrapy_pagelets.segmentation.vips import vips


class SegmentPipeline:
    """Cut the page behind an item into pagelets: sets ``pagelets``, and ``blocks`` with ``PAGELETS_VIPS_TREE``.

    Also ``url``, ``title``, ``language`` and ``fetched_at`` where the spider has not set them. Items that come from no
    HTML page pass untouched and are counted in ``pagelets/items/no_page``.
    """

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler
        self.state = state_of(crawler)
        self.fields = Fields(crawler)

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
            about, parts = await in_thread(self._segmented, visit)
        except Exception:
            visit.fail()
            return item
        for name, value in about.items():
            self.fields.fill(item, name, value)
        for name, value in parts.items():
            self.fields.put(item, name, value)
        return item

    def _segmented(self, visit: Visit) -> tuple[dict[str, Any], dict[str, Any]]:
        page, config = visit.page, self.state.config
        every = config.export == "all"
        # Link counts cut, others see: a region that they see is not parted in what it holds of content and template.
        pagelets = visit.pagelets(whole=every and not config.segmenter.startswith("pagelets"))
        about = {"url": page.url, "title": page.title, "language": page.language, "fetched_at": visit.fetched_at}
        parts = {"pagelets": [pagelet.record() for pagelet in pagelets if every or pagelet.role == CONTENT]}
        return about, parts | ({"blocks": vips(page).record(page)} if config.vips_tree else {})
