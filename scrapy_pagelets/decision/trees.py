"""Boosted symmetric trees, evaluated with NumPy alone.

All nodes on one level of a symmetric (oblivious) tree have the same split, so a tree of depth d takes d comparisons and
one look-up. A few NumPy operations evaluate all trees for all rows at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from scrapy_pagelets.base.arrays import Floats
from scrapy_pagelets.core import compiled

#: Number of rows evaluated at once; each takes kilobytes.
_BLOCK: Final = 8192


@dataclass(frozen=True)
class Trees:
    """A sum of symmetric trees.

    Attributes
    ----------
    feature : (trees, depth) column that each level compares; at most 8 levels
    border : (trees, depth) threshold: the result of a level is 1 if the value is greater; for NaN it is 0
    value : (trees, 2 ** depth) values of the leaves, indexed by the results of the levels as bits, lowest bit first
    bias : constant added to the sum
    """

    feature: NDArray[np.int64]
    border: NDArray[np.float32]
    value: NDArray[np.float32]
    bias: float

    def __call__(self, *parts: NDArray[np.float32]) -> Floats:
        """(m,) log odds of the rows of an (m, features) matrix, which may be given in parts side by side.

        Examples
        --------
        >>> trees = Trees(np.array([[0]]), np.array([[0.5]], "f"), np.array([[-1.0, 2.0]], "f"), 0.25)
        >>> trees(np.array([[0.0], [1.0], [np.nan]], "f")).tolist()
        [-0.75, 2.25, -0.75]
        """
        return summed(self, parts)

    @cached_property
    def splits(self) -> tuple[NDArray[np.int64], NDArray[np.float32], NDArray[np.int64]]:
        """(splits,) columns and borders of the distinct splits, and (trees, depth) the number of that of each level."""
        pairs = np.stack([self.feature.ravel(), self.border.ravel()])
        (feature, border), number = np.unique(pairs, axis=1, return_inverse=True)
        return feature.astype(np.int64), border.astype(np.float32), number.reshape(self.feature.shape)


@compiled("trees")
def summed(trees: Trees, parts: Sequence[NDArray[np.float32]]) -> Floats:
    """(m,) sum of the values of the trees, and the bias, for the rows of a matrix in parts."""
    columns = np.concatenate([part.T for part in parts]).T
    blocks = np.array_split(columns, max(1, -(-len(columns) // _BLOCK)))
    return np.concatenate([_summed(trees, block) for block in blocks]) + trees.bias


def _summed(trees: Trees, columns: NDArray[np.float32]) -> Floats:
    feature, border, number = trees.splits
    count, depth = number.shape
    greater = (columns.T[feature] > border[:, None]).view(np.uint8)  # memory bandwidth is the bottleneck, so bytes
    answers = np.zeros((count, len(columns)), np.uint8)
    for level in range(depth):
        answers |= greater[number[:, level]] << np.uint8(level)
    index = answers + (np.arange(count, dtype=np.int32)[:, None] << depth)
    values = trees.value.ravel().take(index)
    # `sum` would add the values of a single row in pairs.
    total: Floats = np.cumsum(values, 0, np.float64)[-1] if len(columns) == 1 else values.sum(0, np.float64)
    return total


def sigmoid(x: Floats) -> Floats:
    """Convert log odds to probabilities."""
    return 1.0 / (1.0 + np.exp(-x))
