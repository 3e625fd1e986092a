"""Sums of trees, and the log odds of nodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from scrapy_pagelets.base.arrays import Floats
from scrapy_pagelets.decision.classifiers import Classifier, Trees, size_class
from scrapy_pagelets.decision.page_features import node_features
from scrapy_pagelets.page.nodes import NodeTable
from scrapy_pagelets.page.page import Page

#: Number of rows evaluated at once; each takes kilobytes.
_BLOCK: Final = 8192


def summed(trees: Trees, parts: Sequence[NDArray[np.float32]]) -> Floats:
    """(m,) sum of the values of the trees, and the bias, for the rows of a matrix in parts."""
    columns = np.concatenate([part.T for part in parts]).T
    blocks = np.array_split(columns, max(1, -(-len(columns) // _BLOCK)))
    return np.concatenate([_summed(trees, block) for block in blocks]) + trees.bias


def _splits(trees: Trees) -> tuple[NDArray[np.int64], NDArray[np.float32], NDArray[np.int64]]:
    """(splits,) columns and borders of the distinct splits, and (trees, depth) the number of that of each level."""
    pairs = np.stack([trees.feature.ravel(), trees.border.ravel()])
    (feature, border), number = np.unique(pairs, axis=1, return_inverse=True)
    return feature.astype(np.int64), border.astype(np.float32), number.reshape(trees.feature.shape)


def _summed(trees: Trees, columns: NDArray[np.float32]) -> Floats:
    feature, border, number = _splits(trees)
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


def node_odds(page: Page, columns: NDArray[np.float32], first: Floats, classifier: Classifier) -> Floats:
    """See `core.features.node_odds`."""
    by_classifier = classifier(node_features(page, columns), size_class(page.nodes))
    return np.column_stack([mean_odds(page.nodes, first), by_classifier])


def mean_odds(nodes: NodeTable, odds: Floats) -> Floats:
    """(n,) mean log odds of the leaves below each row, (m,), weighted by words; 0 if there are none."""
    words = nodes.words + 0.1  # leaves without words, such as a bullet, have a small weight
    mean: Floats = nodes.sum_below(words * odds) / np.maximum(nodes.sum_below(words), 0.05)
    return mean
