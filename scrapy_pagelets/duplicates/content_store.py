"""The store of the contents that a crawl has seen: an SQLite file and an index of bands."""

from __future__ import annotations

import json
import logging
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple, Self

import numpy as np
from xxhash import xxh3_64_intdigest

from scrapy_pagelets.base.arrays import Floats
from scrapy_pagelets.base.errors import PageletsError
from scrapy_pagelets.duplicates.band_index import BandIndex
from scrapy_pagelets.duplicates.shingles import (
    SIZE,
    Hashes,
    Tokens,
    Weights,
    jaccard,
    shingles,
    weighted_jaccard,
    weighted_shingles,
    word_hashes,
)
from scrapy_pagelets.duplicates.sketch import PERMUTATIONS, SCHEME, SEED, band_keys, minhash
from scrapy_pagelets.duplicates.threshold import Threshold
from scrapy_pagelets.page import urls

logger = logging.getLogger(__name__)
_VERSION: Final = 2
#: Errors of the disk, not of the file: it is full or not writable.
_DISK: Final = ("SQLITE_FULL", "SQLITE_IOERR", "SQLITE_CANTOPEN", "SQLITE_READONLY")
#: Number of candidates that are verified by their shingles: those with the most common bands.
_VERIFIED: Final = 8
#: Sketches that are read at once when a job is continued.
_BLOCK: Final = 4096
#: SQLite's cache_size: a negative number of KiB. The cache is small, because each transaction visits all of its changed
#: pages if the file is a temporary one.
_CACHE: Final = "-2048"
#: ``scope`` is the site if pages are compared only within sites, else 0; ``head`` is the first page of the group of
#: near-duplicates, ``of`` the page that the verdict names. ``weights`` are null if all shingles count the same.
_SCHEMA: Final = """
BEGIN;
CREATE TABLE scheme (scheme TEXT);
CREATE TABLE contents (id INTEGER PRIMARY KEY, page INTEGER, site INTEGER, scope INTEGER, sketch BLOB, shingles BLOB,
                       weights BLOB);
CREATE TABLE pages (id INTEGER PRIMARY KEY, url TEXT, scope INTEGER, address INTEGER, exact INTEGER, content INTEGER,
                    head INTEGER, of INTEGER, similarity REAL);
CREATE INDEX by_address ON pages (address);
CREATE INDEX by_exact ON pages (exact);
INSERT INTO scheme VALUES ('{}');
COMMIT;
"""


class StoreError(PageletsError, ValueError):
    """Raised for a file of another scheme, or one that is damaged; the message says what is wrong."""


class DiskError(StoreError):
    """Raised if the disk is full or not writable; the file itself may be intact."""


class Verdict(NamedTuple):
    """The earlier page of which a page is a near-duplicate.

    Attributes
    ----------
    url : URL of the earlier page
    similarity : resemblance (Jaccard of the shingles; of two sites, weighted) of the two pages, at least the threshold
    """

    url: str
    similarity: float


@dataclass(frozen=True)
class Document:
    """A text to compare with earlier ones.

    Attributes
    ----------
    url : URL of its page
    text : the content
    address : hash of the canonical URL of the page; without a canonical link, of its own URL
    site : name of its site
    weights : (w,) for each word, 0 to 1, how much it counts in comparisons with other sites; None if all count the same
    """

    url: str
    text: str
    address: int
    site: str
    weights: Floats | None = None


class _DocumentKey(NamedTuple):
    """The URL of a document and the hashes by which it is looked up."""

    url: str
    address: int
    site: int
    scope: int
    exact: int


class _Content(NamedTuple):
    """The shingles of a text, and their weights unless all are equal."""

    shingles: Hashes
    weights: Weights | None

    def resemblance(self, other: _Content, *, one_site: bool) -> float:
        """The part of two contents that they have in common; weights count if the sites differ.

        What is left of the template in a content is the same on all pages of its site, and differs between sites.
        """
        if one_site or (self.weights is None and other.weights is None):
            return jaccard(self.shingles, other.shingles)
        return weighted_jaccard(self.shingles, self._weighed(), other.shingles, other._weighed())

    def _weighed(self) -> Weights:
        return np.full(len(self.shingles), 255, np.uint8) if self.weights is None else self.weights


