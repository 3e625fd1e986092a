"""Pages into a search index."""

from __future__ import annotations

import json
import logging
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, Self
from weakref import WeakKeyDictionary

from scrapy import Spider, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.utils.job import job_dir

from scrapy_pagelets.index.base import Index, IndexAway, IndexUnusable
from scrapy_pagelets.index.documents import now, page_of
from scrapy_pagelets.index.pending_pages import PendingPages
from scrapy_pagelets.index.targets import folder_of, open_index, shown
from scrapy_pagelets.index.writer import Writer
from scrapy_pagelets.pipelines.fields import Fields, value_of
from scrapy_pagelets.segmentation.pagelet import CONTENT
from scrapy_pagelets.session.crawl_session import call_off, session_of
from scrapy_pagelets.session.page_context import PageContext, current_context, current_places, provide_contexts
from scrapy_pagelets.session.threads import in_thread

logger = logging.getLogger(__name__)

#: Seconds that the end of a crawl waits for an index that is away.
_PATIENCE: Final = 20.0
#: When the crawl began and which sites it has seen, in the job directory.
_FILE: Final = "pagelets-index.json"
_ABOUT: Final = ("title", "language", "fetched_at")


class IndexPipeline:
    """Write each page and its pagelets to the index that ``PAGELETS_INDEX`` names.

    A page replaces the one of the same URL. Items of one page are one page of the index, unless they have URLs of their
    own. Near-duplicates are indexed, and a search shows the best page of each group. While the index is away, pages
    are kept on disk. Stats: ``pagelets/index/pages``, ``.../pagelets``, ``.../batches``, and what went wrong.
    """

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler
        self.session = session_of(crawler)
        self.fields = Fields(crawler)
        self._target = self.session.config.index
        if not self._target:
            raise NotConfigured
        job = job_dir(crawler.settings)
        self._memory = Path(job, _FILE) if job else None
        self._seen: WeakKeyDictionary[PageContext, set[str]] = WeakKeyDictionary()
        try:
            self._began, self._sites = _remembered(self._memory)
            self._spool = PendingPages(Path(job) if job else folder_of(self._target), self._target)
            self._writer = Writer(self._open, self._first(), self._spool, self.session.tell, self.session.count)
        except (IndexUnusable, OSError) as error:
            call_off(crawler, error)
        crawler.signals.connect(self.spider_closed, signals.spider_closed)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    def _open(self) -> Index:
        return open_index(self._target)

    def _first(self) -> Index | None:
        """The index; None if it is away when the crawl begins."""
        try:
            return self._open()
        except IndexAway as error:
            self.session.tell("index/away", "%s; pages are kept on disk until it is back", error)
            return None

    def open_spider(self) -> None:
        provide_contexts(self.crawler)
        self._remember()
        self._writer.start()

    async def process_item(self, item: Any) -> Any:
        visit = current_context()
        if visit is None or visit.failed:
            return item
        line = self._line(item, visit)
        urls = self._seen.setdefault(visit, set())
        if line["url"] not in urls:
            urls.add(line["url"])
            await in_thread(self._put, line, visit)
        return item

    def _line(self, item: Any, visit: PageContext) -> dict[str, Any]:
        """What the item says of the page, under the names of the feed.

        Of what a spider has set, URL, title, language and time say something of the page, if they come with a URL;
        other fields have a meaning of the spider's own.
        """
        own = {name: value_of(item, self.session.config.field_name(name)) for name in ("url", *_ABOUT)}
        if "url" in current_places() or not isinstance(own["url"], str):
            own = {"url": visit.url}
        line = {name: value for name, value in own.items() if isinstance(value, str)}
        near, pagelets = self.fields.get(item, "near_duplicate_of"), self.fields.get(item, "pagelets")
        line |= {"near_duplicate_of": near} if isinstance(near, str) else {}
        return line | ({"pagelets": pagelets} if isinstance(pagelets, list) else {})

    def _put(self, line: dict[str, Any], visit: PageContext) -> None:
        try:
            page = page_of(self._about(visit) | line, now())
        except ValueError as error:
            self.session.tell("index/no_page", "%s is not indexed: %s", visit.url, error)
            return
        except Exception:
            visit.fail()
            return
        self._sites.add(page.site)
        self._writer.put(page)

    def _about(self, visit: PageContext) -> dict[str, Any]:
        """What stands in for what the item does not have: a spider's items may lack the fields."""
        page = visit.page
        about = {"url": page.url, "title": page.title, "language": page.language, "fetched_at": visit.fetched_at}
        return about | {"pagelets": [pagelet.record() for pagelet in visit.pagelets() if pagelet.role == CONTENT]}

    async def spider_closed(self, spider: Spider, reason: str) -> None:
        await in_thread(self._close, reason)

    def _close(self, reason: str) -> None:
        if left := self._writer.close(_PATIENCE):
            self.session.count("index/left", left)
            logger.warning(
                "%d pages are not in %s, which is away: they wait in %s for the next crawl into it, or for "
                "`scrapy pagelets index`",
                left,
                shown(self._target),
                self._spool.path,
            )
        elif self.session.config.index_purge and reason == "finished":
            self._purge()
        if self._writer.lost:
            what = f"pages are not in the index {shown(self._target)}"
            self.session.lose(
                what, "make room on the disk and crawl again, or fill it with the feed", self._writer.lost
            )
        if self._spool.unreadable:
            what = f"pages that waited for the index {shown(self._target)} could not be read"
            self.session.lose(what, "crawl again", self._spool.unreadable)
        self._spool.close()
        if reason == "finished" and self._memory is not None:
            self._memory.unlink(missing_ok=True)
        else:
            self._remember()

    def _purge(self) -> None:
        if self._writer.lost:  # what the index has of these pages is old, but it is all there is
            sentence = "pages that were not seen stay in the index: %d that were seen could not be written to it"
            self.session.tell("index/not_purged", sentence, self._writer.lost)
        else:
            self._writer.purge(self._began, self._sites)

    def _remember(self) -> None:
        """Write down what a run that continues the job has to know before it can purge."""
        if self._memory is None:
            return
        known = json.dumps({"began": self._began, "sites": sorted(self._sites)})
        try:
            self._memory.parent.mkdir(parents=True, exist_ok=True)
            new = self._memory.with_suffix(".new")
            new.write_text(known, encoding="utf-8")
            new.replace(self._memory)  # whole or not at all: a purge deletes what is older than it says
        except OSError as error:
            self.session.tell("store/failed", "a run that continues the job will not know when it began: %s", error)


def _remembered(memory: Path | None) -> tuple[str, set[str]]:
    """When the crawl began, and the sites that it has seen; of a job that goes on, in earlier runs as well."""
    if memory is not None:
        with suppress(OSError, ValueError, LookupError, TypeError):
            known = json.loads(memory.read_bytes())
            return str(known["began"]), set(known["sites"])
    return now(), set()
