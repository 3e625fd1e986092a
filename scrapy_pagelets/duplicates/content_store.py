"""What a crawl knows of the contents it has met: SQLite on disk, an index of bands beside it, and a lock."""

from __future__ import annotations

import logging
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from xxhash import xxh3_64_intdigest

from scrapy_pagelets.duplicates.band_index import BandIndex
from scrapy_pagelets.duplicates.shingles import SIZE, Hashes, jaccard, shingles, tokens
from scrapy_pagelets.duplicates.sketch import PERMUTATIONS, SCHEME, SEED, band_keys, minhash
from scrapy_pagelets.duplicates.threshold import Threshold
from scrapy_pagelets.errors import PageletsError

logger = logging.getLogger(__name__)

_VERSION: Final = 1
#: Errors for which the file itself is not to blame: the disk is full, or does not let it be written.
_DISK: Final = ("SQLITE_FULL", "SQLITE_IOERR", "SQLITE_CANTOPEN", "SQLITE_READONLY")
#: Candidates that are compared shingle by shingle: those with the most common bands.
_VERIFIED: Final = 8
#: Sketches that are read at once when a job goes on.
_BLOCK: Final = 4096
_CACHE: Final = "-32768"  # kilobytes
#: ``scope`` is the site if pages are compared with those of their own only, else 0; ``head`` is the first page of the
#: group, ``of`` the page that is named.
_SCHEMA: Final = """
BEGIN;
CREATE TABLE scheme (scheme TEXT);
CREATE TABLE contents (id INTEGER PRIMARY KEY, page INTEGER, site INTEGER, scope INTEGER, sketch BLOB, shingles BLOB);
CREATE TABLE pages (id INTEGER PRIMARY KEY, url TEXT, scope INTEGER, address INTEGER, exact INTEGER, content INTEGER,
                    head INTEGER, of INTEGER, similarity REAL);
CREATE INDEX by_address ON pages (address);
CREATE INDEX by_exact ON pages (exact);
INSERT INTO scheme VALUES ('{}');
COMMIT;
"""


class StoreError(PageletsError, ValueError):
    """Raised for a file that holds contents of another scheme, or none at all; the message says what is the matter."""


class DiskError(StoreError):
    """Raised for a file that the disk does not let us use; what it holds may be fine."""


class Verdict(NamedTuple):
    """What an earlier page says of a page.

    Attributes
    ----------
    url : of the earlier page
    similarity : how much the shingles of the two resemble each other (Jaccard), from the threshold on
    """

    url: str
    similarity: float


@dataclass(frozen=True)
class Document:
    """A text that is to be judged.

    Attributes
    ----------
    url : of its page
    text : the content
    address : hash of the URL under which the page itself says it belongs: its canonical link, without one its own
    site : its name
    """

    url: str
    text: str
    address: int
    site: str


class _Mark(NamedTuple):
    """What a document is found by: URL and hashes."""

    url: str
    address: int
    site: int
    scope: int
    exact: int


class _Resemblance(NamedTuple):
    """How much a text resembles a content, and whether that is enough; the largest is the one to be named."""

    enough: bool
    similarity: float
    content: int  # negative: among equals the first one


class _Found(NamedTuple):
    """Numbers of the first page of a group and of the page to be named, and how much that resembles the text."""

    head: int
    of: int
    similarity: float


