"""The features of the context of each leaf, column by column."""

from __future__ import annotations

from functools import partial
from typing import Final

import numpy as np
from numpy.typing import NDArray

from scrapy_pagelets.base.arrays import Bools, Floats, Ints
from scrapy_pagelets.decision.classifiers import sigmoid
from scrapy_pagelets.decision.page_features import (
    _BARS,
    _HEADING_LEVEL,
    _LEVELS,
    _QUANTILES,
    _REACH,
    _RECORD,
    _RUN,
    _SECTION,
    _SIBLING,
    PROSE,
    headings,
)
from scrapy_pagelets.page.nodes import NodeTable
from tests.oracles.columns import Column, Columns, in_order
from tests.oracles.page_features import regions

#: Log odds are clipped to this magnitude.
_MOST: Final = 8.0
#: Distance to the first heading of level 1 on a page without one, in words on a log scale.
_NO_HEADING: Final = -20.0


class ContextMeasures:
    """What is measured of the leaves of a page by the log odds of a decision, see `context_features`."""

    def __init__(self, nodes: NodeTable, odds: Floats) -> None:
        self.nodes = nodes
        self.count = len(odds)
        self.odds = np.clip(odds, -_MOST, _MOST)
        self.words = nodes.words.astype(np.float64) + 0.1  # leaves without words have a small weight
        self.content = sigmoid(-self.odds)
        self.mass = self.words * self.content
        self.total, self.all_mass = in_order(self.words), in_order(self.mass)
        self.order = np.argsort(self.odds, kind="stable")
        #: Of the leaves up to each one by ascending log odds: words, words of content, and F1 if they are kept.
        self.seen, self.found = np.cumsum(self.words[self.order]), np.cumsum(self.mass[self.order])
        self.expected = 2 * self.found / (self.seen + self.all_mass)
        self.prose = (nodes.words >= PROSE) & ~nodes.anchor[nodes.leaves]
        self.levels = _heading_levels(nodes)
        self.regions = regions(nodes, _LEVELS)
        self.runs = {bar: _run(self.words, self.mass, bar) for bar in _BARS}
        self.siblings, self.sections = _siblings(self), _sections(self)
        self.records = [_records(self, rows) for rows in self.regions]

    def odds_at(self, share: float) -> float:
        """The log odds up to which a share of the words of the page lies."""
        at = np.searchsorted(self.seen, share * self.total)
        return float(self.odds[self.order][np.minimum(at, self.count - 1)])

    def mean_odds(self, side: str, reach: int) -> Floats:
        """(m,) mean log odds of some leaves before each leaf, or after it, by words."""
        index = np.arange(self.count)
        if side == "before":
            low, high = np.maximum(0, index - reach), index
        else:
            low, high = index + 1, np.minimum(self.count, index + 1 + reach)
        summed, weight = np.append(0, np.cumsum(self.words * self.odds)), np.append(0, np.cumsum(self.words))
        mean: Floats = (summed[high] - summed[low]) / np.maximum(0.1, weight[high] - weight[low])
        return mean

    def unordered(self, column: Floats) -> Floats:
        """(m,) a column in the order of the log odds, in that of the page."""
        found = np.empty_like(column)
        found[self.order] = column
        return found


def _of_run(bar: float, name: str) -> Column[ContextMeasures]:
    return (f"run_{bar}_{name}", lambda of: of.runs[bar][name])


def _of_sibling(name: str, k: int) -> Column[ContextMeasures]:
    return (f"sibling_{name}_{k}", lambda of: of.siblings[name][of.regions[k]])


def _of_section(name: str) -> Column[ContextMeasures]:
    return (f"section_{name}", lambda of: of.sections[name])


def _region_mass(k: int) -> Column[ContextMeasures]:
    return (f"region_mass_{k}", lambda of: of.nodes.sum_below(of.mass)[of.regions[k]] / of.all_mass)


def _of_record(name: str, k: int) -> Column[ContextMeasures]:
    return (f"record_{name}_{k}", lambda of: of.records[k][name])


#: The features of a leaf by its context. Content and its words are expected values.
CONTEXT: Final = Columns(ContextMeasures, (
    ("context_mean", lambda of: in_order(of.mass * of.content) / of.all_mass),
    ("context_share", lambda of: of.all_mass / of.total),
    ("context_mass", lambda of: np.log1p(of.all_mass)),
    ("context_sure", lambda of: in_order(of.words[of.content > 0.9]) / of.total),
    ("context_unsure", lambda of: in_order(of.words[(of.content > 0.2) & (of.content < 0.8)]) / of.total),
    ("context_best", lambda of: of.expected.max()),
    ("context_prose", lambda of: in_order(of.mass[of.prose]) / of.all_mass),
    *((f"context_quantile_{share}", partial(ContextMeasures.odds_at, share=share)) for share in _QUANTILES),
    ("context_odds", lambda of: of.odds),
    ("context_above", lambda of: of.unordered((of.found - of.mass[of.order]) / of.all_mass)),
    ("context_precision", lambda of: of.unordered(of.found / of.seen)),
    ("context_kept", lambda of: of.unordered(of.seen / of.total)),
    ("context_expected", lambda of: of.unordered(of.expected / of.expected.max())),
    ("context_from_best", lambda of: of.odds - of.odds[of.order][int(of.expected.argmax())]),
    *(_of_run(bar, name) for bar in _BARS for name in _RUN),
    *((f"{side}_{reach}", partial(ContextMeasures.mean_odds, side=side, reach=reach))
      for reach in _REACH for side in ("before", "after")),
    *(_of_sibling(name, k) for k in range(_LEVELS) for name in _SIBLING),
    *map(_region_mass, range(_LEVELS)),
    *map(_of_section, _SECTION),
    ("after_h1", lambda of: _after_title(of.levels, of.words)),
    *(_of_record(name, k) for k in range(1, _LEVELS) for name in _RECORD),
))  # fmt: skip


