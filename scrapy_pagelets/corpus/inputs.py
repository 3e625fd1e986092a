"""What a corpus job is given: its options; and its sources, which are WARC and WACZ files, Parquet of raw pages, lists
of files, and records of an index."""

import glob
import gzip
import json
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from itertools import groupby
from operator import itemgetter
from typing import IO, Any, Final, cast

from scrapy_pagelets.base.characters import lazily
from scrapy_pagelets.base.errors import PageletsError
from scrapy_pagelets.decision.model import LABELLED
from scrapy_pagelets.duplicates.sketch import Threshold
from scrapy_pagelets.feed.page_record import RecordOptions
from scrapy_pagelets.page.limits import Limits
from scrapy_pagelets.page.roles import CONTENT
from scrapy_pagelets.papers.methods import FUSED, PAGE_LEVEL
from scrapy_pagelets.rules.robots import TELL

_SOURCE: Final = lazily(r"\.(warc(\.(gz|zst|zstd))?|wacz|parquet)$", re.IGNORECASE)
_LIST: Final = lazily(r"\.paths(\.gz)?$", re.IGNORECASE)
_INDEX: Final = lazily(r"\.cdxj?(\.gz)?$", re.IGNORECASE)
_REMOTE: Final = lazily(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_HTML: Final = frozenset({"text/html", "application/xhtml+xml"})
COLUMNS: Final = ("warc_filename", "warc_record_offset", "warc_record_length")  # of Common Crawl's index
_ADVICE: Final = (
    "give WARC (.warc, .warc.gz, .warc.zst), .wacz or .parquet files, a folder or a glob of them, a list of files "
    "(.paths) or an index (.cdx, .cdxj, Common Crawl's as .parquet)"
)
PART: Final = 1000  # a site with more pages than this is divided: its pages are learnt, and cleaned, by several tasks
SAMPLE: Final = 4000  # a site with more pages than this is learnt from this number of its pages
BUCKETS: Final = 1024  # sites are hashed to this number of buckets, by which a job is divided into rounds


class CorpusError(PageletsError, ValueError):
    """Raised for a corpus job that cannot run; the message says what to do."""


@dataclass(frozen=True, kw_only=True)
class CorpusOptions(RecordOptions):
    """How pages are cleaned, mostly named as in ``session.config.Config``; workers and executors get it."""

    started: str  # when the job began, ``2026-11-20T10:00:00Z``; for pages without a date
    model: str = LABELLED
    detection: str = FUSED
    classifier: str = PAGE_LEVEL
    strict: float = 0.0
    keep: tuple[str, ...] = (CONTENT,)
    rules: str = ""
    robots: str = TELL
    limits: Limits = field(default_factory=Limits)
    duplicates: str = "flag"
    threshold: Threshold = field(default_factory=Threshold)
    within_sites: bool = False
    part: int = PART  # pages of a site from which on it is divided
    sample: int = SAMPLE  # and learnt from a sample

    def plain(self) -> dict[str, Any]:
        """All values but the time, as JSON writes them: a job may be continued if they are the same."""
        values = {name: value for name, value in asdict(self).items() if name != "started"}
        return dict(json.loads(json.dumps(values)))


@dataclass
class Source:
    """A file that is read, or the records of it that an index has selected."""

    path: str  # of the file, or its URL
    #: offsets, sizes: in bytes, of the records; None for the whole file
    offsets: list[int] | None = None
    sizes: list[int] | None = field(default=None, repr=False)


def sources_of(path: str, base: str = "") -> list[Source]:
    """List the sources of a path or URL, files in the order of their names. Raise CorpusError if there is none.

    ``path``: a file, a folder, a glob, a list of files, or an index; local or, with fsspec, remote. ``base``: what
    precedes relative names in lists and indexes, by default their folder.
    """
    try:
        found = list(_sources(path, base))
    except FileNotFoundError:
        raise CorpusError(f"{path or 'the empty path'} does not exist: {_ADVICE}") from None
    except (OSError, EOFError, UnicodeError) as error:
        raise CorpusError(f"{path} cannot be read: {error}") from None
    if not found:
        raise CorpusError(f"{path} names no archive: {_ADVICE}")
    return found


def _sources(path: str, base: str) -> Iterator[Source]:
    if _INDEX.search(path):
        yield from _selected(_index_lines(path), base or _folder(path))
    elif _LIST.search(path):
        with reading(path) as file:
            names = [line.strip() for line in _lines(path, file) if line.strip()]
        yield from (Source(_absolute(name, base or _folder(path))) for name in names)
    else:
        for name in list(_files(path)):
            if name.lower().endswith(".parquet") and (rows := _index_rows(name)) is not None:
                yield from _selected(rows, base or _folder(name))
            else:
                yield Source(name)


def _files(path: str) -> Iterator[str]:
    if is_remote(path) and (glob.has_magic(path) or not _SOURCE.search(path)):
        system, inside = file_system(path)
        names = system.glob(inside) if glob.has_magic(inside) else system.find(inside)
        yield from (system.unstrip_protocol(name) for name in sorted(names) if _SOURCE.search(name))
    elif os.path.isdir(path):
        for folder, folders, names in os.walk(path):
            folders.sort()
            yield from (os.path.join(folder, name) for name in sorted(names) if _SOURCE.search(name))
    elif is_remote(path) or os.path.exists(path):
        yield path
    elif glob.has_magic(path):
        for name in sorted(glob.glob(path, recursive=True)):
            yield from _files(name) if os.path.isdir(name) else [name]
    else:
        raise FileNotFoundError(path)


def _selected(rows: Iterable[tuple[str, int, int]], base: str) -> Iterator[Source]:
    for name, found in groupby(sorted(set(rows)), itemgetter(0)):
        _, offsets, sizes = zip(*found, strict=True)
        yield Source(_absolute(name, base), list(offsets), list(sizes))


def _index_lines(path: str) -> Iterator[tuple[str, int, int]]:
    """File, offset and size of the pages of a CDXJ index: a key, a time, and a JSON object on each line."""
    with reading(path) as file:
        for number, line in enumerate(_lines(path, file), 1):
            start = line.find("{")
            if start < 0:
                continue  # the header, or a blank line
            try:
                record = json.loads(line[start:])
                mime = record.get("mime-detected") or record.get("mime") or "text/html"
                if mime in _HTML and str(record.get("status", "200")) == "200":
                    yield record["filename"], int(record["offset"]), int(record["length"])
            except (ValueError, KeyError, TypeError) as error:
                raise CorpusError(
                    f"{path}, line {number}, is not of a CDXJ index ({type(error).__name__}: {error}): "
                    "each line ends with a JSON object with filename, offset and length"
                ) from None


def _index_rows(path: str) -> Iterator[tuple[str, int, int]] | None:
    """File, offset and size of the rows of an index as Parquet; None if the file holds something else."""
    from pyarrow import ArrowException
    from pyarrow.parquet import ParquetFile

    try:
        with reading(path) as file, ParquetFile(file) as table:
            if not set(COLUMNS) <= set(table.schema_arrow.names):
                return None
            read = table.read(list(COLUMNS))
    except (OSError, ArrowException):
        return None  # it will be reported as a source that cannot be read
    return iter(list(zip(*(read[name].to_pylist() for name in COLUMNS), strict=True)))


def _lines(path: str, file: IO[bytes]) -> Iterator[str]:
    lines: Iterable[bytes] = gzip.GzipFile(fileobj=file) if path.lower().endswith(".gz") else file
    return (line.decode("utf-8") for line in lines)


def _absolute(name: str, base: str) -> str:
    return name if is_remote(name) or os.path.isabs(name) else f"{base.rstrip('/')}/{name}" if base else name


def _folder(path: str) -> str:
    return path.rpartition("/")[0] or "."


def is_remote(path: str) -> bool:
    """Return True for a URL."""
    return bool(_REMOTE.match(path))


def file_system(path: str) -> tuple[Any, str]:
    """The fsspec file system of a URL, and the path in it; CorpusError if a library for such URLs is missing."""
    try:
        from fsspec.core import url_to_fs

        system, inside = url_to_fs(path)
    except ImportError as error:
        raise CorpusError(f"{path} needs another library: pip install 'scrapy-pagelets[remote]' ({error})") from None
    except ValueError as error:
        raise CorpusError(f"{path} cannot be read: {error}") from None
    return system, inside


def reading(path: str) -> IO[bytes]:
    """Open a file, local or remote, for reading."""
    if not is_remote(path):
        return open(path, "rb")
    system, inside = file_system(path)
    return cast(IO[bytes], system.open(inside, "rb"))
