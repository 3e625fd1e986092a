"""Neighbouring leaves: those that are consecutive and, on a rendered page, those that are side by side."""

from __future__ import annotations

from typing import Final

import numpy as np

from scrapy_pagelets.base.arrays import Floats, Ints
from scrapy_pagelets.page.looks import Layout
from scrapy_pagelets.papers.graph_cuts.tree import Tree

#: Number of rows that are compared with all others at once; if more leaves than this are visible, only document order
#: counts.
_CHUNK, _MAX_LEAVES = 256, 5_000
#: Pixels by which boxes may overlap and still be side by side.
_OVERLAP: Final = 2


def following(tree: Tree) -> tuple[Ints, Ints]:
    """Pairs of consecutive leaves."""
    one = np.arange(len(tree.leaves) - 1)
    return one, one + 1


def rendered(tree: Tree, layout: Layout) -> tuple[Ints, Ints]:
    """Pairs of consecutive leaves, and pairs of a visible leaf and the nearest one to its right or below it.

    The nearest leaf is chosen among the visible ones whose boxes overlap in the other direction.
    """
    pairs = [following(tree)]
    seen = np.flatnonzero(layout.visible[tree.seen])
    if len(seen) <= _MAX_LEAVES:
        rows = tree.seen[seen]
        x, y = layout.x[rows].astype(np.float64), layout.y[rows].astype(np.float64)
        right, bottom = x + layout.width[rows], y + layout.height[rows]
        for box in ((x, right, y, bottom), (y, bottom, x, right)):
            one, other = _nearest(*box)
            pairs.append((seen[one], seen[other]))
    one, other = (np.concatenate(part) for part in zip(*pairs, strict=True))
    both = np.unique(np.stack((np.minimum(one, other), np.maximum(one, other))), axis=1)
    return both[0], both[1]


def _nearest(low: Floats, high: Floats, start: Floats, end: Floats) -> tuple[Ints, Ints]:
    """Pairs of a box and the nearest one after it: its ``low`` is after the ``high``, and ``start:end`` overlap."""
    pairs = []
    for at in range(0, len(low), _CHUNK):
        own = slice(at, at + _CHUNK)
        gap = low - high[own, None]
        beside = (start < end[own, None]) & (start[own, None] < end) & (gap >= -_OVERLAP)
        gap = np.where(beside, gap, np.inf)
        gap[np.arange(len(gap)), np.arange(at, at + len(gap))] = np.inf
        nearest = gap.argmin(axis=1)
        near = np.isfinite(gap[np.arange(len(gap)), nearest])
        pairs.append((at + np.flatnonzero(near), nearest[near]))
    empty = np.zeros(0, np.int64)
    return tuple(np.concatenate(part) for part in zip((empty, empty), *pairs, strict=True))  # type: ignore[return-value]
