"""The most frequent texts of a long stream, in bounded memory."""

from __future__ import annotations

from collections import Counter


class Frequent:
    """Counts of texts, of which the rarest are dropped when there are too many.

    A text that is dropped and comes back is counted anew, so a count may be too low by `missed` at most.
    Source: Manku, Motwani 2002, lossy counting, with rounds that end when the memory is full.

    Parameters
    ----------
    most : texts that are kept

    Attributes
    ----------
    missed : the greatest count of a text that was dropped

    Examples
    --------
    >>> counts = Frequent(2)
    >>> for text in "a a b c a d".split():
    ...     counts.add(text)
    >>> counts.top(1)
    [('a', 3)]
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._counts: Counter[str] = Counter()
        self.missed = 0

    def add(self, text: str, by: int = 1) -> None:
        """Count a text."""
        self._counts[text] += by
        if len(self._counts) > 2 * self._most:
            kept = self._counts.most_common(self._most)
            self.missed = max(self.missed, self._counts.most_common()[self._most][1])
            self._counts = Counter(dict(kept))

    def top(self, number: int) -> list[tuple[str, int]]:
        """The most frequent texts and their counts."""
        return self._counts.most_common(number)

    def at_least(self, least: float) -> list[tuple[str, int]]:
        """The texts with at least this count."""
        return [(text, count) for text, count in self._counts.items() if count >= least]
