"""The item pipeline that cuts pages into pagelets."""

from __future__ import annotations

from typing import Any, Self

from scrapy.crawler import Crawler

from scrapy_pagelets.pipelines.fields import Fields
from scrapy_pagelets.segmentation.pagelet import CONTENT
from scrapy_pagelets.segmentation.vips import vips
from scrapy_pagelets.session.crawl_session import session_of
from scrapy_pagelets.session.page_context import PageContext, current_context, provide_contexts
from scrapy_pagelets.session.threads import in_thread


class SegmentPipeline:
    """Cut the page of an item into pagelets; set ``pagelets``, and ``blocks`` with ``PAGELETS_VIPS_TREE``.

    Also set ``url``, ``title``, ``language`` and ``fetched_at`` if the spider has not. Items that do not come from an
    HTML page pass unchanged and are counted in ``pagelets/items/no_page``.
    """

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler
        self.session = session_of(crawler)
        self.fields = Fields(crawler)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    def open_spider(self) -> None:
        provide_contexts(self.crawler)

    async def process_item(self, item: Any) -> Any:
        context = current_context()
        if context is None:
            self.session.count("items/no_page")
            return item
        try:
            about, parts = await in_thread(self._segment, context)
        except Exception:
            context.fail()
            return item
        for name, value in about.items():
            self.fields.fill(item, name, value)
        for name, value in parts.items():
            self.fields.put(item, name, value)
        return item

    def _segment(self, context: PageContext) -> tuple[dict[str, Any], dict[str, Any]]:
        page, config = context.page, self.session.config
        every = config.export == "all"
        # The link-based segmenters split regions into content and template; the visual ones keep regions whole.
        pagelets = context.cut(whole=every and not config.segmenter.startswith("pagelets"))
        about = {"url": page.url, "title": page.title, "language": page.language, "fetched_at": context.fetched_at}
        parts = {"pagelets": [pagelet.record() for pagelet in pagelets if every or pagelet.role == CONTENT]}
        return about, parts | ({"blocks": vips(page).record(page)} if config.vips_tree else {})
