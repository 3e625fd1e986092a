"""What a process has written in the last seconds, which a server that is restarted may have lost."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable
from typing import Final, Generic, TypeVar

T = TypeVar("T")
#: Redis writes its log to disk each second, and may take another one for it.
_SECONDS: Final = 5.0


class LastSeconds(Generic[T]):
    """Remember what was written in the last seconds, to write it again."""

    def __init__(self) -> None:
        self._written: deque[tuple[float, T]] = deque()

    def add(self, values: Iterable[T]) -> None:
        """Remember values that are written now."""
        now = time.monotonic()
        self._written.extend((now, value) for value in values)
        while self._written and self._written[0][0] < now - _SECONDS:
            self._written.popleft()

    def all(self) -> list[T]:
        """Return what was written in the last seconds, and perhaps a little before."""
        return [value for _, value in self._written]
