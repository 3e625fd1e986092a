"""Large margin nearest neighbours: a metric in which nodes of one segment are close, and others a margin away.

Chakrabarti, Kumar, Punera 2008, section 4.3, learn D with it. Source of the cost function: Weinberger, Blitzer, Saul,
*Distance Metric Learning for Large Margin Nearest Neighbor Classification*, NIPS 2006. They minimise it over
semidefinite matrices, which is convex. Here it is minimised over a linear map of low rank, which is not. Impostors are
searched on the same page only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from scrapy_pagelets.base.arrays import Floats, Ints

#: Nodes of the same segment that each node should be close to.
NEIGHBOURS: Final = 3
#: Weight of the impostors; that of far neighbours is 1 - _PUSH.
_PUSH: Final = 0.5


@dataclass(frozen=True, eq=False)
class Group:
    """Nodes of one page.

    Attributes
    ----------
    columns : (n, F) their features
    segment : (n,) number of their segment
    target : (t, 2) pairs of a node and one of the nearest nodes of its segment
    """

    columns: Floats
    segment: Ints
    target: Ints

    @classmethod
    def of(cls, columns: Floats, segment: Ints) -> Group:
        """Make a group whose targets are the ``NEIGHBOURS`` nearest nodes in the space of the features."""
        distance = _squares(columns)
        distance[segment[:, None] != segment] = np.inf
        np.fill_diagonal(distance, np.inf)
        nearest = np.argsort(distance, axis=1, kind="stable")[:, :NEIGHBOURS]
        node, rank = np.nonzero(np.isfinite(np.take_along_axis(distance, nearest, axis=1)))
        return cls(columns, segment, np.column_stack((node, nearest[node, rank])))


def learn(groups: Sequence[Group], rank: int, iterations: int) -> Floats:
    """(rank, F) The linear map; the learnt distance is the Euclidean distance of images.

    Parameters
    ----------
    groups : one for each page, with centred and scaled features
    rank : dimensions of the image
    iterations : largest number of steps of L-BFGS

    Raises
    ------
    ValueError : if no segment has two nodes
    """
    from scipy.optimize import minimize

    if not sum(len(group.target) for group in groups):
        raise ValueError("no segment has two nodes: a metric needs pairs that belong together")
    features = groups[0].columns.shape[1]
    start = np.linalg.svd(np.vstack([group.columns for group in groups]), full_matrices=False)[2][:rank]

    def objective(flat: Floats) -> tuple[float, Floats]:
        value, gradient = loss(groups, flat.reshape(-1, features))
        return value, gradient.ravel()

    result = minimize(objective, start.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": iterations})
    learnt: Floats = result.x.reshape(-1, features)
    return learnt


def loss(groups: Sequence[Group], linear: Floats) -> tuple[float, Floats]:
    """Mean cost of a target pair with its impostors; (rank, F) the gradient."""
    value, gradient = 0.0, np.zeros_like(linear)
    for group in groups:
        image = group.columns @ linear.T
        own, weight = _pairs(_squares(image), group)
        value += own
        # The sum of w_ab |L(x_a - x_b)|^2 has the gradient 2 L X^T (degree - w - w^T) X.
        both = weight + weight.T
        gradient += 2 * ((both.sum(axis=1)[:, None] * image - both @ image).T @ group.columns)
    count = sum(len(group.target) for group in groups)
    return value / count, gradient / count


def _pairs(square: Floats, group: Group) -> tuple[float, Floats]:
    """The group's loss; (n, n) its derivative by each squared distance."""
    node, near = group.target.T
    pull = square[node, near]
    margin = 1 + pull[:, None] - square[node]
    margin[(margin < 0) | (group.segment[node][:, None] == group.segment)] = 0
    active = (margin > 0) * _PUSH
    weight = np.zeros_like(square)
    np.add.at(weight, (node, near), 1 - _PUSH + active.sum(axis=1))
    # The rows of one node are consecutive.
    nodes, starts = np.unique(node, return_index=True)
    weight[nodes] -= np.add.reduceat(active, starts) if len(starts) else 0
    return float((1 - _PUSH) * pull.sum() + _PUSH * margin.sum()), weight


def _squares(columns: Floats) -> Floats:
    """(n, n) Squared distances."""
    norm = (columns**2).sum(axis=1)
    square: Floats = np.maximum(0, norm[:, None] + norm - 2 * columns @ columns.T)
    return square
