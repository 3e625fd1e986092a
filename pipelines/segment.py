"""The item pipeline that cuts pages into pagelets."""

from typing import Any, Final

from scrapy.exceptions import DropItem

from scrapy_pagelets.feed.feed_schema import PAGE, SEGMENT
from scrapy_pagelets.pipelines.page_pipeline import PagePipeline
from scrapy_pagelets.rules.robots import NOINDEX, OBEY
from scrapy_pagelets.session.page_context import PageContext, comes_from_scraper, current_context

_NO_PAGE: Final = (
    "items come to the pipelines without their page and get none of our fields, as those that "
    "`scrapy parse --pipelines` shows: `scrapy parse -o FILE.jsonl` writes them with all fields"
)


class SegmentPipeline(PagePipeline):
    """Cut the page of an item into pagelets; set ``pagelets``, and what the page tells of itself if the spider has not.

    ``PAGELETS_ROBOTS=obey`` drops the items of pages that ask not to be indexed.
    """

    async def process_item(self, item: Any) -> Any:
        context = current_context()
        if context is None and comes_from_scraper():
            self.session.count("items/no_page")
        elif context is None:
            self.session.warn("items/no_page", _NO_PAGE)
        else:  # a page whose links could not be scored may still have pagelets
            await self.process_page(item, context)
        return item

    async def process_page(self, item: Any, context: PageContext) -> None:
        own, ours = await self.computed(self._values, context) or ({}, {})
        if NOINDEX in own.get("robots", ()) and self.session.config.robots == OBEY:
            self.session.count("robots/dropped")
            raise DropItem(f"the page asks not to be indexed: {context.url}", log_level="DEBUG")
        for name, value in own.items():
            self.put(item, name, value, only_if_missing=True)
        for name, value in ours.items():
            self.put(item, name, value)

    def _values(self, context: PageContext) -> tuple[dict[str, Any], dict[str, Any]]:
        ours = {} if self.session.config.field_name("pagelets") is None else context.record.values(SEGMENT)
        own = context.record.values(PAGE)
        for name in own["robots"]:
            self.session.count(f"robots/{name}")
        return own, ours
