"""Ranking of pages for a query, by the score of the page and by that of its best segment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from scrapy_pagelets.base.arrays import Ints
from scrapy_pagelets.retrieval.collection import Collection, Postings
from scrapy_pagelets.retrieval.term_weights import Bm2500, Floats


@dataclass(frozen=True)
class Ranking:
    """Pages, best first.

    Attributes
    ----------
    page : (n,) numbers of the pages
    score : (n,) descending; of pages with equal scores, the earlier one comes first
    segment : (n,) number of the best segment of each page
    """

    page: Ints
    score: Floats
    segment: Ints

    def __len__(self) -> int:
        return len(self.page)

    def first(self, count: int) -> Ranking:
        """Return the ranking of the best pages only."""
        return Ranking(self.page[:count], self.score[:count], self.segment[:count])


def rank(
    collection: Collection, query: Mapping[str, float], formula: Bm2500, passages: float = 0.0, title: float = 1.0
) -> Ranking:
    """Rank the pages that contain a term of the query.

    Parameters
    ----------
    query : weight of each term (qtf), above 0
    passages : weight of the score of a page's best segment beside that of the page; ``inf`` ranks pages by their best
        segment alone
    title : how often a word of a page's title counts in its term frequency. Lengths do not change, and segments are
        scored without it (Robertson, Zaragoza & Taylor 2004, "Simple BM25 Extension to Multiple Weighted Fields")
    """
    postings = collection.postings(list(query))
    qtf = np.array(list(query.values()), float)
    segment, of_segment, posting = _segment_scores(collection, postings, qtf, formula)
    page, of_page = _page_scores(collection, postings, qtf, formula, title)
    owner = np.searchsorted(page, postings.page[posting])
    order = np.lexsort((-segment, of_segment, owner))
    best = order[np.flatnonzero(np.diff(owner[order], append=len(page)))]
    score = of_segment[best] if np.isinf(passages) else of_page + passages * of_segment[best]
    order = np.lexsort((page, -score))
    return Ranking(page[order], score[order], segment[best][order])


def _page_scores(
    collection: Collection, postings: Postings, qtf: Floats, formula: Bm2500, title: float
) -> tuple[Ints, Floats]:
    """Score pages by BM2500; return their numbers, ascending, and scores."""
    page, row = np.unique(postings.page, return_inverse=True)
    size = collection.size
    key, place = np.unique(postings.term * len(page) + row, return_inverse=True)
    term, row = np.divmod(key, max(1, len(page)))
    tf = np.bincount(place, postings.tf * np.where(postings.title, title, 1.0), len(key))
    weight = formula.weight(np.bincount(term, minlength=len(qtf)), size.pages)
    inner = formula.score(tf, collection.page_lengths(page)[row], size.words / max(1, size.pages), qtf[term])
    score: Floats = np.bincount(row, weight[term] * inner, len(page)).astype(np.float64)
    return page, score


def _segment_scores(
    collection: Collection, postings: Postings, qtf: Floats, formula: Bm2500
) -> tuple[Ints, Floats, Ints]:
    """Score segments by BM2500; return their numbers, ascending, scores, and the row of a posting of each."""
    segment, first, row = np.unique(postings.segment, return_index=True, return_inverse=True)
    size = collection.size
    weight = formula.weight(np.bincount(postings.term, minlength=len(qtf)), size.segments)
    inner = formula.score(postings.tf, postings.length, size.words / max(1, size.segments), qtf[postings.term])
    score: Floats = np.bincount(row, weight[postings.term] * inner, len(segment)).astype(np.float64)
    return segment, score, first.astype(np.int64)
