"""Store what is learnt about sites in SQLite, for several crawls at once."""

import logging
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import fields
from io import BytesIO
from pathlib import Path
from typing import Any, Final
from weakref import WeakKeyDictionary

import numpy as np
from xxhash import xxh3_64

from scrapy_pagelets.base.errors import StoreError
from scrapy_pagelets.base.transactions import open_shared, set_aside, writing
from scrapy_pagelets.decision.model import Model
from scrapy_pagelets.decision.site import Site
from scrapy_pagelets.evidence.evidence import Column, keys_of
from scrapy_pagelets.evidence.partition import STRICT_K, partition
from scrapy_pagelets.evidence.site_counts import Observation, SiteCounts, body_of, outline
from scrapy_pagelets.page.page import Page
from scrapy_pagelets.papers.shared_pagelets.incremental import PageletShingles
from scrapy_pagelets.papers.shared_pagelets.pagelet_shingles import VALUES

logger = logging.getLogger(__name__)
_LOCK_TIMEOUT: Final = 60.0  # seconds to wait for another crawl's lock, which is held for a fraction of one
FILES: Final = "pagelets-sites-*.sqlite"  # pattern for the names of the files in a folder of stores
UNREADABLE: Final = (TypeError, LookupError, ValueError)  # raised by data that are damaged, or of another version
MAX_ANSWERED: Final = 100_000  # answered requests of a job that are remembered
_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS sites (name TEXT PRIMARY KEY, version INTEGER NOT NULL, learnt BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS answered (job TEXT NOT NULL, fingerprint TEXT NOT NULL, UNIQUE (job, fingerprint));
CREATE TABLE IF NOT EXISTS pages (number INTEGER PRIMARY KEY, key INTEGER NOT NULL UNIQUE, site TEXT NOT NULL,
                                  pagelets BLOB NOT NULL);
CREATE INDEX IF NOT EXISTS by_site ON pages (site, number);
"""
_UPSERT: Final = """
INSERT INTO sites VALUES (?, ?, ?)
ON CONFLICT (name) DO UPDATE SET version = excluded.version, learnt = excluded.learnt
"""
_REFERENCE: Final = (  # a page with an example of everything that is hashed
    b"<html><body class='wide page-4711'><ul id=menu role=navigation><li><a href=/a/index.html?utm_source=x>Caf\xc3\xa9"
    b" 12</a><li class=active><a href=b#c>B</a><li><a href=d>D</a></ul><p>Some text.<p>More "
    b"\xe6\x97\xa5\xe6\x9c\xac</p></body></html>"
)


class MergingStore:
    """Store sites by name: the new pages of each are added to what other processes have written meanwhile. Thread-safe.

    ``failed`` is told what a ``problem`` keeps from being read or written; it stays in memory.
    """

    lasting = True  # whether what is written outlives the process, or is read by others

    def __init__(self, failed: Callable[[str], None], problem: type[Exception]) -> None:
        self._failed = failed
        self._problem = problem
        self._lock = threading.Lock()
        self.versions: WeakKeyDictionary[Site, Any] = WeakKeyDictionary()

    def load(self, site: Site) -> None:
        """Read what is stored about a site since it was read or written."""
        with self._lock, self._faults(f"the data of {site.name} cannot be read"):
            self.versions[site], learnt = self._read(site)
            if learnt is not None:
                site.replace(learnt)
        if self.lasting:
            site.record()

    def save(self, site: Site) -> bool:
        """Write a site, merged with what other processes have learnt about it; returns False if that fails."""
        with self._lock, self._faults(f"the data of {site.name} cannot be written"):
            observations = site.hand_over()
            try:
                self._write(site, observations)
            except BaseException:
                if observations:
                    site.keep(observations)
                raise
            return True
        return False

    def exchange(self, pages: Iterable[PageletShingles], sites: Iterable[str]) -> list[PageletShingles] | None:
        """Write pagelets; return what others have written for the sites since the last call, None if that fails."""
        raise NotImplementedError

    def _read(self, site: Site) -> tuple[Any, SiteCounts | None]:
        """Read version and data of a site; the data are None if they are damaged, or of the known version."""
        raise NotImplementedError

    def _write(self, site: Site, observations: list[Observation]) -> None:
        raise NotImplementedError

    def merge(self, site: Site, observations: list[Observation]) -> Any:
        """Add observations to what others have written since the site was read; return the version of that."""
        version, learnt = self._read(site)
        if learnt is not None:
            learnt.count_new(observations)
            site.replace(learnt)
        return version

    @contextmanager
    def _faults(self, sentence: str) -> Iterator[None]:
        try:
            yield
        except self._problem as error:
            self._failed(f"{sentence}, the crawl goes on with what is in memory: {error}")


class SiteStore(MergingStore):
    """Stores sites by name, pagelets of pages, and answered requests of jobs. Safe for several threads and processes.

    A process that writes its copy of a site adds its new pages to what another one has written meanwhile, in one
    transaction. ``failed`` is told what cannot be written, and stays in memory. ``folder``: of the file, created if it
    is missing; None for a temporary one. ``model``: by which sites are learnt. The name of the file depends on it and
    on the meaning of all hashes; one of another version is left alone, with a warning.
    """

    def __init__(self, folder: Path | None, model: Model, failed: Callable[[str], None] = logger.warning) -> None:
        super().__init__(failed, sqlite3.Error)
        self.lasting = folder is not None
        self._last_pages: dict[str, int] = {}  # number of the last page of each site whose pagelets have been read
        path = folder / f"pagelets-sites-{meaning(model)}.sqlite" if folder else None
        self._db = self._open(path) if path else open_shared("", _LOCK_TIMEOUT, _SCHEMA)

    def _write(self, site: Site, observations: list[Observation]) -> None:
        with writing(self._db):
            version = self.merge(site, observations) + 1
            self._db.execute(_UPSERT, (site.name, version, pack(site.arrays())))
        self.versions[site] = version

    def exchange(self, pages: Iterable[PageletShingles], sites: Iterable[str]) -> list[PageletShingles] | None:
        """Write pagelets; return what others have written for the sites since the last call, None if that fails."""
        rows = [(page.key, page.site, _packed(page)) for page in pages]
        others: list[tuple[int, str, bytes]] = []
        select = "SELECT key, site, pagelets FROM pages WHERE site = ? AND number > ? ORDER BY number"
        with self._lock, self._faults("the pagelets of the last pages cannot be written"):
            with writing(self._db):
                for site in sites:
                    others += self._db.execute(select, (site, self._last_pages.get(site, 0))).fetchall()
                self._db.executemany("INSERT OR IGNORE INTO pages (key, site, pagelets) VALUES (?, ?, ?)", rows)
                (last,) = self._db.execute("SELECT coalesce(max(number), 0) FROM pages").fetchone()
            self._last_pages |= dict.fromkeys(sites, last)
            return [page for row in others if (page := self._unpacked(*row)) is not None]
        return None

    def answered(self, job: str) -> list[str]:
        """Return the fingerprints of the last answered requests of a job, oldest first."""
        select = "SELECT rowid, fingerprint FROM answered WHERE job = ? ORDER BY rowid DESC LIMIT ?"
        rows: list[tuple[int, str]] = []
        with self._lock, self._faults("the answered requests cannot be read"):
            rows = self._db.execute(select, (job, MAX_ANSWERED)).fetchall()
            if len(rows) == MAX_ANSWERED:
                self._db.execute("DELETE FROM answered WHERE job = ? AND rowid < ?", (job, rows[-1][0]))
        return [fingerprint for _, fingerprint in reversed(rows)]

    def add_answered(self, job: str, fingerprints: Iterable[str]) -> None:
        """Store answered requests of a job."""
        rows = [(job, fingerprint) for fingerprint in fingerprints]
        with self._lock, self._faults("the answered requests cannot be written"), writing(self._db):
            self._db.executemany("INSERT OR IGNORE INTO answered VALUES (?, ?)", rows)

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._db.close()

    def _open(self, path: Path) -> sqlite3.Connection:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if not path.exists() and (others := sorted(path.parent.glob(FILES))):
                sentence = "%s is of another version or model: it is left unchanged, and the sites are learnt again"
                logger.warning(sentence, others[-1])
            return open_shared(path, _LOCK_TIMEOUT, _SCHEMA)
        except (OSError, sqlite3.OperationalError) as error:
            self._failed(f"{path} cannot be used, what the crawl learns about sites is lost when it ends: {error}")
            self.lasting = False
            return open_shared("", _LOCK_TIMEOUT, _SCHEMA)
        except sqlite3.DatabaseError as error:
            self._failed(f"{path} cannot be read: it is renamed to *.broken, and the sites are learnt again: {error}")
            set_aside(path)
            return self._open(path)

    def _read(self, site: Site) -> tuple[int, SiteCounts | None]:
        row = self._db.execute("SELECT version FROM sites WHERE name = ?", (site.name,)).fetchone()
        if row is None or row[0] == self.versions.get(site):
            return (row[0] if row else 0), None
        [content] = self._db.execute("SELECT learnt FROM sites WHERE name = ?", (site.name,)).fetchone()
        try:
            return row[0], SiteCounts.from_arrays(site.name, unpack(content))
        except UNREADABLE as error:
            self._failed(f"the stored data of {site.name} cannot be read, the site is learnt again: {error}")
            return row[0], None

    def _unpacked(self, key: int, site: str, content: bytes) -> PageletShingles | None:
        try:
            columns = unpack(content)
            sketches = columns["sketches"].reshape(-1, VALUES)
            rows = columns["rows"].reshape(len(sketches), 2)
            return PageletShingles(key, site, int(columns["body"][0]), rows, sketches, columns["links"])
        except UNREADABLE as error:
            self._failed(f"the pagelets of a page of {site} cannot be read: {error}")
            return None


def read_sites(path: Path) -> Iterator[tuple[str, SiteCounts]]:
    """Yield each site of a store with its counts, which only their model can use; StoreError if the file is none."""
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", timeout=_LOCK_TIMEOUT, uri=True)) as db:
            for name, content in db.execute("SELECT name, learnt FROM sites ORDER BY name"):
                yield name, SiteCounts.from_arrays(name, unpack(content))
    except UNREADABLE:
        raise StoreError(f"{path} cannot be used: it is damaged or of another version, crawl the sites again") from None
    except sqlite3.Error as error:
        raise StoreError(f"{path} cannot be used as a store of sites, which PAGELETS_STORE makes: {error}") from None


def pack(arrays: Mapping[str, Column]) -> bytes:
    """Serialise columns to bytes."""
    file = BytesIO()
    columns: dict[str, Any] = dict(arrays)
    np.savez(file, **columns)
    return file.getvalue()


def _packed(page: PageletShingles) -> bytes:
    columns = {"rows": page.rows, "sketches": page.sketches, "links": page.links}
    return pack(columns | {"body": np.array([page.body], np.uint64)})


def unpack(content: bytes) -> dict[str, Column]:
    """Restore columns from the result of ``pack``. Raise ValueError if the bytes are damaged."""
    try:
        with np.load(BytesIO(content)) as file:
            return {name: file[name] for name in file.files}
    except Exception as error:  # damaged archives raise whatever their damaged headers lead to
        raise ValueError(str(error)) from error


def meaning(model: Model) -> str:
    """Digest of all hashes, outlines and model parameters, 16 hex digits: stores with another one are incompatible."""
    page = Page.parse(_REFERENCE, "http://example.com/b")
    columns: list[Any] = [*_values(keys_of(page)), page.key, body_of(page), sorted(outline(page.nodes))]
    pagelets = PageletShingles.of(page, partition(page.nodes, STRICT_K, strict=True))
    columns += [pagelets.rows, pagelets.sketches, pagelets.links]
    columns += [*_values(model.trees), *_values(model.classifier), sorted(model.lexicon.items())]
    digest = xxh3_64(",".join(SiteCounts("").arrays()).encode())
    for column in columns:
        digest.update(np.ascontiguousarray(column).tobytes())
    return digest.hexdigest()


def _values(one: Any) -> list[Any]:
    """The values of the fields of a dataclass, without what it has computed since."""
    return [getattr(one, field.name) for field in fields(one)]
