"""Share what is learnt about sites through Redis."""

from __future__ import annotations

import threading
import zlib
from collections.abc import Callable
from secrets import token_bytes
from typing import Any, Final
from weakref import WeakKeyDictionary

from scrapy_pagelets.decision.site import Site
from scrapy_pagelets.evidence.site_counts import SiteCounts
from scrapy_pagelets.shared.server import RedisProblem, Server
from scrapy_pagelets.sites.site_store import UNREADABLE, pack, unpack

#: How often a site is written while others write it too: a version is random, so that none comes back.
_ATTEMPTS: Final = 100


class SharedSites:
    """Sites in Redis, for all processes of a crawl; the counterpart of `SiteStore`. Thread-safe.

    Each process has its own copy of a site. Before it writes the site, it reads what others have written meanwhile, and
    adds its own new pages, each of which counts once. If another process is faster, it does so again.

    Parameters
    ----------
    failed : called with a sentence if a site cannot be written; its pages are written with the next ones
    unreadable : called with a sentence if the data of a site are damaged; they are replaced
    """

    #: The observations of each site are recorded, to be added to what other processes have written.
    lasting: Final = True

    def __init__(self, server: Server, failed: Callable[[str], None], unreadable: Callable[[str], None]) -> None:
        self._server = server
        self._failed, self._unreadable = failed, unreadable
        self._lock = threading.Lock()
        self._replace = server.script("replace_site.lua")
        self._versions: WeakKeyDictionary[Site, bytes] = WeakKeyDictionary()

    def load(self, site: Site) -> None:
        """Read what other processes have learnt about a site since it was read or written."""
        with self._lock:
            try:
                version, learnt = self._read(site)
            except RedisProblem as error:
                self._failed(f"the data of {site.name} cannot be read: {error}")
            else:
                if learnt is not None:
                    site.replace(learnt)
                self._versions[site] = version
        site.record()

    def save(self, site: Site) -> bool:
        """Write a site, merged with what other processes have learnt about it; returns False if that fails."""
        with self._lock:
            observations = site.hand_over()
            try:
                for _ in range(_ATTEMPTS):
                    version, learnt = self._read(site)
                    if learnt is not None:
                        learnt.count_new(observations)
                        site.replace(learnt)
                    self._versions[site] = version
                    content, new = zlib.compress(pack(site.arrays()), 1), token_bytes(8)
                    if self._replace([site.name, version, new, content]):
                        self._versions[site] = new
                        return True
                problem = "other processes have always been faster"
            except RedisProblem as error:
                problem = str(error)
            site.keep(observations)
            self._failed(f"the data of {site.name} cannot be written, the crawl goes on with its own: {problem}")
            return False

    def _read(self, site: Site) -> tuple[bytes, SiteCounts | None]:
        """Read version and data of a site; the data are None if they are damaged, or of the known version."""
        key = self._server.key

        def read(redis: Any) -> tuple[bytes, bytes | None]:
            if (version := redis.hget(key + "versions", site.name) or b"") == self._versions.get(site, b""):
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

    def exchange(self, pages: object, sites: object) -> None:
        """Pagelets of pages are not shared: ``PAGELETS_DETECTION`` local and global are refused."""

    def close(self) -> None:
        """Let go of the sites."""
        self._versions.clear()
