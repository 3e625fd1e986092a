"""An SQLite index as a collection: a query reads only the rows that it needs."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from itertools import chain
from typing import Final, NamedTuple

import numpy as np

from scrapy_pagelets.base.arrays import Ints
from scrapy_pagelets.index.interface import TITLE, UNSEARCHED, IndexAway, IndexUnusable
from scrapy_pagelets.index.sqlite import SQLiteIndex, is_temporary
from scrapy_pagelets.index.terms import terms
from scrapy_pagelets.retrieval.collection import Cut, Postings, Segments, Size, count

#: The record in which FTS5 keeps the number of texts and of their tokens.
_AVERAGES: Final = "SELECT block FROM search_data WHERE id = 1"
_POSTINGS: Final = f"""
SELECT page, id, count(*), length, role = '{TITLE}' FROM postings CROSS JOIN pagelets ON id = doc WHERE term = ?
GROUP BY doc ORDER BY doc
"""
_MATCHING: Final = "SELECT rowid FROM search(?)"
#: Read from the index by_page alone, without the texts.
_PAGES: Final = "SELECT id, page FROM pagelets"
_UNSEARCHED: Final = ", ".join(f"'{role}'" for role in UNSEARCHED)
_LENGTHS: Final = f"""
SELECT key, sum(length) FROM json_each(?) CROSS JOIN pagelets ON page = value WHERE role NOT IN ({_UNSEARCHED})
GROUP BY key
"""
_TEXTS: Final = f"""
SELECT key, text FROM json_each(?) CROSS JOIN pagelets ON page = value WHERE role NOT IN ({_UNSEARCHED})
ORDER BY key, number
"""
_FOUND: Final = """
SELECT url, title, near_duplicate_of, number, text FROM json_each(?) CROSS JOIN pagelets ON pagelets.id = value
JOIN pages ON pages.id = page ORDER BY key
"""


class StoredMatches(NamedTuple):
    """A pagelet and its page; ``docs/feed.md`` explains the fields. A title is the pagelet with the number -1."""

    url: str
    title: str
    near_duplicate_of: str | None
    number: int
    text: str


@contextmanager
def stored(path: str) -> Iterator[StoredCollection]:
    """Open an index to read a snapshot of it, unaffected by what is written meanwhile.

    Raises
    ------
    IndexUnusable : if the file is missing, not an index, damaged, or of another version
    IndexAway : if it is locked
    """
    with SQLiteIndex(path, create=False) as index:
        try:
            index.base.execute("BEGIN")
            yield StoredCollection(index.base)
        except sqlite3.Error as error:
            if is_temporary(error):
                raise IndexAway(f"{path} cannot be read now: {error}") from error
            raise IndexUnusable(f"{path} cannot be read ({error}): build the index again.") from error


class StoredCollection:
    """The pages and pagelets of an SQLite index, without the pagelets that are not searched.

    Parameters
    ----------
    base : the database; reads are consistent with each other if a transaction has begun
    """

    def __init__(self, base: sqlite3.Connection) -> None:
        self._base = base
        (pages,) = base.execute("SELECT count(*) FROM pages").fetchone()
        (block,) = base.execute(_AVERAGES).fetchone() or (b"",)
        segments, words, *_ = *_varints(block), 0, 0
        self._size = Size(pages, segments, words)

    @property
    def size(self) -> Size:
        """The numbers of pages, segments and words."""
        return self._size

    def postings(self, wanted: Sequence[str]) -> Postings:
        """Postings of the terms."""
        postings = [
            np.array(self._base.execute(_POSTINGS, (term,)).fetchall(), np.int64).reshape(-1, 5) for term in wanted
        ]
        place = np.repeat(np.arange(len(postings)), [len(rows) for rows in postings])
        page, segment, tf, length, title = np.concatenate([np.zeros((0, 5), np.int64), *postings]).T
        return Postings(place, page, segment, tf, length, title.astype(np.bool_))

    def frequencies(self, wanted: Sequence[str]) -> Ints:
        """(n,) Number of pages that contain each of the terms."""
        return np.array([len(np.unique(self._pages_of(self._matching(term)))) for term in wanted], np.int64)

    def page_lengths(self, pages: Ints) -> Ints:
        """(n,) Number of words of each page."""
        return self._column(_LENGTHS, pages.tolist())

    def segments(self, pages: Ints, cut: Cut) -> Segments:
        """Segments of some pages."""
        texts: list[list[str]] = [[] for _ in pages]
        for place, text in self._base.execute(_TEXTS, (json.dumps(pages.tolist()),)):
            texts[place].append(text)
        cut_pages = [cut(page) for page in texts]
        return Segments(
            np.repeat(pages, [len(page) for page in cut_pages]), *count(map(terms, chain.from_iterable(cut_pages)))
        )

    def found(self, segments: Ints) -> list[StoredMatches]:
        """The pagelets with these numbers in the index, and their pages."""
        return [StoredMatches(*row) for row in self._base.execute(_FOUND, (json.dumps(segments.tolist()),))]

    def _matching(self, term: str) -> Ints:
        """Numbers of the pagelets that contain a term, ascending."""
        rows = self._base.execute(_MATCHING, (f'"{term}"',))
        return np.fromiter((pagelet for (pagelet,) in rows), np.int64)

    def _pages_of(self, pagelets: Ints) -> Ints:
        """Number of the page of each pagelet."""
        numbers, pages = self._owners
        return pages[np.searchsorted(numbers, pagelets)]

    @cached_property
    def _owners(self) -> tuple[Ints, Ints]:
        """The numbers of all pagelets, ascending, and the number of the page of each.

        One look-up here for each match of a frequent term is several times as fast as a join.
        """
        rows = np.fromiter(chain.from_iterable(self._base.execute(_PAGES)), np.int64).reshape(-1, 2)
        return tuple(rows[np.argsort(rows[:, 0])].T)

    def _column(self, query: str, values: Sequence[object]) -> Ints:
        """(n,) The number that a query gives for each value, 0 if there is none."""
        column = np.zeros(len(values), np.int64)
        for place, number in self._base.execute(query, (json.dumps(values),)):
            column[place] = number
        return column


def _varints(block: bytes) -> Iterator[int]:
    """Decode the numbers of a record: seven bits a byte, highest first; only the last byte of a number is below 128."""
    value = 0
    for byte in block:
        value = value << 7 | byte & 127
        if byte < 128:
            yield value
            value = 0
