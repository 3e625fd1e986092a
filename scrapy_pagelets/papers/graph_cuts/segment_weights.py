"""Learnt weights of GCuts and CClus, and the metric that is one of them.

Each level of segments has two numpy files: for pages as received, and for rendered pages, whose nodes have more
features. Chakrabarti, Kumar, Punera 2008, section 4.3, learn the distance D by large margin nearest neighbours
(Weinberger, Blitzer, Saul, NIPS 2006): nodes of one segment should be close, and others a margin away. They minimise
over semidefinite matrices, which is convex; here it is a linear map of low rank, which is not. Impostors are of the
same page.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from scrapy_pagelets.base.arrays import Floats, Ints
from scrapy_pagelets.decision.classifiers import Trees, sigmoid
from scrapy_pagelets.decision.model import columns_of, read, trees_of
from scrapy_pagelets.papers.graph_cuts.appearance import APPEARANCE, PAIR_APPEARANCE, SITUATION_APPEARANCE
from scrapy_pagelets.papers.graph_cuts.segment_features import NODE_FEATURES, PAIR_FEATURES, SITUATION_FEATURES

#: The regions of a page (header, content, footer), or the blocks within them (menu, article, title).
TOP, INNER = "top", "inner"
#: Increases if the meaning of a feature or of a penalty changes: a file of another version is refused.
VERSION: Final = 2
_SPACE, _LOGISTIC = ("center", "scale", "metric"), ("edge", "neighbours", "pairs")
_PLAIN: Final = [*NODE_FEATURES, *SITUATION_FEATURES, *PAIR_FEATURES]
_RENDERED: Final = [*_PLAIN, *APPEARANCE, *SITUATION_APPEARANCE, *PAIR_APPEARANCE]
NEIGHBOURS: Final = 3  # nodes of the same segment that each node should be close to
_PUSH: Final = 0.5  # weight of the impostors; that of far neighbours is 1 - _PUSH


@dataclass(frozen=True, eq=False)
class Logistic:
    """A logistic regression."""

    coefficients: Floats  # (F,)
    intercept: float  # of the log odds

    def __call__(self, columns: Floats) -> Floats:
        """(e,) Probabilities of the rows of an (e, F) matrix."""
        return sigmoid(np.clip(columns @ self.coefficients + self.intercept, -30, 30))


@dataclass(frozen=True, eq=False)
class Weights:
    """The costs of one level of segments."""

    #: center, scale: (F,) of ``NODE_FEATURES``; for rendered pages, here and below, with those of ``appearance``
    center: Floats
    scale: Floats
    metric: Floats  # (rank, F) the linear map of LMNN, for centred and scaled features
    edge: Logistic  # over ``SITUATION_FEATURES`` of a node, the probability that it is in one segment with its parent
    #: neighbours, pairs: over ``PAIR_FEATURES``, that two consecutive leaves, or any two, are in one segment
    neighbours: Logistic
    pairs: Logistic
    whole: Trees  # over ``SITUATION_FEATURES``, the log odds that all leaves of a node are in one segment
    penalties: dict[str, float]  # lambda of each method: the weight of the costs of separating what belongs together
    about: dict[str, Any]  # how the weights were learnt: command, data, scores

    @property
    def rendered(self) -> bool:
        """True if the weights are for rendered pages."""
        return len(self.center) > len(NODE_FEATURES)

    def save(self, path: str | Path) -> None:
        """Write the file."""
        features = _RENDERED if self.rendered else _PLAIN
        about = self.about | {"version": VERSION, "features": features, "penalties": self.penalties}
        columns: dict[str, Any] = {name: getattr(self, name).astype(np.float32) for name in _SPACE}
        for name in _LOGISTIC:
            part = getattr(self, name)
            columns[name] = np.append(part.coefficients, part.intercept)
        with open(path, "wb") as file:
            np.savez_compressed(
                file, about=np.frombuffer(json.dumps(about).encode(), np.uint8), **columns, **columns_of(self.whole)
            )


@lru_cache(8)
def load(name: str, *, rendered: bool = False) -> Weights:
    """Read the weights of the level ``top`` or ``inner``, or a file of ``pagelets train``; ModelError if unusable.

    ``rendered``: read the weights of the level for rendered pages; ignored for a file.
    """
    shipped = name in (TOP, INNER)
    file_name = f"gcuts-{name}-rendered.npz" if rendered else f"gcuts-{name}.npz"
    path = files("scrapy_pagelets.papers.graph_cuts").joinpath(file_name) if shipped else Path(name)
    return read(path, name, _weights, "file of weights", (TOP, INNER), " --segments")


def _weights(data: dict[str, NDArray[Any]]) -> Weights:
    about = json.loads(data["about"].tobytes())
    if about.get("version") != VERSION or about.get("features") not in (_PLAIN, _RENDERED):
        raise ValueError("it was made with other features")
    parts: dict[str, Any] = {name: data[name].astype(np.float64) for name in _SPACE}
    parts |= {name: Logistic(data[name][:-1], float(data[name][-1])) for name in _LOGISTIC}
    return Weights(**parts, whole=trees_of(data), penalties=about.pop("penalties"), about=about)


@dataclass(frozen=True, eq=False)
class Group:
    """Nodes of one page."""

    columns: Floats  # (n, F) their features
    segment: Ints  # (n,) number of their segment
    target: Ints  # (t, 2) pairs of a node and one of the nearest nodes of its segment

    @classmethod
    def of(cls, columns: Floats, segment: Ints) -> Self:
        """Make a group whose targets are the ``NEIGHBOURS`` nearest nodes in the space of the features."""
        distance = _distances(columns)
        distance[segment[:, None] != segment] = np.inf
        np.fill_diagonal(distance, np.inf)
        nearest = np.argsort(distance, axis=1, kind="stable")[:, :NEIGHBOURS]
        node, rank = np.nonzero(np.isfinite(np.take_along_axis(distance, nearest, axis=1)))
        return cls(columns, segment, np.column_stack((node, nearest[node, rank])))


def learn_metric(groups: Sequence[Group], rank: int, iterations: int) -> Floats:
    """(rank, F) The linear map; the learnt distance is the Euclidean distance of images.

    ``groups``: of each page, centred and scaled; ValueError if no segment has two nodes. ``iterations``: of L-BFGS.
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
    return np.asarray(result.x.reshape(-1, features))


def loss(groups: Sequence[Group], linear: Floats) -> tuple[float, Floats]:
    """Mean cost of a target pair with its impostors; (rank, F) the gradient."""
    value, gradient = 0.0, np.zeros_like(linear)
    for group in groups:
        image = group.columns @ linear.T
        own, weight = _pairs(_distances(image), group)
        value += own
        # The sum of w_ab |L(x_a - x_b)|^2 has the gradient 2 L X^T (degree - w - w^T) X.
        both = weight + weight.T
        gradient += 2 * ((both.sum(axis=1)[:, None] * image - both @ image).T @ group.columns)
    count = sum(len(group.target) for group in groups)
    return value / count, gradient / count


def _distances(columns: Floats) -> Floats:
    """(n, n) squared distances. All crawls import this module, few need SciPy, which takes long to import."""
    from scipy.spatial.distance import cdist

    return np.asarray(cdist(columns, columns, "sqeuclidean"))


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
