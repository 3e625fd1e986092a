"""The item pipeline that strips the template and keeps the content."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scrapy.crawler import Crawler

from scrapy_pagelets import text
from scrapy_pagelets.pipelines.fields import Fields
from scrapy_pagelets.segmentation.pagelet import CONTENT
from scrapy_pagelets.session.crawl_session import session_of
from scrapy_pagelets.session.page_context import PageContext, current_context, provide_contexts
from scrapy_pagelets.session.threads import in_thread


class StripPipeline:
    """Strip the template; set the content in the formats of ``PAGELETS_FORMATS``, and ``template``.

    Stats: ``pagelets/words`` and ``pagelets/words/template`` count the words of all pages and those in templates;
    ``pagelets/pages/empty`` counts pages without any content.
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
        if context is None or context.failed:
            return item
        try:
            stripped = await in_thread(self._strip, context)
        except Exception:
            context.fail()
            return item
        for name, value in stripped.items():
            self.fields.put(item, name, value)
        return item

    def _strip(self, context: PageContext) -> dict[str, Any]:
        page, nodes = context.page, context.page.nodes
        keep = np.zeros(len(nodes.leaves), np.bool_)
        for pagelet in context.cut():
            if pagelet.role == CONTENT:
                keep |= pagelet.leaves
        forms = {
            "text": lambda: text.plain(nodes, keep),
            "markdown": lambda: text.markdown(page, keep),
            "html": lambda: text.cleaned(page, keep),
        }
        total, kept = int(nodes.words.sum()), int(nodes.words[keep].sum())
        self._count(total, kept)
        template = context.template
        about = {
            "id": template.id,
            "pages": template.pages,
            "share": round((total - kept) / total, 3) if total else 0.0,
        } if template else None  # fmt: skip
        return {name: forms[name]() for name in self.session.config.formats} | {"template": about}

    def _count(self, total: int, kept: int) -> None:
        self.session.count("pages/cleaned")
        self.session.count("words", total)
        self.session.count("words/template", total - kept)
        if total and not kept:
            self.session.count("pages/empty")
