"""A collection in memory, which ranks and expands as `retrieval.collection.StoredCollection` does from an index."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import chain, islice, repeat
from typing import Any

import numpy as np

from scrapy_pagelets.base.arrays import Ints
from scrapy_pagelets.index.interface import terms
from scrapy_pagelets.retrieval.collection import Cut, Postings, Segments, Size, StoredCollection, count, cut_pagelets


class MemoryCollection(StoredCollection):
    """A collection in memory: pages and their segments by number; all lengths are in words.

    ``pages``: the texts of the segments of each page. ``titles``: of the pages; a title that is not empty is a segment
    before the others.
    """

    def __init__(self, pages: Iterable[Sequence[str]], titles: Iterable[str] = ()) -> None:
        untitled = [list(texts) for texts in pages]
        titled = list(islice(chain(titles, repeat("")), len(untitled)))
        self._texts = [[title, *texts] if title else texts for title, texts in zip(titled, untitled, strict=True)]
        self._cuts: dict[Cut, tuple[Segments, Ints]] = {}
        cut_pages, starts = self._cut(cut_pagelets)
        self._page, self._counts = np.repeat(np.arange(len(untitled)), np.diff(starts)), cut_pages.counts.tocsc()
        self._title = (
            np.diff(self._page, prepend=-1).astype(np.bool_) & np.array([*map(bool, titled)], np.bool_)[self._page]
        )
        self._numbers = cut_pages.vocabulary
        self._lengths: Ints = np.asarray(cut_pages.counts.sum(axis=1)).astype(np.int64)
        self._page_lengths = np.bincount(self._page, self._lengths, len(self._texts)).astype(np.int64)

    @cached_property
    def size(self) -> Size:
        """The numbers of pages, segments and words."""
        return Size(len(self._texts), len(self._page), int(self._lengths.sum()))

    def postings(self, wanted: Sequence[str]) -> Postings:
        """Postings of the terms."""
        slices = [self._slice(term) for term in wanted]
        term = np.repeat(np.arange(len(slices)), [len(segments) for segments, _ in slices])
        segment, tf = (np.concatenate([np.zeros(0, np.int64), *part]) for part in zip(*slices, strict=True))
        return Postings(term, self._page[segment], segment, tf, self._lengths[segment], self._title[segment])

    def frequencies(self, wanted: Sequence[str]) -> Ints:
        """(n,) Number of pages that contain each of the terms."""
        found = [self._numbers.get(term, -1) for term in wanted]
        return np.append(self._frequencies, 0)[found]

    def page_lengths(self, pages: Ints) -> Ints:
        """(n,) Number of words of each page."""
        return self._page_lengths[pages]

    def segments(self, pages: Ints, cut: Cut) -> Segments:
        """Segments of some pages."""
        every, starts = self._cut(cut)
        rows = np.concatenate([np.arange(*starts[page : page + 2]) for page in pages.tolist()] or [np.zeros(0, int)])
        return every._replace(counts=every.counts[rows])

    def _cut(self, cut: Cut) -> tuple[Segments, Ints]:
        """The segments of all pages, and the number of the first segment of each page."""
        if cut not in self._cuts:
            texts = [cut(page) for page in self._texts]
            starts = np.cumsum([0, *map(len, texts)])
            self._cuts[cut] = count(map(terms, chain.from_iterable(texts))), starts
        return self._cuts[cut]

    @cached_property
    def _frequencies(self) -> Ints:
        """(m,) Number of pages that contain each term; feedback asks for thousands."""
        term = np.repeat(np.arange(len(self._numbers)), np.diff(self._counts.indptr))
        pairs = np.unique(term * len(self._texts) + self._page[self._counts.indices])
        return np.bincount(pairs // max(1, len(self._texts)), minlength=len(self._numbers))

    def _slice(self, term: str) -> tuple[Ints, Any]:
        """The segments that contain a term, and its number of occurrences in each."""
        number = self._numbers.get(term)
        rows = slice(0, 0) if number is None else slice(*self._counts.indptr[number : number + 2].tolist())
        return self._counts.indices[rows].astype(np.int64), self._counts.data[rows]
