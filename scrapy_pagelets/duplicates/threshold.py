"""The thresholds of resemblance for near-duplicates."""

from __future__ import annotations

from typing import Final, NamedTuple

#: Sketches cannot distinguish smaller resemblances from none.
LEAST: Final = 0.1


class Threshold(NamedTuple):
    """Least resemblances (Jaccard of the shingles) of near-duplicates, on one site and on two sites.

    Pages of one site may resemble each other without being duplicates: releases of a manual, classes of an interface.
    Similar pages on two sites are copies, perhaps with small changes.

    Attributes
    ----------
    within, across : thresholds for two pages of one site, and of two sites, from 0.1 to 1

    Examples
    --------
    >>> Threshold().between("a", "a"), Threshold().between("a", "b"), Threshold().least
    (0.8, 0.65, 0.65)
    """

    within: float = 0.8
    across: float = 0.65

    @property
    def least(self) -> float:
        """The smaller threshold: pairs with less resemblance are never near-duplicates."""
        return min(self)

    def between(self, one: object, other: object) -> float:
        """Return the threshold for a text of each of these sites."""
        return self.within if one == other else self.across
