"""Tables of features whose columns are computed one after another, for comparison with those of the core."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scrapy_pagelets.base.arrays import Floats

M = TypeVar("M")
#: The name of a feature, and (count,) its values, or one value for all, by what is measured.
Column = tuple[str, Callable[[M], ArrayLike]]


class Columns:
    """The columns of a table of features."""

    def __init__(self, measure: Callable[..., Any], rows: Sequence[Column[Any]]) -> None:
        self._measure = measure
        self.rows = rows
        self.names = tuple(name for name, _ in rows)

    def columns(self, *args: Any) -> NDArray[np.float32]:
        """(count, len(rows)) all columns."""
        return stacked(self.rows, measured := self._measure(*args), measured.count)


def stacked(rows: Sequence[Column[Any]], measured: Any, count: int) -> NDArray[np.float32]:
    """(count, len(rows)) the columns of some features."""
    columns = np.empty((count, len(rows)), np.float32)
    for number, (_, column) in enumerate(rows if count else ()):
        columns[:, number] = column(measured)
    return columns


def of_window(values: Floats, reach: int) -> tuple[Floats, Floats]:
    """(m,) sum of each value and of ``reach`` values before and after it, and the number of these values."""
    index = np.arange(len(values))
    low, high = np.maximum(0, index - reach), np.minimum(len(values), index + reach + 1)
    before = np.append(0, np.cumsum(values))
    return before[high] - before[low], (high - low).astype(np.float64)


def in_order(values: Floats) -> float:
    """Sum from the first value to the last; ``ndarray.sum`` and ``@`` add in an order that depends on the machine.

    >>> in_order(np.array([0.1, 0.2, 0.3]))
    0.6000000000000001
    """
    return float(np.cumsum(values)[-1]) if len(values) else 0.0
