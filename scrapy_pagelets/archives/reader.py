"""Read the pages of WARC files and of folders of HTML files, in order or one at a time."""

import glob
import logging
import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from importlib.util import find_spec

from scrapy_pagelets.archives import folders, warc
from scrapy_pagelets.archives.folders import is_warc
from scrapy_pagelets.archives.record import ArchiveError, Record, SkipRecord, opened
from scrapy_pagelets.archives.resources import Resources
from scrapy_pagelets.archives.unpacking import Bomb, seek_next

__all__ = ["BROKEN", "ArchiveError", "Reader", "Record", "expand", "records"]
logger = logging.getLogger(__name__)
BROKEN = frozenset({"unreadable", "truncated", "bomb"})  # reasons to skip a record: its file is broken
_UNREADABLE = "%s cannot be read and is left out: %s"
_TRUNCATED = "%s is cut off or damaged at or after %s, the pages from there on are left out: %s"
_DAMAGED = "%s is damaged at or after %s, pages there are left out: reading continues at the next whole member: %s"
_BOMB = "%s contains a compression bomb at offset %d, which is left out: reading continues after it"
_TOO_MUCH = "%s contains a record with too many %s at %s, which is left out; further ones are left out silently"
_WARNED = {"too_large": "bytes", "headers": "headers"}
_ADVICE = "give a page, a WARC file, a glob in quotes, or a folder of WARC or HTML files"


def expand(path: str) -> list[str]:
    """List the sources of a path or glob: WARC files, HTML files, and folders of these, which stand for themselves.

    A folder stands for every WARC file below it as well. ArchiveError if there is no archive, or no FastWARC for it.
    """
    normal = os.path.normpath(os.path.expanduser(path)) if path else ""
    if not os.path.exists(normal) and not glob.has_magic(normal):
        raise ArchiveError(f"{path or 'the empty path'} does not exist: {_ADVICE}")
    sources = folders.sources(normal)
    if not sources:
        raise ArchiveError(f"{path} contains neither WARC nor HTML files: {_ADVICE}")
    if any(map(is_warc, sources)):
        _require_fastwarc()
    return sources


def records(
    source: str,
    base: str = "",
    skipped: Counter[str] | None = None,
    log: Callable[..., None] = logger.warning,
    resources: Resources | None = None,
) -> Iterator[Record]:
    """Read the pages of one source in order; bad data raises no error, but a missing FastWARC an ArchiveError, at once.

    ``source``: as listed by `expand`. ``base``: what precedes the path of an HTML file below the folder in its URL, as
    ``https://example.com/``, or ``http://`` if folders are named by host; "" for ``file://`` URLs. ``skipped`` counts
    the records that are not pages, by reason. ``log`` is called with each message and its arguments, of which the first
    is a path. ``resources``: what else the archive holds, for revisits; without it, this source.
    """
    counter: Counter[str] = Counter() if skipped is None else skipped
    if os.path.isdir(source) or not is_warc(source):
        return _html_pages(source, base, counter, log)
    _require_fastwarc()
    return _warc_pages(source, counter, log, resources or Resources([source]))


class Reader(AbstractContextManager["Reader"]):
    """Reads pages again; the last WARC file stays open, so reading in the order of the archive is fastest."""

    def __init__(self, resources: Resources | None = None) -> None:
        self._resources = resources
        self._own = Resources(())
        self._finder: warc.Finder | None = None

    def read(self, source: str, offset: int, base: str = "") -> Record:
        """Read one page again, by its place; ArchiveError if it is gone, or if FastWARC is not installed."""
        try:
            if not is_warc(source):
                return folders.page(source, base)
            _require_fastwarc()
            if self._finder is None or self._finder.path != source:
                self.close()
                self._finder, self._own = warc.Finder(source), Resources([source])
            return warc.page(self._finder.find(offset), source, offset, (self._resources or self._own).original)
        except ArchiveError:
            raise
        except (SkipRecord, Bomb, OSError, EOFError, ValueError) as error:
            self.close()
            gone = f"{source} has no page at {_where(offset)} any more"
            raise ArchiveError(f"{gone}, start over with the file as it is now: {error}") from None

    def close(self) -> None:
        """Close the open file, if there is one."""
        if self._finder is not None:
            self._finder.close()
            self._finder = None

    def __exit__(self, *_: object) -> None:
        self.close()


def _html_pages(source: str, base: str, skipped: Counter[str], log: Callable[..., None]) -> Iterator[Record]:
    for path in folders.files(source):
        try:
            yield folders.page(path, base)
        except SkipRecord as reason:
            skipped[str(reason)] += 1
        except OSError as error:
            skipped["unreadable"] += 1
            log(_UNREADABLE, error.filename, error.strerror)


def _warc_pages(path: str, skipped: Counter[str], log: Callable[..., None], resources: Resources) -> Iterator[Record]:
    try:
        file = opened(path)
    except OSError as error:
        skipped["unreadable"] += 1
        log(_UNREADABLE, path, error.strerror)
        return
    offset = begun = 0

    def bomb(offset: int) -> None:
        skipped["bomb"] += 1
        log(_BOMB, path, offset)

    with file:
        if not os.fstat(file.fileno()).st_size:
            skipped["empty"] += 1
        goes_on = True
        while goes_on:
            goes_on = False
            try:
                for offset, record in warc.walk(file, bomb):
                    if begun and offset < 0:  # it could not be found again: its number counts from the damage
                        skipped["truncated"] += 1
                        continue
                    try:
                        page = warc.page(record, path, offset, resources.original)
                    except SkipRecord as skip:
                        skipped[str(skip)] += 1
                        if str(skip) in _WARNED and skipped[str(skip)] == 1:
                            log(_TOO_MUCH, path, _WARNED[str(skip)], _where(offset))
                    except Bomb:
                        pass  # `walk` reports it
                    else:
                        yield page
            except (OSError, EOFError, ValueError) as error:
                goes_on = offset >= 0 and seek_next(file, max(offset, begun))
                if offset >= begun or not begun:  # else nothing could be read since the last one
                    skipped["truncated"] += 1
                    log(_DAMAGED if goes_on else _TRUNCATED, path, _where(offset), error)
                begun = file.tell()


def _where(offset: int) -> str:
    return f"offset {offset}" if offset >= 0 else f"record {-offset}"


def _require_fastwarc() -> None:
    if find_spec("fastwarc") is None:
        raise ArchiveError("reading WARC files needs FastWARC: pip install scrapy-pagelets[archive]")


def parts(sites: Sequence[str]) -> list[int]:
    """Return the numbers of pages of the smallest parts of an archive of which no two have pages of one site."""
    last = {site: number for number, site in enumerate(sites)}
    found, start, end = [], 0, 0
    for number, site in enumerate(sites):
        end = max(end, last[site])
        if number == end:
            found.append(end + 1 - start)
            start = end + 1
    return found
