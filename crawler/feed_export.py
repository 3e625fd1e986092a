"""Feed exports that report what they could not write."""

import json
import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from mmap import mmap
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from scrapy import Spider
from scrapy.crawler import Crawler
from scrapy.extensions.feedexport import FeedExporter, FeedSlot, FileFeedStorage, StdoutFeedStorage
from scrapy.utils.defer import deferred_from_coro
from scrapy.utils.job import job_dir

from scrapy_pagelets.base.transactions import why_not_writable
from scrapy_pagelets.crawler.commands.terminal import discard
from scrapy_pagelets.crawler.exporters import ParquetItemExporter, require_pyarrow
from scrapy_pagelets.session.crawl_session import abort_crawl, session_of

_REMEDY: Final = "make room on the disk, or name another file, and crawl again"


class Feeds(FeedExporter):
    """Scrapy's feed exports with error reports; the add-on replaces Scrapy's extension with this one.

    A feed that cannot be opened ends the crawl before it starts; one that cannot be written later does not affect the
    others, but is an ERROR line and exit code 1 at the end. In a job, a feed is flushed after each item, and a last
    line that a killed process has cut off is removed. If nobody reads standard output any more, the crawl stops as
    after Ctrl-C. ``sizes``: the bytes of each file by its path, at the start and, in a job, after each item.
    ``is_whole``: False if a disk did not take an item.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._failing: set[str] = set()
        self._worker = "" if (shared := session_of(crawler).shared) is None else shared.worker
        self._flushes = bool(job_dir(crawler.settings) or self._worker)
        self.sizes: dict[str, int] = {}
        self.is_whole = True
        for uri, options in self.feeds.items():
            if self._worker and (problem := not_line_by_line(uri, options)):
                abort_crawl(crawler, f"{_shown(uri)} cannot be written by a shared crawl: {problem}")
            if problem := _obstacle(uri):
                abort_crawl(crawler, f"{_shown(uri)} cannot be written: {problem}; name another file")
            exporter = self.exporters[options["format"]]
            if isinstance(exporter, type) and issubclass(exporter, ParquetItemExporter):
                try:
                    require_pyarrow()
                except ImportError as error:
                    abort_crawl(crawler, f"{_shown(uri)} cannot be written: {error}")

    def _start_new_batch(self, batch_id: int, uri: str, *arguments: Any, **options: Any) -> FeedSlot:
        """Open a feed, in a shared crawl a part of its own: ``out/cleaned.part-host-4711-a0b1.jsonl``."""
        part = uri
        if self._worker:
            start, dot, end = uri.rpartition(".")
            has_suffix = dot and "/" not in end
            part = f"{start}.part-{self._worker}.{end}" if has_suffix else f"{uri}.part-{self._worker}"
        slot = super()._start_new_batch(batch_id, part, *arguments, **options)
        if isinstance(slot.storage, FileFeedStorage):
            path = os.path.abspath(slot.storage.path)
            appends = slot.storage.write_mode == "ab" and os.path.isfile(path)
            if appends and not not_line_by_line(uri, slot.feed_options) and _complete_last_line(path):
                sentence = "the last line of %s was cut off, as a killed process leaves it, and is removed"
                session_of(self.crawler).warn("feeds/cut", sentence, path)
            self.sizes[path] = os.path.getsize(path) if appends else 0
        return slot

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
            try:
                slot.file.flush()
                if isinstance(slot.storage, FileFeedStorage):
                    self.sizes[os.path.abspath(slot.storage.path)] = os.path.getsize(slot.storage.path)
            except OSError:  # the next item, and finally closing the slot, flush again
                self.is_whole = False

    async def close_spider(self, spider: Spider) -> None:
        await super().close_spider(spider)
        session = session_of(self.crawler)
        stats = session.stats.get_stats().items()
        if failed := sum(int(number) for name, number in stats if name.startswith("feedexport/failed_count/")):
            session.record_loss("feeds could not be stored, see the errors above", _REMEDY, failed)

    async def _close_slot(self, slot: FeedSlot, spider: Spider) -> None:
        try:
            if slot.itemcount and slot.file is not None:
                slot.finish_exporting()
                slot.file.flush()
            await super()._close_slot(slot, spider)
            if slot.itemcount:
                session_of(self.crawler).progress.feeds[location(slot.uri)] += slot.itemcount
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
        if isinstance(error, BrokenPipeError) and isinstance(slot.storage, StdoutFeedStorage):
            discard(sys.stdout)
            session_of(self.crawler).count("feeds/closed")
            deferred_from_coro(self.crawler.stop_async())
            return
        session, name = session_of(self.crawler), _shown(slot.uri)
        self._failing.add(slot.uri)
        self.is_whole &= not isinstance(error, OSError)
        session.warn("feeds/failed", "%s cannot be written: %s", name, error)
        if items:
            session.record_loss(what % name, _REMEDY, items)


def not_line_by_line(uri: str, options: Mapping[str, Any]) -> str:
    """Why a feed has no lines of which each outlives a killed process; "" if it has."""
    if options.get("format") not in ("jsonlines", "jsonl", "jl"):
        return "choose JSON lines (.jsonl), of which a killed process leaves whole lines"
    if urlsplit(uri).scheme not in ("", "file"):
        return "name a file, other storages get a feed only when the process ends"
    return "a killed process would lose compressed lines" if options.get("postprocessing") else ""


def _obstacle(uri: str) -> str:
    """Why a local file cannot be a feed; "" if it can, or if the crawl gives its name."""
    if "%(" in (name := location(uri)) or "://" in name:
        return ""
    path = Path(name).absolute()
    folder = next(one for one in path.parents if one.exists())  # Scrapy makes those below
    return why_not_writable(folder / path.name)


def _complete_last_line(path: str) -> bool:
    """Let a file of JSON lines end with a whole line; return True if the last one was cut off, and is removed."""
    with suppress(OSError), open(path, "rb+") as file:
        if not os.path.getsize(path):
            return False
        with mmap(file.fileno(), 0) as content:
            start = content.rfind(b"\n") + 1
            last = content[start:]
        if last:
            try:
                json.loads(last)
            except (ValueError, RecursionError):
                file.truncate(start)
                return True
            file.seek(0, os.SEEK_END)
            file.write(b"\n")
    return False


def location(uri: str) -> str:
    """Return the path of a feed, or its URL without user and password."""
    parts = urlsplit(uri)
    if parts.scheme in ("", "file"):
        return unquote(parts.path) if parts.scheme else uri
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def _shown(uri: str) -> str:
    """The name of a feed for logs: a file's name, or a URL without user and password."""
    name = location(uri)
    return name if "://" in name else Path(name).name or uri
