"""Look up the resources of archived pages: style sheets, images and frames from the same archive."""

import logging
import mimetypes
import os
from collections.abc import Iterable
from contextlib import closing, suppress
from pathlib import Path
from threading import Lock
from typing import Final
from urllib.parse import unquote_to_bytes, urldefrag, urljoin

from xxhash import xxh3_64_intdigest

from scrapy_pagelets.archives import warc
from scrapy_pagelets.archives.folders import ROOT, is_warc
from scrapy_pagelets.archives.record import Record, SkipRecord, opened
from scrapy_pagelets.archives.unpacking import Bomb

logger = logging.getLogger(__name__)
_MAX_REDIRECTS: Final = 5


class Resources:
    """All resources of some sources by URL, indexed once; ``base`` as for `reader.records`. Thread-safe."""

    def __init__(self, sources: Iterable[str], base: str = "") -> None:
        listed = list(sources)
        self._warcs = [source for source in listed if not os.path.isdir(source) and is_warc(source)]
        folders = (source.partition(ROOT)[0] for source in listed if source not in self._warcs)
        self._folders = list(dict.fromkeys(map(os.path.realpath, folders)))
        self._base = base + ("" if not base or base.endswith("/") else "/")
        self._index: dict[int, tuple[str, int]] | None = None
        self._lock = Lock()

    def get(self, url: str) -> tuple[str, bytes] | None:
        """Return ``Content-Type`` ("" for none) and body of a URL; None if the archive does not have it."""
        url = urldefrag(url).url
        return self._file(url) or self._record(url)

    def original(self, url: str, digest: str) -> Record | None:
        """The page that a revisit refers to, by the digest of its body or by its URL; None if it is not there."""
        place = self._places().get(_digest_key(digest)) if digest else None
        place = self._places().get(_key(url)) if place is None and url else place
        if place is None or place[1] < 0:  # behind another record of a member: to look for it would take too long
            return None
        with closing(warc.Finder(place[0])) as finder, suppress(SkipRecord, Bomb, OSError, EOFError, ValueError):
            return warc.page(finder.find(place[1]), *place)
        return None

    def _file(self, url: str) -> tuple[str, bytes] | None:
        for folder in self._folders:
            for path in self._paths(folder, url):
                real = os.path.realpath(path)  # a page must not get files from outside the folder
                if real.startswith(os.path.join(folder, "")) and os.path.isfile(real):
                    kind = mimetypes.guess_type(real.partition("?")[0])[0] or ""
                    return kind, Path(real).read_bytes()
        return None

    def _paths(self, folder: str, url: str) -> list[str]:
        """Paths where a URL may be stored: under its own name, without its query, or as the index of a folder."""
        plain = url.partition("?")[0]
        if self._base:
            if not url.startswith(self._base):
                return []
            paths = [os.path.join(folder, _unquoted(u.removeprefix(self._base))) for u in (url, plain)]
        else:
            paths = [_unquoted(u.removeprefix("file://")) for u in (url, plain)] if url.startswith("file://") else []
        return [path for path in [*paths, *(os.path.join(path, "index.html") for path in paths)] if "\0" not in path]

    def _record(self, url: str) -> tuple[str, bytes] | None:
        if not self._warcs:
            return None
        for _ in range(_MAX_REDIRECTS):
            place = self._places().get(_key(url))
            resource = warc.resource(*place) if place is not None else None
            if resource is None or isinstance(resource, tuple):
                return resource
            url = urljoin(url, resource)
        return None

    def _places(self) -> dict[int, tuple[str, int]]:
        with self._lock:
            if self._index is None:
                self._index = {key: place for source in self._warcs for key, place in _indexed(source)}
            return self._index


def _indexed(source: str) -> Iterable[tuple[int, tuple[str, int]]]:
    """Yield the keys of the URLs and bodies of a WARC file with the places of their records; the last one counts."""
    try:
        with opened(source) as file:
            for offset, url, digest in warc.urls(file):
                yield _key(url), (source, offset)
                if digest:
                    yield _digest_key(digest), (source, offset)
    except (OSError, EOFError, ValueError) as error:
        logger.debug("%s: %s", source, error)  # reading its pages has already logged a warning


def _key(url: str) -> int:
    # Without the scheme: a page fetched over HTTPS may be archived with resources fetched over HTTP.
    return xxh3_64_intdigest(url.partition("://")[2].encode("utf-8", "replace"))


def _digest_key(digest: str) -> int:
    return xxh3_64_intdigest(f"digest {digest}".encode("utf-8", "replace"))


def _unquoted(url: str) -> str:
    return os.fsdecode(unquote_to_bytes(url))
