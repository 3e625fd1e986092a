"""Pairing the children of many pairs of nodes at once: joins of two columns of keys."""

from __future__ import annotations

import numpy as np

from scrapy_pagelets.base.arrays import Ints


def in_order(keys: Ints, keys_: Ints) -> tuple[Ints, Ints]:
    """Pair the k-th occurrence of each key in one column with the k-th in the other: indices into both.

    Examples
    --------
    >>> [column.tolist() for column in in_order(np.array([7, 5, 5, 5]), np.array([5, 8, 5]))]
    [[1, 2], [0, 2]]
    """
    order, order_ = keys.argsort(kind="stable"), keys_.argsort(kind="stable")
    ranked, ranked_ = keys[order], keys_[order_]
    image = ranked_.searchsorted(ranked) + np.arange(len(keys)) - ranked.searchsorted(ranked)
    paired = image < ranked_.searchsorted(ranked, "right")
    return order[paired], order_[image[paired]]


def product(keys: Ints, keys_: Ints) -> tuple[Ints, Ints]:
    """Pair all occurrences of each key in one column with all in the other: indices into both.

    Examples
    --------
    >>> [column.tolist() for column in product(np.array([5, 7, 5]), np.array([5, 8, 5]))]
    [[0, 0, 2, 2], [0, 2, 0, 2]]
    """
    order = np.argsort(keys_, kind="stable")
    ranked = keys_[order]
    first = np.searchsorted(ranked, keys)
    count = np.searchsorted(ranked, keys, "right") - first
    return np.repeat(np.arange(len(keys)), count), order[runs(first, count)]


def runs(start: Ints, count: Ints) -> Ints:
    """Concatenate ``start[i], start[i] + 1, ...``, each run with ``count[i]`` numbers.

    Examples
    --------
    >>> runs(np.array([7, 3, 0]), np.array([2, 0, 3])).tolist()
    [7, 8, 0, 1, 2]
    """
    ends = count.cumsum()
    joined: Ints = (start - ends + count).repeat(count) + np.arange(count.sum())
    return joined
