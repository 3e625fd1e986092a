"""Pseudo-relevance feedback: query expansion with terms from the segments of the pages found.

`by_segments` is steps 2 to 4, and the weights of step 5, of Yu, Cai, Wen & Ma (2003, Section 3), whose methods are
`cut_whole` (FULLDOC), `cut_blocks` (DOMPS) and `cut_pagelets` (VIPS). `by_model` is RM3 of Abdul-Jaleel et al., "UMass
at TREC 2004: Novelty and HARD". See ``docs/algorithms/vips-feedback-2003.md``.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from scrapy_pagelets.base.arrays import Floats, Ints
from scrapy_pagelets.retrieval.collection import Cut, Segments, StoredCollection, cut_pagelets
from scrapy_pagelets.retrieval.ranking import Bm2500, Ranking, expanded, relevance_weight

Query = Mapping[str, float]
_DIGITS: Final = 12  # values that agree to so many decimals are equal: more depend on the order of a sum
_ORIGINAL: Final = 0.5  # weight of the query beside the model of RM3


@dataclass(frozen=True)
class Feedback:
    """How terms are chosen, by the paper (Section 3) but for ``common``; ValueError for what is not above 0."""

    cut: Cut = cut_pagelets  # how a page is cut into segments
    pages: int = 80  # number of the best pages to cut
    selected: int = 20  # number of the best of their segments to select
    terms: int = 10  # number of terms to add
    share: float = 1.0  # share of the paper's weight that new terms get
    common: float = 0.5  # terms on more pages are not added; in place of the paper's list of 222 stop words
    stop_words: frozenset[str] = frozenset()  # terms that are not added
    model: bool = False  # expand by a model of the segments, RM3, in place of selection values

    def __post_init__(self) -> None:
        for name in ("pages", "selected", "terms"):
            if (number := getattr(self, name)) < 1:
                raise ValueError(f"{name} is {number}: give a number from 1")
        for name in ("share", "common"):
            if not (number := getattr(self, name)) > 0:
                raise ValueError(f"{name} is {number}: give a number above 0")


def by_segments(
    collection: StoredCollection, query: Query, ranking: Ranking, formula: Bm2500, feedback: Feedback
) -> dict[str, float]:
    """Expand the query; return the weight of each term: those of the query first, then the new ones, the best first.

    In (3), R and r count selected segments, N and n pages of the collection.
    """
    chosen, _ = best_segments(collection, query, ranking, formula, feedback)
    relevant = chosen.counts.shape[0]
    r = np.asarray((chosen.counts > 0).sum(axis=0))
    fresh, n = _candidates(collection, chosen, r > 0, query, feedback)
    weight = relevance_weight(n, collection.size.pages, r[fresh], relevant, plus=formula.plus)
    value = weight * r[fresh] / max(1, relevant)  # (1): the weight times the share of the selected segments
    best = _best(_names(chosen, fresh[value > 0]), value[value > 0], feedback.terms)
    return expanded(query, list(best), feedback.share)


def by_model(
    collection: StoredCollection, query: Query, ranking: Ranking, formula: Bm2500, feedback: Feedback
) -> dict[str, float]:
    """Mix the query with a model of the best segments: RM3, with scores of BM2500 in place of likelihoods."""
    chosen, score = best_segments(collection, query, ranking, formula, feedback)
    length = np.maximum(1, np.asarray(chosen.counts.sum(axis=1)))
    model = np.asarray(chosen.counts.T @ (score / length))
    numbers, _ = _candidates(collection, chosen, model > 0, {}, feedback)  # words of the query are in the model
    best = _best(_names(chosen, numbers), model[numbers], feedback.terms)
    mixed = {term: _ORIGINAL * qtf / sum(query.values()) for term, qtf in query.items()}
    for term, share in best.items():
        mixed[term] = mixed.get(term, 0.0) + (1 - _ORIGINAL) * share / sum(best.values())
    return mixed


def best_segments(
    collection: StoredCollection, query: Query, ranking: Ranking, formula: Bm2500, feedback: Feedback
) -> tuple[Segments, Floats]:
    """Select the best segments of the best pages, ranked by BM2500; return them and their scores (steps 2 and 3).

    The average length in the formula is that of the candidates. With that of pages, short segments would win.
    """
    candidates = collection.segments(ranking.page[: feedback.pages], feedback.cut)
    columns = [candidates.vocabulary.get(term, -1) for term in query]
    present = [(term, column) for term, column in zip(query, columns, strict=True) if column >= 0]
    tf = candidates.counts[:, [column for _, column in present]].toarray()
    length = np.asarray(candidates.counts.sum(axis=1))
    n = collection.frequencies([term for term, _ in present])
    weight = relevance_weight(n, collection.size.pages, plus=formula.plus)
    qtf = np.array([query[term] for term, _ in present])
    score = formula.score(tf, length[:, None], length.mean() if len(length) else 0.0, qtf) @ weight
    matching = np.flatnonzero(tf.any(axis=1))
    best = matching[np.argsort(-score[matching], kind="stable")[: feedback.selected]]
    return candidates._replace(counts=candidates.counts[best]), score[best]


def _candidates(
    collection: StoredCollection, chosen: Segments, wanted: NDArray[np.bool_], query: Query, feedback: Feedback
) -> tuple[Ints, Ints]:
    """Numbers of the wanted terms, but those of the query, stop words and common ones; and how many pages have each."""
    left_out = feedback.stop_words.union(query)
    wanted[[chosen.vocabulary[term] for term in left_out if term in chosen.vocabulary]] = False
    fresh = np.flatnonzero(wanted)
    n = collection.frequencies(_names(chosen, fresh))
    rare = n <= feedback.common * collection.size.pages
    return fresh[rare], n[rare]


def _best(terms: list[str], value: Floats, count: int) -> dict[str, float]:
    """The terms of the highest values, in descending order; equal ones in alphabetical order."""
    order = sorted(zip((-value).round(_DIGITS).tolist(), terms, value.tolist(), strict=True))
    return {term: worth for _, term, worth in order[:count]}


def _names(chosen: Segments, numbers: Any) -> list[str]:
    names = list(chosen.vocabulary)
    return [names[number] for number in numbers]
