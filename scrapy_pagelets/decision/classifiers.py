"""The page-level classifier: one logistic model for each size class of nodes.

Source: Chakrabarti, Kumar, Punera 2007 (slides), "Learning the 'Templateness' Classifier": logistic regression,
separate for nodes of different sizes, on features of the page alone. The size classes are ours:
``docs/algorithms/isotonic-2007.md``.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from scrapy_pagelets.base.arrays import Bools, Floats, Ints
from scrapy_pagelets.core.features import node_odds as node_odds
from scrapy_pagelets.core.trees import chosen as chosen
from scrapy_pagelets.core.trees import summed as summed
from scrapy_pagelets.page.nodes import NodeTable

#: Lower bounds of the size classes in words: 0, 1-3, 4-15, 16-63, 64-255, 256 and more.
SIZES: Final = (1, 4, 16, 64, 256)
_INVERSE_REGULARISATION: Final = 0.1  # inverse strength of the L2 regularisation


@dataclass(frozen=True)
class Trees:
    """A sum of symmetric trees."""

    feature: NDArray[np.int64]  # (trees, depth) column that each level compares; at most 8 levels
    #: (trees, depth) threshold: the result of a level is 1 if the value is greater; for NaN it is 0
    border: NDArray[np.float32]
    #: (trees, 2 ** depth) values of the leaves, indexed by the results of the levels as bits, lowest bit first
    value: NDArray[np.float32]
    bias: float  # constant added to the sum

    def __call__(self, *parts: NDArray[np.float32]) -> Floats:
        """(m,) log odds of the rows of an (m, features) matrix, which may be given in parts side by side.

        >>> trees = Trees(np.array([[0]]), np.array([[0.5]], "f"), np.array([[-1.0, 2.0]], "f"), 0.25)
        >>> trees(np.array([[0.0], [1.0], [np.nan]], "f")).tolist()
        [-0.75, 2.25, -0.75]
        """
        return summed(self, parts)


def sigmoid(x: Floats) -> Floats:
    """Convert log odds to probabilities."""
    return 1.0 / (1.0 + np.exp(-x))


@dataclass(frozen=True)
class Classifier:
    """One logistic model for each size class."""

    weight: Floats  # (classes, features)
    bias: Floats  # (classes,)
    #: (features,) bounds to which features are clipped, so that no outlier dominates
    low: Floats
    high: Floats

    def __call__(self, columns: Floats, sizes: Ints) -> Floats:
        """(n,) log odds that each node is template.

        ``columns``: (n, features). ``sizes``: (n,) size classes, see ``size_class``.
        """
        clipped = np.clip(columns, self.low, self.high)
        return np.cumsum(clipped * self.weight[sizes], axis=1)[:, -1] + self.bias[sizes]


def size_class(nodes: NodeTable) -> Ints:
    """(n,) size class of each node by the number of words below it."""
    return np.searchsorted(SIZES, nodes.sum_below(nodes.words), side="right")


def fit(columns: Floats, sizes: Ints, template: Bools, weight: Floats) -> Classifier:
    """Train the models of all size classes on the nodes of many pages.

    ``columns``: (rows, features). ``sizes``: (rows,) size classes. ``template``: (rows,) whether each node is template.
    ``weight``: (rows,) sample weights.
    """
    from sklearn.linear_model import LogisticRegression

    low, high = np.quantile(columns, (0.005, 0.995), axis=0)
    clipped = np.clip(columns, low, high)
    scale = np.maximum(clipped.std(axis=0), 1e-6)
    weights = np.zeros((len(SIZES) + 1, columns.shape[1]))
    bias = np.zeros(len(SIZES) + 1)
    for size in range(len(SIZES) + 1):
        rows = sizes == size
        if len(np.unique(template[rows])) == 2:
            learner = LogisticRegression(C=_INVERSE_REGULARISATION, max_iter=200, tol=1e-3)
            learner.fit((clipped[rows] - low) / scale, template[rows], weight[rows] / weight[rows].mean())
            weights[size] = learner.coef_[0] / scale
            bias[size] = learner.intercept_[0] - weights[size] @ low
    return Classifier(weights, bias, low, high)
