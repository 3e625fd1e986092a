"""What has been learnt since it was last written."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Generic, TypeVar

Entry = TypeVar("Entry")


class Journal(Generic[Entry]):
    """Something that learns, and remembers for a store what it has learnt. Safe for several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._recorded: list[Entry] | None = None

    @property
    def recorded(self) -> int:
        """Number of entries since the last call of `hand_over`."""
        return len(self._recorded or ())

    def record(self) -> None:
        """From now on remember the entries, for a store."""
        with self._lock:
            self._recorded = self._recorded or []

    def hand_over(self) -> list[Entry]:
        """The entries since the last call; none if they are not remembered."""
        with self._lock:
            found = self._recorded or []
            self._recorded = None if self._recorded is None else []
            return found

    def keep(self, entries: Iterable[Entry]) -> None:
        """Hand these over once more: they could not be written."""
        with self._lock:
            self._recorded = [*entries, *(self._recorded or ())]

    def _remember(self, entry: Entry) -> None:
        """Add an entry; the caller holds the lock."""
        if self._recorded is not None:
            self._recorded.append(entry)
