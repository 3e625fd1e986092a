"""Learnt weights of GCuts and CClus: two numpy files for each level of segments.

One file is for pages as received, the other for rendered pages, whose nodes have more features.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Final
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from scrapy_pagelets.base.arrays import Floats
from scrapy_pagelets.base.errors import ConfigError
from scrapy_pagelets.decision.classifiers import Trees, sigmoid
from scrapy_pagelets.papers.graph_cuts.appearance import APPEARANCE, PAIR_APPEARANCE, SITUATION_APPEARANCE
from scrapy_pagelets.papers.graph_cuts.segment_features import NODE_FEATURES, PAIR_FEATURES, SITUATION_FEATURES

#: The regions of a page (header, content, footer), or the blocks within them (menu, article, title).
TOP, INNER = "top", "inner"
#: Increases if the meaning of a feature or of a penalty changes: a file of another version is refused.
VERSION: Final = 2
_SPACE, _LOGISTIC = ("center", "scale", "metric"), ("edge", "neighbours", "pairs")
_PLAIN: Final = [*NODE_FEATURES, *SITUATION_FEATURES, *PAIR_FEATURES]
_RENDERED: Final = [*_PLAIN, *APPEARANCE, *SITUATION_APPEARANCE, *PAIR_APPEARANCE]


class WeightsError(ConfigError):
    """Raised for a file of weights that cannot be used; the message says why and what to do."""


@dataclass(frozen=True, eq=False)
class Logistic:
    """A logistic regression.

    Attributes
    ----------
    coefficients : (F,)
    intercept : of the log odds
    """

    coefficients: Floats
    intercept: float

    def __call__(self, columns: Floats) -> Floats:
        """(e,) Probabilities of the rows of an (e, F) matrix."""
        return sigmoid(np.clip(columns @ self.coefficients + self.intercept, -30, 30))


@dataclass(frozen=True, eq=False)
class Weights:
    """The costs of one level of segments.

    Attributes
    ----------
    center, scale : (F,) of ``NODE_FEATURES``; for rendered pages, here and below, with those of ``appearance``
    metric : (rank, F) the linear map of LMNN, for centred and scaled features
    edge : over ``SITUATION_FEATURES`` of a node, the probability that it is in one segment with its parent
    neighbours, pairs : over ``PAIR_FEATURES``, the probability that two leaves are in one segment: of two consecutive
        leaves, of any two leaves
    whole : over ``SITUATION_FEATURES``, the log odds that all leaves of a node are in one segment
    penalties : lambda of each method: the weight of the costs of separating what belongs together
    about : how the weights were learnt: command, data, scores
    """

    center: Floats
    scale: Floats
    metric: Floats
    edge: Logistic
    neighbours: Logistic
    pairs: Logistic
    whole: Trees
    penalties: dict[str, float]
    about: dict[str, Any]

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
                file,
                about=np.frombuffer(json.dumps(about).encode(), np.uint8),
                **columns,
                feature=self.whole.feature.astype(np.int16),
                border=self.whole.border,
                value=self.whole.value,
                bias=np.float64(self.whole.bias),
            )


@lru_cache(8)
def load(name: str, *, rendered: bool = False) -> Weights:
    """Read the weights of the level ``top`` or ``inner``, or a file that ``scrapy pagelets train`` has written.

    Parameters
    ----------
    rendered : read the weights of the level for rendered pages; ignored for a file

    Raises
    ------
    WeightsError : if there is no such file, or if it was written by another version
    """
    shipped = name in (TOP, INNER)
    file_name = f"gcuts-{name}-rendered.npz" if rendered else f"gcuts-{name}.npz"
    path = files("scrapy_pagelets.papers.graph_cuts").joinpath(file_name) if shipped else Path(name)
    try:
        with path.open("rb") as file, np.load(file) as data:
            return _weights({key: data[key] for key in data.files})
    except FileNotFoundError:
        raise WeightsError(f"there are no weights {name}: give {TOP}, {INNER} or the path of a file") from None
    except (OSError, EOFError, KeyError, ValueError, BadZipFile) as error:
        raise WeightsError(
            f"{name} is not a weights file of this version: write it again with `scrapy pagelets train --segments` "
            f"({error})"
        ) from None


def _weights(data: dict[str, NDArray[Any]]) -> Weights:
    about = json.loads(data["about"].tobytes())
    if about.get("version") != VERSION or about.get("features") not in (_PLAIN, _RENDERED):
        raise ValueError("it was made with other features")
    parts: dict[str, Any] = {name: data[name].astype(np.float64) for name in _SPACE}
    parts |= {name: Logistic(data[name][:-1], float(data[name][-1])) for name in _LOGISTIC}
    whole = Trees(data["feature"].astype(np.int64), data["border"], data["value"], float(data["bias"]))
    return Weights(**parts, whole=whole, penalties=about.pop("penalties"), about=about)
