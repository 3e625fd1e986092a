"""Versions of the content of pages, in an SQLite file that several crawls may share, and what has changed in them."""

import json
import sqlite3
import threading
import zlib
from collections.abc import Iterator
from contextlib import suppress
from difflib import SequenceMatcher
from itertools import chain
from pathlib import Path
from typing import Final, NamedTuple, Self
from uuid import uuid4

from scrapy_pagelets.base.characters import WORD, lazily
from scrapy_pagelets.base.display import shortened
from scrapy_pagelets.base.errors import DiskError, StoreError
from scrapy_pagelets.base.transactions import open_shared, writing
from scrapy_pagelets.feed.content_words import WordCounts, changed_share, content_hash
from scrapy_pagelets.feed.feed_reader import Feed, Line, content_text
from scrapy_pagelets.page.urls import key

#: Name of the file in a folder. The number goes up with each change of what is stored, or of the hashes.
FILE: Final = "pagelets-versions-1.sqlite"
MOST_PAGES: Final = 1_000_000  # pages that are kept; those that were not crawled for the longest time are dropped
_LOCK_TIMEOUT: Final = 60.0  # seconds to wait for another crawl, which holds the lock for milliseconds
#: ``crawl`` has seen the version; ``before`` are those of the crawl before it, ``known`` is 0 if there is none.
_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS pages (number INTEGER PRIMARY KEY, key INTEGER NOT NULL UNIQUE, crawl TEXT NOT NULL,
                                  hash TEXT, words BLOB, known INTEGER NOT NULL, hash_before TEXT, words_before BLOB);
