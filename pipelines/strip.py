"""The item pipeline that strips the template and keeps the content."""

from __future__ import annotations

from typing import Any

from scrapy_pagelets import text
from scrapy_pagelets.document.blocks import Block
from scrapy_pagelets.document.builder import document_of
from scrapy_pagelets.document.chunk_records import chunk_records
from scrapy_pagelets.document.markdown import markdown_of
from scrapy_pagelets.nodes import Bools
from scrapy_pagelets.pipelines.base import PagePipeline
from scrapy_pagelets.recrawl.content_words import content_hash, content_of
from scrapy_pagelets.session.config import FEW
from scrapy_pagelets.session.page_context import PageContext


class StripPipeline(PagePipeline):
    """Strip the template; set the content by ``PAGELETS_FORMATS``, ``chunks``, ``template`` and ``content_hash``.

    Stats: ``pagelets/words`` and ``pagelets/words/template`` count the words of all pages and those in templates;
    ``pagelets/pages/empty`` counts pages without any content, ``pagelets/few_pages`` those that were cleaned when few
    pages of their class were known; ``pagelets/chunks`` counts chunks.
    ``pagelets/rules/<host pattern>/<action>/pages`` and ``.../words`` (of ``ignore_links``, ``.../links``) count what
    the rules of the user have done.
    """

    async def process_page(self, item: Any, context: PageContext) -> None:
        stripped = await self.computed(self._strip, context) or {}
        for name, value in stripped.items():
            self.fields.put(item, name, value, optional=name == "content_hash")

    def _strip(self, context: PageContext) -> dict[str, Any]:
        page, keep = context.page, context.content_leaves()
        forms = {
            "text": lambda: text.plain(page.nodes, keep),
            "markdown": lambda: markdown_of(self._document(context, keep)),
            "html": lambda: text.cleaned(page, keep),
        }
        total, kept = int(page.nodes.words.sum()), int(page.nodes.words[keep].sum())
        self._count(total, kept)
        for name, number in context.effect_of_rules().items():
            self.session.count(f"rules/{name}", number)
        page_class = context.page_class
        if page_class is None or page_class.pages < FEW:
            self.session.count("few_pages")
        template = {
            "id": page_class.id,
            "pages": page_class.pages,
            "share": round((total - kept) / total, 3) if total else 0.0,
        } if page_class else None  # fmt: skip
        found: dict[str, Any] = {name: forms[name]() for name in self.session.config.formats}
        found |= {"template": template, "content_hash": content_hash(content_of(page.nodes, keep))}
        if self.session.config.chunks:
            found["chunks"] = self._chunks(context, keep)
        return found

    def _document(self, context: PageContext, keep: Bools) -> Block:
        return document_of(context.page, keep, context.headline, self.session.config.switches)

    def _chunks(self, context: PageContext, keep: Bools) -> list[dict[str, Any]]:
        config = self.session.config
        pagelet = {leaf: pagelet.id for pagelet in context.content() for leaf in pagelet.index.tolist()}
        document = self._document(context, keep)
        found = chunk_records(
            context.page, document, context.templateness(), config.chunks, config.chunks_overlap, pagelet
        )
        self.session.count("chunks", len(found))
        return found

    def _count(self, total: int, kept: int) -> None:
        self.session.count("pages/cleaned")
        self.session.count("words", total)
        self.session.count("words/template", total - kept)
        if total and not kept:
            self.session.count("pages/empty")
