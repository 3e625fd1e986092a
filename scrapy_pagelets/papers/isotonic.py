"""Regularised isotonic regression on the DOM tree: make templateness scores monotone, with few distinct sections.

A node is template if and only if all its children are, so no node may have a higher score than one of its children.
Among all such scores ``y`` on a grid, ``smooth`` finds those that minimise
``sum w |x - y| + c * #{edges: y_parent != y_child}``.

Source: Chakrabarti, Kumar, Punera 2007, *Page-level Template Detection via Isotonic Smoothing* (slides), "Smoothing via
Regularized Isotonic Regression". The slides charge ``c`` for each distinct value of ``y``, and call a set of *adjacent*
nodes of one value a section. Only sections decompose over a tree, so here each edge between two sections costs ``c``:
``docs/algorithms/isotonic-2007.md``. ``sections`` is their second output, the sections of the page.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from scrapy_pagelets.base.arrays import Floats, Ints
from scrapy_pagelets.core.isotonic import minimise as minimise


def smooth(levels: list[Ints], parent: Ints, x: Floats, w: Floats, c: float = 0.3, k: int = 64) -> Floats:
    """Minimise the objective with ``y[parent[i]] <= y[i]`` on a grid of k levels; exact on the grid.

    Of several optimal scores the lower one is chosen, which means less template. The optimum on the grid exceeds that
    over all scores by ``sum(w) / (2 * (k - 1))`` at most. Time and memory are O(n k). Raise ValueError if the columns
    differ in length, the levels are not those of the tree, a score is outside 0 to 1 or not a number, a weight or the
    cost is negative, or there are fewer than two levels.

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


def sections(parent: Ints, y: Floats) -> Ints:
    """Number the sections, the maximal connected sets of rows with equal ``y``: (n,) from 0, in order of first rows.

    Raises ValueError if the columns differ in length.

    ``parent``: (n,) row of the parent, -1 at the root. ``y``: (n,) smoothed scores.

    >>> sections(np.array([-1, 0, 1, 0]), np.array([0.1, 0.9, 0.9, 0.1]))
    array([0, 1, 1, 0])
    """
    if len(parent) != len(y):
        raise ValueError(f"parent has {len(parent)} rows and y has {len(y)}: give one of each for every node")
    top = np.where((parent < 0) | (y != y[parent]), np.arange(len(y)), parent)
    while (top != (higher := top[top])).any():  # each round doubles the distance covered, so deep pages need few
        top = higher
    return np.unique(top, return_inverse=True)[1].astype(np.int64)


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
