"""Share sites and contents through Redis: the counterparts of site store and content store."""

import threading
import zlib
from collections.abc import Callable
from secrets import token_bytes
from typing import Any, Final

from scrapy_pagelets.decision.site import Site
from scrapy_pagelets.duplicates.content_store import ContentStore, PageText, Prepared, Verdict
from scrapy_pagelets.duplicates.shingles import Hashes
from scrapy_pagelets.evidence.site_counts import Observation, SiteCounts
from scrapy_pagelets.shared.frontier import CrawlLost
from scrapy_pagelets.shared.server import LastSeconds, RedisProblem, Server
from scrapy_pagelets.sites.site_store import UNREADABLE, MergingStore, pack, unpack

_ATTEMPTS: Final = 100  # to write a site that others write too: a version is random, so that none comes back


class SharedSites(MergingStore):
    """Sites in Redis; ``unreadable`` is told if one is damaged, and replaced. Pagelets of pages are not shared."""

    def __init__(self, server: Server, failed: Callable[[str], None], unreadable: Callable[[str], None]) -> None:
        super().__init__(failed, RedisProblem)
        self._server = server
        self._unreadable = unreadable
        self._replace = server.script("replace_site.lua")

    def _write(self, site: Site, observations: list[Observation]) -> None:
        for _ in range(_ATTEMPTS):
            version = self.versions[site] = self.merge(site, observations)
            content, new = zlib.compress(pack(site.arrays()), 1), token_bytes(8)
            if self._replace([site.name, version, new, content]):
                self.versions[site] = new
                return
        raise RedisProblem("other processes have always been faster")

    def _read(self, site: Site) -> tuple[bytes, SiteCounts | None]:
        key = self._server.key

        def read(redis: Any) -> tuple[bytes, bytes | None]:
            if (version := redis.hget(key + "versions", site.name) or b"") == self.versions.get(site, b""):
                return version, None
            with redis.pipeline() as pipe:  # both of one moment
                pipe.hget(key + "versions", site.name)
                pipe.hget(key + "sites", site.name)
                newest, content = pipe.execute()
            return newest or b"", content

        version, content = self._server.call(read)
        try:
            columns = None if content is None else unpack(zlib.decompress(content))
            return version, None if columns is None else SiteCounts.from_arrays(site.name, columns)
        except (zlib.error, *UNREADABLE) as error:
            self._unreadable(f"the data of {site.name} in Redis are damaged, the site is learnt again: {error}")
            return version, None


_BATCH: Final = 200  # entries that are read at once
_UNCERTAIN: Final = 10_000  # more entries than a server that is restarted may have lost; so many are read again


class SharedContents:
    """The contents that all processes of a crawl have seen. Thread-safe.

    Redis has a log of contents, in one order for all. Each process enters them into a content store of its own,
    ``store``, so that all are equal. A restarted Redis may have lost the last entries, and got others in their place:
    this process appends its own again, and reads the last part again; an entry that is entered twice changes nothing.
    ``unreadable`` is called with a sentence if an entry cannot be read; it is left out.
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

    def add(self, page: PageText) -> tuple[Verdict | None, Hashes | None]:
        """Compare a text with earlier ones and add it, see `ContentStore.add`; `CrawlLost` if Redis has lost them."""
        prepared = self._store.prepare(page)
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
        key = self._server.key + "contents"
        for start in range(self._entered, end, _BATCH):
            last = min(start + _BATCH, end) - 1
            entries: list[Any] = self._server.call(lambda redis: list(redis.lrange(key, start, last)))  # noqa: B023
            for entry in entries:
                try:
                    prepared = Prepared.unpacked(entry)
                except Exception as error:  # what is made of it can raise anything
                    self._unreadable(f"a content in Redis is damaged or of another version, and is left out: {error!r}")
                else:
                    self._store.enter(prepared)
        self._entered = end + 1

    def close(self) -> None:
        """Close the store of this process."""
        self._store.close()
