"""Isotonic smoothing without a grid: the optimum that `scrapy_pagelets.papers.page_level.smooth` approximates.

Source: Chakrabarti, Kumar, Punera 2007, *Page-level Template Detection via Isotonic Smoothing* (slides), "Smoothing via
Regularized Isotonic Regression"; ``docs/algorithms/isotonic-2007.md``.
"""

from __future__ import annotations

from itertools import combinations, pairwise
from typing import Final

import numpy as np

from scrapy_pagelets.base.arrays import Floats, Ints
from scrapy_pagelets.papers.page_level import _columns, _tree, minimise

#: Maximum number of cells in the table of ``smooth_exact``, a gigabyte.
_MAX_CELLS: Final = 1 << 27


def smooth_exact(levels: list[Ints], parent: Ints, x: Floats, w: Floats, c: float = 0.3) -> Floats:
    """``smooth`` without a grid: the optimum over all scores.

    For an L1 distance, some optimum uses only values of ``x`` (the slides' lemma). Time and memory are O(n v) for v
    distinct scores, and O(n log n) for ``c=0``.
    """
    if c == 0:
        return isotonic(levels, parent, x, w)
    x, w = _columns(x, w, c)
    values = np.unique(x)
    if len(x) * len(values) > _MAX_CELLS:
        raise ValueError(f"{len(x)} nodes with {len(values)} different scores are too many to be exact: use smooth")
    return minimise(_tree(levels, parent), values, x, w, c)


def smooth_distinct(levels: list[Ints], parent: Ints, x: Floats, w: Floats, c: float, values: Floats) -> Floats:
    """The objective as printed, ``sum w |x - y| + c * (number of distinct y)``, exactly, with ``y`` of ``values``.

    Let ``v_1 < ... < v_m`` be those in use. The distance is that of ``v_1`` everywhere, plus what each step from one to
    the next changes on the rows above it. Two levels without a penalty give the best rows of a step by itself. As the
    distance is convex, those of a higher step are among those of a lower one, so that the steps fit together, and the
    best values are a shortest path: O(n v^2) for v values.
    """
    x, w = _columns(x, w, c)
    tree, values = _tree(levels, parent), np.unique(values)

    def step(low: int, high: int) -> Floats:
        return minimise(tree, values[[low, high]], x, w, 0)

    flat = [float(w @ np.abs(x - value)) for value in values]
    least, before = [cost + c for cost in flat], [-1] * len(values)
    for low, high in combinations(range(len(values)), 2):  # all steps to a value come before those from it
        cost = least[low] + float(w @ np.abs(x - step(low, high))) - flat[low] + c
        if cost < least[high]:
            least[high], before[high] = cost, low
    path = [int(np.argmin(least))]
    while before[path[0]] >= 0:
        path.insert(0, before[path[0]])
    y = np.full(len(x), values[path[0]])
    for low, high in pairwise(path):
        y[step(low, high) == values[high]] = values[high]
    return y


def isotonic(levels: list[Ints], parent: Ints, x: Floats, w: Floats) -> Floats:
    """``smooth_exact`` for ``c=0``, isotonic regression without a penalty, in O(n log n).

    The cost of a subtree, as a function of a lower bound on the value of its root, is convex and piecewise linear. A
    heap holds the points where its slope rises. The heaps of sibling subtrees are melded: they are pairing heaps
    (Fredman, Sedgewick, Sleator, Tarjan 1986) whose links are columns. Each row is a heap node once.
    """
    x, w = _columns(x, w, 0)
    tree = _tree(levels, parent)
    rows, above = np.concatenate(levels).tolist(), tree.parent.tolist()
    least = _least(rows, above, x.tolist(), w.tolist())
    least[rows[0]] = max(least[rows[0]], float(x.min()))
    for row in rows[1:]:
        least[row] = max(least[row], least[above[row]])
    return np.array(least)


def objective(parent: Ints, x: Floats, y: Floats, w: Floats, c: float) -> float:
    """Objective of the regression: ``sum w |x - y|`` plus ``c`` for each edge between different values of ``y``."""
    edges = np.flatnonzero(parent >= 0)
    return float((w * np.abs(x - y)).sum() + c * (y[edges] != y[parent[edges]]).sum())


def _least(rows: list[int], above: list[int], x: list[float], w: list[float]) -> list[float]:
    """(n,) the lowest value at which each subtree has minimal cost; minus infinity if all its weights are 0."""
    heap, child, sibling = ([-1] * len(x) for _ in range(3))  # the root row of each heap, and the links of the rows
    rise = [2 * weight for weight in w]  # by how much the slope rises at the value of a row
    least = [-np.inf] * len(x)

    def meld(one: int, other: int) -> int:
        if one < 0 or other < 0:
            return max(one, other)
        if x[other] < x[one]:
            one, other = other, one
        sibling[other] = child[one]
        child[one] = other
        return one

    def rest(top: int) -> int:
        """Return the heap without its top row, by the two passes of a pairing heap."""
        pairs = []
        row = child[top]
        while row >= 0:
            partner = sibling[row]
            following = sibling[partner] if partner >= 0 else -1
            pairs.append(meld(row, partner))
            row = following
        heap = -1
        for pair in reversed(pairs):
            heap = meld(heap, pair)
        return heap

    for row in reversed(rows):
        top = heap[row]
        if (slope := -w[row]) < 0:
            top = meld(top, row)
            while (slope := slope + rise[top]) < 0:
                top = rest(top)
            # The falling part of the cost is dropped: a row may be higher than its parent.
            least[row], rise[top] = x[top], slope
        if above[row] >= 0:
            heap[above[row]] = meld(heap[above[row]], top)
    return least
