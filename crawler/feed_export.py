"""Feed exports that report what they could not write."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from scrapy import Spider
from scrapy.crawler import Crawler
from scrapy.extensions.feedexport import FeedExporter, FeedSlot
from scrapy.utils.job import job_dir

from scrapy_pagelets.crawler.exporters import ParquetItemExporter, require_pyarrow
from scrapy_pagelets.session.crawl_session import abort_crawl, session_of

_FAILED: Final = "feedexport/failed_count/"
_REMEDY: Final = "make room on the disk, or name another file, and crawl again"


class Feeds(FeedExporter):
    """Scrapy's feed exports with error reports; the add-on replaces Scrapy's extension with this one.

    A feed whose library is missing ends the crawl before it starts. A feed that cannot be written does not affect the
    other feeds: the first failure is a warning, ``pagelets/feeds/failed`` counts all of them, and the run ends with an
    ERROR line and exit code 1. In a job, the feed is flushed after each item, so that a killed process loses none.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._failing: set[str] = set()
        self._flushes = bool(job_dir(crawler.settings))
        for uri, options in self.feeds.items():
            exporter = self.exporters[options["format"]]
            if isinstance(exporter, type) and issubclass(exporter, ParquetItemExporter):
                try:
                    require_pyarrow()
                except ImportError as error:
                    abort_crawl(crawler, f"{_shown(uri)} cannot be written: {error}")

    def item_scraped(self, item: Any, spider: Spider) -> None:
        """Write an item to each feed, even if another feed fails."""
        slots: list[FeedSlot] = []
        failure: Exception | None = None
        for slot in self.slots:
            before, self.slots = self.slots, [slot]
            try:
                super().item_scraped(item, spider)
            except Exception as error:
                self._lose(slot, "items could not be written to %s", error)
                failure = failure or error
            slots += self.slots
            self.slots = before
            self._flush(slot)
        self.slots = slots
        if failure is not None and not isinstance(failure, OSError):
            raise failure  # the format cannot hold the item, or the exporter has a bug: Scrapy logs the traceback

    def _flush(self, slot: FeedSlot) -> None:
        if self._flushes and slot.file is not None and not slot.file.closed:
            with suppress(OSError):  # the next item, and finally closing the slot, flush again
                slot.file.flush()

    async def close_spider(self, spider: Spider) -> None:
        """Close the feeds."""
        await super().close_spider(spider)
        stats = self.crawler.stats
        failed = sum(int(n) for name, n in stats.get_stats().items() if name.startswith(_FAILED)) if stats else 0
        if failed:
            session_of(self.crawler).record_loss("feeds could not be stored, see the errors above", _REMEDY, failed)

    async def _close_slot(self, slot: FeedSlot, spider: Spider) -> None:
        try:
            if slot.itemcount and slot.file is not None:
                slot.finish_exporting()
                slot.file.flush()
            await super()._close_slot(slot, spider)
            if slot.itemcount:
                feeds = session_of(self.crawler).progress.feeds
                feeds[location(slot.uri)] = feeds.get(location(slot.uri), 0) + slot.itemcount
        except Exception as error:
            # The failure of a feed without any item has been reported already.
            items = slot.itemcount or int(slot.uri not in self._failing)
            self._lose(slot, "items may be missing from %s, which could not be finished", error, items)
            with suppress(OSError):
                if slot.file is not None:
                    slot.file.close()
            if not isinstance(error, OSError):
                raise

    def _lose(self, slot: FeedSlot, what: str, error: Exception, items: int = 1) -> None:
        session, name = session_of(self.crawler), _shown(slot.uri)
        self._failing.add(slot.uri)
        session.warn("feeds/failed", "%s cannot be written: %s", name, error)
        if items:
            session.record_loss(what % name, _REMEDY, items)


def location(uri: str) -> str:
    """Return the path of a feed, or its URL without user and password."""
    parts = urlsplit(uri)
    return unquote(parts.path) if parts.scheme == "file" else uri if not parts.scheme else _shown(uri)


def _shown(uri: str) -> str:
    """The name of a feed for logs: a file's name, or a URL without user and password."""
    parts = urlsplit(uri)
    if parts.scheme in ("", "file"):
        return Path(parts.path).name or uri
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
