"""Caches of what a function says of a text, bounded by bytes: pages choose how many texts there are, and how long."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from sys import getsizeof
from typing import Any, Final, TypeVar, cast

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
