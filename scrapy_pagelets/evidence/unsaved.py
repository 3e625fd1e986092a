"""Observations that have not been written to a store yet."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Generic, TypeVar

Entry = TypeVar("Entry")


class Unsaved(Generic[Entry]):
    """Base of classes that learn, and that record their observations until a store has written them. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._recorded: list[Entry] | None = None

    @property
    def recorded(self) -> int:
        """Number of entries since the last call of `hand_over`."""
        return len(self._recorded or ())

    def record(self) -> None:
        """Start to record entries for a store."""
        with self._lock:
            self._recorded = self._recorded or []

    def hand_over(self) -> list[Entry]:
        """Return the entries since the last call, an empty list if they are not recorded."""
        with self._lock:
            entries = self._recorded or []
            self._recorded = None if self._recorded is None else []
            return entries

    def keep(self, entries: Iterable[Entry]) -> None:
        """Put back entries that could not be written, for the next call of `hand_over`."""
        with self._lock:
            self._recorded = [*entries, *(self._recorded or ())]

    def _append(self, entry: Entry) -> None:
        """Record an entry; the caller holds the lock."""
        if self._recorded is not None:
            self._recorded.append(entry)
