"""The common part of the item pipelines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from scrapy.crawler import Crawler

from scrapy_pagelets.pipelines.fields import Fields
from scrapy_pagelets.session.crawl_session import session_of
from scrapy_pagelets.session.items import follow_items
from scrapy_pagelets.session.page_context import PageContext, current_context

P = ParamSpec("P")
T = TypeVar("T")


class PagePipeline:
    """Base class of pipelines that need the page of an item; other items pass unchanged."""

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler
        self.session = session_of(crawler)
        self.fields = Fields(crawler)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    def open_spider(self) -> None:
        follow_items(self.crawler)

    async def process_item(self, item: Any) -> Any:
        context = current_context()
        if context is not None and not context.failed:
            await self.process_page(item, context)
        return item

    async def process_page(self, item: Any, context: PageContext) -> None:
        """Process an item of a page."""
        raise NotImplementedError

    async def computed(
        self,
        function: Callable[Concatenate[PageContext, P], T],
        context: PageContext,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T | None:
        """Call a function of a page, in a thread if it is long; if it raises an exception, log that and return None."""
        try:
            return await self.session.compute(context.size, function, context, *args, **kwargs)
        except Exception:
            context.fail()
            return None
