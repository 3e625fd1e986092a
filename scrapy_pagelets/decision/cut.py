"""The cut of a page: leaves with log odds below it are content.

One cut for all pages leaves nothing of an unclear page, and keeps lists of teasers on a clear one. So trees rate some
cuts of the page by the curve of kept words, and the mean of the good ones is taken. This method is ours.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from operator import add, mul
from typing import Final

import numpy as np
from numpy.typing import NDArray

from scrapy_pagelets.base.arrays import Bools, Floats, in_order
from scrapy_pagelets.core import compiled, give
from scrapy_pagelets.decision.trees import Trees, sigmoid
from scrapy_pagelets.page.nodes import NodeTable

#: The cuts compared, in log odds of template.
CUTS: Final = np.array([-4, -3, -2.5, -2, -1.5, -1.25, -1, -0.75, -0.5, -0.25, 0, 0.25, 0.5, 1, 1.5, 2.5])
_CUTS: Final[list[float]] = CUTS.tolist()
#: Probability of content at each cut.
CONTENT_AT: Final = sigmoid(-CUTS)
#: Difference of ratings, of an F-measure, by which a cut counts e times as much as another one.
_TEMPERATURE: Final = 0.03
#: Log odds by which the strictest setting lowers a cut.
_LEAN: Final = 2.0
#: Log odds beside the least ones of a page that are content in any case, unless they are as high as this.
_MARGIN: Final = 0.1
_HIGHEST: Final = 3.9
#: Shares of the words of a page, and of its expected content, at which the log odds are read off.
_WORDS: Final = (0.02, 0.1, 0.25, 0.5, 0.75, 0.9)
_MASS: Final = (0.25, 0.5, 0.75, 0.9)
#: Words of a run of text, without links, that is prose.
PROSE: Final = 10
#: Distance in log odds to the next leaf beyond the cut, if there is none.
_NONE: Final = 5.0

_OF_CUT: Final = (
    "cut", "from_best", "kept", "kept_words", "precision", "recall", "f1", "links", "prose", "prose_kept", "leaves",
    "runs", "runs_per_leaf", "span", "longest_run", "gap_above", "gap_below", "near", "just_above", "just_below",
    "of_mean",
)  # fmt: skip
_OF_PAGE: Final = (
    "words", "leaves", "share", "mean", "mass", "links", "prose", "sure", "unsure", "unsure_of_mass", "best",
    "best_f1", *(f"words_{q}" for q in _WORDS), *(f"mass_{q}" for q in _MASS), "hidden", "least", "others",
)  # fmt: skip
CUT_FEATURES: Final = (*(f"cut_{name}" for name in _OF_CUT), *(f"page_{name}" for name in _OF_PAGE))


def best_cut(rating: Trees, columns: NDArray[np.float32]) -> float:
    """The cut of a page in log odds of template: the mean of all, weighted by the exponential of their rating.

    Where two cuts are nearly as good, the best one may be the other one after a small change of the page. The mean of
    both changes little, and it lies between them, where the page has the fewest words.

    Parameters
    ----------
    rating : over ``CUT_FEATURES``: the expected F-measure of a cut, less that of the best cut of the page
    columns : (len(CUTS), len(CUT_FEATURES)) features of the cuts, see `cut_features`
    """
    return mean_cut(rating(columns))


@compiled("features")
def mean_cut(ratings: Floats) -> float:
    """The mean of all cuts, weighted by the exponential of their ratings, (len(CUTS),)."""
    own = ratings.tolist()
    # A cut between two good ones is better than one beside a bad one. In lists: there are few cuts.
    around = zip([own[0], *own[:-1]], own, [*own[1:], own[-1]], strict=True)
    rated = [(before + 2 * at + after) / 4 for before, at, after in around]
    best = max(rated)
    weights = np.exp(np.array([(one - best) / _TEMPERATURE for one in rated])).tolist()
    return _total(map(mul, weights, _CUTS)) / _total(weights)


def _total(values: Iterable[float]) -> float:
    """The sum in this order; `sum` rounds in another way from Python 3.12 on."""
    return reduce(add, values)


def shifted(rating: Trees, nodes: NodeTable, odds: Floats, others: int, strict: float = 0.0) -> Floats:
    """(m,) log odds of template, shifted by the cut of the page so that those of content are below 0.

    The likeliest leaves are content whatever the page, unless even they are almost surely template.

    Parameters
    ----------
    rating : see `best_cut`
    odds : (m,) log odds of template
    others : number of other pages of the site that are known
    strict : -1 leans the cut to recall, 1 to precision
    """
    if not len(odds):
        return odds
    return moved(odds, best_cut(rating, cut_features(nodes, odds, others)) - _LEAN * strict)


@compiled("features")
def moved(odds: Floats, cut: float) -> Floats:
    """(m,) log odds less the cut, or less one that is higher, so that the likeliest leaves are below 0."""
    return odds - max(cut, min(float(odds.min()) + _MARGIN, _HIGHEST))


@compiled("features")
def cut_features(nodes: NodeTable, odds: Floats, others: int) -> NDArray[np.float32]:
    """(len(CUTS), len(CUT_FEATURES)) features of each cut of a page.

    Parameters
    ----------
    odds : (m,) log odds of template
    others : number of other pages of the site that are known
    """
    words = nodes.words.astype(np.float64) + 0.1
    content = sigmoid(-odds)
    linked = nodes.anchor[nodes.leaves]
    prose = (nodes.words >= PROSE) & ~linked
    order = np.argsort(odds, kind="stable")
    mass, total = words * content, in_order(words)
    all_mass = in_order(mass)
    found, seen = np.cumsum(mass[order]), np.cumsum(words[order])
    expected = 2 * found / (seen + all_mass)
    best = float(odds[order][int(expected.argmax())])
    mean = in_order(mass * content) / all_mass
    unsure = in_order(words[(content > 0.2) & (content < 0.8)])

    def odds_at(curve: Floats, shares: tuple[float, ...]) -> list[float]:
        at = np.searchsorted(curve, np.array(shares) * curve[-1])
        return list(odds[order][np.minimum(at, len(odds) - 1)])

    page = [
        np.log1p(total), np.log1p(len(odds)), all_mass / total, mean, np.log1p(all_mass),
        in_order(words[linked]) / total, in_order(words[prose]) / total, in_order(words[content > 0.9]) / total,
        unsure / total, unsure / max(1, all_mass), best, expected.max(),
        *odds_at(seen, _WORDS), *odds_at(found, _MASS),
        nodes.hidden[nodes.leaves].mean(), odds.min(), np.log1p(others),
    ]  # fmt: skip
    return np.array([[*_of_cut(cut, odds, words, mass, linked, prose, best, mean), *page] for cut in CUTS], np.float32)


def _of_cut(
    cut: float, odds: Floats, words: Floats, mass: Floats, linked: Bools, prose: Bools, best: float, mean: float
) -> list[float]:
    kept = odds < cut
    kept_words = words * kept
    long, total = max(0.1, in_order(kept_words)), in_order(mass)
    edges = np.flatnonzero(np.diff(kept.astype(np.int8), prepend=0, append=0))
    starts, ends = edges[::2], edges[1::2]
    until = np.append(0, np.cumsum(kept_words))
    above, below = odds[~kept], odds[kept]
    hit = in_order(mass[kept])
    return [
        cut, cut - best, long / in_order(words), np.log1p(long), hit / long, hit / total, 2 * hit / (long + total),
        in_order(kept_words[linked]) / long, in_order(kept_words[prose]) / long,
        in_order(kept_words[prose]) / max(0.1, in_order(words[prose])), kept.mean(),
        len(starts), np.log1p(len(starts)) - np.log1p(kept.sum()),
        (ends[-1] - starts[0]) / len(odds) if len(starts) else 0,
        (until[ends] - until[starts]).max() / long if len(starts) else 0,
        above.min() - cut if len(above) else _NONE, cut - below.max() if len(below) else _NONE,
        in_order(words[np.abs(odds - cut) < 0.5]) / max(1, total),
        in_order(words[(odds >= cut) & (odds < cut + 1)]) / long,
        in_order(words[(odds < cut) & (odds > cut - 1)]) / long,
        1 / (1 + np.exp(cut)) / max(1e-6, mean),
    ]  # fmt: skip


give(
    "features", CUT_FEATURES=CUT_FEATURES, CUTS=CUTS, CONTENT_AT=CONTENT_AT, TEMPERATURE=_TEMPERATURE, MARGIN=_MARGIN,
    HIGHEST=_HIGHEST,
)  # fmt: skip
