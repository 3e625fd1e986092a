"""The features of each cut of a page, column by column."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from scrapy_pagelets.base.arrays import Bools, Floats
from scrapy_pagelets.decision.classifiers import sigmoid
from scrapy_pagelets.decision.cut import _MASS, _WORDS, CUTS
from scrapy_pagelets.decision.page_features import PROSE
from scrapy_pagelets.page.nodes import NodeTable
from tests.oracles.columns import Column, Columns, in_order

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


def _words_at(share: float) -> Column[CutMeasures]:
    return (f"page_words_{share}", lambda of: of.odds_at(of.seen, share))


def _mass_at(share: float) -> Column[CutMeasures]:
    return (f"page_mass_{share}", lambda of: of.odds_at(of.found, share))


#: The features of a cut. Content and its words are expected values.
CUT: Final = Columns(CutMeasures, (
    ("cut_cut", _each(lambda cut: cut.at)),
    ("cut_from_best", _each(lambda cut: cut.at - cut.of.best)),
    ("cut_kept", _each(lambda cut: cut.long / in_order(cut.of.words))),
    ("cut_kept_words", _each(lambda cut: float(np.log1p(cut.long)))),
    ("cut_precision", _each(lambda cut: cut.hit / cut.long)),
    ("cut_recall", _each(lambda cut: cut.hit / cut.of.all_mass)),
    ("cut_f1", _each(lambda cut: 2 * cut.hit / (cut.long + cut.of.all_mass))),
    ("cut_links", _each(lambda cut: in_order(cut.words[cut.of.linked]) / cut.long)),
    ("cut_prose", _each(lambda cut: in_order(cut.words[cut.of.prose]) / cut.long)),
    ("cut_prose_kept",
     _each(lambda cut: in_order(cut.words[cut.of.prose]) / max(0.1, cut.of.words_where(cut.of.prose)))),
    ("cut_leaves", _each(lambda cut: float(cut.kept.mean()))),
    ("cut_runs", _each(lambda cut: len(cut.starts))),
    ("cut_runs_per_leaf", _each(lambda cut: float(np.log1p(len(cut.starts)) - np.log1p(cut.kept.sum())))),
    ("cut_span", _each(lambda cut: (cut.ends[-1] - cut.starts[0]) / len(cut.kept) if len(cut.starts) else 0)),
    ("cut_longest_run", _each(lambda cut: cut.longest / cut.long)),
    ("cut_gap_above", _each(lambda cut: cut.above.min() - cut.at if len(cut.above) else _NONE)),
    ("cut_gap_below", _each(lambda cut: cut.at - cut.below.max() if len(cut.below) else _NONE)),
    ("cut_near", _each(lambda cut: cut.of.words_where(np.abs(cut.of.odds - cut.at) < 0.5) / max(1, cut.of.all_mass))),
    ("cut_just_above",
     _each(lambda cut: cut.of.words_where((cut.of.odds >= cut.at) & (cut.of.odds < cut.at + 1)) / cut.long)),
    ("cut_just_below",
     _each(lambda cut: cut.of.words_where((cut.of.odds < cut.at) & (cut.of.odds > cut.at - 1)) / cut.long)),
    ("cut_of_mean", _each(lambda cut: float(1 / (1 + np.exp(cut.at)) / max(1e-6, cut.of.mean)))),
    ("page_words", lambda of: np.log1p(of.total)),
    ("page_leaves", lambda of: np.log1p(len(of.odds))),
    ("page_share", lambda of: of.all_mass / of.total),
    ("page_mean", lambda of: of.mean),
    ("page_mass", lambda of: np.log1p(of.all_mass)),
    ("page_links", lambda of: of.words_where(of.linked) / of.total),
    ("page_prose", lambda of: of.words_where(of.prose) / of.total),
    ("page_sure", lambda of: of.words_where(of.content > 0.9) / of.total),
    ("page_unsure", lambda of: of.unsure / of.total),
    ("page_unsure_of_mass", lambda of: of.unsure / max(1, of.all_mass)),
    ("page_best", lambda of: of.best),
    ("page_best_f1", lambda of: of.expected.max()),
    *map(_words_at, _WORDS),
    *map(_mass_at, _MASS),
    ("page_hidden", lambda of: of.hidden.mean()),
    ("page_least", lambda of: of.odds.min()),
    ("page_others", lambda of: np.log1p(of.others)),
))  # fmt: skip


def cut_features(nodes: NodeTable, odds: Floats, others: int) -> NDArray[np.float32]:
    """See `core.features.cut_features`."""
    return CUT.columns(nodes, odds, others)
