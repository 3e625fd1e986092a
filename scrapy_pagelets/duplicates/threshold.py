"""From which resemblance on two texts are near-duplicates."""

from __future__ import annotations

from typing import Final, NamedTuple

#: Sketches cannot tell a lower resemblance from none.
LEAST: Final = 0.1


class Threshold(NamedTuple):
    """Resemblances (Jaccard of the shingles): one for two pages of a site, another for pages of two sites.

    Pages of one site resemble each other without being duplicates: releases of a manual, classes of one interface.
    Texts that resemble each other on two sites were copied, and may have lost a word here and there.

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
        """The smaller one: pairs of less need not be looked for."""
        return min(self)

    def between(self, one: object, other: object) -> float:
        """The threshold for two texts of these sites."""
        return self.within if one == other else self.across
