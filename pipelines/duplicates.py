"""The item pipeline that finds near-duplicates by the content of pages, without their template."""

from __future__ import annotations

import logging
import sqlite3
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, Self
from urllib.parse import urljoin

import numpy as np
from scrapy.crawler import Crawler
from scrapy.exceptions import DropItem, NotConfigured
from scrapy.utils.job import job_dir

from scrapy_pagelets import text, urls
from scrapy_pagelets.duplicates.content_store import ContentStore, DiskError, Document, StoreError, Verdict
from scrapy_pagelets.duplicates.sketch import encode
from scrapy_pagelets.duplicates.threshold import Threshold
from scrapy_pagelets.page import Page
from scrapy_pagelets.pipelines.fields import Fields
from scrapy_pagelets.segmentation.pagelet import CONTENT
from scrapy_pagelets.session.crawl_session import session_of
from scrapy_pagelets.session.page_context import PageContext, current_context, provide_contexts
from scrapy_pagelets.session.threads import in_thread

logger = logging.getLogger(__name__)

_FILE: Final = "pagelets-duplicates.sqlite"


class DuplicatesPipeline:
    """Compare the content of each page with earlier pages; set ``near_duplicate_of``, ``similarity`` and ``sketch``.

    ``PAGELETS_DUPLICATES=drop`` drops the items of near-duplicates. ``pagelets/duplicates`` counts the near-duplicates,
    ``pagelets/duplicates/dropped`` the dropped items, and ``pagelets/duplicates/too_short`` the texts with fewer words
    than a shingle, which are not compared.
    """

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler
        self.session = session_of(crawler)
        self.fields = Fields(crawler)
        if self.session.config.duplicates == "off":
            raise NotConfigured

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    def open_spider(self) -> None:
        provide_contexts(self.crawler)
        job = job_dir(self.crawler.settings)
        path = Path(job, _FILE) if job else None
        self._store = self._open(path) if path is None else self._open_file(path)

    def _open_file(self, path: Path) -> ContentStore:
        """The content store of a job; a temporary one if its file cannot be used."""
        cause: Exception
        try:
            return self._open(path)
        except DiskError as error:
            cause = error
        except StoreError as error:
            try:
                renamed = _set_aside(path)
                store = self._open(path)
            except (OSError, StoreError):
                cause = error
            else:
                sentence = "%s is set aside, pages are not compared with those of earlier runs: %s"
                self.session.warn("duplicates/set_aside", sentence, renamed, error)
                return store
        sentence = "%s is not used, the next run cannot compare its pages with those of this run: %s"
        self.session.warn("duplicates/set_aside", sentence, path, cause)
        return self._open(None)

    def _open(self, path: Path | None) -> ContentStore:
        config = self.session.config
        return ContentStore(
            path,
            Threshold(config.duplicates_threshold, config.duplicates_threshold_across),
            config.duplicates_shingle,
            within_sites=config.duplicates_scope == "site",
            failed=lambda sentence: self.session.warn("duplicates/in_memory", "%s", sentence),
        )

    async def process_item(self, item: Any) -> Any:
        context = current_context()
        if context is None or context.failed:
            return item
        try:
            verdict, sketch = await in_thread(self._judge, context, self._text(item))
        except sqlite3.Error as error:
            self.session.warn("duplicates/failed", "%s is not compared with other pages: %s", context.url, error)
            self.session.lose("pages were not compared with others", "make room on the disk and crawl them again")
            return item
        except Exception:
            context.fail()
            return item
        if verdict is not None:
            self._count_or_drop(context, verdict)
        self.fields.put(item, "near_duplicate_of", verdict.url if verdict else None)
        self.fields.put(item, "similarity", round(verdict.similarity, 4) if verdict else None)
        self.fields.put(item, "sketch", sketch)
        return item

    def _text(self, item: Any) -> str | None:
        """The text that `StripPipeline` has set on an item, None if it has set none."""
        value = self.fields.get(item, "text")
        return value if isinstance(value, str) else None

    def _judge(self, context: PageContext, content: str | None) -> tuple[Verdict | None, str | None]:
        page = context.page
        document = Document(page.url, _content(context) if content is None else content, address_of(page), page.site)
        verdict, sketch = self._store.judge(document)
        if sketch is None:
            self.session.count("duplicates/too_short")
        return verdict, None if sketch is None else encode(sketch)

    def _count_or_drop(self, context: PageContext, verdict: Verdict) -> None:
        self.session.count("duplicates")
        logger.debug("%s resembles %s: %.3f", context.url, *verdict)
        if self.session.config.duplicates == "drop":
            self.session.count("duplicates/dropped")
            raise DropItem(f"near-duplicate of {verdict.url}: {context.url}", log_level="DEBUG")

    def close_spider(self) -> None:
        self._store.close()


def _content(context: PageContext) -> str:
    """The text as `StripPipeline` extracts it, for items that have no field for it."""
    parts = [pagelet.index for pagelet in context.cut() if pagelet.role == CONTENT]
    return text.text_of(context.page.nodes, np.sort(np.concatenate(parts))) if parts else ""


def address_of(page: Page) -> int:
    """Return the key of the page's canonical URL; without a usable canonical link, of the page's own URL."""
    for link in page.root.iter("link"):
        href = link.get("href", "").strip()
        if href and "canonical" in link.get("rel", "").lower().split():
            with suppress(ValueError):  # "http://[broken"
                return urls.key(urljoin(page.base, href))
    return page.key


def _set_aside(path: Path) -> Path:
    """Rename an SQLite file and its companions; return the new path."""
    target = next(name for n in range(1, 1000) if not (name := path.with_name(f"{path.name}.{n}")).exists())
    for end in ("", "-wal", "-shm"):
        if (file := path.with_name(path.name + end)).exists():
            file.rename(target.with_name(target.name + end))
    return target
