"""Ranking of pages for a query, by the score of the page and by that of its best segment: BM2500.

The formulas (1) to (4) are those of Yu, Cai, Wen & Ma 2003, (2) to (4) after Robertson & Walker, "Okapi/Keenbow at
TREC-8" (1999); ``docs/algorithms/vips-feedback-2003.md`` says what the paper leaves open.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from scrapy_pagelets.base.arrays import Floats, Ints
from scrapy_pagelets.retrieval.collection import StoredCollection

_TINY: Final = 1e-300


@dataclass(frozen=True)
class Ranking:
    """Pages, best first."""

    page: Ints  # (n,) numbers of the pages
    score: Floats  # (n,) descending; of pages with equal scores, the earlier one comes first
    segment: Ints  # (n,) number of the best segment of each page

    def __len__(self) -> int:
        return len(self.page)


@dataclass(frozen=True)
class Bm2500:
    """Parameters of BM2500; the defaults are the paper's (Section 4.1).

    Its average length of a document, 61200 without a unit, is always that of the collection here, in words.
    """

    k1: float = 1.2  # saturation of term frequency, at least 0; with 0, only the first occurrence counts
    k3: float = 1000.0  # the same for occurrences in the query
    b: float = 0.75  # strength of the normalisation by document length, 0 to 1
    #: whether 1 is added within the logarithm of (3). Without it, terms in most documents have negative weights
    plus: bool = False

    def score(self, tf: ArrayLike, length: ArrayLike, average: float, qtf: ArrayLike = 1.0) -> Floats:
        """Contribution of a term to the score of a document, without the factor w(1): the two fractions of (2).

        ``tf``: occurrences in the document. ``length`` and ``average``: its length and the average one of all
        documents, in one unit. ``qtf``: occurrences in the query, or the weight there.
        """
        tf, qtf = np.asarray(tf, float), np.asarray(qtf, float)
        relative = np.asarray(length, float) / average if average else 1.0
        k = self.k1 * ((1 - self.b) + self.b * relative)
        # An absent term adds nothing, even if both k1 and k3 are 0.
        of_document = (self.k1 + 1) * tf / (k + np.maximum(tf, _TINY))
        of_query = (self.k3 + 1) * qtf / (self.k3 + np.maximum(qtf, _TINY))
        score: Floats = of_document * of_query
        return score


def rank(
    collection: StoredCollection, query: Mapping[str, float], formula: Bm2500, passages: float = 0.0, title: float = 1.0
) -> Ranking:
    """Rank the pages that contain a term of the query, by the weight of each term (qtf), above 0.

    ``passages``: weight of the score of a page's best segment beside that of the page; ``inf`` for the segment alone.
    ``title``: how often a word of a page's title counts in its term frequency, but not in lengths and segments
    (Robertson, Zaragoza & Taylor 2004, "Simple BM25 Extension to Multiple Weighted Fields").
    """
    postings, size = collection.postings(list(query)), collection.size
    qtf = np.array(list(query.values()), float)

    def scores(owner: Ints, tf: ArrayLike, length: Ints, units: int) -> Floats:
        """Score pages or segments, the owners of postings, by BM2500; ``length``: of each, in ascending order."""
        _, row = np.unique(owner, return_inverse=True)
        key, place = np.unique(postings.term * len(length) + row, return_inverse=True)
        term, row = np.divmod(key, max(1, len(length)))
        weight = relevance_weight(np.bincount(term, minlength=len(qtf)), units, plus=formula.plus)
        inner = formula.score(np.bincount(place, tf, len(key)), length[row], size.words / max(1, units), qtf[term])
        return np.bincount(row, weight[term] * inner, len(length)).astype(np.float64)

    page = np.unique(postings.page)
    tf = postings.tf * np.where(postings.title, title, 1.0)
    of_page = scores(postings.page, tf, collection.page_lengths(page), size.pages)
    segment, posting = np.unique(postings.segment, return_index=True)
    of_segment = scores(postings.segment, postings.tf, postings.length[posting], size.segments)
    owner = np.searchsorted(page, postings.page[posting])
    order = np.lexsort((-segment, of_segment, owner))
    best = order[np.flatnonzero(np.diff(owner[order], append=len(page)))]
    score = of_segment[best] if np.isinf(passages) else of_page + passages * of_segment[best]
    order = np.lexsort((page, -score))
    return Ranking(page[order], score[order], segment[best][order])


def relevance_weight(
    n: ArrayLike, documents: int, r: ArrayLike = 0, relevant: int = 0, *, plus: bool = False
) -> Floats:
    """The Robertson/Sparck Jones weight w(1) of terms: (3), by default without relevance information (R = r = 0).

    ``n``: documents with the term, of ``documents`` (N). ``r``: relevant documents with it, of ``relevant`` (R).
    ``plus``: add 1 within the logarithm. In feedback, ``n`` counts pages, ``r`` segments; a difference is 0 at least.
    """
    n, r = np.asarray(n, float), np.asarray(r, float)
    among = (r + 0.5) / (relevant - r + 0.5)
    outside = (np.maximum(n - r, 0) + 0.5) / (np.maximum(documents - n - relevant + r, 0) + 0.5)
    weight: Floats = np.log(among / outside + plus)
    return weight


def expanded(qtf: Mapping[str, float], terms: list[str], share: float = 1.0) -> dict[str, float]:
    """Weights of the expanded query (Section 3, step 5): twice qtf, and 1 - (i - 1) / m for the i-th of m new terms.

    ``qtf``: of each term of the query. ``terms``: the new terms, best first. ``share``: of their weights, 1 in the
    paper.
    """
    weights = {term: 2.0 * count for term, count in qtf.items()}
    weights |= {term: share * (1 - place / len(terms)) for place, term in enumerate(terms)}
    return weights
