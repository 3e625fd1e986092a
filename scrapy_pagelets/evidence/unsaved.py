"""Observations that have not been written to a store yet."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Generic, TypeVar

Entry = TypeVar("Entry")


class Unsaved(Generic[Entry]):
    """Base of classes that learn, and that record their observations until a store has written them. Thread-safe.

    Attributes
    ----------
    lock : is held while something is learnt or read
    entries : since the last call of `hand_over`; None if they are not recorded
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.entries: list[Entry] | None = None

    @property
    def recorded(self) -> int:
        """Number of entries since the last call of `hand_over`."""
        return len(self.entries or ())

    def record(self) -> None:
        """Start to record entries for a store."""
        with self.lock:
            self.entries = self.entries or []

    def hand_over(self) -> list[Entry]:
        """Return the entries since the last call, an empty list if they are not recorded."""
        with self.lock:
            entries = self.entries or []
            self.entries = None if self.entries is None else []
            return entries

    def keep(self, entries: Iterable[Entry]) -> None:
        """Put back entries that could not be written, for the next call of `hand_over`."""
        with self.lock:
            self.entries = [*entries, *(self.entries or ())]

    def append(self, entry: Entry) -> None:
        """Record an entry; the caller holds the lock."""
        if self.entries is not None:
            self.entries.append(entry)
