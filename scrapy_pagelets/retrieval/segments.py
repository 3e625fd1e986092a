"""Segments of pages as rows of a matrix of term counts, and the functions that cut pages into segments."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain, islice, pairwise
from typing import Any, Final, NamedTuple

import numpy as np

from scrapy_pagelets.base.arrays import Ints
from scrapy_pagelets.base.characters import WORD

#: A function from the texts of a page's pagelets to the texts of its segments.
Cut = Callable[[Sequence[str]], Sequence[str]]
#: Number of words of a window.
_WINDOW: Final = 200
#: Blank lines separate the blocks of a text in the feed.
_BLANK: Final = re.compile(r"\n\s*\n")


class Segments(NamedTuple):
    """Segments of some pages.

    Attributes
    ----------
    page : (n,) number of the page of each segment
    vocabulary : number of each term, from 0 in order
    counts : (n, m) number of occurrences of each term, a sparse matrix in CSR format
    """

    page: Ints
    vocabulary: Mapping[str, int]
    counts: Any


def whole(texts: Sequence[str]) -> Sequence[str]:
    """FULLDOC: the page is one segment.

    >>> len(whole(["One", "two"]))
    1
    """
    return ["\n\n".join(texts)]


def blocks(texts: Sequence[str]) -> Sequence[str]:
    r"""DOMPS: each paragraph, heading, list or table of the extracted text is a segment.

    >>> blocks(["One\n\ntwo", "three"])
    ['One', 'two', 'three']
    """
    return [block for text in texts for block in _BLANK.split(text)]


def windows(texts: Sequence[str]) -> Sequence[str]:
    """Fixed blocks: each 200 words of the page, one after the other, are a segment; the last one may be shorter.

    Source: Cai, Yu, Wen & Ma 2004, "Block-based Web Search" (FixedPS). The paper of 2003 names fixed-length windows as
    the method to compare with next.

    >>> [len(window.split()) for window in windows(["one " * 150, "two " * 100])]
    [200, 50]
    """
    [text] = whole(texts)
    starts = [word.start() for word in islice(WORD.finditer(text), _WINDOW, None, _WINDOW)]
    return [text[start:end] for start, end in pairwise([0, *starts, len(text)])]


def pagelets(texts: Sequence[str]) -> Sequence[str]:
    """VIPS: each pagelet is a segment. They are visual blocks if the crawl had ``PAGELETS_SEGMENTER = "vips"``."""
    return texts


def count(texts: Iterable[Sequence[str]]) -> tuple[dict[str, int], Any]:
    """Vocabulary and counts of texts, each given as its terms.

    >>> vocabulary, counts = count([["a", "b", "a"], [], ["b"]])
    >>> vocabulary, counts.toarray().tolist()
    ({'a': 0, 'b': 1}, [[2, 1], [0, 0], [0, 1]])
    """
    from scipy.sparse import csr_array

    texts, numbers = list(texts), dict[str, int]()
    column = [numbers.setdefault(term, len(numbers)) for term in chain.from_iterable(texts)]
    ends = np.cumsum([0, *map(len, texts)])
    counts = csr_array((np.ones(len(column), np.int64), column, ends), (len(texts), len(numbers)))
    counts.sum_duplicates()
    return numbers, counts
