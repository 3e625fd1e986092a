"""The item pipeline that strips the template and keeps the content."""

from __future__ import annotations

from typing import Any

from scrapy_pagelets.pipelines.base import PagePipeline
from scrapy_pagelets.session.config import FEW
from scrapy_pagelets.session.page_context import PageContext


class StripPipeline(PagePipeline):
    """Strip the template; set the content by ``PAGELETS_FORMATS``, ``chunks``, ``template`` and ``content_hash``.

    Stats: ``pagelets/words`` and ``pagelets/words/template`` count the words of all pages and those in templates;
    ``pagelets/pages/empty`` counts pages whose words are all template, ``pagelets/few_pages`` those that were cleaned
    when few pages of their class were known; ``pagelets/chunks`` counts chunks.
    ``pagelets/rules/<host pattern>/<action>/pages`` and ``.../words`` (of ``ignore_links``, ``.../links``) count what
    the rules of the user have done.
    """

    async def process_page(self, item: Any, context: PageContext) -> None:
        stripped = await self.computed(self._strip, context) or {}
        for name, value in stripped.items():
            self.fields.put(item, name, value)

    def _strip(self, context: PageContext) -> dict[str, Any]:
        left, config = context.left(), self.session.config
        self._count(left.words, left.kept)
        for name, number in context.effect_of_rules().items():
            self.session.count(f"rules/{name}", number)
        page_class = context.page_class
        if page_class is None or page_class.pages < FEW:
            self.session.count("few_pages")
        found: dict[str, Any] = {name: left.form(name) for name in config.formats}
        found |= {"template": left.template(page_class), "content_hash": left.hash}
        if config.chunks:
            found["chunks"] = left.chunks(config.chunks, config.chunks_overlap, context.cut())
            self.session.count("chunks", len(found["chunks"]))
        return found

    def _count(self, total: int, kept: int) -> None:
        self.session.count("pages/cleaned")
        self.session.count("words", total)
        self.session.count("words/template", total - kept)
        if total and not kept:
            self.session.count("pages/empty")
