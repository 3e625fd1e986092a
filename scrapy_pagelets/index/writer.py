"""Writing to an index during a crawl: in a thread, with retries, and with a queue on disk."""

import json
import logging
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from pathlib import Path
from queue import Empty, Full, Queue
from typing import Final

from xxhash import xxh3_64_hexdigest

from scrapy_pagelets.base.transactions import whole_file
from scrapy_pagelets.index.interface import Index, IndexAway, IndexedPage, IndexUnusable, PageRefused, line_of, page_of

_CHARACTERS: Final = 4_000_000  # of a batch, which is held in memory; a single page may exceed them
BATCH_PAGES: Final = 64  # pages of a batch


class PendingPages:
    """A queue of pages that could not be written to an index, the oldest first; thread-safe.

    Each batch is a file. Those that earlier runs have left in the folder for the same index are taken over; two crawls
    may send a batch twice, which changes nothing. All methods raise OSError if a file cannot be read or written.
    """

    def __init__(self, folder: Path, target: str) -> None:
        name = f"pagelets-index-{xxh3_64_hexdigest(target.encode())}"
        self.path = folder / f"{name}-*.jsonl"  # of the files
        self._lock = threading.Lock()
        #: The files and their numbers of lines.
        self._files = deque((path, len(_lines(path))) for path in sorted(folder.glob(self.path.name)))
        self._damaged = 0
        self.unreadable = 0  # number of lines that are not pages; their file is kept as ``*.damaged``

    def __len__(self) -> int:
        with self._lock:
            return sum(lines for _, lines in self._files)

    def append(self, pages: Sequence[IndexedPage]) -> None:
        """Append pages, all or none."""
        lines = "".join(json.dumps(line_of(page), ensure_ascii=False) + "\n" for page in pages)
        with self._lock:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            path = self.path.with_name(self.path.name.replace("*", f"{time.time_ns()}-{os.getpid()}"))
            with whole_file(path) as new:
                new.write_text(lines, encoding="utf-8")
            self._files.append((path, len(pages)))

    def take(self) -> list[IndexedPage]:
        """Return the oldest batch; it stays here until `sent` is called."""
        lines = _lines(self._files[0][0]) if self._files else []
        pages = list[IndexedPage]()
        for line in lines:
            with suppress(ValueError):
                pages.append(page_of(json.loads(line)))
        self._damaged = len(lines) - len(pages)
        return pages

    def sent(self) -> None:
        """Remove the batch that was taken last; keep its file under another name if it has unreadable lines."""
        with self._lock:
            path, _ = self._files.popleft()
        self.unreadable += self._damaged
        with suppress(FileNotFoundError):
            path.rename(path.with_suffix(".damaged")) if self._damaged else path.unlink()


def _lines(path: Path) -> list[bytes]:
    """The lines of a file; none if another crawl has just sent and removed it."""
    try:
        return path.read_bytes().splitlines()
    except FileNotFoundError:
        return []


logger = logging.getLogger(__name__)
_PAGES: Final = 2 * BATCH_PAGES  # maximal number of pages that wait in memory
_PATIENCE: Final = 5.0  # seconds that a page waits for room in memory before it is written to disk
_PAUSE: Final = 0.5  # seconds between the first two attempts to reach an index
_LONGEST: Final = 60.0  # the longest pause
_LONGEST_AT_THE_END: Final = 2.0  # the longest while closing


