"""Maximum weight assignment in many small bipartite graphs at once."""

from __future__ import annotations

from typing import Final

import numpy as np

from scrapy_pagelets.base.arrays import Bools, Floats, Ints

#: Share of the smallest difference of weights that all preferences for document order together may have.
_ORDER: Final = 0.5


def assign(group: Ints, left: Ints, right: Ints, weight: Floats, least: float) -> Bools:
    """(k,) the edges of an assignment of largest weight in each group; ties prefer the k-th with the k-th.

    Parameters
    ----------
    group : (k,) number of the graph that an edge belongs to
    left, right : (k,) the ends of the edges; no node belongs to two groups
    weight : (k,) weights above 0
    least : the smallest difference of two sums of weights that matters
    """
    if not len(group):
        return np.zeros(0, np.bool_)
    order = np.lexsort((right, left, group))
    start = np.flatnonzero(np.diff(group[order], prepend=-1))
    i, few = _ranks(group[order], left[order], start)
    j, few_ = _ranks(group[order], right[order], start)
    size = np.diff(start, append=len(order))
    ordered = weight[order] - _ORDER * least * np.abs(i - j) / np.repeat(few * few_, size)
    chosen = np.zeros(len(order), np.bool_)
    single = np.minimum(few, few_) == 1
    chosen[_largest(ordered, start)[single]] = True
    even = ~single & (size == few * few_) & _constant(weight[order], start)
    chosen |= np.repeat(even, size) & (i == j)
    for begin, count, a, b in zip(
        *(column[~single & ~even].tolist() for column in (start, size, few, few_)), strict=True
    ):
        edges = slice(begin, begin + count)
        chosen[edges] = _solve(i[edges], j[edges], ordered[edges], (a, b))
    result = np.zeros(len(order), np.bool_)
    result[order] = chosen
    return result


def _ranks(group: Ints, node: Ints, start: Ints) -> tuple[Ints, Ints]:
    """Return (k,) rank of each edge's node among the nodes of its group, and (groups,) number of nodes."""
    nodes, back = np.unique(node, return_inverse=True)
    group_of = np.empty(len(nodes), np.int64)
    group_of[back] = group
    by_group = np.argsort(group_of, kind="stable")
    ranked = group_of[by_group]
    rank = np.empty(len(nodes), np.int64)
    rank[by_group] = np.arange(len(nodes)) - np.searchsorted(ranked, ranked)
    present = group[start]
    return rank[back], np.searchsorted(ranked, present, "right") - np.searchsorted(ranked, present)


def _largest(weight: Floats, start: Ints) -> Ints:
    """(groups,) index of the first edge of largest weight."""
    top = np.repeat(np.maximum.reduceat(weight, start), np.diff(start, append=len(weight)))
    hits = np.flatnonzero(weight == top)
    return hits[np.searchsorted(hits, start)]


def _constant(weight: Floats, start: Ints) -> Bools:
    constant: Bools = np.maximum.reduceat(weight, start) == np.minimum.reduceat(weight, start)
    return constant


def _solve(i: Ints, j: Ints, weight: Floats, shape: tuple[int, int]) -> Bools:
    from scipy.optimize import linear_sum_assignment

    matrix = np.zeros(shape)
    matrix[i, j] = weight
    rows, columns = linear_sum_assignment(matrix, maximize=True)
    taken = np.full(shape[0], -1)
    taken[rows] = columns
    chosen: Bools = taken[i] == j
    return chosen
