"""The item pipeline that says whether the content of a page is new, the same or changed since an earlier crawl."""

import logging
import sqlite3
from pathlib import Path
from typing import Any, Final

from scrapy import Spider
from scrapy.crawler import Crawler
from scrapy.exceptions import DropItem, NotConfigured
from scrapy.utils.job import job_dir

from scrapy_pagelets.base.errors import StoreError
from scrapy_pagelets.feed.content_words import content_hash, content_of, contents_with_doubtful
from scrapy_pagelets.feed.feed_reader import Feed, FeedError
from scrapy_pagelets.pipelines.page_pipeline import PagePipeline
from scrapy_pagelets.recrawl import version_store
from scrapy_pagelets.recrawl.version_store import Change, Validators, VersionStore
from scrapy_pagelets.session.config import ONLY
from scrapy_pagelets.session.crawl_session import abort_crawl
from scrapy_pagelets.session.page_context import PageContext
from scrapy_pagelets.session.requests import links_of
from scrapy_pagelets.session.threads import in_thread

logger = logging.getLogger(__name__)

_NOTHING: Final = (
    "PAGELETS_CHANGED is only, but there is no earlier crawl to compare with: set PAGELETS_STORE to a folder, or "
    "PAGELETS_EARLIER_FEED to a feed"
)


class RecrawlPipeline(PagePipeline):
    """Compare the content of each page with that of an earlier crawl; set ``changed`` and ``changed_share``.

    The earlier content comes from ``PAGELETS_EARLIER_FEED`` or, without it, from ``PAGELETS_STORE`` or the job
    directory, where each crawl keeps what it has seen. ``PAGELETS_CHANGED=only`` drops items that are the same.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        config, job = self.session.config, job_dir(crawler.settings) or ""
        folder = config.store or job
        if not folder and not config.earlier_feed:
            if config.changed == ONLY:
                abort_crawl(crawler, _NOTHING)
            raise NotConfigured
        self._earlier = self._read(config.earlier_feed) if config.earlier_feed else None
        self._store: VersionStore | None = None
        if folder:
            path = Path(folder, version_store.FILE)
            self._store = self.opened("store/failed", path, lambda path: VersionStore(path.parent, job))
        self.session.versions = self._store

    def _read(self, name: str) -> VersionStore:
        """The versions in a feed, in a temporary file; a feed that cannot be used ends the crawl."""
        feed = Feed(name, version_store.COLUMNS, ("text",), version_store.NEEDED)
        try:
            store = VersionStore(None)
            number = store.put_feed(feed)
        except (FeedError, StoreError, sqlite3.Error) as error:
            abort_crawl(self.crawler, f"PAGELETS_EARLIER_FEED cannot be used: {error}")
        logger.info("pages are compared with the %d lines of %s", number, name)
        if feed.note:
            logger.info("%s: %s", name, feed.note)
        return store

    async def process_page(self, item: Any, context: PageContext) -> None:
        found = await self.computed(self._compare, context)
        if found is not None:
            self.session.count(f"recrawl/{found.kind}")
            if found.kind == version_store.SAME and self.session.config.changed == ONLY:
                self.session.count("recrawl/left_out")
                raise DropItem(f"the same as in the earlier crawl: {context.url}", log_level="DEBUG")
            self.put(item, "changed", found.kind)
            self.put(item, "changed_share", None if found.share is None else round(found.share, 4))

    def _compare(self, context: PageContext) -> Change | None:
        """Compare a page with its earlier version and keep this one; None if there is nothing to compare with."""
        page = context.page
        now = version_store.PageVersion.of(content_of(page.nodes, context.record.decision.content))
        found = None
        try:
            if (source := self._earlier or self._store) is not None:
                earlier = source.find(page.key)
                found = version_store.change(earlier, now)
                if found.kind == version_store.CHANGED and earlier is not None:
                    contents = contents_with_doubtful(page.nodes, context.record.decision.templateness)
                    if any(content_hash(content) == earlier.hash for content in contents):  # some is only doubtful now
                        found, now = Change(version_store.SAME, 0.0), now._replace(hash=earlier.hash)
            if self._store is not None:
                asks = self.session.config.changed == ONLY and context.validators != (None, None)
                validators = Validators(*context.validators, tuple(links_of(page))) if asks else None
                self._store.put(page.key, now, validators)
        except sqlite3.Error as error:
            sentence = "%s is not compared with its earlier version, or not kept for the next crawl: %s"
            self.session.warn("recrawl/failed", sentence, context.url, error)
        return found

    async def spider_closed(self, spider: Spider, reason: str) -> None:
        await in_thread(self._close, reason == "finished")

    def _close(self, finished: bool) -> None:
        for store in filter(None, (self._earlier, self._store)):
            try:
                store.close(finished=finished)
            except sqlite3.Error as error:
                self.session.warn("recrawl/failed", "the versions of pages could not be closed: %s", error)