def context_features(nodes: NodeTable, odds: Floats) -> NDArray[np.float32]:
    """See `core.features.context_features`."""
    if not len(odds):
        return np.zeros((0, len(CONTEXT.rows)), np.float32)
    return CONTEXT.columns(nodes, odds)


def _run(words: Floats, mass: Floats, bar: float) -> dict[str, Floats | Bools | float]:
    """Relate the leaves to one run of leaves: that with the most content words beyond a share of its words."""
    gain = np.append(0, np.cumsum(mass - bar * words))
    risen = gain - np.minimum.accumulate(gain)
    last = int(risen.argmax())
    first = int(gain[: last + 1].argmin())
    before = np.append(0, np.cumsum(words))
    index = np.arange(len(words))
    long, found = before[last] - before[first], in_order(mass[first:last])
    return {
        "in": (index >= first) & (index < last),
        "from_start": np.sign(index - first + 0.5) * np.log1p(np.abs(before[:-1] - before[first])),
        "from_end": np.sign(last - index - 0.5) * np.log1p(np.abs(before[last] - before[1:])),
        "share": long / before[-1],
        "purity": found / max(1e-9, long),
        "mass": found / in_order(mass),
    }


def _siblings(of: ContextMeasures) -> dict[str, Floats]:
    """(n,) log odds and words of the siblings with text before and after each row, and its own log odds."""
    nodes, below = of.nodes, of.nodes.sum_below(of.words)
    mean = of.nodes.sum_below(of.words * of.odds) / np.maximum(1e-9, below)
    order = np.argsort(nodes.parent, kind="stable")
    order = order[below[order] > 0]
    adjacent = nodes.parent[order[1:]] == nodes.parent[order[:-1]]
    one, next_one = order[:-1][adjacent], order[1:][adjacent]
    found = {name: np.zeros(len(nodes)) for name in _SIBLING} | {"mean": mean}
    found["before"][next_one], found["words_before"][next_one] = mean[one], np.log1p(below[one])
    found["after"][one], found["words_after"][one] = mean[next_one], np.log1p(below[next_one])
    return found


def _sections(of: ContextMeasures) -> dict[str, Floats]:
    """(m,) about the section of each leaf: the text between a heading and the next one."""
    nodes, words = of.nodes, of.words
    heading = headings(nodes) == np.arange(of.count)
    starts = heading & ~np.append(False, heading[:-1])
    section = np.cumsum(starts)
    count = int(section[-1]) + 1

    def total(column: Floats) -> Floats:
        return np.bincount(section, column, count).astype(np.float64)

    text = words * ~heading
    long, wide = total(text), total(words * heading)
    mean = total(text * of.odds) / np.maximum(0.1, long)
    level = np.zeros(count)
    level[section[starts]] = of.levels[starts]
    return {
        "mean": mean[section],
        "words": np.log1p(long)[section],
        "links": (total(text * nodes.anchor[nodes.leaves]) / np.maximum(0.1, long))[section],
        "heading": (total(words * heading * of.odds) / np.maximum(0.1, wide))[section],
        "level": level[section],
        "number": section / max(1, count - 1),
        "before": np.append(0, mean)[section],
        "after": np.append(mean, 0)[section + 1],
    }


def _heading_levels(nodes: NodeTable) -> Ints:
    """(m,) level of the heading around each leaf, 1 to 6; 0 outside of headings."""
    levels = nodes.inherit(_HEADING_LEVEL[nodes.tag], lambda own, above: np.where(own > 0, own, above))
    return levels[nodes.leaves]


def _after_title(levels: Ints, words: Floats) -> Floats | float:
    """(m,) signed distance in words, on a log scale, from the first heading of level 1."""
    first = np.flatnonzero(levels == 1)[:1]
    if not len(first):
        return _NO_HEADING
    before = np.cumsum(words) - words
    distance: Floats = 1.0 * np.sign(np.arange(len(words)) - first[0]) * np.log1p(np.abs(before - before[first[0]]))
    return distance


def _records(of: ContextMeasures, region: Ints) -> dict[str, Floats]:
    """(m,) about the regions of one shape, such as teasers: number, share of content, content of that of the page."""
    _, kind = np.unique(of.nodes.shape[region], return_inverse=True)
    _, first = np.unique(region, return_index=True)
    found = np.bincount(kind, of.mass)
    return {
        "count": np.log1p(np.bincount(kind[first], minlength=len(found)))[kind],
        "content": (found / np.bincount(kind, of.words))[kind],
        "mass": (found / of.all_mass)[kind],
    }
