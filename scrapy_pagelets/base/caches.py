"""What is remembered: results of functions by their arguments or in an object, and the keys that came last.

Caches are bounded by bytes, because pages choose how many texts there are, and how long.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from sys import getsizeof
from typing import Any, Final, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from scrapy_pagelets.base.arrays import Ints
from scrapy_pagelets.core import compiled

T = TypeVar("T", bound=Callable[..., Any])
#: Bytes that a cache may have; then it begins anew.
MOST_BYTES: Final = 16 << 20
#: Bytes of the entries that are kept: a larger one would take the place of hundreds.
_LARGEST: Final = 64_000
#: Bytes of an entry beside its key and its value.
_ENTRY: Final = 100


def cached(function: T) -> T:
    """Keep what a function returns, which is never None, for each of its positional arguments.

    >>> @cached
    ... def length(text):
    ...     print("once")
    ...     return len(text)
    >>> length("word") + length("word")
    once
    8
    """
    known: dict[tuple[Any, ...], Any] = {}
    left = MOST_BYTES

    @wraps(function)
    def remembered(*key: Any) -> Any:
        nonlocal left
        found = known.get(key)
        if found is None:
            found = function(*key)
            size = _ENTRY + _size(key) + _size(found)
            if size > _LARGEST:
                return found
            if size > left:
                known.clear()
                left = MOST_BYTES
            left -= size
            known[key] = found
        return found

    return cast(T, remembered)


def _size(value: Any) -> int:
    """Bytes of a value, and of those in a tuple."""
    return getsizeof(value) + (sum(map(_size, value)) if isinstance(value, tuple) else 0)


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


Holder = TypeVar("Holder")
R = TypeVar("R")


def once(function: Callable[[Holder], R]) -> Callable[[Holder], R]:
    """Let an object keep what a function returns for it, as with `functools.cached_property`.

    Two threads that ask at the same time may both compute it.

    Parameters
    ----------
    function : of one object that never changes and has a ``__dict__``, such as a page or a node table
    """
    name = f"{function.__module__}.{function.__name__}"

    @wraps(function)
    def kept(one: Holder) -> R:
        facts = vars(one)
        if name not in facts:
            facts[name] = function(one)
        result: R = facts[name]
        return result

    return kept
