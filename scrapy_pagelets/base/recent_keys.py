"""A table of limited size for the hashes of pages."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from scrapy_pagelets.base.arrays import Ints
from scrapy_pagelets.core import compiled

Numbers = NDArray[np.int8]
#: Numbers are stored in a byte each.
LARGEST: Final = 127


@compiled("counter")
class RecentKeys:
    """The 64-bit keys that were added last, each with a small number; the oldest are forgotten first.

    In the compiled core a key takes 20 to 30 bytes, a quarter of what it takes in a dictionary, and none of it is an
    object of its own: objects that stay, among those of pages that come and go, keep memory from being freed.

    Parameters
    ----------
    most : number of keys that are remembered

    Examples
    --------
    >>> recent = RecentKeys(2)
    >>> for key, number in ((11, 1), (12, 0), (11, 5), (13, 2)):
    ...     recent.add(key, number)
    >>> 11 in recent, recent.get(11), recent.get(13), len(recent)
    (False, None, 2, 2)
    >>> [column.tolist() for column in recent.items()]
    [[12, 13], [0, 2]]
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._numbers: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self._numbers)

    def __contains__(self, key: int) -> bool:
        return key in self._numbers

    def get(self, key: int) -> int | None:
        """The number of a key, None if it is not known."""
        return self._numbers.get(key)

    def add(self, key: int, number: int = 0) -> None:
        """Set the number of a key, 0 to 127; a known key does not become younger."""
        if not 0 <= number <= LARGEST:
            raise ValueError(f"{number} is not a number from 0 to {LARGEST}")
        self._numbers[key] = number
        if len(self._numbers) > self._most:
            del self._numbers[next(iter(self._numbers))]

    def extend(self, keys: Ints, numbers: Numbers) -> None:
        """Add a column of keys."""
        for key, number in zip(keys.tolist(), numbers.tolist(), strict=True):
            self.add(key, number)

    def items(self) -> tuple[Ints, Numbers]:
        """(k,) all keys, the oldest first; (k,) their numbers."""
        count: Any = len(self._numbers)
        return np.fromiter(self._numbers, np.int64, count), np.fromiter(self._numbers.values(), np.int8, count)
