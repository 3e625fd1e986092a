"""Tables of features: what a classifier is told of each leaf, region or cut, declared once by name.

The tables are `page_features.REGION` and `PAGE`, `context.CONTEXT`, `site_features.SITE` and `cut.CUT`. The compiled
core gets their names, writes the columns that it knows, and leaves all others to the functions of the table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray


class Measured(Protocol):
    """What the functions of a table read: each measure is taken once."""

    @property
    def count(self) -> int:
        """Number of the leaves, rows or cuts."""


M = TypeVar("M")
Of = TypeVar("Of", bound=Measured)


@dataclass(frozen=True)
class Feature(Generic[M]):
    """A row of a table."""

    name: str  # its name in model files
    about: str  # what it says
    column: Callable[[M], ArrayLike]  # (count,) its values, or one value for all
    #: what the inspector says of a node whose value is below or above the mean of its page
    less: str = ""
    more: str = ""


@dataclass(frozen=True, eq=False)
class FeatureTable(Generic[Of]):
    """An ordered table of features.

    Attributes
    ----------
    measure : makes what the functions read
    rows : the features

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> rows = (Feature("words", "Words of the leaf.", lambda of: of.words), Feature("one", "Always 1.", lambda of: 1))
    >>> table = FeatureTable(lambda words: SimpleNamespace(count=len(words), words=words), rows)
    >>> table.names, table.columns([3, 5]).tolist()
    (('words', 'one'), [[3.0, 1.0], [5.0, 1.0]])
    """

    measure: Callable[..., Of]
    rows: tuple[Feature[Of], ...]

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(row.name for row in self.rows)

    def columns(self, *args: Any) -> NDArray[np.float32]:
        """(count, len(rows)) all columns.

        Parameters
        ----------
        args : those of ``measure``
        """
        return stacked(self.rows, measured := self.measure(*args), measured.count)

    def complete(self, columns: NDArray[np.float32], absent: Iterable[int], *args: Any) -> None:
        """Compute the columns of a matrix that are absent, by their numbers."""
        measured = self.measure(*args)
        for number in absent if len(columns) else ():
            columns[:, number] = self.rows[number].column(measured)


def stacked(rows: Sequence[Feature[M]], measured: M, count: int) -> NDArray[np.float32]:
    """(count, len(rows)) the columns of some features."""
    columns = np.empty((count, len(rows)), np.float32, "F")
    for number, row in enumerate(rows if count else ()):
        columns[:, number] = row.column(measured)
    return columns
