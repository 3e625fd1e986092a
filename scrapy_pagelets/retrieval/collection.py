"""The collection that is searched, an index: pages, each a group of segments, with the postings of terms."""

import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain, islice, pairwise
from typing import Any, Final, NamedTuple

import numpy as np

from scrapy_pagelets.base.arrays import Bools, Floats, Ints
from scrapy_pagelets.base.characters import WORD, lazily
from scrapy_pagelets.index.interface import TITLE, UNSEARCHED, Match, terms

Cut = Callable[[Sequence[str]], Sequence[str]]  # from the texts of pagelets to those of segments
_WINDOW: Final = 200  # number of words of a window
_BLANK: Final = lazily(r"\n\s*\n")  # blank lines separate the blocks of a text in the feed
_AVERAGES: Final = "SELECT block FROM search_data WHERE id = 1"  # FTS5's numbers of texts and tokens
_POSTINGS: Final = f"""
SELECT page, id, count(*), length, role = '{TITLE}' FROM postings CROSS JOIN pagelets ON id = doc WHERE term = ?
GROUP BY doc ORDER BY doc
"""
_FREQUENCY: Final = "SELECT count(DISTINCT page) FROM search(?) CROSS JOIN pagelets ON id = search.rowid"
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
SELECT url, title, near_duplicate_of, number, role, text FROM json_each(?) CROSS JOIN pagelets ON pagelets.id = value
JOIN pages ON pages.id = page ORDER BY key
"""


class Size(NamedTuple):
    """The size of a collection."""

    #: pages, segments: number of pages and of segments, including those without a word
    pages: int
    segments: int
    words: int  # number of occurrences of terms


class Postings(NamedTuple):
    """Postings of some terms: a row for each term and each segment that contains it."""

    term: Ints  # (n,) index of the term among the wanted ones, ascending
    #: page, segment: (n,) number of the page and of the segment, ascending for each term
    page: Ints
    segment: Ints
    tf: Ints  # (n,) number of occurrences of the term in the segment
    length: Ints  # (n,) number of words of the segment
    title: Bools  # (n,) whether the segment is the title of its page


class Segments(NamedTuple):
    """The terms of some segments."""

    vocabulary: Mapping[str, int]  # number of each term, from 0 in order
    counts: Any  # (n, m) number of occurrences of each term, a sparse matrix in CSR format


class StoredCollection:
    """An SQLite index as a collection, without the pagelets that are not searched; a query reads only what it needs."""

    def __init__(self, base: sqlite3.Connection) -> None:
        self._base = base  # reads are consistent with each other if a transaction has begun

    @cached_property
    def size(self) -> Size:
        """The numbers of pages, segments and words."""
        (pages,) = self._base.execute("SELECT count(*) FROM pages").fetchone()
        (block,) = self._base.execute(_AVERAGES).fetchone() or (b"",)
        segments, words, *_ = *_varints(block), 0, 0
        return Size(pages, segments, words)

    def postings(self, wanted: Sequence[str]) -> Postings:
        """Postings of the terms."""
        found = (self._base.execute(_POSTINGS, (term,)).fetchall() for term in wanted)
        postings = [np.array(rows, np.int64).reshape(-1, 5) for rows in found]
        place = np.repeat(np.arange(len(postings)), [len(rows) for rows in postings])
        page, segment, tf, length, title = np.concatenate([np.zeros((0, 5), np.int64), *postings]).T
        return Postings(place, page, segment, tf, length, title.astype(np.bool_))

    def frequencies(self, wanted: Sequence[str]) -> Ints:
        """(n,) Number of pages that contain each of the terms."""
        found = (self._base.execute(_FREQUENCY, (f'"{term}"',)).fetchone() for term in wanted)
        return np.array([pages for (pages,) in found], np.int64)

    def page_lengths(self, pages: Ints) -> Ints:
        """(n,) Number of words of each page."""
        lengths = np.zeros(len(pages), np.int64)
        for place, length in self._base.execute(_LENGTHS, (json.dumps(pages.tolist()),)):
            lengths[place] = length
        return lengths

    def segments(self, pages: Ints, cut: Cut) -> Segments:
        """Segments of some pages."""
        texts: list[list[str]] = [[] for _ in pages]
        for place, text in self._base.execute(_TEXTS, (json.dumps(pages.tolist()),)):
            texts[place].append(text)
        return count(map(terms, chain.from_iterable(map(cut, texts))))

    def found(self, segments: Ints, scores: Floats | float = np.nan) -> list[Match]:
        """The pagelets with these numbers in the index, their pages, and the scores that are given for them."""
        rows = self._base.execute(_FOUND, (json.dumps(segments.tolist()),))
        every = np.broadcast_to(scores, len(segments)).tolist()
        return [Match._make((*row, score)) for row, score in zip(rows, every, strict=True)]


def cut_whole(texts: Sequence[str]) -> Sequence[str]:
    """FULLDOC: the page is one segment."""
    return ["\n\n".join(texts)]


def cut_blocks(texts: Sequence[str]) -> Sequence[str]:
    r"""DOMPS: each paragraph, heading, list or table of the extracted text is a segment."""
    return [block for text in texts for block in _BLANK.split(text)]


def cut_windows(texts: Sequence[str]) -> Sequence[str]:
    """Fixed blocks of 200 words of a page (FixedPS; Cai, Yu, Wen & Ma 2004, "Block-based Web Search")."""
    [text] = cut_whole(texts)
    starts = [word.start() for word in islice(WORD.finditer(text), _WINDOW, None, _WINDOW)]
    return [text[start:end] for start, end in pairwise([0, *starts, len(text)])]


def cut_pagelets(texts: Sequence[str]) -> Sequence[str]:
    """VIPS: each pagelet is a segment. They are visual blocks if the crawl had ``PAGELETS_SEGMENTER = "vips"``."""
    return texts


def count(texts: Iterable[Sequence[str]]) -> Segments:
    """Vocabulary and counts of texts, each given as its terms."""
    from scipy.sparse import csr_array

    texts, numbers = list(texts), dict[str, int]()
    column = [numbers.setdefault(term, len(numbers)) for term in chain.from_iterable(texts)]
    ends = np.cumsum([0, *map(len, texts)])
    counts = csr_array((np.ones(len(column), np.int64), column, ends), (len(texts), len(numbers)))
    counts.sum_duplicates()
    return Segments(numbers, counts)


def _varints(block: bytes) -> Iterator[int]:
    """Decode the numbers of a record: seven bits a byte, highest first; only the last byte of a number is below 128."""
    value = 0
    for byte in block:
        value = value << 7 | byte & 127
        if byte < 128:
            yield value
            value = 0
