"""What is searched: pages, each a group of segments, by the postings of terms."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain, islice, repeat
from typing import Any, NamedTuple, Protocol

import numpy as np

from scrapy_pagelets.index.terms import terms
from scrapy_pagelets.nodes import Bools, Ints
from scrapy_pagelets.retrieval.segments import Cut, Segments, count, pagelets


class Size(NamedTuple):
    """How much a collection holds.

    Attributes
    ----------
    pages, segments : their numbers; those without a word count as well
    words : occurrences of terms
    """

    pages: int
    segments: int
    words: int


class Postings(NamedTuple):
    """Where some terms occur: a row for each term and segment that has it.

    Attributes
    ----------
    term : (n,) place of the term among those asked for, ascending
    page, segment : (n,) numbers, ascending for a term
    tf : (n,) occurrences of the term in the segment
    length : (n,) words of the segment
    title : (n,) the segment is the title of its page
    """

    term: Ints
    page: Ints
    segment: Ints
    tf: Ints
    length: Ints
    title: Bools


class Collection(Protocol):
    """Pages and their segments by number; all lengths are in words."""

    @property
    def size(self) -> Size:
        """How much there is."""

    def postings(self, wanted: Sequence[str]) -> Postings:
        """Where the terms occur."""

    def frequencies(self, wanted: Sequence[str]) -> Ints:
        """How many segments have each of the terms, (n,)."""

    def page_lengths(self, pages: Ints) -> Ints:
        """Words of pages, (n,)."""

    def segments(self, pages: Ints, cut: Cut) -> Segments:
        """The segments of some pages, in their order, as ``cut`` makes them."""


class MemoryCollection:
    """A collection that is held in memory.

    Parameters
    ----------
    pages : the texts of the segments of each page
    titles : of the pages, each a segment before the others; an empty one is none

    Examples
    --------
    >>> collection = MemoryCollection([["A menu", "Bells ring, bells rang"], ["A bell"]])
    >>> collection.size
    Size(pages=2, segments=3, words=8)
    >>> [part.tolist() for part in collection.postings(["bells", "a"])]
    [[0, 1, 1], [0, 0, 1], [1, 0, 2], [2, 1, 1], [4, 2, 2], [False, False, False]]
    """

    def __init__(self, pages: Iterable[Sequence[str]], titles: Iterable[str] = ()) -> None:
        untitled = [list(texts) for texts in pages]
        titled = list(islice(chain(titles, repeat("")), len(untitled)))
        self._texts = [[title, *texts] if title else texts for title, texts in zip(titled, untitled, strict=True)]
        self._cuts: dict[Cut, tuple[Segments, Ints]] = {}
        found, _ = self._cut(pagelets)
        self._page, self._counts = found.page, found.counts.tocsc()
        self._title = (
            np.diff(found.page, prepend=-1).astype(np.bool_) & np.array([*map(bool, titled)], np.bool_)[found.page]
        )
        self._numbers = found.vocabulary
        self._lengths: Ints = np.asarray(found.counts.sum(axis=1)).astype(np.int64)
        self._of_pages = np.bincount(self._page, self._lengths, len(self._texts)).astype(np.int64)

    @property
    def size(self) -> Size:
        """How much there is."""
        return Size(len(self._texts), len(self._page), int(self._lengths.sum()))

    def postings(self, wanted: Sequence[str]) -> Postings:
        """Where the terms occur."""
        found = [self._slice(term) for term in wanted]
        term = np.repeat(np.arange(len(found)), [len(segments) for segments, _ in found])
        segment, tf = (np.concatenate([np.zeros(0, np.int64), *part]) for part in zip(*found, strict=True))
        return Postings(term, self._page[segment], segment, tf, self._lengths[segment], self._title[segment])

    def frequencies(self, wanted: Sequence[str]) -> Ints:
        """How many segments have each of the terms."""
        return np.array([len(self._slice(term)[0]) for term in wanted], np.int64)

    def page_lengths(self, pages: Ints) -> Ints:
        """Words of pages."""
        return self._of_pages[pages]

    def segments(self, pages: Ints, cut: Cut) -> Segments:
        """The segments of some pages."""
        found, starts = self._cut(cut)
        rows = np.concatenate([np.arange(*starts[page : page + 2]) for page in pages.tolist()] or [np.zeros(0, int)])
        return Segments(found.page[rows], found.vocabulary, found.counts[rows])

    def _cut(self, cut: Cut) -> tuple[Segments, Ints]:
        """The segments of all pages, and where those of each begin."""
        if cut not in self._cuts:
            texts = [cut(page) for page in self._texts]
            starts = np.cumsum([0, *map(len, texts)])
            page = np.repeat(np.arange(len(texts)), np.diff(starts))
            self._cuts[cut] = Segments(page, *count(map(terms, chain.from_iterable(texts)))), starts
        return self._cuts[cut]

    def _slice(self, term: str) -> tuple[Ints, Any]:
        """The segments of a term, and its occurrences."""
        number = self._numbers.get(term)
        place = slice(0, 0) if number is None else slice(*self._counts.indptr[number : number + 2].tolist())
        return self._counts.indices[place].astype(np.int64), self._counts.data[place]
