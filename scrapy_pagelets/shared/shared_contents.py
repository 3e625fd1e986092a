"""Compare the contents of the pages of all processes of a crawl."""

from __future__ import annotations

import pickle
import threading
from typing import Any, Final

from scrapy_pagelets.duplicates.content_store import ContentStore, Document, Verdict
from scrapy_pagelets.duplicates.shingles import Hashes
from scrapy_pagelets.shared.server import Server

#: Entries that are read at once.
_BATCH: Final = 200


class SharedContents:
    """The contents that all processes of a crawl have seen. Thread-safe.

    Redis has a log of contents, in one order for all. Each process enters them into a content store of its own in this
    order, so that all stores are equal, and equal to that of a crawl by one process. A page is appended to the log if
    this process has read all entries before it; if another process is faster, its entries are read first.

    Parameters
    ----------
    store : an empty store
    """

    def __init__(self, server: Server, store: ContentStore) -> None:
        self._server = server
        self._store = store
        self._append = server.script("append.lua")
        self._entered = 0
        self._lock = threading.Lock()

    def add(self, document: Document) -> tuple[Verdict | None, Hashes | None]:
        """Compare a text with earlier ones and add it, see `ContentStore.add`."""
        prepared = self._store.prepare(document)
        if prepared is None:
            return None, None
        entry = pickle.dumps(prepared, pickle.HIGHEST_PROTOCOL)
        with self._lock:
            self._catch_up()
            while not self._append([self._entered, entry]):
                self._catch_up()
            self._entered += 1
            return self._store.enter(prepared)

    def _catch_up(self) -> None:
        """Enter the contents of other processes."""
        key = self._server.key + "contents"

        def read(redis: Any) -> list[bytes]:
            return list(redis.lrange(key, self._entered, self._entered + _BATCH - 1))

        while entries := self._server.call(read):
            for entry in entries:
                self._store.enter(pickle.loads(entry))
                self._entered += 1

    def close(self) -> None:
        """Close the store of this process."""
        self._store.close()
