"""The store of the contents that a crawl has seen: an SQLite file and an index of bands."""

import json
import logging
import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple, Self

import numpy as np
from xxhash import xxh3_64_intdigest

from scrapy_pagelets.base.arrays import Floats
from scrapy_pagelets.base.errors import DiskError, StoreError
from scrapy_pagelets.base.transactions import open_shared, writing
from scrapy_pagelets.duplicates import shingles
from scrapy_pagelets.duplicates.band_index import BandIndex
from scrapy_pagelets.duplicates.shingles import SIZE, Hashes, Weights
from scrapy_pagelets.duplicates.sketch import PERMUTATIONS, SCHEME, SEED, Threshold, band_keys, minhash
from scrapy_pagelets.page import urls

logger = logging.getLogger(__name__)
_VERSION: Final = 2
#: Errors of the disk, not of the file: it is full or not writable.
_DISK: Final = ("SQLITE_FULL", "SQLITE_IOERR", "SQLITE_CANTOPEN", "SQLITE_READONLY")
_PATIENCE: Final = 5.0  # seconds to wait for another process, which a job should not have
_VERIFIED: Final = 8  # number of candidates that are verified by their shingles: those with the most common bands
_BLOCK: Final = 4096  # sketches that are read at once when a job is continued
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


class Verdict(NamedTuple):
    """The earlier page of which a page is a near-duplicate."""

    url: str
    similarity: float  # the two pages' Jaccard of the shingles, of two sites weighted; at least the threshold


@dataclass(frozen=True)
class PageText:
    """The text of a page, to compare with that of earlier ones."""

    url: str
    text: str
    address: int  # hash of the canonical URL of the page; without a canonical link, of its own URL
    site: str
    #: (w,) for each word, 0 to 1, how much it counts in comparisons with other sites; None if all count the same
    weights: Floats | None = None


class Prepared(NamedTuple):
    """A text with everything that is computed of it alone; it can be sent to other processes."""

    #: url, address: as in `PageText`
    url: str
    address: int
    #: site, scope, exact: hashes of the site; of the site if pages are compared only within sites, else 0; of all words
    site: int
    scope: int
    exact: int
    shingles: Hashes  # see `shingles.shingles`
    weights: Weights | None  # of the shingles; None if all are equal
    sketch: Hashes  # (128,)

    def packed(self) -> bytes:
        """Serialise to bytes: a line of JSON, and the columns."""
        *key, hashes, weights, sketch = self
        columns = hashes.tobytes() + sketch.tobytes() + (b"" if weights is None else weights.tobytes())
        return json.dumps([*key, len(hashes), xxh3_64_intdigest(columns)]).encode() + b"\n" + columns

    @classmethod
    def unpacked(cls, content: bytes) -> Self:
        """Restore a prepared text from the result of ``packed``; anything else raises some exception."""
        head, _, columns = content.partition(b"\n")
        url, *numbers, size, digest = json.loads(head)
        if xxh3_64_intdigest(columns) != digest:
            raise ValueError("it is cut or changed")
        url.encode()  # a string that can be stored
        address, site, scope, exact = np.array(numbers, np.int64, ndmin=1).tolist()
        end = size * 4 + PERMUTATIONS * 4
        hashes = np.frombuffer(columns[: size * 4], np.uint32)
        sketch = np.frombuffer(columns[size * 4 : end], np.uint32)
        weights = np.frombuffer(columns[end:], np.uint8)
        if (len(hashes), len(sketch)) != (size, PERMUTATIONS) or len(weights) not in (0, size):
            raise ValueError("its columns have other lengths")
        if not size or (hashes[1:] <= hashes[:-1]).any():
            raise ValueError("its shingles are none of a text")
        return cls(url, address, site, scope, exact, hashes, weights if len(weights) else None, sketch)


