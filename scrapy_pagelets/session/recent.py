"""A set of limited size."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)


class RecentSet(Generic[K]):
    """The values that were added last; the oldest are forgotten first.

    Parameters
    ----------
    most : number of values that are remembered

    Examples
    --------
    >>> recent = RecentSet(2)
    >>> [recent.add(letter) for letter in "aabcb"], "a" in recent
    ([True, False, True, True, False], False)
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._values: dict[K, None] = {}

    def __contains__(self, value: K) -> bool:
        return value in self._values

    def add(self, value: K) -> bool:
        """Add a value; return False if it was there."""
        if value in self._values:
            return False
        self._values[value] = None
        if len(self._values) > self._most:
            del self._values[next(iter(self._values))]
        return True
