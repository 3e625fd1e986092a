"""Sums that are the same on every machine, and with or without the compiled core."""

from __future__ import annotations

import numpy as np

from scrapy_pagelets.base.arrays import Bools, Floats, Ints


def in_order(values: Floats) -> float:
    """Sum from the first value to the last; ``ndarray.sum`` and ``@`` add in an order that depends on the machine.

    >>> in_order(np.array([0.1, 0.2, 0.3]))
    0.6000000000000001
    """
    return float(np.cumsum(values)[-1]) if len(values) else 0.0


def of_window(values: Floats, reach: int) -> tuple[Floats, Floats]:
    """(m,) sum of each value and of ``reach`` values before and after it, and the number of these values."""
    index = np.arange(len(values))
    low, high = np.maximum(0, index - reach), np.minimum(len(values), index + reach + 1)
    before = np.append(0, np.cumsum(values))
    return before[high] - before[low], (high - low).astype(np.float64)


def up_to(column: Ints | Bools) -> Ints:
    """(m + 1,) the sums of the first values of a column, (m,), from none to all of them.

    >>> up_to(np.array([3, 1, 2])).tolist()
    [0, 3, 4, 6]
    """
    sums = np.zeros(len(column) + 1, np.int64)
    np.cumsum(column, out=sums[1:])
    return sums
