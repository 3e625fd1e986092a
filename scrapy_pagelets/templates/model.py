"""The model that weighs all witnesses: one data file, read by numpy."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Final
from weakref import WeakKeyDictionary
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from scrapy_pagelets.config import ConfigError
from scrapy_pagelets.nodes import Floats
from scrapy_pagelets.page import Page
from scrapy_pagelets.templates.features import PAGE_FEATURES, SITE_FEATURES, Lexicon, page_features
from scrapy_pagelets.templates.trees import Trees

#: The models that are part of the package: learnt from pages labelled by people, or from what the pages of sites share.
LABELLED: Final = "labelled"
AUTOMATIC: Final = "automatic"
SHIPPED: Final = (LABELLED, AUTOMATIC)
#: Changes with the meaning of the features: a file of another version is refused.
VERSION: Final = 1


class ModelError(ConfigError):
    """A model file cannot be used; the message says why and what to do."""


Judgement = tuple[NDArray[np.float32], Floats]


@dataclass(frozen=True)
class Model:
    """The page-level classifier, the last decision on top of it, and the lexicon of class names that both rely on.

    Attributes
    ----------
    page : over ``PAGE_FEATURES``; log odds that a leaf is template, by its page alone
    site : over ``PAGE_FEATURES + SITE_FEATURES``; the same with what the site says
    lexicon : log odds by hash of a class, id or role token
    about : how the model was made: command, data, figures
    """

    page: Trees
    site: Trees
    lexicon: Lexicon
    about: dict[str, Any]
    _judged: WeakKeyDictionary[Page, Judgement] = field(default_factory=WeakKeyDictionary, repr=False, compare=False)

    def judge(self, page: Page) -> Judgement:
        """(m, features) features of the leaves of a page, (m,) their log odds by the page alone; once for each page."""
        if (judged := self._judged.get(page)) is None:
            columns = page_features(page, self.lexicon)
            judged = self._judged[page] = columns, self.page(columns)
        return judged

    def save(self, path: str | Path) -> None:
        """Write the model file."""
        about = self.about | {"version": VERSION, "features": [*PAGE_FEATURES, *SITE_FEATURES]}
        with open(path, "wb") as file:
            np.savez_compressed(
                file,
                about=np.frombuffer(json.dumps(about).encode(), np.uint8),
                **_columns("page", self.page),
                **_columns("site", self.site),
                tokens=np.array(list(self.lexicon), np.uint64),
                odds=np.array(list(self.lexicon.values()), np.float32),
            )


@lru_cache(4)
def load(name: str) -> Model:
    """Read a model: the name of a shipped one, or the path of a file that ``scrapy pagelets train`` has written.

    Raises
    ------
    ModelError : if there is no such file, or it is none of this version
    """
    path = files("scrapy_pagelets.templates").joinpath(f"{name}.npz") if name in SHIPPED else Path(name)
    try:
        with path.open("rb") as file, np.load(file) as data:
            return _model({key: data[key] for key in data.files})
    except FileNotFoundError:
        raise ModelError(
            f"there is no model {name}: give {' or '.join(SHIPPED)}, or the path of a model file"
        ) from None
    except (OSError, EOFError, KeyError, ValueError, BadZipFile) as error:
        raise ModelError(
            f"{name} is not a model of this version: train it again with `scrapy pagelets train` ({error})"
        ) from None


def _model(data: dict[str, Any]) -> Model:
    about = json.loads(data["about"].tobytes())
    if about.get("version") != VERSION or about.get("features") != [*PAGE_FEATURES, *SITE_FEATURES]:
        raise ValueError("it was made with other features")
    lexicon = dict(zip(data["tokens"].tolist(), data["odds"].tolist(), strict=True))
    return Model(_trees("page", data), _trees("site", data), lexicon, about)


def _columns(name: str, trees: Trees) -> dict[str, Any]:
    return {
        f"{name}_feature": trees.feature.astype(np.int16),
        f"{name}_border": trees.border,
        f"{name}_value": trees.value,
        f"{name}_bias": np.float64(trees.bias),
    }


def _trees(name: str, data: dict[str, Any]) -> Trees:
    feature, border, value, bias = (data[f"{name}_{part}"] for part in ("feature", "border", "value", "bias"))
    return Trees(feature.astype(np.int64), border, value, float(bias))
