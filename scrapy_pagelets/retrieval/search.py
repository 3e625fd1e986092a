"""Search a collection: the pages for a query, the best pagelet of each, and the passage of a text that matches best."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Final

import numpy as np

from scrapy_pagelets.base.characters import WORD, lazily, without_controls
from scrapy_pagelets.base.errors import QueryError
from scrapy_pagelets.index.interface import QUERY_TERMS, Match, terms
from scrapy_pagelets.retrieval.collection import StoredCollection, cut_blocks, cut_pagelets, cut_whole, cut_windows
from scrapy_pagelets.retrieval.feedback import Feedback, by_model, by_segments
from scrapy_pagelets.retrieval.ranking import Bm2500, Ranking, rank

FORMULA: Final = Bm2500(plus=True)  # the paper's, but terms on most pages weigh nearly 0, not less
PASSAGES: Final = 0.0  # weight of a page's best pagelet beside the page: 0 was best (benchmarks/retrieval.py)
TITLE: Final = 10.0  # times that a title's word counts; more gains little (benchmarks/retrieval.py --titles)
_SHARE: Final = 0.1  # of the paper's weight for new terms: with more, less is found (benchmarks/retrieval.py)
#: Methods of feedback, each with the numbers of pages and segments that were best in the paper (Section 4.2).
FEEDBACK: Final[Mapping[str, Feedback]] = {
    "segments": Feedback(cut_pagelets, pages=80, selected=20, share=_SHARE),
    "blocks": Feedback(cut_blocks, pages=80, selected=50, share=_SHARE),
    "windows": Feedback(cut_windows, pages=80, selected=20, share=_SHARE),
    "pages": Feedback(cut_whole, pages=10, selected=10, share=_SHARE),
    "rm3": Feedback(cut_whole, pages=10, selected=10, model=True),
}
_RUN: Final = lazily(r"\S+")
_PIECES: Final = lazily(f"({WORD.pattern})")  # splits a text into words and the strings between them
_MAX_RUNS: Final = 20_000  # only this many runs of a text are searched, so that a huge text does not delay the answer
_BLOCK: Final = 64  # pages to look up at once, until enough of them are no near-duplicates of others


@dataclass(frozen=True)
class Answer:
    """The answer to a query."""

    ranking: Ranking  # of all pages found
    query: Mapping[str, float]  # weight of each term of the final query
    added: tuple[str, ...]  # the terms added by feedback, by descending weight


def search(
    collection: StoredCollection,
    query: str,
    feedback: str | Feedback = "none",
    formula: Bm2500 = FORMULA,
    passages: float = PASSAGES,
    title: float = TITLE,
    stop_words: frozenset[str] = frozenset(),
) -> Answer:
    """Search a collection for a query, a bag of words: quotes and operators have no meaning. The result may be empty.

    ``feedback``: ``none``, a key of `FEEDBACK`, or how terms are chosen. ``passages`` and ``title``: see `rank`.
    ``stop_words``: terms that are left out. Raise QueryError for a query without a word, or with stop words only.
    """
    given, _ = query_of(query)
    if not given:
        raise QueryError("the query has no word: give letters or digits")
    if not (asked := {term: qtf for term, qtf in given.items() if term not in stop_words}):
        raise QueryError("all words of the query are stop words: give words that say what it is about")
    first = rank(collection, asked, formula, passages, title)
    if feedback == "none" or not len(first):
        return Answer(first, asked, ())
    way = FEEDBACK[feedback] if isinstance(feedback, str) else feedback
    full = (by_model if way.model else by_segments)(collection, asked, first, formula, way)
    added = sorted((term for term in full if term not in asked), key=lambda term: -full[term])
    return Answer(rank(collection, full, formula, passages, title), full, tuple(added))


def printed(feedback: str = "none") -> dict[str, Any]:
    """Arguments of `search` for the search of Yu, Cai, Wen & Ma (2003), Sections 3 and 4.1.

    (2) to (4) without an addition, words of titles that count once, the full weight of added terms, and a list of
    English stop words, for the unprinted one of Okapi (222 words) that of scikit-learn (318). ``feedback``: ``none``,
    or a key of `FEEDBACK` other than ``rm3``, which is not in the paper and raises QueryError.
    """
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    settings: str | Feedback = "none"
    if feedback != "none":
        if FEEDBACK[feedback].model:
            raise QueryError(f"{feedback} is not in the paper: choose segments, blocks, windows or pages")
        settings = replace(FEEDBACK[feedback], share=1.0, common=1.0, stop_words=ENGLISH_STOP_WORDS)
    return {"feedback": settings, "formula": Bm2500(), "passages": 0.0, "title": 1.0, "stop_words": ENGLISH_STOP_WORDS}


def query_of(query: str) -> tuple[dict[str, float], int]:
    """Number of occurrences of each term of a query, and the number of terms beyond the limit, which are left out."""
    count = Counter(terms(without_controls(query)))
    return dict(islice(((term, float(n)) for term, n in count.items()), QUERY_TERMS)), max(0, len(count) - QUERY_TERMS)


def distinct(collection: StoredCollection, ranking: Ranking, top: int) -> Iterator[Match]:
    """Yield the best pagelets of the best pages of a ranking; of near-duplicates only the best page."""
    seen = set[str]()
    for start in range(0, len(ranking), _BLOCK):
        part = slice(start, start + _BLOCK)
        for pagelet in collection.found(ranking.segment[part], ranking.score[part]):
            group = pagelet.near_duplicate_of or pagelet.url
            if group not in seen:
                seen.add(group)
                yield pagelet
            if len(seen) == top:
                return


def is_common(collection: StoredCollection, query: Mapping[str, float]) -> bool:
    """Whether each term of a query that occurs at all is on more than half of the pages."""
    n = collection.frequencies(list(query))
    return bool(np.all(2 * n[n > 0] > collection.size.pages))


def highlighted(text: str, wanted: Iterable[str], words: int = 40, marks: tuple[str, str] = ("**", "**")) -> str:
    r"""The passage of so many words with the most distinct wanted terms, see `terms`, on one line, each between marks.

    >>> highlighted("Once upon a time\nbells rang, old BELLS!", ["bells", "old"], words=4)
    '... **bells** rang, **old** **BELLS**!'
    """
    runs, wanted = _RUN.findall(text)[:_MAX_RUNS], frozenset(wanted)
    has = [frozenset(terms(run)).intersection(wanted) for run in runs]
    start = _best_start(has, words)
    shown = zip(runs[start : start + words], has[start:], strict=False)
    passage = " ".join(_marked(run, wanted, marks) if found else run for run, found in shown)
    return "... " * (start > 0) + passage + " ..." * (start + words < len(runs))


def _best_start(has: list[frozenset[str]], words: int) -> int:
    """Start of the passage with the most distinct terms; of several, the one with the most terms, then the first."""

    def worth(start: int) -> tuple[int, int]:
        found = has[start : start + words]
        return len(frozenset().union(*found)), sum(map(len, found))

    return max((max(0, end - words + 1) for end, found in enumerate(has) if found), key=worth, default=0)


def _marked(run: str, wanted: frozenset[str], marks: tuple[str, str]) -> str:
    """A run with its terms between marks; in scripts without spaces, each character is marked by itself."""
    return "".join(
        marks[0] + piece + marks[1] if any(term in wanted for term in terms(piece)) else piece
        for piece in _PIECES.split(run)
    )
