"""Compare the contents of the pages of all processes of a crawl."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Final

from scrapy_pagelets.duplicates.content_store import ContentStore, Document, Prepared, Verdict
from scrapy_pagelets.duplicates.shingles import Hashes
from scrapy_pagelets.shared.frontier import CrawlLost
from scrapy_pagelets.shared.server import LastSeconds, Server

#: Entries that are read at once.
_BATCH: Final = 200
#: More entries than a server that is restarted may have lost; so many are read again.
_UNCERTAIN: Final = 10_000


class SharedContents:
    """The contents that all processes of a crawl have seen. Thread-safe.

    Redis has a log of contents, in one order for all. Each process enters them into a content store of its own in this
    order, so that all stores are equal, and equal to that of a crawl by one process. A page is appended to the log, and
    entered after the entries before it, which are read first.

    If Redis was restarted, it may have lost the last entries, and got others in their place: this process appends its
    own again, and reads the last part of the log again. An entry that is entered twice changes nothing.

    Parameters
    ----------
    store : an empty store
    unreadable : called with a sentence if an entry cannot be read; it is left out
    """

    def __init__(self, server: Server, store: ContentStore, unreadable: Callable[[str], None]) -> None:
        self._server = server
        self._store = store
        self._unreadable = unreadable
        self._append_entry = server.script("append.lua")
        self._entered = 0
        self._last: LastSeconds[bytes] = LastSeconds()
        self._restarts = server.restarts
        self._lock = threading.Lock()

    def add(self, document: Document) -> tuple[Verdict | None, Hashes | None]:
        """Compare a text with earlier ones and add it, see `ContentStore.add`.

        Raises
        ------
        CrawlLost : if Redis does not know the crawl any more
        """
        prepared = self._store.prepare(document)
        if prepared is None:
            return None, None
        with self._lock:
            length = self._append(prepared.packed())
            if self._restarts != self._server.restarts:
                self._restarts = self._server.restarts
                self._entered = max(0, min(self._entered, length) - _UNCERTAIN)
                for entry in self._last.all():
                    length = self._append(entry)
            self._catch_up(length - 1)
            return self._store.enter(prepared)

    def _append(self, entry: bytes) -> int:
        """Append an entry to the log; return its length."""
        if not (length := self._append_entry([entry])):
            raise CrawlLost(self._server.name)
        self._last.add([entry])
        return int(length)

    def _catch_up(self, end: int) -> None:
        """Enter the entries of other processes."""
        key = self._server.key + "contents"
        for start in range(self._entered, end, _BATCH):
            last = min(start + _BATCH, end) - 1
            entries: list[Any] = self._server.call(lambda redis: list(redis.lrange(key, start, last)))  # noqa: B023
            for entry in entries:
                self._enter(entry)
        self._entered = end + 1

    def _enter(self, entry: bytes) -> None:
        try:
            prepared = Prepared.unpacked(entry)
        except Exception as error:  # what is made of it can raise anything
            self._unreadable(f"a content in Redis is damaged or of another version, and is left out: {error!r}")
        else:
            self._store.enter(prepared)

    def close(self) -> None:
        """Close the store of this process."""
        self._store.close()