CREATE TABLE IF NOT EXISTS jobs (job TEXT PRIMARY KEY, crawl TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS validators (key INTEGER PRIMARY KEY, etag TEXT, modified TEXT, links BLOB NOT NULL);
"""
_TRIM: Final = """
DELETE FROM pages WHERE number IN
    (SELECT number FROM pages ORDER BY number LIMIT max(0, (SELECT count(*) FROM pages) - ?))
"""
_VALIDATORS: Final = "SELECT etag, modified, links FROM validators JOIN pages USING (key) WHERE key = ? AND crawl != ?"
_MOST_LINKS: Final = 10_000  # links of a page that are kept at most; a page with more is loaded again each time
_Row = tuple[str | None, bytes | None]
NEW, SAME, CHANGED = "new", "same", "changed"
COLUMNS: Final = ("content_hash", "text", "pagelets")  # fields of a feed; one of the first two is needed
NEEDED: Final = COLUMNS[:2]


class PageVersion(NamedTuple):
    """The content of a page at the time of a crawl."""

    hash: str | None  # see `content_hash`; None for an empty content
    words: WordCounts | None  # how often it has each word; None if a feed has the hash only

    @classmethod
    def of(cls, text: str) -> Self:
        """The version with a content."""
        return cls(content_hash(text), WordCounts.of(text))


class Validators(NamedTuple):
    """By what a server recognises the version of a page that it has sent (RFC 9110, 8.8), and what goes with it."""

    etag: str | None  # the header ``ETag``; None without one
    modified: str | None  # the header ``Last-Modified``; None without one
    links: tuple[str, ...]  # the pages that it links to


class Change(NamedTuple):
    """What has become of a page."""

    kind: str  # ``new``, ``same`` or ``changed``
    share: float | None  # `changed_share` of the words; None if there is nothing to compare with


class VersionStore:
    """The last version of each page, and the one of the crawl before. Safe for several threads and processes.

    A crawl compares with what an earlier one has seen; the runs in a job directory are one crawl until `close` is told
    that it has finished. Without a folder, the file is temporary. StoreError if it is damaged; DiskError if the disk is
    full or not writable.
    """

    def __init__(self, folder: Path | None, job: str = "") -> None:
        self._job = job
        self._lock = threading.Lock()
        try:
            if folder is not None:
                folder.mkdir(parents=True, exist_ok=True)
            self._base = open_shared(folder / FILE if folder else "", _LOCK_TIMEOUT, _SCHEMA)
            self._crawl = uuid4().hex  # the name of this crawl, or that of the job, which another run has begun
            if job:
                self._base.execute("INSERT OR IGNORE INTO jobs VALUES (?, ?)", (job, self._crawl))
                (self._crawl,) = self._base.execute("SELECT crawl FROM jobs WHERE job = ?", (job,)).fetchone()
        except (OSError, sqlite3.OperationalError) as error:
            raise DiskError(str(error)) from error
        except sqlite3.Error as error:
            raise StoreError(str(error)) from error

    def find(self, page: int) -> PageVersion | None:
        """The version of a page that an earlier crawl has seen, None if there is none. ``page``: key of its URL."""
        with self._lock:
            before = self._before(page)
        if before is None:
            return None
        digest, words = before
        with suppress(ValueError, LookupError):  # a damaged row still has its hash
            return PageVersion(digest, None if words is None else WordCounts.from_bytes(words))
        return PageVersion(digest, None)

    def put(self, page: int, version: PageVersion, validators: Validators | None = None) -> None:
        """Store what this crawl has seen. Raise sqlite3.Error if it cannot be written."""
        words = None if version.words is None else version.words.to_bytes()
        with self._lock, writing(self._base):
            self._put(page, version.hash, words)
            self._base.execute("DELETE FROM validators WHERE key = ?", (page,))
            if validators is not None and len(validators.links) <= _MOST_LINKS:
                links = zlib.compress(json.dumps(validators.links).encode())
                row = page, validators.etag, validators.modified, links
                self._base.execute("INSERT INTO validators VALUES (?, ?, ?, ?)", row)

    def _put(self, page: int, digest: str | None, words: bytes | None) -> None:
        before = self._before(page)
        row = page, self._crawl, digest, words, before is not None, *(before or (None, None))
        self._base.execute("DELETE FROM pages WHERE key = ?", (page,))
        self._base.execute("INSERT INTO pages VALUES (NULL, ?, ?, ?, ?, ?, ?, ?)", row)

    def validators(self, page: int) -> Validators | None:
        """The validators of a page that an earlier crawl has seen and this one has not; None if there are none."""
        with self._lock:
            found = self._base.execute(_VALIDATORS, (page, self._crawl)).fetchone()
        if found is None:
            return None
        etag, modified, links = found
        with suppress(ValueError, zlib.error):  # a damaged row: the page is loaded again
            return Validators(etag, modified, tuple(json.loads(zlib.decompress(links))))
        return None

    def confirm(self, page: int) -> None:
        """Note that this crawl has found a page as an earlier one has; sqlite3.Error if that cannot be written."""
        with self._lock, writing(self._base):
            if (before := self._before(page)) is not None:
                self._put(page, *before)

    def put_feed(self, feed: Feed) -> int:
        """Store the last line of each page of a feed; return the number of lines.

        Raises FeedError if the file is no feed or no line has a text, sqlite3.Error if there is no room for them.
        """
        insert = "INSERT OR REPLACE INTO pages (key, crawl, hash, words, known) VALUES (?, '', ?, ?, 0)"
        lines = map(read_line, feed)
        rows = ((*about, None if text is None else WordCounts.of(text).to_bytes()) for *about, text in lines)
        with self._lock, writing(self._base):
            return self._base.executemany(insert, rows).rowcount

    def _before(self, page: int) -> _Row | None:
        select = "SELECT crawl, hash, words, known, hash_before, words_before FROM pages WHERE key = ?"
        found = self._base.execute(select, (page,)).fetchone()
        if found is None:
            return None
        crawl, digest, words, known, *before = found
        if crawl != self._crawl:
            return digest, words
        return (before[0], before[1]) if known else None

    def close(self, *, finished: bool = False) -> None:
        """Close the file, even if sqlite3.Error is raised; the next run of a finished job is another crawl."""
        with self._lock:
            try:
                if finished:
                    self._base.execute("DELETE FROM jobs WHERE job = ?", (self._job,))
                    self._base.execute(_TRIM, (MOST_PAGES,))
                    self._base.execute("DELETE FROM validators WHERE key NOT IN (SELECT key FROM pages)")
            finally:
                self._base.close()


def read_line(line: Line) -> tuple[int, str | None, str | None]:
    """Key and hash of the page in a line of a feed, and its text, None if it has none; old feeds have no hash."""
    text = content_text(line)
    known = any(line.get(name) is not None for name in COLUMNS[1:])
    return key(line["url"]), line.get("content_hash") or content_hash(text), text if known else None


def change(earlier: PageVersion | None, now: PageVersion) -> Change:
    """Compare the content of a page with its earlier version, None if there is none."""
    if earlier is None:
        return Change(NEW, None)
    if earlier.hash == now.hash:
        return Change(SAME, 0.0)
    if earlier.words is None or now.words is None:
        return Change(CHANGED, None)
    return Change(CHANGED, changed_share(earlier.words, now.words))


#: Lines of each version that are compared. With more, the first of those that differ are.
_MOST_LINES: Final = 2_000
_MOST_PIECES: Final = 600  # pieces of two passages that are compared; at worst, time grows with the cube
_ALIKE: Final = 0.4  # passages that have less in common than this are shown one after the other
#: Lines are cut to this length, and what two passages have in common to this length on either side of a change.
_SHOWN: Final = 160
_CONTEXT: Final = 30
_PIECE: Final = lazily(rf"{WORD.pattern}|\s+|.")


def changes(old: str, new: str) -> Iterator[str]:
    r"""Yield the passages that differ: ``- `` what is gone, ``+ `` what is new, ``~ `` what has changed within.

    White space does not count, except that each line is compared by itself.

    >>> old, new = "Opening hours\n\nWe open at nine.", "Opening hours\n\nWe open at ten.\n\nCome in!"
    >>> print("\n".join(changes(old, new)))
    ~ We open at [-nine-]{+ten+}.
    + Come in!
    """
    one, other = _lines(old), _lines(new)
    start, end = _common_ends(one, other)
    one, other = one[start : len(one) - end][:_MOST_LINES], other[start : len(other) - end][:_MOST_LINES]
    for kind, a, b, c, d in SequenceMatcher(None, one, other).get_opcodes():
        if kind != "equal":  # the lines in pairs, as far as there are some
            pairs = min(b - a, d - c)
            yield from chain.from_iterable(map(_line, one[a : a + pairs], other[c : c + pairs]))
            yield from (f"- {shortened(line, _SHOWN)}" for line in one[a + pairs : b])
            yield from (f"+ {shortened(line, _SHOWN)}" for line in other[c + pairs : d])


def _lines(text: str) -> list[str]:
    return [" ".join(line.split()) for line in text.split("\n") if line.strip()]


def _common_ends(one: list[str], other: list[str]) -> tuple[int, int]:
    """Return how many elements two lists have in common at their beginning, and at the end of the rest."""
    shorter = min(len(one), len(other))
    start = next((i for i in range(shorter) if one[i] != other[i]), shorter)
    end = next((i for i in range(shorter - start) if one[-1 - i] != other[-1 - i]), shorter - start)
    return start, end


def parts(one: list[str], other: list[str], most: int) -> list[tuple[list[str], list[str]]]:
    """Divide two lists into parts that are equal, or replace each other: the first and the last ones are equal.

    Nothing is returned if more than ``most`` elements are between these, for which it would take too long.
    """
    start, end = _common_ends(one, other)
    first, last = one[:start], one[len(one) - end :]
    old, new = one[start : len(one) - end], other[start : len(other) - end]
    if len(old) + len(new) > most:
        return []
    found = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    return [(first, first), *((old[a:b], new[c:d]) for _, a, b, c, d in found), (last, last)]


def _line(old: str, new: str) -> Iterator[str]:
    one, other = _PIECE.findall(old), _PIECE.findall(new)
    found = parts(one, other, _MOST_PIECES)
    common = sum(len(gone) for gone, added in found if gone == added)
    if 2 * common >= _ALIKE * (len(one) + len(other)):
        yield f"~ {''.join(_marked([(''.join(gone), ''.join(added)) for gone, added in found]))}"
    else:
        yield f"- {shortened(old, _SHOWN)}"
        yield f"+ {shortened(new, _SHOWN)}"


def _marked(found: list[tuple[str, str]]) -> Iterator[str]:
    """What has changed within a line, and a part of what has not."""
    for number, (gone, added) in enumerate(found):
        if gone == added:
            before = gone[: _CONTEXT if number else 0]
            after = gone[max(0, len(gone) - _CONTEXT) :] if number < len(found) - 1 else ""
            yield gone if len(before) + len(after) >= len(gone) else f"{before}...{after}"
        else:
            yield f"[-{shortened(gone, _SHOWN)}-]" if gone else ""
            yield f"{{+{shortened(added, _SHOWN)}+}}" if added else ""
