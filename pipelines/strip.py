"""The item pipeline that strips the template and keeps the content."""

from typing import Any

from scrapy_pagelets.feed.feed_schema import STRIP
from scrapy_pagelets.pipelines.page_pipeline import PagePipeline
from scrapy_pagelets.session.config import FEW
from scrapy_pagelets.session.page_context import PageContext


class StripPipeline(PagePipeline):
    """Strip the template; set the forms of the content, ``chunks``, ``comments``, ``template`` and ``content_hash``."""

    async def process_page(self, item: Any, context: PageContext) -> None:
        for name, value in (await self.computed(self._values, context) or {}).items():
            self.put(item, name, value)

    def _values(self, context: PageContext) -> dict[str, Any]:
        record, count = context.record, self.session.count
        count("pages/cleaned")
        count("words", record.words_of_page)
        count("words/template", record.words_of_page - record.words_of_content)
        if record.words_of_page and not record.words_of_content:
            count("pages/empty")
        for name, number in record.decision.effect.items():
            count(f"rules/{name}", number)
        if record.page_class is None or record.page_class.pages < FEW:
            count("few_pages")
        values = record.values(STRIP)
        if "chunks" in values:
            count("chunks", len(values["chunks"]))
        return values
