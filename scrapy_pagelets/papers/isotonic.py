"""Regularised isotonic regression on the DOM tree: make templateness scores monotone, with few distinct sections.

A node is template if and only if all its children are, so no node may have a higher score than one of its children.
Among all such scores ``y`` on a grid, ``smooth`` finds those that minimise
``sum w |x - y| + c * #{edges: y_parent != y_child}``.

Source: Chakrabarti, Kumar, Punera 2007, *Page-level Template Detection via Isotonic Smoothing* (slides), "Smoothing via
Regularized Isotonic Regression". The slides charge ``c`` for each distinct value of ``y``, and call a set of *adjacent*
nodes of one value a section. Only sections decompose over a tree, so here each edge between two sections costs ``c``:
``docs/algorithms/isotonic-2007.md``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from scrapy_pagelets.base.arrays import Bools, Floats, Ints
from scrapy_pagelets.core import compiled

#: Number of cells processed at once; larger blocks do not fit into the processor's cache.
_BLOCK: Final = 1 << 14


def smooth(levels: list[Ints], parent: Ints, x: Floats, w: Floats, c: float = 0.3, k: int = 64) -> Floats:
    """Minimise the objective with ``y[parent[i]] <= y[i]`` on a grid of k levels; exact on the grid.

    Of several optimal scores the lower one is chosen, which means less template. The optimum on the grid exceeds that
    over all scores by ``sum(w) / (2 * (k - 1))`` at most. Time and memory are O(n k).

    Parameters
    ----------
    levels : rows of each depth from the root down (``NodeTable.levels``)
    parent : (n,) row of the parent, -1 at the root
    x : (n,) raw scores, 0 to 1
    w : (n,) weights, 0 or more: the cost of a difference of 1 between ``x`` and ``y``
    c : cost of an edge between two sections, in the unit of the weights
    k : number of levels, evenly spaced from 0 to 1

    Returns
    -------
    (n,) smoothed scores

    Raises
    ------
    ValueError : if the columns differ in length, the levels are not those of the tree, a score is outside 0 to 1 or not
        a number, a weight or the cost is negative, or there are fewer than two levels

    Examples
    --------
    Two children are content, so the root is, and they form one section with it. The menu is another section.

    >>> levels, parent = [np.array([0]), np.array([1, 2, 3])], np.array([-1, 0, 0, 0])
    >>> smooth(levels, parent, np.array([0.6, 0.9, 0.1, 0.2]), np.ones(4), c=0.3, k=11)
    array([0.2, 0.9, 0.2, 0.2])
    """
    if k < 2:
        raise ValueError(f"k is {k}: the grid needs 2 levels or more")
    x, w = _columns(x, w, c)
    if x.size and not 0 <= x.min() <= x.max() <= 1:
        raise ValueError("x has a score outside 0 to 1, the range of the grid")
    return minimise(_tree(levels, parent, len(x)), np.linspace(0, 1, k), x, w, c)


@dataclass(frozen=True, slots=True)
class _Tree:
    """The tree in the order of the dynamic program: first the rows with children, level by level, then all leaves."""

    parent: Ints  # (n,) row of the parent of each row
    order: Ints  # (n,) row at each position
    above: Ints  # (n,) position of the parent for each position, 0 at the root
    starts: list[int]  # position where each level of rows with children begins, and where the last one ends


def _columns(x: Floats, w: Floats, c: float) -> tuple[Floats, Floats]:
    x, w = np.asarray(x, np.float64), np.asarray(w, np.float64)
    if x.ndim != 1 or x.shape != w.shape:
        raise ValueError(f"x has the shape {x.shape} and w has {w.shape}: give one score and one weight for each node")
    if not np.isfinite(x).all():
        raise ValueError(f"x is not finite in row {np.flatnonzero(~np.isfinite(x))[0]}: each node needs a score")
    if not (np.isfinite(w) & (w >= 0)).all():
        raise ValueError(f"w is {w[~(w >= 0) | np.isinf(w)][0]} in a row: weights must be finite and 0 or more")
    if not 0 <= c < np.inf:
        raise ValueError(f"c is {c}: the cost of an edge between two sections must be finite and 0 or more")
    return x, w


def _tree(levels: list[Ints], parent: Ints, n: int) -> _Tree:
    parent = np.asarray(parent, np.int64)
    if parent.shape != (n,):
        raise ValueError(f"parent has the shape {parent.shape} and x has {n} rows: give one of each for every node")
    sizes = np.array([len(rows) for rows in levels], np.int64)
    if sizes.sum() != n or not n or sizes[0] != 1 or not sizes.all():
        raise ValueError(f"levels hold {sizes.sum()} rows of {n}: give the rows of every depth, first the root alone")
    order: Ints = np.concatenate(levels).astype(np.int64)
    depth = np.repeat(np.arange(len(sizes)), sizes)
    _check(order, depth, parent)
    inner = np.zeros(n, np.bool_)
    inner[parent[order[1:]]] = inner[order[0]] = True
    within = inner[order]
    starts = [0, *np.cumsum(np.bincount(depth[within])).tolist()]
    order = np.concatenate((order[within], order[~within]))
    place = np.empty(n, np.int64)
    place[order] = np.arange(n)
    above = place[parent[order]]
    above[0] = 0
    return _Tree(parent, order, above, starts)


def _check(order: Ints, depth: Ints, parent: Ints) -> None:
    n = len(order)
    below = order[1:]
    if order.min() < 0 or order.max() >= n or parent[below].min(initial=0) < 0 or parent.max() >= n:
        raise ValueError(
            "levels or parent name a row that does not exist: only the root has a negative parent, which is -1"
        )
    level = np.full(n, -1)
    level[order] = depth
    if level.min() < 0 or parent[order[0]] != -1 or (level[parent[below]] != depth[1:] - 1).any():
        raise ValueError("levels are not those of the tree: each row must appear once, one level below its parent")


@compiled("isotonic")
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
