"""The cut of a page: leaves with log odds below it are content. This is the one place that draws the line.

One cut for all pages leaves nothing of an unclear page, and keeps lists of teasers on a clear one. So trees rate some
cuts of the page by the curve of kept words, and the mean of the good ones is taken. `PAGELETS_STRICT` moves this mean
by up to `_LEAN`. Then the log odds of the page are shifted so that the cut becomes 0, which is the templateness
`roles.THRESHOLD`. This method is ours.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from scrapy_pagelets.base.arrays import Bools, Floats, in_order
from scrapy_pagelets.core import give
from scrapy_pagelets.core.features import cut_features as cut_features
from scrapy_pagelets.decision.classifiers import Trees, sigmoid
from scrapy_pagelets.decision.features import Feature, FeatureTable
from scrapy_pagelets.decision.page_features import PROSE
from scrapy_pagelets.page.nodes import NodeTable

#: The cuts compared, in log odds of template.
CUTS: Final = np.array([-4, -3, -2.5, -2, -1.5, -1.25, -1, -0.75, -0.5, -0.25, 0, 0.25, 0.5, 1, 1.5, 2.5])
#: Probability of content at each cut.
CONTENT_AT: Final = sigmoid(-CUTS)
#: Difference of ratings, of an F-measure, by which a cut counts e times as much as another one.
_TEMPERATURE: Final = 0.03
#: Log odds by which the strictest setting lowers a cut.
_LEAN: Final = 2.0
#: The likeliest leaves are content in any case: those within this distance of the least log odds, up to the highest.
_MARGIN: Final = 0.1
_HIGHEST: Final = 3.9
#: Shares of the words of a page, and of its expected content, at which the log odds are read off.
_WORDS: Final = (0.02, 0.1, 0.25, 0.5, 0.75, 0.9)
_MASS: Final = (0.25, 0.5, 0.75, 0.9)
#: Distance in log odds to the next leaf beyond the cut, if there is none.
_NONE: Final = 5.0


class CutMeasures:
    """What is measured of the cuts of a page, see `cut_features`."""

    def __init__(self, nodes: NodeTable, odds: Floats, others: int) -> None:
        self.count = len(CUTS)
        self.others = others
        self.odds = odds
        self.words = nodes.words.astype(np.float64) + 0.1
        self.linked = nodes.anchor[nodes.leaves]
        self.hidden = nodes.hidden[nodes.leaves]
        self.prose = (nodes.words >= PROSE) & ~self.linked
        self.content = sigmoid(-odds)
        self.mass = self.words * self.content
        self.total, self.all_mass = in_order(self.words), in_order(self.mass)
        order = np.argsort(odds, kind="stable")
        self.ordered = odds[order]
        self.found, self.seen = np.cumsum(self.mass[order]), np.cumsum(self.words[order])
        self.expected = 2 * self.found / (self.seen + self.all_mass)
        self.best = float(self.ordered[int(self.expected.argmax())])
        self.mean = in_order(self.mass * self.content) / self.all_mass
        self.unsure = self.words_where((self.content > 0.2) & (self.content < 0.8))
        self.cuts = [_Cut(self, at) for at in CUTS]

    def words_where(self, chosen: Bools) -> float:
        """Words of the leaves of a mask."""
        return in_order(self.words[chosen])

    def odds_at(self, curve: Floats, share: float) -> float:
        """The log odds at which a rising curve over the ordered leaves has a share of its last value."""
        at = np.searchsorted(curve, share * curve[-1])
        return float(self.ordered[min(int(at), len(curve) - 1)])


class _Cut:
    """What is measured of one cut: leaves with log odds below it are kept."""

    def __init__(self, of: CutMeasures, at: float) -> None:
        self.of, self.at = of, at
        self.kept = of.odds < at
        self.words = of.words * self.kept
        self.long = max(0.1, in_order(self.words))
        self.hit = in_order(of.mass[self.kept])
        edges = np.flatnonzero(np.diff(self.kept.astype(np.int8), prepend=0, append=0))
        self.starts, self.ends = edges[::2], edges[1::2]
        self.above, self.below = of.odds[~self.kept], of.odds[self.kept]

    @property
    def longest(self) -> float:
        """Words of the longest run of kept leaves."""
        until = np.append(0, np.cumsum(self.words))
        return float((until[self.ends] - until[self.starts]).max()) if len(self.starts) else 0.0


def _each(column: Callable[[_Cut], float]) -> Callable[[CutMeasures], list[float]]:
    return lambda of: [column(cut) for cut in of.cuts]


def _words_at(share: float) -> Feature[CutMeasures]:
    about = f"Log odds up to which {share} of the words lie."
    return Feature(f"page_words_{share}", about, lambda of: of.odds_at(of.seen, share))


def _mass_at(share: float) -> Feature[CutMeasures]:
    about = f"Log odds up to which {share} of the content lies."
    return Feature(f"page_mass_{share}", about, lambda of: of.odds_at(of.found, share))


#: The features of a cut. Content and its words are expected values.
CUT: Final = FeatureTable(CutMeasures, (
    Feature("cut_cut", "The cut, in log odds.", _each(lambda cut: cut.at)),
    Feature("cut_from_best", "Its distance from the cut of the best expected F1.",
            _each(lambda cut: cut.at - cut.of.best)),
    Feature("cut_kept", "Share of the words that are kept.", _each(lambda cut: cut.long / in_order(cut.of.words))),
    Feature("cut_kept_words", "Words that are kept, log.", _each(lambda cut: float(np.log1p(cut.long)))),
    Feature("cut_precision", "Share of content in what is kept.", _each(lambda cut: cut.hit / cut.long)),
    Feature("cut_recall", "Share of the content that is kept.", _each(lambda cut: cut.hit / cut.of.all_mass)),
    Feature("cut_f1", "Expected F1.", _each(lambda cut: 2 * cut.hit / (cut.long + cut.of.all_mass))),
    Feature("cut_links", "Share of links in what is kept.",
            _each(lambda cut: in_order(cut.words[cut.of.linked]) / cut.long)),
    Feature("cut_prose", "Share of prose in what is kept.",
            _each(lambda cut: in_order(cut.words[cut.of.prose]) / cut.long)),
    Feature("cut_prose_kept", "Share of the prose that is kept.",
            _each(lambda cut: in_order(cut.words[cut.of.prose]) / max(0.1, cut.of.words_where(cut.of.prose)))),
    Feature("cut_leaves", "Share of the leaves that are kept.", _each(lambda cut: float(cut.kept.mean()))),
    Feature("cut_runs", "Runs of leaves that are kept.", _each(lambda cut: len(cut.starts))),
    Feature("cut_runs_per_leaf", "Runs by leaf that is kept, log.",
            _each(lambda cut: float(np.log1p(len(cut.starts)) - np.log1p(cut.kept.sum())))),
    Feature("cut_span", "Share of the page from the first to the last leaf that is kept.",
            _each(lambda cut: (cut.ends[-1] - cut.starts[0]) / len(cut.kept) if len(cut.starts) else 0)),
    Feature("cut_longest_run", "Share of the longest run in what is kept.",
            _each(lambda cut: cut.longest / cut.long)),
    Feature("cut_gap_above", "Distance to the next log odds above the cut.",
            _each(lambda cut: cut.above.min() - cut.at if len(cut.above) else _NONE)),
    Feature("cut_gap_below", "Distance to the next log odds below the cut.",
            _each(lambda cut: cut.at - cut.below.max() if len(cut.below) else _NONE)),
    Feature("cut_near", "Words within 0.5 of the cut, over the content.",
            _each(lambda cut: cut.of.words_where(np.abs(cut.of.odds - cut.at) < 0.5) / max(1, cut.of.all_mass))),
    Feature("cut_just_above", "Words up to 1 above the cut, over what is kept.",
            _each(lambda cut: cut.of.words_where((cut.of.odds >= cut.at) & (cut.of.odds < cut.at + 1)) / cut.long)),
    Feature("cut_just_below", "Words up to 1 below the cut, over what is kept.",
            _each(lambda cut: cut.of.words_where((cut.of.odds < cut.at) & (cut.of.odds > cut.at - 1)) / cut.long)),
    Feature("cut_of_mean", "Probability of content at the cut, over its mean on the page.",
            _each(lambda cut: float(1 / (1 + np.exp(cut.at)) / max(1e-6, cut.of.mean)))),
    Feature("page_words", "Words of the page, log.", lambda of: np.log1p(of.total)),
    Feature("page_leaves", "Leaves of the page, log.", lambda of: np.log1p(len(of.odds))),
    Feature("page_share", "Share of content in the words.", lambda of: of.all_mass / of.total),
    Feature("page_mean", "Mean probability of content, by content.", lambda of: of.mean),
    Feature("page_mass", "Words of content, log.", lambda of: np.log1p(of.all_mass)),
    Feature("page_links", "Share of links in the words.", lambda of: of.words_where(of.linked) / of.total),
    Feature("page_prose", "Share of prose in the words.", lambda of: of.words_where(of.prose) / of.total),
    Feature("page_sure", "Share of the words that are surely content.",
            lambda of: of.words_where(of.content > 0.9) / of.total),
    Feature("page_unsure", "Share of the words in doubt.", lambda of: of.unsure / of.total),
    Feature("page_unsure_of_mass", "Words in doubt, over the content.", lambda of: of.unsure / max(1, of.all_mass)),
    Feature("page_best", "The cut of the best expected F1, in log odds.", lambda of: of.best),
    Feature("page_best_f1", "The best expected F1.", lambda of: of.expected.max()),
    *map(_words_at, _WORDS),
    *map(_mass_at, _MASS),
    Feature("page_hidden", "Share of the leaves that are hidden.", lambda of: of.hidden.mean()),
    Feature("page_least", "The least log odds.", lambda of: of.odds.min()),
    Feature("page_others", "Other pages of the site that are known, log.", lambda of: np.log1p(of.others)),
))  # fmt: skip
CUT_FEATURES: Final = CUT.names


def best_cut(rating: Trees, columns: NDArray[np.float32]) -> float:
    """The cut of a page in log odds of template: the mean of all, weighted by the exponential of their rating.

    Where two cuts are nearly as good, the best one may be the other one after a small change of the page. The mean of
    both changes little, and it lies between them, where the page has the fewest words.

    Parameters
    ----------
    rating : over ``CUT_FEATURES``: the expected F-measure of a cut, less that of the best cut of the page
    columns : (len(CUTS), len(CUT_FEATURES)) features of the cuts, see `cut_features`
    """
    own = rating(columns)
    # A cut between two good ones is better than one beside a bad one.
    around = (np.append(own[0], own[:-1]) + 2 * own + np.append(own[1:], own[-1])) / 4
    weights = np.exp((around - around.max()) / _TEMPERATURE)
    return in_order(weights * CUTS) / in_order(weights)


def shifted(rating: Trees, nodes: NodeTable, odds: Floats, others: int, strict: float = 0.0) -> Floats:
    """(m,) log odds of template minus the cut of the page: those of content are below 0.

    A cut below all leaves is raised above the least log odds, so that the likeliest leaves are content, but to
    `_HIGHEST` at most: a page of which all is surely template has no content.

    Parameters
    ----------
    rating : see `best_cut`
    odds : (m,) log odds of template
    others : number of other pages of the site that are known
    strict : -1 leans the cut to recall, 1 to precision
    """
    if not len(odds):
        return odds
    cut = best_cut(rating, cut_features(nodes, odds, others)) - _LEAN * strict
    return odds - max(cut, min(float(odds.min()) + _MARGIN, _HIGHEST))


give("features", CUT=CUT, CUTS=CUTS, CONTENT_AT=CONTENT_AT)