class ContentStore:
    """The contents of a crawl. Safe for several threads.

    Parameters
    ----------
    path : the file, made if it is not there; None for a temporary one
    threshold : from which resemblance on texts are near-duplicates
    size : words of a shingle
    within_sites : whether pages are compared only with those of their own site
    failed : is called with a sentence if the disk has no room for the index, which is then kept in memory

    Raises
    ------
    StoreError : if the file has another scheme, or is damaged
    DiskError : if the disk is full, or does not let the file be written

    Examples
    --------
    >>> text = "There was an old man of Thermopylae, who never did anything properly"
    >>> store = ContentStore(None)
    >>> for url, words in (("http://a/", text), ("http://b/", text.upper())):
    ...     verdict, sketch = store.judge(Document(url, words, 0, "site"))
    >>> store.close()
    >>> verdict
    Verdict(url='http://a/', similarity=1.0)
    """

    def __init__(
        self,
        path: Path | None,
        threshold: Threshold | None = None,
        size: int = SIZE,
        *,
        within_sites: bool = False,
        failed: Callable[[str], None] = logger.warning,
    ) -> None:
        self._threshold, self._size, self._within_sites = threshold or Threshold(), size, within_sites
        self._least = self._threshold.within if within_sites else self._threshold.least
        self._lock = threading.Lock()
        try:
            # Without a name the file is a temporary one, most of which SQLite keeps out of memory.
            self._base = sqlite3.connect(path or "", check_same_thread=False, isolation_level=None)
        except sqlite3.Error as error:
            raise _unusable(error) from error
        try:
            self._prepare()
            self._index = BandIndex(self._least, path.parent if path else None, failed)
            self._load()
        except (sqlite3.Error, ValueError) as error:
            self._base.close()
            raise _unusable(error) from error

    def _prepare(self) -> None:
        for pragma, value in (("journal_mode", "WAL"), ("synchronous", "NORMAL"), ("cache_size", _CACHE)):
            self._base.execute(f"PRAGMA {pragma} = {value}")
        scope = "site" if self._within_sites else "all sites"
        ours = f"version {_VERSION}, {SCHEME}, {PERMUTATIONS} values, seed {SEED}, {self._size} words, {scope}"
        if not self._base.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            self._base.executescript(_SCHEMA.format(ours))
        (theirs,) = self._base.execute("SELECT scheme FROM scheme").fetchone()
        if theirs != ours:
            raise ValueError(f"its scheme is {theirs!r}, this crawl's is {ours!r}")

    def _load(self) -> None:
        """Make the index of the sketches in the file."""
        with closing(self._base.execute("SELECT scope, sketch FROM contents ORDER BY id")) as rows:
            while block := rows.fetchmany(_BLOCK):
                sketches = np.frombuffer(b"".join(sketch for _, sketch in block), np.uint32)
                scopes = np.array([scope for scope, _ in block])
                self._index.add(band_keys(sketches.reshape(-1, PERMUTATIONS), self._least, scopes))

    def judge(self, document: Document) -> tuple[Verdict | None, Hashes | None]:
        """Whether such a text was met before, and its sketch, (128,); from now on the text is known.

        The verdict names the first page of the group of near-duplicates. Where that one does not resemble the text
        enough, it names the page of the group that does. It is None for a text that is new. A text of fewer words than
        a shingle has no sketch and is not judged. The same text from the same URL gets the same verdict again.
        """
        token = tokens(document.text)
        if len(token) < self._size:
            return None, None
        exact = xxh3_64_intdigest(token.tobytes()) >> 1
        site = xxh3_64_intdigest(document.site.encode()) >> 1
        mark = _Mark(document.url, document.address, site, site if self._within_sites else 0, exact)
        with self._lock:
            if (known := self._exact(mark)) is not None:
                return known
        shingle = shingles(token, self._size)
        sketch = minhash(shingle)
        with self._lock:  # another thread may have met the same text in the meantime
            return self._exact(mark) or (self._near(mark, shingle, sketch), sketch)

    def _exact(self, mark: _Mark) -> tuple[Verdict | None, Hashes] | None:
        """The answer to a text whose words were met before, in the same order."""
        query = "SELECT id, content, head, of, similarity FROM pages WHERE exact = ? AND scope = ?"
        first = self._base.execute(f"{query} ORDER BY id LIMIT 1", (mark.exact, mark.scope)).fetchone()
        if first is None:
            return None
        page, content, head, of, similarity = first
        again = self._base.execute(f"{query} AND url = ? LIMIT 1", (mark.exact, mark.scope, mark.url)).fetchone()
        if again is None:
            of, similarity = (page, 1.0) if of is None else (of, similarity)
            self._insert(mark, content, _Found(head, of, similarity))
        else:
            of, similarity = again[-2:]
        (sketch,) = self._base.execute("SELECT sketch FROM contents WHERE id = ?", (content,)).fetchone()
        return self._verdict(of, similarity), np.frombuffer(sketch, np.uint32)

    def _near(self, mark: _Mark, shingle: Hashes, sketch: Hashes) -> Verdict | None:
        """The verdict on a text whose words were not met before."""
        keys = band_keys(sketch[None], self._least, mark.scope)
        found = self._alike(mark, shingle, self._canonical(mark))
        found = found or self._alike(mark, shingle, self._index.query(keys)[1][:_VERIFIED].tolist())
        content = len(self._index)
        with self._transaction():
            page = self._insert(mark, content, found)
            row = content, page, mark.site, mark.scope, sketch.tobytes(), shingle.tobytes()
            self._base.execute("INSERT INTO contents VALUES (?, ?, ?, ?, ?, ?)", row)
        self._index.add(keys)
        return self._verdict(found.of, found.similarity) if found else None

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._base.execute("BEGIN")
        try:
            yield
            self._base.execute("COMMIT")
        except BaseException:
            if self._base.in_transaction:  # a full disk has ended it
                self._base.execute("ROLLBACK")
            raise

    def _canonical(self, mark: _Mark) -> list[int]:
        """The content of the first page under the same address: many a site gives one address to all of its pages."""
        query = "SELECT content FROM pages WHERE address = ? AND scope = ? ORDER BY id LIMIT 1"
        return [content for (content,) in self._base.execute(query, (mark.address, mark.scope))]

    def _alike(self, mark: _Mark, shingle: Hashes, contents: list[int]) -> _Found | None:
        """The group to which a text belongs, by the content that resembles it most, the first one among equals."""
        best = max((self._resemblance(mark, shingle, content) for content in contents), default=None)
        if best is None or not best.enough:
            return None
        query = "SELECT id, head FROM pages WHERE id = (SELECT page FROM contents WHERE id = ?)"
        of, head = self._base.execute(query, (-best.content,)).fetchone()
        url, content = self._base.execute("SELECT url, content FROM pages WHERE id = ?", (head,)).fetchone()
        if url == mark.url:
            return None  # the page itself, which has changed since
        if of != head and (to_head := self._resemblance(mark, shingle, content)).enough:
            of, best = head, to_head
        return _Found(head, of, best.similarity)

    def _resemblance(self, mark: _Mark, shingle: Hashes, content: int) -> _Resemblance:
        site, blob = self._base.execute("SELECT site, shingles FROM contents WHERE id = ?", (content,)).fetchone()
        similarity = jaccard(shingle, np.frombuffer(blob, np.uint32))
        return _Resemblance(similarity >= self._threshold.between(mark.site, site), similarity, -content)

    def _insert(self, mark: _Mark, content: int, found: _Found | None) -> int:
        """Write a page down; returns its number."""
        (page,) = self._base.execute("SELECT coalesce(max(id), -1) + 1 FROM pages").fetchone()
        row = page, mark.url, mark.scope, mark.address, mark.exact, content, *(found or (page, None, None))
        self._base.execute("INSERT INTO pages VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
        return int(page)

    def _verdict(self, page: int | None, similarity: float) -> Verdict | None:
        if page is None:
            return None
        (url,) = self._base.execute("SELECT url FROM pages WHERE id = ?", (page,)).fetchone()
        return Verdict(url, similarity)

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._base.close()


def _unusable(error: Exception) -> StoreError:
    kind = DiskError if getattr(error, "sqlite_errorname", "").startswith(_DISK) else StoreError
    return kind(f"it cannot be used: {error}")
