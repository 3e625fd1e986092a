"""Pages ranked for a query, by themselves and by their best segment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from scrapy_pagelets.nodes import Ints
from scrapy_pagelets.retrieval.collection import Collection, Postings
from scrapy_pagelets.retrieval.term_weights import Bm2500, Floats


@dataclass(frozen=True)
class Ranking:
    """Pages, best first.

    Attributes
    ----------
    page : (n,) numbers of the pages
    score : (n,) descending; the earlier page among equals comes first
    segment : (n,) number of the segment of each page that fits the query best
    """

    page: Ints
    score: Floats
    segment: Ints

    def __len__(self) -> int:
        return len(self.page)

    def first(self, count: int) -> Ranking:
        """The best pages."""
        return Ranking(self.page[:count], self.score[:count], self.segment[:count])


def rank(
    collection: Collection, query: Mapping[str, float], formula: Bm2500, passages: float = 0.0, title: float = 1.0
) -> Ranking:
    """The pages that have a term of the query.

    Parameters
    ----------
    query : weight of each term (qtf), above 0
    passages : weight of the score of a page's best segment beside that of the page; ``inf`` ranks pages by their best
        segment alone
    title : how often a word of a page's title counts in its term frequency; lengths stay, and segments are scored
        without it (Robertson, Zaragoza & Taylor 2004, "Simple BM25 Extension to Multiple Weighted Fields")
    """
    postings = collection.postings(list(query))
    qtf = np.array(list(query.values()), float)
    segment, of_segment, at = _segment_scores(collection, postings, qtf, formula)
    page, of_page = _page_scores(collection, postings, qtf, formula, title)
    owner = np.searchsorted(page, postings.page[at])
    order = np.lexsort((-segment, of_segment, owner))
    best = order[np.flatnonzero(np.diff(owner[order], append=len(page)))]
    score = of_segment[best] if np.isinf(passages) else of_page + passages * of_segment[best]
    order = np.lexsort((page, -score))
    return Ranking(page[order], score[order], segment[best][order])


def _page_scores(
    collection: Collection, postings: Postings, qtf: Floats, formula: Bm2500, title: float
) -> tuple[Ints, Floats]:
    """BM2500 of pages: numbers, ascending, and scores."""
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
    """BM2500 of segments: numbers, ascending, scores, and where one of their postings stands."""
    segment, first, row = np.unique(postings.segment, return_index=True, return_inverse=True)
    size = collection.size
    weight = formula.weight(np.bincount(postings.term, minlength=len(qtf)), size.segments)
    inner = formula.score(postings.tf, postings.length, size.words / max(1, size.segments), qtf[postings.term])
    score: Floats = np.bincount(row, weight[postings.term] * inner, len(segment)).astype(np.float64)
    return segment, score, first.astype(np.int64)
