"""Features of the context of each leaf: what the decision before says of the leaves around it.

A decision that sees the log odds of neighbours, siblings and sections keeps a caption with its article and drops a
sentence in a list of teasers. Source of the idea: Tu 2008, "Auto-context and Its Application to High-level Vision
Tasks". The features are ours.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from scrapy_pagelets.base.arrays import Bools, Floats, Ints, in_order
from scrapy_pagelets.core import compiled, give
from scrapy_pagelets.decision.page_features import Regions, headings
from scrapy_pagelets.decision.trees import sigmoid
from scrapy_pagelets.page.nodes import TAG, NodeTable

#: Log odds are clipped to this magnitude.
_MOST: Final = 8.0
#: Numbers of leaves before and after a leaf over which log odds are averaged.
_REACH: Final = (2, 6, 20)
#: Regions around a leaf whose siblings, and whose repetitions on the page, are looked at.
_LEVELS: Final = 4
#: Probabilities of content that a run of leaves must exceed on average, see `_runs`.
_BARS: Final = (0.25, 0.5, 0.75)
#: Shares of the words of a page at which the log odds are read off.
_QUANTILES: Final = (0.1, 0.25, 0.5, 0.75)
#: Distance to the first heading of level 1 on a page without one, in words on a log scale.
_NO_HEADING: Final = -20.0
_HEADING_LEVEL: Final = np.zeros(max(TAG.values()) + 1, np.int64)
for _level in range(1, 7):
    _HEADING_LEVEL[TAG[f"h{_level}"]] = _level

_PAGE: Final = ("mean", "share", "mass", "sure", "unsure", "best", "prose", *(f"quantile_{q}" for q in _QUANTILES))
_CURVE: Final = ("odds", "above", "precision", "kept", "expected", "from_best")
_RUN: Final = ("in", "from_start", "from_end", "share", "purity", "mass")
_SIBLING: Final = ("before", "after", "words_before", "words_after", "mean")
_SECTION: Final = ("mean", "words", "links", "heading", "level", "number", "before", "after")
_RECORD: Final = ("count", "content", "mass")
CONTEXT_FEATURES: Final = (
    *(f"context_{name}" for name in (*_PAGE, *_CURVE)),
    *(f"run_{bar}_{name}" for bar in _BARS for name in _RUN),
    *(f"{side}_{reach}" for reach in _REACH for side in ("before", "after")),
    *(f"sibling_{name}_{k}" for k in range(_LEVELS) for name in _SIBLING),
    *(f"region_mass_{k}" for k in range(_LEVELS)),
    *(f"section_{name}" for name in _SECTION),
    "after_h1",
    *(f"record_{name}_{k}" for k in range(1, _LEVELS) for name in _RECORD),
)


@compiled("features")
def context_features(nodes: NodeTable, odds: Floats) -> NDArray[np.float32]:
    """(m, len(CONTEXT_FEATURES)) features of each leaf.

    Parameters
    ----------
    odds : (m,) log odds of template by the decision before
    """
    if not len(odds):
        return np.zeros((0, len(CONTEXT_FEATURES)), np.float32)
    odds = np.clip(odds, -_MOST, _MOST)
    words = nodes.words.astype(np.float64) + 0.1  # leaves without words have a small weight
    content = sigmoid(-odds)
    mass = words * content
    rows, levels = Regions(nodes).rows, _levels(nodes)
    columns = (
        *_page(nodes, odds, words, content),
        *_curve(odds, words, mass),
        *(column for bar in _BARS for column in _run(words, mass, bar)),
        *_near(odds, words),
        *_siblings(nodes, odds, words, rows),
        *(nodes.total(nodes.spread(mass))[rows[k]] / in_order(mass) for k in range(_LEVELS)),
        *_sections(nodes, odds, words, levels),
        _after_title(levels, words),
        *(column for k in range(1, _LEVELS) for column in _records(nodes, words, mass, rows[k])),
    )
    result = np.empty((len(odds), len(CONTEXT_FEATURES)), np.float32, "F")
    for j, column in enumerate(columns):
        result[:, j] = column
    return result


def _page(nodes: NodeTable, odds: Floats, words: Floats, content: Floats) -> list[float]:
    """How clear and how long the content of the page is."""
    total, mass = in_order(words), words * content
    found = in_order(mass)
    order = np.argsort(odds, kind="stable")
    seen = np.cumsum(words[order])
    at = np.minimum(np.searchsorted(seen, np.array(_QUANTILES) * total), len(odds) - 1)
    prose = (nodes.words >= 10) & ~nodes.anchor[nodes.leaves]
    return [
        in_order(mass * content) / found,
        found / total,
        float(np.log1p(found)),
        in_order(words[content > 0.9]) / total,
        in_order(words[(content > 0.2) & (content < 0.8)]) / total,
        float((2 * np.cumsum(mass[order]) / (seen + found)).max()),
        in_order(mass[prose]) / found,
        *odds[order][at].tolist(),
    ]


def _curve(odds: Floats, words: Floats, mass: Floats) -> list[Floats]:
    """The place of each leaf among all in the order of their log odds."""
    order = np.argsort(odds, kind="stable")
    found, kept = np.cumsum(mass[order]), np.cumsum(words[order])
    all_mass = in_order(mass)
    expected = 2 * found / (kept + all_mass)
    best = odds[order][int(expected.argmax())]
    share = kept / in_order(words)
    ranked = np.stack([(found - mass[order]) / all_mass, found / kept, share, expected / expected.max()])
    by_leaf = np.empty_like(ranked)
    by_leaf[:, order] = ranked
    return [odds, *by_leaf, odds - best]


def _run(words: Floats, mass: Floats, bar: float) -> list[Floats | Bools | float]:
    """Relate the leaves to the run of leaves with the most content words beyond a share of its words."""
    gain = np.append(0, np.cumsum(mass - bar * words))
    risen = gain - np.minimum.accumulate(gain)
    last = int(risen.argmax())
    first = int(gain[: last + 1].argmin())
    before = np.append(0, np.cumsum(words))
    index = np.arange(len(words))
    long, found = before[last] - before[first], in_order(mass[first:last])
    return [
        (index >= first) & (index < last),
        np.sign(index - first + 0.5) * np.log1p(np.abs(before[:-1] - before[first])),
        np.sign(last - index - 0.5) * np.log1p(np.abs(before[last] - before[1:])),
        long / before[-1],
        found / max(1e-9, long),
        found / in_order(mass),
    ]


def _near(odds: Floats, words: Floats) -> list[Floats]:
    """Mean log odds of the leaves before, and of those after."""
    m = len(odds)
    index = np.arange(m)
    summed, weight = np.append(0, np.cumsum(words * odds)), np.append(0, np.cumsum(words))
    columns = []
    for reach in _REACH:
        for low, high in ((np.maximum(0, index - reach), index), (index + 1, np.minimum(m, index + 1 + reach))):
            columns.append((summed[high] - summed[low]) / np.maximum(0.1, weight[high] - weight[low]))
    return columns


def _siblings(nodes: NodeTable, odds: Floats, words: Floats, rows: Ints) -> list[Floats]:
    """Mean log odds, and words, of the siblings with text before and after each region, and its own mean."""
    below = nodes.total(nodes.spread(words))
    mean = nodes.total(nodes.spread(words * odds)) / np.maximum(1e-9, below)
    order = np.argsort(nodes.parent, kind="stable")
    order = order[below[order] > 0]
    adjacent = nodes.parent[order[1:]] == nodes.parent[order[:-1]]
    one, next_one = order[:-1][adjacent], order[1:][adjacent]
    table = np.zeros((len(_SIBLING), len(nodes)))
    table[0, next_one], table[2, next_one] = mean[one], np.log1p(below[one])
    table[1, one], table[3, one] = mean[next_one], np.log1p(below[next_one])
    table[4] = mean
    return [table[j, rows[k]] for k in range(_LEVELS) for j in range(len(_SIBLING))]


def _sections(nodes: NodeTable, odds: Floats, words: Floats, levels: Ints) -> list[Floats]:
    """The text between each heading and the next: its log odds, words, link words, and those of the heading."""
    m = len(odds)
    heading = headings(nodes) == np.arange(m)
    starts = heading & ~np.append(False, heading[:-1])
    section = np.cumsum(starts)
    count = int(section[-1]) + 1

    def total(column: Floats) -> Floats:
        return np.bincount(section, column, count).astype(np.float64)

    text = words * ~heading
    long, wide = total(text), total(words * heading)
    mean = total(text * odds) / np.maximum(0.1, long)
    level = np.zeros(count)
    level[section[starts]] = levels[starts]
    return [
        mean[section],
        np.log1p(long)[section],
        (total(text * nodes.anchor[nodes.leaves]) / np.maximum(0.1, long))[section],
        (total(words * heading * odds) / np.maximum(0.1, wide))[section],
        level[section],
        section / max(1, count - 1),
        np.append(0, mean)[section],
        np.append(mean, 0)[section + 1],
    ]


def _levels(nodes: NodeTable) -> Ints:
    """(m,) level of the heading around each leaf, 1 to 6; 0 outside of headings."""
    level = _HEADING_LEVEL[nodes.tag]
    for rows in nodes.levels[1:]:
        level[rows] = np.where(level[rows] > 0, level[rows], level[nodes.parent[rows]])
    return level[nodes.leaves]


def _after_title(levels: Ints, words: Floats) -> Floats | float:
    """(m,) signed distance in words, on a log scale, from the first heading of level 1."""
    first = np.flatnonzero(levels == 1)[:1]
    if not len(first):
        return _NO_HEADING
    before = np.cumsum(words) - words
    distance: Floats = 1.0 * np.sign(np.arange(len(words)) - first[0]) * np.log1p(np.abs(before - before[first[0]]))
    return distance


def _records(nodes: NodeTable, words: Floats, mass: Floats, region: Ints) -> list[Floats]:
    """Regions of the same shape, such as teasers: their number, their share of content, their content of the page's."""
    _, kind = np.unique(nodes.shape[region], return_inverse=True)
    _, first = np.unique(region, return_index=True)
    found = np.bincount(kind, mass)
    return [
        np.log1p(np.bincount(kind[first], minlength=len(found)))[kind],
        (found / np.bincount(kind, words))[kind],
        (found / in_order(mass))[kind],
    ]


give("features", CONTEXT_FEATURES=CONTEXT_FEATURES, HEADING_LEVEL=_HEADING_LEVEL)