class Prepared(NamedTuple):
    """A document with everything that is computed of it alone; it can be sent to other processes.

    Attributes
    ----------
    key : its URL and the hashes by which it is looked up
    content : its shingles and their weights
    sketch : (128,)
    """

    key: _DocumentKey
    content: _Content
    sketch: Hashes

    def packed(self) -> bytes:
        """Serialise to bytes: a line of JSON, and the columns."""
        hashes, weights = self.content
        columns = hashes.tobytes() + self.sketch.tobytes() + (b"" if weights is None else weights.tobytes())
        return json.dumps([*self.key, len(hashes), xxh3_64_intdigest(columns)]).encode() + b"\n" + columns

    @classmethod
    def unpacked(cls, content: bytes) -> Self:
        """Restore a document from the result of ``packed``; anything else raises some exception."""
        head, _, columns = content.partition(b"\n")
        url, *numbers, size, digest = json.loads(head)
        if xxh3_64_intdigest(columns) != digest:
            raise ValueError("it is cut or changed")
        url.encode()  # a string that can be stored
        key = _DocumentKey(url, *np.array(numbers, np.int64, ndmin=1).tolist())
        end = size * 4 + PERMUTATIONS * 4
        hashes = np.frombuffer(columns[: size * 4], np.uint32)
        sketch = np.frombuffer(columns[size * 4 : end], np.uint32)
        weights = np.frombuffer(columns[end:], np.uint8)
        if (len(hashes), len(sketch)) != (size, PERMUTATIONS) or len(weights) not in (0, size):
            raise ValueError("its columns have other lengths")
        if not size or (hashes[1:] <= hashes[:-1]).any():
            raise ValueError("its shingles are none of a text")
        return cls(key, _Content(hashes, weights if len(weights) else None), sketch)


class _Resemblance(NamedTuple):
    """How much a text resembles a content, and whether that reaches the threshold; the best one is the largest."""

    enough: bool
    similarity: float
    content: int  # negative, so that the first of equals is the largest


class _Group(NamedTuple):
    """Numbers of the first page of a group and of the page that the verdict names, and the resemblance to that page."""

    head: int
    of: int
    similarity: float


