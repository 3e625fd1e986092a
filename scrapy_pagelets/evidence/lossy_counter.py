"""Count hashes by page in bounded memory."""

from __future__ import annotations

from itertools import repeat
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from scrapy_pagelets.base.arrays import Bools, Ints
from scrapy_pagelets.core import compiled, give
from scrapy_pagelets.page.nodes import NodeTable

Sums = NDArray[np.float32]
#: A table with more keys than this drops those on the fewest pages.
CAPACITY: Final = 60_000
#: Rows at the beginning and at the end of a giant page that are counted.
_GIANT: Final = CAPACITY // 8


@compiled("counter")
class LossyCounter:
    """Sums by key: a dictionary maps each key to a row of a NumPy array.

    The first column counts pages. Beyond the capacity, the keys with the smallest counts are dropped.
    Source: Manku & Motwani 2002, *Approximate Frequency Counts over Data Streams* (lossy counting).

    Parameters
    ----------
    width : number of columns
    capacity : number of keys

    Examples
    --------
    >>> table = LossyCounter(2)
    >>> table.add(np.array([7, 8]), np.array([[1, 0.5], [1, 2]]))
    >>> table.add(np.array([7]), np.array([[1, 0.5]]))
    >>> table[np.array([8, 7, 9])].tolist()
    [[1.0, 2.0], [2.0, 1.0], [0.0, 0.0]]
    """

    def __init__(self, width: int, capacity: int = CAPACITY) -> None:
        self._capacity = capacity
        self._row: dict[int, int] = {}
        self._sums: Sums = np.zeros((1, width), np.float32)  # row 0 holds the zeros of all missing keys

    def __len__(self) -> int:
        return len(self._row)

    def __getitem__(self, keys: Ints) -> Sums:
        """(k, width) sums of the keys, zeros for missing ones."""
        return self._sums[self._rows(keys)]

    def has(self, keys: Ints) -> Bools:
        """(k,) whether each key is in the table."""
        return self._rows(keys) > 0

    def add(self, keys: Ints, values: NDArray[Any]) -> None:
        """Add to the sums of some keys.

        Parameters
        ----------
        keys : (k,) distinct keys
        values : (k, width), or (width,) to add the same to all
        """
        rows = self._rows(keys)
        new = np.flatnonzero(rows == 0)
        rows[new] = np.arange(len(self) + 1, len(self) + 1 + len(new))
        self._row.update(zip(keys[new].tolist(), rows[new].tolist(), strict=True))
        self._make_room()
        self._sums[rows] += values
        least = 1
        while len(self) > self._capacity:
            self._retain(self._sums[1 : len(self) + 1, 0] > least)
            least *= 2

    def items(self) -> tuple[Ints, Sums]:
        """(k,) all keys, (k, width) their sums."""
        return np.fromiter(self._row, np.int64, len(self)), self._sums[1 : len(self) + 1]

    def __reduce__(self) -> tuple[Any, ...]:
        return restored, (self._sums.shape[1], self._capacity, *self.items())

    def _rows(self, keys: Ints) -> Ints:
        # `map` over `get` with a default runs without Python code for each key.
        return np.fromiter(map(self._row.get, keys.tolist(), repeat(0)), np.int64, len(keys))

    def _make_room(self) -> None:
        if len(self) >= len(self._sums):
            room = np.zeros((len(self) * 3 // 2 + 1, self._sums.shape[1]), np.float32)
            room[: len(self._sums)] = self._sums
            self._sums = room

    def _retain(self, kept: Bools) -> None:
        keys, sums = self.items()
        self._row = {}
        self._sums = np.zeros((1, sums.shape[1]), np.float32)
        if kept.any():
            self._row = {key: row for row, key in enumerate(keys[kept].tolist(), 1)}
            self._sums = np.vstack([self._sums, sums[kept]])


def restored(width: int, capacity: int, keys: Ints, sums: Sums) -> LossyCounter:
    """Restore a pickled table."""
    table = LossyCounter(width, capacity)
    table.add(keys, sums)
    return table


def countable(nodes: NodeTable) -> Bools:
    """(n,) rows to count: of a giant page only its beginning and end, so that it does not displace other pages."""
    if len(nodes) <= _GIANT:
        return np.ones(len(nodes), np.bool_)
    return (np.arange(len(nodes)) < _GIANT) | (nodes.end > len(nodes) - _GIANT)


give("counter", CAPACITY=CAPACITY, GIANT=_GIANT, restored=restored)
