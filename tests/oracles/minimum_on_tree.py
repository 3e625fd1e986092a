"""The dynamic program of isotonic smoothing, in blocks."""

from __future__ import annotations

from typing import Final

import numpy as np

from scrapy_pagelets.base.arrays import Bools, Floats, Ints
from scrapy_pagelets.papers.page_level import _Tree

#: Number of cells processed at once; larger blocks do not fit into the processor's cache.
_BLOCK: Final = 1 << 14


def minimise(tree: _Tree, values: Floats, x: Floats, w: Floats, c: float) -> Floats:
    """Run the dynamic program over ascending values, in O(n k)."""
    x, w = x[tree.order], w[tree.order]
    inner = tree.starts[-1]
    costs = _distance(values, x[:inner], w[:inner])
    np.abs(costs, out=costs)
    nearest, jump = _add_leaves(costs, tree.above[inner:], values, x[inner:], w[inner:], c)
    level = np.empty(len(x), np.int64)
    level[:inner] = _top_down(tree, costs, _bottom_up(tree, costs, c))
    kept = level[tree.above[inner:]]
    level[inner:] = np.where(w[inner:] * (x[inner:] - values[kept]) > jump, nearest, kept)
    y = np.empty(len(x))
    y[tree.order] = values[level]
    return y


def _distance(values: Floats, x: Floats, w: Floats) -> Floats:
    """(rows, k) weighted signed difference between each value and each score."""
    table: Floats = np.subtract(values, x[:, None])
    table *= w[:, None]
    return table


def _add_leaves(costs: Floats, above: Ints, values: Floats, x: Floats, w: Floats, c: float) -> tuple[Ints, Floats]:
    """Add the costs of leaves to their parents, (rows, k); return the level nearest to each, and the cost of a jump."""
    nearest, jump = np.empty(len(x), np.int64), np.empty(len(x))
    block = max(1, _BLOCK // len(values))
    for begin in range(0, len(x), block):
        part = slice(begin, begin + block)
        table = _distance(values, x[part], w[part])
        passed = np.abs(table)
        nearest[part] = passed.argmin(1)
        jump[part] = c + passed[np.arange(len(passed)), nearest[part]]
        # Below x a leaf pays its distance or jumps; above x it pays its distance, which is the table itself.
        np.minimum(passed, jump[part, None], out=passed)
        np.maximum(passed, table, out=passed)
        first, last = int(above[part].min()), int(above[part].max()) + 1
        costs[first:last] += _sums(passed, above[part] - first, last - first)
    return nearest, jump


def _sums(costs: Floats, parents: Ints, rows: int) -> Floats:
    """(rows, k) sums of the costs by parent. ``bincount`` takes a quarter of the time of ``add.reduceat``."""
    k = costs.shape[1]
    cells = np.add.outer(parents * k, np.arange(k))
    return np.bincount(cells.ravel(), costs.ravel(), rows * k).astype(np.float64, copy=False).reshape(rows, k)


def _bottom_up(tree: _Tree, costs: Floats, c: float) -> Bools:
    """Add the costs of its subtree to each row, (rows, k); return where the row keeps a level if its parent has it."""
    stays = np.empty(costs.shape, np.bool_)
    starts = tree.starts
    for above, begin, end in zip(starts[-3::-1], starts[-2:0:-1], starts[:1:-1], strict=True):
        own = costs[begin:end]
        passed = np.empty_like(own)
        # Costs are not negative, and such floats sort like their bits: integers take two thirds of the time.
        np.minimum.accumulate(own.view(np.int64)[:, ::-1], axis=1, out=passed.view(np.int64)[:, ::-1])
        passed += c
        np.less_equal(own, passed, out=stays[begin:end])
        np.minimum(own, passed, out=passed)
        costs[above:begin] += _sums(passed, tree.above[begin:end] - above, begin - above)
    return stays


def _top_down(tree: _Tree, costs: Floats, stays: Bools) -> Ints:
    """(rows,) level of each row: that of its parent, or the best higher one if a jump is cheaper."""
    rows, k = costs.shape
    grid = np.arange(k)
    level = np.empty(rows, np.int64)
    level[0] = costs[0].argmin()
    for begin, end in zip(tree.starts[1:-1], tree.starts[2:], strict=True):
        level[begin:end] = level[tree.above[begin:end]]
        cells = np.arange(begin * k, end * k, k) + level[begin:end]
        jumping = np.flatnonzero(~stays.take(cells)) + begin
        if jumping.size:
            level[jumping] = np.where(grid >= level[jumping][:, None], costs[jumping], np.inf).argmin(1)
    return level
