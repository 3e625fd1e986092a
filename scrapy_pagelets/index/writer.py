"""Writing to an index beside a crawl: in a thread, with patience, and with a spool for what has to wait."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Collection
from contextlib import suppress
from typing import Final

from scrapy_pagelets.index.base import Index, IndexAway, IndexUnusable, PageRefused
from scrapy_pagelets.index.documents import IndexedPage
from scrapy_pagelets.index.pending_pages import BATCH_CHARACTERS, BATCH_PAGES, PendingPages

logger = logging.getLogger(__name__)

#: Pages and characters that may wait in memory.
_PAGES: Final = 4 * BATCH_PAGES
_CHARACTERS: Final = 4 * BATCH_CHARACTERS
#: Seconds that a page waits for room before it goes to disk.
_PATIENCE: Final = 5.0
#: Seconds between two attempts to reach an index: the first pause, and the longest.
_PAUSE: Final = 0.5
_LONGEST: Final = 60.0
_LONGEST_AT_THE_END: Final = 2.0


class Writer:
    """Writes pages to an index in a thread of its own, in batches of what has come meanwhile.

    While the index is away, pages go to the spool, and are sent from there when it is back.

    Parameters
    ----------
    open_index : the index, opened anew after each failure
    index : the open index, None if it is away
    spool : for pages that wait; those in it are sent first
    tell : is told of what happened, by a name and a message with arguments
    count : is told of how much was done, by a name and a number

    Attributes
    ----------
    lost : number of pages that are neither in the index nor in the spool
    """

    def __init__(
        self,
        open_index: Callable[[], Index],
        index: Index | None,
        spool: PendingPages,
        tell: Callable[..., None],
        count: Callable[[str, int], None],
    ) -> None:
        self._open_index, self._index, self._spool = open_index, index, spool
        self._tell, self._count = tell, count
        self.lost = 0
        self._queue: deque[IndexedPage] = deque()
        self._weight = 0
        self._changed = threading.Condition()
        self._stuck = False
        self._end: float | None = None
        self._pause, self._next = _PAUSE, 0.0
        self._thread = threading.Thread(target=self._run, name="pagelets-index", daemon=True)

    def start(self) -> None:
        """Begin to write."""
        self._thread.start()

    def put(self, page: IndexedPage) -> None:
        """Hand a page over; waits for room in memory, but never long: then the page goes to disk."""
        with self._changed:
            if self._changed.wait_for(self._has_room, 0 if self._stuck else _PATIENCE):
                self._queue.append(page)
                self._weight += _weight(page)
                self._changed.notify_all()
                return
            self._stuck = True
        self._keep([page])
        with self._changed:
            self._changed.notify_all()

    def _has_room(self) -> bool:
        return not self._queue or (len(self._queue) < _PAGES and self._weight < _CHARACTERS)

    def close(self, patience: float) -> int:
        """Write what is left, for some seconds at the most; returns how many pages are left in the spool."""
        with self._changed:
            self._end = time.monotonic() + patience
            self._next, self._pause = 0.0, _PAUSE
            self._changed.notify_all()
        self._thread.join()
        left = len(self._spool)
        if self._spool.unreadable:
            self._tell("index/unreadable", "%d lines that waited were no pages: see *.damaged", self._spool.unreadable)
        self._let_go()
        return left

    def purge(self, before: str, sites: Collection[str]) -> None:
        """Delete the pages of some sites that were not seen since a moment; to be called after `close`."""
        try:
            with self._open_index() as index:
                self._count("index/purged", index.purge(before, sites))
        except (IndexAway, IndexUnusable) as error:
            self._tell("index/not_purged", "pages that were not seen stay in the index: %s", error)

    def _run(self) -> None:
        while not self._is_done():
            batch = self._batch()
            if batch and (len(self._spool) or not self._write(batch)):
                self._keep(batch)
            if len(self._spool) and time.monotonic() >= self._next:
                self._send()

    def _is_done(self) -> bool:
        with self._changed:
            if self._end is None or self._queue:
                return False
            return not len(self._spool) or time.monotonic() >= self._end

    def _batch(self) -> list[IndexedPage]:
        """The pages that wait, as many as are written at once; none when it is time to look after the spool."""
        with self._changed:
            self._changed.wait_for(lambda: self._queue or self._is_due(), self._until_due())
            batch: list[IndexedPage] = []
            size = 0
            while self._queue and len(batch) < BATCH_PAGES and size < BATCH_CHARACTERS:
                batch.append(self._queue.popleft())
                size += _weight(batch[-1])
            self._weight -= size
            self._stuck = False
            self._changed.notify_all()
            return batch

    def _is_due(self) -> bool:
        return (bool(len(self._spool)) and time.monotonic() >= self._next) or (
            self._end is not None and (not len(self._spool) or time.monotonic() >= self._end)
        )

    def _until_due(self) -> float | None:
        """Seconds until the spool is to be looked after."""
        if not len(self._spool):
            return None
        due = self._next if self._end is None else min(self._next, self._end)
        return max(0.0, due - time.monotonic())

    def _send(self) -> None:
        """Write pages of the spool."""
        try:
            pages = self._spool.take()
        except OSError as error:
            self._tell("index/spool_failed", "%s cannot be read: %s", self._spool.path, error)
            self._put_off()
            return
        if not pages or self._write(pages):
            self._spool.sent()
            self._count("index/unspooled", len(pages))

    def _write(self, pages: list[IndexedPage]) -> bool:
        """Write pages; False if the index is away."""
        try:
            if self._index is None:
                self._index = self._open_index()
                logger.info("the index is back, %d pages wait for it", len(self._spool))
            self._index.upsert(pages)
        except PageRefused as error:
            return self._sift(pages, error)
        except (IndexAway, IndexUnusable) as error:
            self._away(error)
            return False
        except Exception as error:
            logger.exception("the index failed: please report this")
            self._away(error)
            return False
        self._pause = _PAUSE
        self._count("index/batches", 1)
        self._count("index/pages", len(pages))
        self._count("index/pagelets", sum(len(page.pagelets) for page in pages))
        return True

    def _sift(self, pages: list[IndexedPage], error: PageRefused) -> bool:
        """Write pages one by one, to leave out those that the index does not take."""
        if len(pages) > 1:
            return all(self._write([page]) for page in pages)
        self._tell("index/refused", "the index does not take %s: %s", pages[0].url, error)
        return True

    def _away(self, error: Exception) -> None:
        """Put the next attempt off."""
        self._count("index/retries", 1)
        if self._index is not None or self._pause == _PAUSE:
            self._tell("index/away", "%s; pages are kept on disk until it is back", error)
        self._let_go()
        self._put_off()

    def _put_off(self) -> None:
        longest = _LONGEST if self._end is None else _LONGEST_AT_THE_END
        self._next = time.monotonic() + min(self._pause, longest)
        self._pause = min(2 * self._pause, longest)

    def _let_go(self) -> None:
        if self._index is not None:
            with suppress(Exception):
                self._index.close()
            self._index = None

    def _keep(self, pages: list[IndexedPage]) -> None:
        """Put pages into the spool."""
        try:
            self._spool.append(pages)
        except OSError as error:
            with self._changed:
                self.lost += len(pages)
            self._count("index/lost", len(pages))
            self._tell("index/not_kept", "pages are in no index, and cannot be kept on disk either: %s", error)
        else:
            self._count("index/spooled", len(pages))


def _weight(page: IndexedPage) -> int:
    """Characters of a page, about."""
    return sum(len(pagelet.text) for pagelet in page.pagelets) + len(page.url)