class Writer:
    """Write pages to an index in a separate thread, in batches; while the index is unavailable, they wait on disk.

    ``open_index`` opens the index, again after each failure. ``index``: the open one, None if it is unavailable.
    ``pending``: the pages that wait. ``tell`` is called with a name, a message and its arguments to report a problem,
    ``count`` with a name and a number.
    """

    def __init__(
        self,
        open_index: Callable[[], Index],
        index: Index | None,
        pending: PendingPages,
        tell: Callable[..., None],
        count: Callable[[str, int], None],
    ) -> None:
        self._open_index, self._index, self._pending = open_index, index, pending
        self._tell, self._count = tell, count
        self.lost = 0  # number of pages that are neither in the index nor on disk
        self._lock = threading.Lock()
        self._queue: Queue[IndexedPage | None] = Queue(_PAGES)  # None wakes the thread up
        self._stuck = False
        self._end: float | None = None
        self._pause, self._next = _PAUSE, 0.0
        self._thread = threading.Thread(target=self._run, name="pagelets-index", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def put(self, page: IndexedPage) -> None:
        """Queue a page; if there is no room in memory for some seconds, write it to disk instead."""
        try:
            self._queue.put(page, not self._stuck, _PATIENCE)
        except Full:
            self._stuck = True
            self._write_to_disk([page])

    def close(self, patience: float) -> int:
        """Write the remaining pages for at most ``patience`` seconds; return the number of pages left on disk."""
        self._next, self._pause = 0.0, _PAUSE
        self._end = time.monotonic() + patience
        self._queue.put(None)
        self._thread.join()
        left = len(self._pending)
        if unreadable := self._pending.unreadable:
            self._tell("index/unreadable", "%d waiting lines could not be read as pages: see *.damaged", unreadable)
        self._close_index()
        return left

    def purge(self, before: str, sites: Collection[str]) -> None:
        """Delete the pages of some sites that were last seen before a time; call it after `close`."""
        try:
            with self._open_index() as index:
                self._count("index/purged", index.purge(before, sites))
        except (IndexAway, IndexUnusable) as error:
            self._tell("index/not_purged", "old pages stay in the index: %s", error)

    def _run(self) -> None:
        while self._end is None or not self._queue.empty() or (len(self._pending) and time.monotonic() < self._end):
            batch = self._batch()
            if batch and (len(self._pending) or not self._write(batch)):
                self._write_to_disk(batch)
            if len(self._pending) and time.monotonic() >= self._next:
                self._send()

    def _batch(self) -> list[IndexedPage]:
        """Wait for pages in memory and return a batch of them; empty when it is time to send pages from disk."""
        batch: list[IndexedPage] = []
        size = 0
        with suppress(Empty):
            page = self._queue.get(timeout=self._until_due())
            while page is not None:
                batch.append(page)
                size += sum(len(pagelet.text) for pagelet in page.pagelets)
                if len(batch) == BATCH_PAGES or size >= _CHARACTERS:
                    break
                page = self._queue.get_nowait()
        self._stuck = False
        return batch

    def _until_due(self) -> float | None:
        """Seconds until pages are sent from disk again; None if none are there."""
        if not len(self._pending):
            return None
        due = self._next if self._end is None else min(self._next, self._end)
        return max(0.0, due - time.monotonic())

    def _send(self) -> None:
        try:
            pages = self._pending.take()
        except OSError as error:
            self._tell("index/spool_failed", "%s cannot be read: %s", self._pending.path, error)
            self._postpone()
            return
        if not pages or self._write(pages):
            self._pending.sent()
            self._count("index/unspooled", len(pages))

    def _write(self, pages: list[IndexedPage]) -> bool:
        """Write pages, one by one without those that the index refuses; False if the index is unavailable."""
        try:
            if self._index is None:
                self._index = self._open_index()
                logger.info("the index is available again, %d pages wait for it", len(self._pending))
            self._index.upsert(pages)
        except PageRefused as error:
            if len(pages) > 1:
                return all(self._write([page]) for page in pages)
            self._tell("index/refused", "the index does not accept %s: %s", pages[0].url, error)
            return True
        except (IndexAway, IndexUnusable) as error:
            self._retry_later(error)
            return False
        except Exception as error:
            logger.exception("the index failed: please report this")
            self._retry_later(error)
            return False
        self._pause = _PAUSE
        self._count("index/batches", 1)
        self._count("index/pages", len(pages))
        self._count("index/pagelets", sum(len(page.pagelets) for page in pages))
        return True

    def _retry_later(self, error: Exception) -> None:
        self._count("index/retries", 1)
        if self._index is not None or self._pause == _PAUSE:
            self._tell("index/away", "%s; pages wait on disk until it is available", error)
        self._close_index()
        self._postpone()

    def _postpone(self) -> None:
        longest = _LONGEST if self._end is None else _LONGEST_AT_THE_END
        self._next = time.monotonic() + min(self._pause, longest)
        self._pause = min(2 * self._pause, longest)

    def _close_index(self) -> None:
        if self._index is not None:
            with suppress(Exception):
                self._index.close()
            self._index = None

    def _write_to_disk(self, pages: list[IndexedPage]) -> None:
        try:
            self._pending.append(pages)
        except OSError as error:
            with self._lock:
                self.lost += len(pages)
            self._count("index/lost", len(pages))
            self._tell("index/not_kept", "pages can be written neither to the index nor to disk: %s", error)
        else:
            self._count("index/spooled", len(pages))
