"""The item pipeline that collects what is stripped, and writes it once for each class of pages."""

import json
import logging
from pathlib import Path
from typing import Any
from weakref import WeakSet

from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured

from scrapy_pagelets.base.display import counted
from scrapy_pagelets.base.transactions import whole_file, why_not_writable
from scrapy_pagelets.feed.class_templates import StrippedClass, StrippedTemplates, stripped_runs
from scrapy_pagelets.page.roles import CONTENT
from scrapy_pagelets.pipelines.page_pipeline import PagePipeline
from scrapy_pagelets.session.crawl_session import abort_crawl
from scrapy_pagelets.session.page_context import PageContext
from scrapy_pagelets.session.threads import in_thread

logger = logging.getLogger(__name__)


class TemplatesPipeline(PagePipeline):
    """Write the template of each class of pages to the file ``PAGELETS_TEMPLATES`` when the spider closes.

    The file is JSON lines, see ``docs/feed.md``. It is replaced at once, and stays as it was if no page was cleaned.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        if not self.session.config.templates:
            raise NotConfigured
        self._path = Path(self.session.config.templates)
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            problem = why_not_writable(self._path) or why_not_writable(f"{self._path}.new")
        except OSError as error:
            problem = error.strerror or str(error)
        if problem:
            abort_crawl(crawler, f"PAGELETS_TEMPLATES cannot be used: {self._path}: {problem}; name another file")
        self._templates = StrippedTemplates()
        self._added: WeakSet[PageContext] = WeakSet()

    async def process_page(self, item: Any, context: PageContext) -> None:
        if context not in self._added:
            self._added.add(context)
            await self.computed(self._add, context)

    def _add(self, context: PageContext) -> None:
        record = context.record
        page, page_class = record.page, record.page_class
        if page_class is None:
            return
        found = StrippedClass(page.site, page_class.id, page_class.pages)
        stripped = [pagelet for pagelet in record.cut() if pagelet.role != CONTENT]
        links = [(link["url"], link["anchor"]) for pagelet in stripped for link in pagelet.links]
        if not self._templates.add(found, stripped_runs(page.nodes, record.decision.content), links):
            sentence = "%s and pages of further classes are not in %s: there are too many classes"
            self.session.warn("templates/left_out", sentence, context.url, self._path)

    async def close_spider(self) -> None:
        await in_thread(self._write)

    def _write(self) -> None:
        if not len(self._templates):
            return
        try:
            with whole_file(self._path) as new, new.open("w", encoding="utf-8") as file:
                for record in self._templates.records():
                    file.write(json.dumps(record, ensure_ascii=False) + "\n")
        except OSError as error:
            self.session.warn("templates/failed", "%s cannot be written: %s", self._path, error)
            remedy = "make room on the disk, or name another file, and crawl again"
            self.session.record_loss(f"templates could not be written to {self._path}", remedy, len(self._templates))
            return
        self.session.count("templates/exported", len(self._templates))
        logger.info("%s in %s", counted(len(self._templates), "template"), self._path)
