"""A query in words to pages with the pagelet that fits best, and to the terms that feedback has added."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Final

import numpy as np

from scrapy_pagelets.characters import parted
from scrapy_pagelets.errors import QueryError
from scrapy_pagelets.index.base import QUERY_TERMS
from scrapy_pagelets.index.terms import terms
from scrapy_pagelets.retrieval.collection import Collection
from scrapy_pagelets.retrieval.feedback import Feedback, by_model, by_segments, on_pages
from scrapy_pagelets.retrieval.ranking import Ranking, rank
from scrapy_pagelets.retrieval.segments import blocks, pagelets, whole
from scrapy_pagelets.retrieval.term_weights import Bm2500

#: BM2500 of the paper, but terms that most pages have count for next to nothing instead of counting against a page.
FORMULA: Final = Bm2500(plus=True)
#: What the best pagelet of a page counts beside the page: nothing was best (benchmarks/retrieval.py).
PASSAGES: Final = 0.0
#: How often a word of a page's title counts; more than that gains little (benchmarks/retrieval.py --titles).
TITLE: Final = 10.0
#: Share of the paper's weight that new terms get: with more, known items are found less (benchmarks/retrieval.py).
_SHARE: Final = 0.1
#: Ways of feedback: numbers of pages and segments are those with which each was best in the paper (Section 4.2).
FEEDBACK: Final[Mapping[str, Feedback]] = {
    "segments": Feedback(pagelets, pages=80, selected=20, share=_SHARE),
    "blocks": Feedback(blocks, pages=80, selected=50, share=_SHARE),
    "pages": Feedback(whole, pages=10, selected=10, share=_SHARE),
    "rm3": Feedback(whole, pages=10, selected=10),
}


@dataclass(frozen=True)
class Answer:
    """What a query has found.

    Attributes
    ----------
    ranking : all pages that were found
    query : weight of each term that was searched at last
    added : those that were not in the query, the heaviest first
    """

    ranking: Ranking
    query: Mapping[str, float]
    added: tuple[str, ...]


def search(
    collection: Collection,
    query: str,
    feedback: str = "none",
    formula: Bm2500 = FORMULA,
    passages: float = PASSAGES,
    title: float = TITLE,
) -> Answer:
    """The pages of a collection that fit a query, a bag of words: quotes and operators mean nothing.

    An answer whose ranking is empty says that no page has a word of the query.

    Parameters
    ----------
    feedback : ``none`` or a key of `FEEDBACK`
    passages, title : see `rank`

    Raises
    ------
    QueryError : for a query without a word

    Examples
    --------
    >>> from scrapy_pagelets.retrieval.collection import MemoryCollection
    >>> pages = [["About the site"], ["The bell", "Bell made the telephone"], ["A telephone"], ["Sea"], ["Boat"]]
    >>> answer = search(MemoryCollection(pages), "Bell?", "segments")
    >>> answer.ranking.page.tolist(), answer.added
    ([1, 2], ('made', 'telephone'))
    """
    asked, _ = query_of(query)
    if not asked:
        raise QueryError("the query has no word: give letters or digits")
    first = rank(collection, asked, formula, passages, title)
    if feedback == "none" or not len(first):
        return Answer(first, asked, ())
    way = FEEDBACK[feedback]
    expand = by_model if feedback == "rm3" else by_segments
    full = expand(collection, asked, first, formula, way)
    added = sorted((term for term in full if term not in asked), key=lambda term: -full[term])
    return Answer(rank(collection, full, formula, passages, title), full, tuple(added))


def query_of(query: str) -> tuple[dict[str, float], int]:
    """How often each term of a query stands there, and how many terms there were too many.

    >>> query_of('"Bell" OR bell*')
    ({'bell': 2.0, 'or': 1.0}, 0)
    """
    count = Counter(terms(parted(query)))
    return dict(islice(((term, float(n)) for term, n in count.items()), QUERY_TERMS)), max(0, len(count) - QUERY_TERMS)


def is_common(collection: Collection, query: Mapping[str, float], share: float = 0.5) -> bool:
    """Whether all terms of a query that occur at all are on more than a share of the pages."""
    n = on_pages(collection, list(query))
    return bool(np.all(n[n > 0] > share * collection.size.pages))
