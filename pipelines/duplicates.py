"""The item pipeline that finds near-duplicates by the content of pages, without their template."""

import logging
import sqlite3
from functools import partial
from pathlib import Path
from typing import Any

from scrapy.crawler import Crawler
from scrapy.exceptions import DropItem, NotConfigured
from scrapy.utils.job import job_dir

from scrapy_pagelets.duplicates.content_store import ContentStore, PageText, Verdict
from scrapy_pagelets.duplicates.shingles import word_weights
from scrapy_pagelets.duplicates.sketch import Threshold, encode
from scrapy_pagelets.page import urls
from scrapy_pagelets.pipelines.page_pipeline import PagePipeline
from scrapy_pagelets.session.page_context import PageContext
from scrapy_pagelets.shared.server import RedisProblem
from scrapy_pagelets.shared.shared_stores import SharedContents

logger = logging.getLogger(__name__)


class DuplicatesPipeline(PagePipeline):
    """Compare the content of each page with earlier pages; set ``near_duplicate_of``, ``similarity`` and ``sketch``.

    ``PAGELETS_DUPLICATES=drop`` drops near-duplicates. Texts shorter than a shingle are not compared.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        if self.session.config.duplicates == "off":
            raise NotConfigured

    def open_spider(self) -> None:
        super().open_spider()
        job, shared, config = job_dir(self.crawler.settings), self.session.shared, self.session.config
        make = partial(
            ContentStore,
            threshold=Threshold(config.duplicates_threshold, config.duplicates_threshold_across),
            within_sites=config.duplicates_scope == "site",
            failed=partial(self.session.warn, "duplicates/in_memory", "%s"),
        )
        store = self.opened("duplicates/set_aside", Path(job, "pagelets-duplicates.sqlite"), make) if job else None
        store = make(None) if store is None else store
        # In a shared crawl, it becomes the copy here of what all processes have seen.
        self._store = store if shared is None else SharedContents(shared.server, store, shared.unreadable)

    async def process_page(self, item: Any, context: PageContext) -> None:
        text = self.get(item, "text")
        found = await self.computed(self._compare, context, text if isinstance(text, str) else None)
        if found is None:
            return
        if isinstance(found, RedisProblem):
            self.session.leases.abandon(context.lease, found)
            raise DropItem(f"another process will compare {context.url}: {found}", log_level="DEBUG")
        verdict, sketch = found
        if verdict is not None:
            self.session.count("duplicates")
            logger.debug("%s resembles %s: %.3f", context.url, *verdict)
            if self.session.config.duplicates == "drop":
                self.session.count("duplicates/dropped")
                raise DropItem(f"near-duplicate of {verdict.url}: {context.url}", log_level="DEBUG")
        self.put(item, "near_duplicate_of", verdict.url if verdict else None)
        self.put(item, "similarity", round(verdict.similarity, 4) if verdict else None)
        self.put(item, "sketch", sketch)

    def _compare(
        self, context: PageContext, text: str | None
    ) -> tuple[Verdict | None, str | None] | RedisProblem | None:
        """The near-duplicate of a page, and its sketch; None if that fails, an error if Redis does: others must try."""
        page, record = context.page, context.record
        text = record.text if text is None else text
        weights = None  # what another pipeline has written into the text counts in full
        if text == record.text:
            weights = word_weights(page.nodes, record.decision.content, record.decision.templateness)
        compared = PageText(page.url, text, urls.key(page.canonical_url), page.site, weights)
        try:
            verdict, sketch = self._store.add(compared)
        except RedisProblem as error:
            return error
        except sqlite3.Error as error:
            self.session.warn("duplicates/failed", "%s is not compared with other pages: %s", context.url, error)
            remedy = "make room on the disk and crawl them again"
            self.session.record_loss("pages were not compared with others", remedy)
            return None
        if sketch is None:
            self.session.count("duplicates/too_short")
        return verdict, None if sketch is None else encode(sketch)

    def close_spider(self) -> None:
        self._store.close()
