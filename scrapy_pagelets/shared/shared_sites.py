"""Share what is learnt about sites through Redis."""

from __future__ import annotations

import threading
import zlib
from collections.abc import Callable
from typing import Any, Final
from weakref import WeakKeyDictionary

from scrapy_pagelets.shared.server import RedisProblem, Server
from scrapy_pagelets.templates.site import Site
from scrapy_pagelets.templates.site_counts import SiteCounts
from scrapy_pagelets.templates.site_store import pack, unpack


class SharedSites:
    """Sites in Redis, for all processes of a crawl; the counterpart of `SiteStore`. Thread-safe.

    Each process has its own copy of a site. Before it writes the site, it reads what others have written meanwhile, and
    adds its own new pages, each of which counts once. If another process is faster, it does so again.

    Parameters
    ----------
    failed : called with a sentence if a site cannot be written; its pages are written with the next ones
    """

    #: The observations of each site are recorded, to be added to what other processes have written.
    lasting: Final = True

    def __init__(self, server: Server, failed: Callable[[str], None]) -> None:
        self._server = server
        self._failed = failed
        self._lock = threading.Lock()
        self._replace = server.script("replace_site.lua")
        self._versions: WeakKeyDictionary[Site, int] = WeakKeyDictionary()

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
                while True:
                    version, learnt = self._read(site)
                    if learnt is not None:
                        learnt.count_new(observations)
                        site.replace(learnt)
                    self._versions[site] = version
                    content = zlib.compress(pack(site.arrays()), 1)
                    if self._replace([site.name, version, content]):
                        self._versions[site] = version + 1
                        return True
            except RedisProblem as error:
                site.keep(observations)
                self._failed(f"the data of {site.name} cannot be written, the crawl goes on with its own: {error}")
                return False

    def _read(self, site: Site) -> tuple[int, SiteCounts | None]:
        """Read version and data of a site; the data are None if they are of the known version."""
        key = self._server.key

        def read(redis: Any) -> tuple[int, bytes | None]:
            if (version := int(redis.hget(key + "versions", site.name) or 0)) == self._versions.get(site, 0):
                return version, None
            with redis.pipeline() as pipe:  # both of one moment
                pipe.hget(key + "versions", site.name)
                pipe.hget(key + "sites", site.name)
                newest, content = pipe.execute()
            return int(newest or 0), content

        version, content = self._server.call(read)
        return version, None if content is None else SiteCounts.from_arrays(site.name, unpack(zlib.decompress(content)))

    def exchange(self, pages: object, sites: object) -> None:
        """Pagelets of pages are not shared: ``PAGELETS_DETECTION`` local and global are refused."""

    def close(self) -> None:
        """Let go of the sites."""
        self._versions.clear()
