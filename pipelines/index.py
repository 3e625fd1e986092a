"""The item pipeline that writes pages to a search index."""

import json
import logging
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Final
from weakref import WeakKeyDictionary

from scrapy import Spider
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.utils.job import job_dir

from scrapy_pagelets.base.transactions import whole_file
from scrapy_pagelets.feed.feed_schema import PAGE
from scrapy_pagelets.feed.pagelet import records_of
from scrapy_pagelets.index.interface import Index, IndexAway, IndexedPage, IndexUnusable, now, page_of, shown
from scrapy_pagelets.index.targets import folder_of, open_index
from scrapy_pagelets.index.writer import PendingPages, Writer
from scrapy_pagelets.pipelines.page_pipeline import PagePipeline, value_of
from scrapy_pagelets.session.crawl_session import abort_crawl
from scrapy_pagelets.session.page_context import PageContext, current_places
from scrapy_pagelets.session.threads import in_waiting_thread

logger = logging.getLogger(__name__)

_PATIENCE: Final = 20.0  # seconds that the crawl waits at its end for an index that is unavailable
_ABOUT: Final = ("title", "language", "fetched_at")
_LEFT: Final = (
    "%d pages are not in %s, which is unavailable: they wait in %s for the next crawl into it, or, file by file, for "
    "`pagelets index`"
)


class IndexPipeline(PagePipeline):
    """Write each page and its pagelets to the index ``PAGELETS_INDEX``.

    A page replaces an earlier one with the same URL. All items of a page become one page of the index, unless they have
    URLs of their own. Near-duplicates are indexed; searches show the best page of each group.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._target = self.session.config.index
        if not self._target:
            raise NotConfigured
        job = job_dir(crawler.settings)
        self._state_file = Path(job, "pagelets-index.json") if job else None  # of the job: when it began, its sites
        self._seen: WeakKeyDictionary[PageContext, set[str]] = WeakKeyDictionary()
        try:
            self._began, self._sites = _saved_state(self._state_file)
            self._pending = PendingPages(Path(job) if job else folder_of(self._target), self._target)
            opened: Index | None = None
            try:
                opened = open_index(self._target)
            except IndexAway as error:
                self.session.warn("index/away", "%s; pages wait on disk until it is available", error)
            reopen = partial(open_index, self._target)
            self._writer = Writer(reopen, opened, self._pending, self.session.warn, self.session.count)
        except (IndexUnusable, OSError) as error:
            abort_crawl(crawler, error)

    def open_spider(self) -> None:
        super().open_spider()
        self._save_state()
        self._writer.start()

    async def process_page(self, item: Any, context: PageContext) -> None:
        line = self._line(item, context)
        urls = self._seen.setdefault(context, set())
        if line["url"] not in urls:
            urls.add(line["url"])
            if (page := await self.computed(self._page, context, line)) is not None:
                self._sites.add(page.site)
                await in_waiting_thread(self._writer.put, page)

    def _line(self, item: Any, context: PageContext) -> dict[str, Any]:
        # Of the spider's own fields, the URL and, with it, title, language and time; others may mean anything.
        own = {name: value_of(item, self.session.config.field_name(name)) for name in ("url", *_ABOUT)}
        if "url" in current_places() or not isinstance(own["url"], str):
            own = {"url": context.url}
        line = {name: value for name, value in own.items() if isinstance(value, str)}
        near, pagelets = self.get(item, "near_duplicate_of"), self.get(item, "pagelets")
        line |= {"near_duplicate_of": near} if isinstance(near, str) else {}
        return line | ({"pagelets": pagelets} if isinstance(pagelets, list) else {})

    def _page(self, context: PageContext, line: dict[str, Any]) -> IndexedPage | None:
        """Make the page of an index from the fields of an item; take missing fields from the response."""
        try:
            pagelets = records_of(context.record.content)
            return page_of(context.record.values(PAGE) | {"pagelets": pagelets} | line, now())
        except ValueError as error:
            self.session.warn("index/no_page", "%s is not indexed: %s", context.url, error)
            return None

    async def spider_closed(self, spider: Spider, reason: str) -> None:
        await in_waiting_thread(self._close, reason)

    def _close(self, reason: str) -> None:
        if left := self._writer.close(_PATIENCE):
            self.session.count("index/left", left)
            logger.warning(_LEFT, left, shown(self._target), self._pending.path)
        elif self.session.config.index_purge and reason == "finished" and self._writer.lost:
            # The index may have older versions of the lost pages, which are better than none.
            sentence = "old pages stay in the index because %d pages of this crawl could not be written to it"
            self.session.warn("index/not_purged", sentence, self._writer.lost)
        elif self.session.config.index_purge and reason == "finished":
            self._writer.purge(self._began, self._sites)
        if self._writer.lost:
            what = f"pages are not in the index {shown(self._target)}"
            remedy = "make room on the disk and crawl again, or fill it with the feed"
            self.session.record_loss(what, remedy, self._writer.lost)
        if self._pending.unreadable:
            what = f"pages that waited for the index {shown(self._target)} could not be read"
            self.session.record_loss(what, "crawl again", self._pending.unreadable)
        if reason == "finished" and self._state_file is not None:
            self._state_file.unlink(missing_ok=True)
        else:
            self._save_state()

    def _save_state(self) -> None:
        """Save what the next run of the job needs for a purge: when the crawl began, and its sites."""
        if self._state_file is None:
            return
        state = json.dumps({"began": self._began, "sites": sorted(self._sites)})
        try:
            self._state_file.parent.mkdir(parents=True, exist_ok=True)
            with whole_file(self._state_file) as new:  # a purge deletes all pages older than the time in it
                new.write_text(state, encoding="utf-8")
        except OSError as error:
            self.session.warn("store/failed", "the next run of the job will not know when the job began: %s", error)


def _saved_state(file: Path | None) -> tuple[str, set[str]]:
    """When the crawl began and the sites that it has seen, including those of earlier runs of the job."""
    if file is not None:
        with suppress(OSError, ValueError, LookupError, TypeError):
            state = json.loads(file.read_bytes())
            return str(state["began"]), set(state["sites"])
    return now(), set()