def prepare(page: PageText, *, within_sites: bool = False) -> Prepared | None:
    """Compute what `ContentStore.enter` needs; None for a text with fewer words than a shingle.

    ``within_sites``: compare pages of one site only. Raises ValueError if there is not one weight for each word.
    """
    token, weight, weights = shingles.word_hashes(page.text), page.weights, None
    if weight is not None and len(weight) != len(token):
        raise ValueError(f"there are {len(weight)} weights for {len(token)} words")
    if len(token) < SIZE:
        return None
    if weight is None or within_sites:
        hashes = shingles.shingles(token)
    else:
        hashes, weights = shingles.weighted_shingles(token, weight)
    known = page.site.encode("utf-8", "replace"), token.tobytes()
    site, exact = (xxh3_64_intdigest(one) >> 1 for one in known)
    scope = site if within_sites else 0
    return Prepared(page.url, page.address, site, scope, exact, hashes, weights, minhash(hashes))


class _Group(NamedTuple):
    """Numbers of the first page of a group and of the page that the verdict names, and the resemblance to that page."""

    head: int
    of: int
    similarity: float


class ContentStore:
    """The contents that a crawl has seen. Thread-safe.

    ``path``: the file, created if it does not exist; None for a temporary one. ``within_sites``: compare pages of one
    site only. ``failed`` is called with a sentence if the index stays in memory because the disk has no room for it.
    Raises StoreError if the file is damaged or of another scheme; DiskError if the disk is full or not writable.
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
            self._base = open_shared(path or "", _PATIENCE)
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
        self._base.execute(f"PRAGMA cache_size = {_CACHE}")
        scope = "site" if self._within_sites else "all sites"
        ours = f"version {_VERSION}, {SCHEME}, {PERMUTATIONS} values, seed {SEED}, {SIZE} words, {scope}"
        if not self._base.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            self._base.executescript(_SCHEMA.format(ours))
        (theirs,) = self._base.execute("SELECT scheme FROM scheme").fetchone()
        if theirs != ours:
            raise ValueError(f"its scheme is {theirs!r}, that of this crawl is {ours!r}")

    def _load(self) -> None:
        with closing(self._base.execute("SELECT scope, sketch FROM contents ORDER BY id")) as rows:
            while block := rows.fetchmany(_BLOCK):
                sketches = np.frombuffer(b"".join(sketch for _, sketch in block), np.uint32)
                scopes = np.array([scope for scope, _ in block])
                self._index.add(band_keys(sketches.reshape(-1, PERMUTATIONS), self._least, scopes))

    def add(self, page: PageText) -> tuple[Verdict | None, Hashes | None]:
        """Compare a text with earlier ones and add it; return the verdict and the sketch, (128,).

        The verdict names the first page of the group of near-duplicates or, below the threshold, the page of the group
        that is most alike. It is None for a new text, and for a page that another page of the group declares as its
        canonical one: it takes the place of the first page. A text shorter than a shingle has neither. The same text
        from the same URL gets the same verdict again. Raise ValueError if there is not one weight for each word.
        """
        prepared = self.prepare(page)
        return (None, None) if prepared is None else self.enter(prepared)

    def prepare(self, page: PageText) -> Prepared | None:
        """Compute everything that `enter` needs; None for a text with fewer words than a shingle."""
        return prepare(page, within_sites=self._within_sites)

    def enter(self, prepared: Prepared) -> tuple[Verdict | None, Hashes]:
        """Compare a prepared text with earlier ones and add it, see `add`."""
        with self._lock:
            return self._exact(prepared) or (self._near(prepared), prepared.sketch)

    def _exact(self, key: Prepared) -> tuple[Verdict | None, Hashes] | None:
        """The result for a text whose words were seen before in the same order."""
        query = "SELECT id, content, head, of, similarity FROM pages WHERE exact = ? AND scope = ?"
        first = self._base.execute(f"{query} ORDER BY id LIMIT 1", (key.exact, key.scope)).fetchone()
        if first is None:
            return None
        page, content, head, of, similarity = first
        again = self._base.execute(f"{query} AND url = ? LIMIT 1", (key.exact, key.scope, key.url)).fetchone()
        if again is None:
            of, similarity = (page, 1.0) if of is None else (of, similarity)
            with writing(self._base):
                _, (of, similarity) = self._insert(key, content, _Group(head, of, similarity))
        else:
            of, similarity = again[-2:]
        (sketch,) = self._base.execute("SELECT sketch FROM contents WHERE id = ?", (content,)).fetchone()
        return self._verdict(of, similarity), np.frombuffer(sketch, np.uint32)

    def _near(self, key: Prepared) -> Verdict | None:
        """The verdict on a text that is not an exact copy of an earlier one."""
        keys = band_keys(key.sketch[None], self._least, key.scope)
        # The first page with the same address comes first; some sites give the same address to all pages.
        query = "SELECT content FROM pages WHERE address = ? AND scope = ? ORDER BY id LIMIT 1"
        canonical = [content for (content,) in self._base.execute(query, (key.address, key.scope))]
        group = self._group_among(key, canonical)
        group = group or self._group_among(key, self._index.query(keys)[1][:_VERIFIED].tolist())
        content = len(self._index)
        with writing(self._base):
            page, named = self._insert(key, content, group)
            weights = None if key.weights is None else key.weights.tobytes()
            row = content, page, key.site, key.scope, key.sketch.tobytes(), key.shingles.tobytes(), weights
            self._base.execute("INSERT INTO contents VALUES (?, ?, ?, ?, ?, ?, ?)", row)
        self._index.add(keys)
        return self._verdict(*named)

    def _group_among(self, key: Prepared, contents: list[int]) -> _Group | None:
        """The group of the content that resembles a text most, the first one among equals; None if none is similar."""
        best = max((self._resemblance(key, content) for content in contents), default=None)
        if best is None or not best[0]:
            return None
        _, similarity, content = best
        query = "SELECT id, head FROM pages WHERE id = (SELECT page FROM contents WHERE id = ?)"
        of, head = self._base.execute(query, (-content,)).fetchone()
        url, content = self._base.execute("SELECT url, content FROM pages WHERE id = ?", (head,)).fetchone()
        if url == key.url:
            return None  # an earlier version of the page itself
        if of != head and (to_head := self._resemblance(key, content))[0]:
            of, similarity = head, to_head[1]
        return _Group(head, of, similarity)

    def _resemblance(self, key: Prepared, content: int) -> tuple[bool, float, int]:
        """Whether a text resembles a content enough, and how much; and its number, negative: of equals, the first is
        the largest."""
        query = "SELECT site, shingles, weights FROM contents WHERE id = ?"
        site, hashes, weights = self._base.execute(query, (content,)).fetchone()
        other = np.frombuffer(hashes, np.uint32), None if weights is None else np.frombuffer(weights, np.uint8)
        similarity = shingles.resemblance((key.shingles, key.weights), other, one_site=key.site == site)
        return similarity >= self._threshold.between(key.site, site), similarity, -content

    def _insert(self, key: Prepared, content: int, group: _Group | None) -> tuple[int, tuple[int | None, float | None]]:
        """Insert a page; return its number, and the page that its verdict names with the resemblance to it."""
        (page,) = self._base.execute("SELECT coalesce(max(id), -1) + 1 FROM pages").fetchone()
        leads = group is not None and self._is_canonical(key, group.head)
        head, of, similarity = (page, None, None) if leads or group is None else group
        row = page, key.url, key.scope, key.address, key.exact, content, head, of, similarity
        self._base.execute("INSERT INTO pages VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
        if group is not None and leads:
            update = "UPDATE pages SET of = ?, similarity = ? WHERE id = ?"
            self._base.execute(update, (page, group.similarity, group.of))
            self._base.execute("UPDATE pages SET head = ? WHERE head = ?", (page, group.head))
        return int(page), (of, similarity)

    def _is_canonical(self, key: Prepared, head: int) -> bool:
        """Whether a page of a group declares this one as its canonical page. If the group's first page is of another
        site, only its own word counts: two copies elsewhere that declare each other say nothing about it."""
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
