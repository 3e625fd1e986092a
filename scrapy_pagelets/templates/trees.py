"""Boosted symmetric trees, evaluated with NumPy alone.

All nodes on one level of a symmetric (oblivious) tree have the same split, so a tree of depth d takes d comparisons and
one look-up. A few NumPy operations evaluate all trees for all rows at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from scrapy_pagelets.core import compiled
from scrapy_pagelets.nodes import Floats

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

    def __call__(self, columns: NDArray[np.float32]) -> Floats:
        """(m,) log odds of the rows of an (m, features) matrix.

        Examples
        --------
        >>> trees = Trees(np.array([[0]]), np.array([[0.5]], "f"), np.array([[-1.0, 2.0]], "f"), 0.25)
        >>> trees(np.array([[0.0], [1.0], [np.nan]], "f")).tolist()
        [-0.75, 2.25, -0.75]
        """
        return summed(self.feature, self.border, self.value, columns) + self.bias


@compiled("trees")
def summed(
    feature: NDArray[np.int64], border: NDArray[np.float32], value: NDArray[np.float32], columns: NDArray[np.float32]
) -> Floats:
    """(m,) sum of the trees, see `Trees`, for the rows of an (m, features) matrix."""
    if len(columns) > _BLOCK:
        blocks = np.array_split(columns, -(-len(columns) // _BLOCK))
        return np.concatenate([summed(feature, border, value, block) for block in blocks])
    count, depth = feature.shape
    by_feature = np.ascontiguousarray(columns.T)
    answers = np.zeros((count, len(columns)), np.uint8)  # memory bandwidth is the bottleneck, so bytes
    for level in range(depth):
        greater = by_feature[feature[:, level]] > border[:, level, None]
        answers |= greater.view(np.uint8) << np.uint8(level)
    index = answers + (np.arange(count, dtype=np.int32)[:, None] << depth)
    total: Floats = value.ravel().take(index).sum(axis=0, dtype=np.float64)
    return total


def sigmoid(x: Floats) -> Floats:
    """Convert log odds to probabilities."""
    return 1.0 / (1.0 + np.exp(-x))
