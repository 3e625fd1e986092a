"""Tables of features: what a classifier is told of each leaf, region or cut, declared once by name.

The tables are `page_features.REGION` and `PAGE`, `context.CONTEXT`, `site_features.SITE` and `cut.CUT`. The compiled
core gets their names and computes their columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True)
class Feature:
    """A row of a table."""

    name: str  # its name in model files, and in the core
    about: str  # what it says
    #: what the inspector says of a node whose value is below or above the mean of its page
    less: str = ""
    more: str = ""


@dataclass(frozen=True, eq=False)
class FeatureTable:
    """An ordered table of features."""

    rows: tuple[Feature, ...]

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(row.name for row in self.rows)