class ContentStore:
    """The contents that a crawl has seen. Thread-safe.

    Parameters
    ----------
    path : the file, created if it does not exist; None for a temporary one
    threshold : least resemblances of near-duplicates
    within_sites : whether pages are compared only with those of their own site
    failed : called with a sentence if the disk has no room for the index, which then stays in memory

    Raises
    ------
    StoreError : if the file has another scheme, or is damaged
    DiskError : if the disk is full or not writable

    Examples
    --------
    >>> text = "There was an old man of Thermopylae, who never did anything properly"
    >>> store = ContentStore(None)
    >>> for url, words in (("http://a/", text), ("http://b/", text.upper())):
    ...     verdict, sketch = store.add(Document(url, words, 0, "site"))
    >>> store.close()
    >>> verdict
    Verdict(url='http://a/', similarity=1.0)
    """

    def __init__(
        self,
        path: Path | None,
        threshold: Threshold | None = None,
        *,
        within_sites: bool = False,
        failed: Callable[[str], None] = logger.warning,
    ) -> None:
        self._threshold, self._within_sites = threshold or Threshold(), within_sites
        self._least = self._threshold.within if within_sites else self._threshold.least
        self._lock = threading.Lock()
        try:
            # With an empty name SQLite uses a temporary file on disk.
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
        ours = f"version {_VERSION}, {SCHEME}, {PERMUTATIONS} values, seed {SEED}, {SIZE} words, {scope}"
        if not self._base.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            self._base.executescript(_SCHEMA.format(ours))
        (theirs,) = self._base.execute("SELECT scheme FROM scheme").fetchone()
        if theirs != ours:
            raise ValueError(f"its scheme is {theirs!r}, that of this crawl is {ours!r}")

    def _load(self) -> None:
        """Build the index from the sketches in the file."""
        with closing(self._base.execute("SELECT scope, sketch FROM contents ORDER BY id")) as rows:
            while block := rows.fetchmany(_BLOCK):
                sketches = np.frombuffer(b"".join(sketch for _, sketch in block), np.uint32)
                scopes = np.array([scope for scope, _ in block])
                self._index.add(band_keys(sketches.reshape(-1, PERMUTATIONS), self._least, scopes))

    def add(self, document: Document) -> tuple[Verdict | None, Hashes | None]:
        """Compare a text with earlier ones and add it; return the verdict and the sketch, (128,).

        The verdict names the first page of the group of near-duplicates or, if the resemblance to that page is below
        the threshold, the page of the group that is most alike. It is None for a new text, and for a page that another
        page of the group declares as its canonical one: it takes the place of the first page. A text with fewer words
        than a shingle has neither verdict nor sketch. The same text from the same URL gets the same verdict again.

        Raises
        ------
        ValueError : if there is not one weight for each word
        """
        if (read := self._read(document)) is None:
            return None, None
        key, token = read
        with self._lock:
            if (known := self._exact(key)) is not None:
                return known
        return self.enter(self._prepared(key, token, document))

    def prepare(self, document: Document) -> Prepared | None:
        """Compute everything that `enter` needs; None for a text with fewer words than a shingle."""
        read = self._read(document)
        return None if read is None else self._prepared(*read, document)

    def enter(self, prepared: Prepared) -> tuple[Verdict | None, Hashes]:
        """Compare a prepared text with earlier ones and add it, see `add`."""
        key, made, sketch = prepared
        with self._lock:  # another thread may have added the same text in the meantime
            return self._exact(key) or (self._near(key, made, sketch), sketch)

    def _read(self, document: Document) -> tuple[_DocumentKey, Tokens] | None:
        """The key of a document, and its words; None if they are fewer than those of a shingle."""
        token = word_hashes(document.text)
        if document.weights is not None and len(document.weights) != len(token):
            raise ValueError(f"there are {len(document.weights)} weights for {len(token)} words")
        if len(token) < SIZE:
            return None
        exact = xxh3_64_intdigest(token.tobytes()) >> 1
        site = xxh3_64_intdigest(document.site.encode()) >> 1
        return _DocumentKey(document.url, document.address, site, site if self._within_sites else 0, exact), token

    def _prepared(self, key: _DocumentKey, token: Tokens, document: Document) -> Prepared:
        made = self._content(token, document.weights)
        return Prepared(key, made, minhash(made.shingles))

    def _content(self, token: Tokens, weights: Floats | None) -> _Content:
        if weights is None or self._within_sites:
            return _Content(shingles(token), None)
        return _Content(*weighted_shingles(token, weights))

    def _exact(self, key: _DocumentKey) -> tuple[Verdict | None, Hashes] | None:
        """The result for a text whose words were seen before in the same order."""
        query = "SELECT id, content, head, of, similarity FROM pages WHERE exact = ? AND scope = ?"
        first = self._base.execute(f"{query} ORDER BY id LIMIT 1", (key.exact, key.scope)).fetchone()
        if first is None:
            return None
        page, content, head, of, similarity = first
        again = self._base.execute(f"{query} AND url = ? LIMIT 1", (key.exact, key.scope, key.url)).fetchone()
        if again is None:
            of, similarity = (page, 1.0) if of is None else (of, similarity)
            with self._transaction():
                _, (of, similarity) = self._insert(key, content, _Group(head, of, similarity))
        else:
            of, similarity = again[-2:]
        (sketch,) = self._base.execute("SELECT sketch FROM contents WHERE id = ?", (content,)).fetchone()
        return self._verdict(of, similarity), np.frombuffer(sketch, np.uint32)

    def _near(self, key: _DocumentKey, made: _Content, sketch: Hashes) -> Verdict | None:
        """The verdict on a text that is not an exact copy of an earlier one."""
        keys = band_keys(sketch[None], self._least, key.scope)
        group = self._group_among(key, made, self._canonical(key))
        group = group or self._group_among(key, made, self._index.query(keys)[1][:_VERIFIED].tolist())
        content = len(self._index)
        with self._transaction():
            page, named = self._insert(key, content, group)
            weights = None if made.weights is None else made.weights.tobytes()
            row = content, page, key.site, key.scope, sketch.tobytes(), made.shingles.tobytes(), weights
            self._base.execute("INSERT INTO contents VALUES (?, ?, ?, ?, ?, ?, ?)", row)
        self._index.add(keys)
        return self._verdict(*named)

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._base.execute("BEGIN")
        try:
            yield
            self._base.execute("COMMIT")
        except BaseException:
            if self._base.in_transaction:  # SQLite ends the transaction itself if the disk is full
                self._base.execute("ROLLBACK")
            raise

    def _canonical(self, key: _DocumentKey) -> list[int]:
        """The content of the first page with the same address; some sites give the same address to all pages."""
        query = "SELECT content FROM pages WHERE address = ? AND scope = ? ORDER BY id LIMIT 1"
        return [content for (content,) in self._base.execute(query, (key.address, key.scope))]

    def _group_among(self, key: _DocumentKey, made: _Content, contents: list[int]) -> _Group | None:
        """The group of the content that resembles a text most, the first one among equals; None if none is similar."""
        best = max((self._resemblance(key, made, content) for content in contents), default=None)
        if best is None or not best.enough:
            return None
        query = "SELECT id, head FROM pages WHERE id = (SELECT page FROM contents WHERE id = ?)"
        of, head = self._base.execute(query, (-best.content,)).fetchone()
        url, content = self._base.execute("SELECT url, content FROM pages WHERE id = ?", (head,)).fetchone()
        if url == key.url:
            return None  # an earlier version of the page itself
        if of != head and (to_head := self._resemblance(key, made, content)).enough:
            of, best = head, to_head
        return _Group(head, of, best.similarity)

    def _resemblance(self, key: _DocumentKey, made: _Content, content: int) -> _Resemblance:
        query = "SELECT site, shingles, weights FROM contents WHERE id = ?"
        site, hashes, weights = self._base.execute(query, (content,)).fetchone()
        other = _Content(
            np.frombuffer(hashes, np.uint32), None if weights is None else np.frombuffer(weights, np.uint8)
        )
        similarity = made.resemblance(other, one_site=key.site == site)
        return _Resemblance(similarity >= self._threshold.between(key.site, site), similarity, -content)

    def _insert(
        self, key: _DocumentKey, content: int, group: _Group | None
    ) -> tuple[int, tuple[int | None, float | None]]:
        """Insert a page; return its number, and the page that its verdict names with the resemblance to it."""
        (page,) = self._base.execute("SELECT coalesce(max(id), -1) + 1 FROM pages").fetchone()
        leads = group is not None and self._is_canonical(key, group.head)
        head, of, similarity = (page, None, None) if leads or group is None else group
        row = page, key.url, key.scope, key.address, key.exact, content, head, of, similarity
        self._base.execute("INSERT INTO pages VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
        if group is not None and leads:
            self._base.execute(
                "UPDATE pages SET of = ?, similarity = ? WHERE id = ?", (page, group.similarity, group.of)
            )
            self._base.execute("UPDATE pages SET head = ? WHERE head = ?", (page, group.head))
        return int(page), (of, similarity)

    def _is_canonical(self, key: _DocumentKey, head: int) -> bool:
        """Whether a page of a group declares this one as its canonical page.

        If the first page of the group is of another site, only its own word counts: two copies elsewhere that declare
        each other say nothing about it.
        """
        own = urls.key(key.url)
        if key.address != own:
            return False
        query = "SELECT id, url FROM pages WHERE address = ? AND head = ?"
        declaring = [page for page, url in self._base.execute(query, (own, head)) if urls.key(url) != own]
        (first,) = self._base.execute("SELECT url FROM pages WHERE id = ?", (head,)).fetchone()
        return head in declaring or (bool(declaring) and urls.site_of(first) == urls.site_of(key.url))

    def _verdict(self, page: int | None, similarity: float | None) -> Verdict | None:
        if page is None or similarity is None:
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
