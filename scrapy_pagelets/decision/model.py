"""The model that combines all evidence, stored in one NumPy data file, and the words that its lexicon knows.

The words of class names, ids, roles and short headings are hashes. No language or class name is hard-coded: training
learns the lexicon from pages with labels.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property, lru_cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, TypeVar
from weakref import WeakKeyDictionary
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray
from xxhash import xxh3_64_intdigest

from scrapy_pagelets.base.arrays import Floats, Ints
from scrapy_pagelets.base.caches import MOST_BYTES, cached
from scrapy_pagelets.base.characters import lazily
from scrapy_pagelets.base.characters import words as words_of
from scrapy_pagelets.base.errors import ConfigError
from scrapy_pagelets.core import give
from scrapy_pagelets.decision import page_features as tables
from scrapy_pagelets.decision.classifiers import Classifier, Trees, chosen, node_odds
from scrapy_pagelets.decision.cut import CUT_FEATURES
from scrapy_pagelets.page.looks import Look
from scrapy_pagelets.page.nodes import NodeTable
from scrapy_pagelets.page.page import Page
from scrapy_pagelets.page.roles import ROLES, is_template

T = TypeVar("T")
#: By hash of a class, id or role token, or of words of a heading, the log odds that the text below it is template.
Lexicon = Mapping[int, float]
#: Longer headings, in words or characters, name the subject of a text and not its function.
_HEADING_WORDS, _HEADING_CHARACTERS = 6, 60
_LETTERS: Final = lazily(r"[^\W\d_]+").findall


def look_tokens(look: Look) -> tuple[int, ...]:
    """Hashes of the words of id, class and role; ``main-menu`` gives ``main``, ``menu`` and ``main-menu``."""
    _, name, classes, role = look
    shared = _shared_tokens(classes, role)
    return tuple(sorted({*shared, *_hashes((name,))} if name else shared))


@cached
def _shared_tokens(classes: str, role: str) -> tuple[int, ...]:
    """The hashes of a look whatever its id: many elements have an id of their own on each page."""
    return (*_hashes((*classes.split(), role)),)


def _hashes(names: Iterable[str]) -> set[int]:
    found = set()
    for name in names:
        words = _LETTERS(name.lower())
        found.update(words)
        if len(words) > 1:
            found.add("-".join(words))
    return {xxh3_64_intdigest(token.encode("utf-8", "replace")) for token in found if len(token) > 1}


@cached
def heading_tokens(text: str) -> tuple[int, ...]:
    """Hashes of the words of a short heading, of pairs of adjacent words, and of the whole heading."""
    words = words_of(text) if len(text) < _HEADING_CHARACTERS else []
    if not 0 < len(words) <= _HEADING_WORDS:
        return ()
    phrases = {*words, *map(" ".join, pairwise(words)), " ".join(words)}
    return tuple(sorted(xxh3_64_intdigest(f"heading {phrase}".encode("utf-8", "replace")) for phrase in phrases))


def heading_odds(text: str, lexicon: Lexicon) -> float:
    """The log odds of largest magnitude among the words of a heading."""
    return max((lexicon.get(token, 0.0) for token in heading_tokens(text)), key=abs, default=0.0)


def look_odds(look: Look, lexicon: Lexicon) -> float:
    """The sum of the log odds of the tokens of a look."""
    return _facts_of(look, lexicon, ())[0]


def _facts_of(look: Look, lexicon: Lexicon, own_tokens: Sequence[int]) -> tuple[float, int]:
    """The sum of the log odds of the tokens of a look, and which of some tokens it has, as bits."""
    tokens = look_tokens(look)
    own = [] if set(tokens).isdisjoint(own_tokens) else [1 << i for i, one in enumerate(own_tokens) if one in tokens]
    return sum([lexicon.get(token, 0.0) for token in tokens]), sum(own)


give("features", facts_of=_facts_of, heading_odds=heading_odds, MOST_BYTES=MOST_BYTES)

#: The models in the package: trained on pages labelled by people, or on labels derived from what pages of sites share.
LABELLED: Final = "labelled"
AUTOMATIC: Final = "automatic"
SHIPPED: Final = (LABELLED, AUTOMATIC)
VERSION: Final = 6  # changes with the meaning of the features: a file of another version is refused
FEATURES: Final = [
    *tables.NODE_FEATURES, *tables.PAGE_FEATURES, *tables.CONTEXT_FEATURES, *tables.SITE_FEATURES, *CUT_FEATURES,
]  # fmt: skip
#: Names of the trees of a model, and of their columns in its file.
_PASSES: Final = ("trees", "context", "decision", "cut")


class ModelError(ConfigError):
    """Raised if a model file cannot be used; the message says why and what to do."""


@dataclass(eq=False)
class PageEvidence:
    """The evidence of a page alone."""

    nodes: NodeTable  # the node table of the page
    features: NDArray[np.float32]  # (m, len(PAGE_FEATURES)) features of the leaves
    first: Floats  # (m,) log odds of the leaves by the first pass
    #: (n, CLASSIFIERS) log odds of all nodes: first by the trees, as mean over the words below, then by the classifier
    odds: Floats
    context: Trees  # the second pass

    @cached_property
    def in_context(self) -> Floats:
        """(m,) log odds of the leaves by the second pass, which a page that is only learnt does not need."""
        return self.context(*context_parts(self.nodes, self.features, self.first))


@dataclass(frozen=True)
class Model:
    """A decision in passes: the page, the context of each leaf, the evidence of the site, and the cut.

    All classifiers give log odds of being template.
    """

    classifier: Classifier  # classifier of the paper, over ``NODE_FEATURES``; for nodes, by their page alone
    trees: Trees  # first pass, over ``PAGE_FEATURES``; for leaves, by their page alone
    context: Trees  # second pass, see `context_parts`; for leaves, by their page alone
    decision: Trees  # third pass, see `site_parts`; for leaves, with the evidence of other pages of the site
    cut: Trees  # last pass, over ``CUT_FEATURES``; the rating of each cut of a page, see `cut.shifted`
    #: for each role but content, the rating of that role for leaves that are template, see `role_parts`; () if the
    #: pages that the model was trained on had no roles
    roles: tuple[Trees, ...]
    lexicon: Lexicon  # log odds by hash of a class, id or role token, or of words of a heading
    own_tokens: tuple[int, ...]  # hashes of the tokens that give features of their own
    about: dict[str, Any]  # how the model was made: command, data, figures
    _known: WeakKeyDictionary[Page, PageEvidence] = field(default_factory=WeakKeyDictionary, repr=False, compare=False)

    def page_evidence(self, page: Page) -> PageEvidence:
        """Return the features of a page and the log odds of the page-level classifiers, computed once for each page."""
        if (evidence := self._known.get(page)) is None:
            columns = tables.page_features(page, self.lexicon, self.own_tokens)
            first = self.trees(columns)
            odds = node_odds(page, columns, first, self.classifier)
            evidence = PageEvidence(page.nodes, columns, first, odds, self.context)
            self._known[page] = evidence
        return evidence

    def roles_of(self, page: Page, templateness: Floats) -> Ints:
        """(m,) index in ``ROLES`` of the likely role of each leaf that is template; 0 of others, or without ratings."""
        found = np.zeros(len(templateness), np.int64)
        leaves = is_template(templateness).nonzero()[0]
        if self.roles and len(leaves):
            parts = role_parts(self.page_evidence(page), templateness)
            found[leaves] = chosen(self.roles, parts, leaves) + 1
        return found

    def save(self, path: str | Path) -> None:
        """Write the model file."""
        about = self.about | {"version": VERSION, "features": FEATURES}
        passes = [columns_of(getattr(self, name), f"{name}_") for name in _PASSES]
        passes += [columns_of(trees, f"role{number}_") for number, trees in enumerate(self.roles)]
        with open(path, "wb") as file:
            np.savez_compressed(
                file,
                **described(about, self.lexicon),
                marks=np.array(self.own_tokens, np.uint64),
                **{f"classifier_{name}": column for name, column in vars(self.classifier).items()},
                **{key: column for one in passes for key, column in one.items()},
            )


def context_parts(nodes: NodeTable, columns: NDArray[np.float32], first: Floats) -> list[NDArray[np.float32]]:
    """(m, features) what the second pass sees, in parts: the leaf itself, the log odds of the first pass around it.

    ``columns``: (m, len(PAGE_FEATURES)) features of the page. ``first``: (m,) log odds of the first pass.
    """
    return [*(columns[:, part] for part in tables.OWN_FEATURES), tables.context_features(nodes, first)]


def role_parts(evidence: PageEvidence, templateness: Floats) -> list[NDArray[np.float32]]:
    """(m, features) what the ratings of roles see, in parts: the page, and the decision so far, (m,) templateness."""
    return [evidence.features, np.column_stack([evidence.in_context, templateness]).astype(np.float32)]


def site_parts(evidence: PageEvidence, of_site: NDArray[np.float32]) -> list[NDArray[np.float32]]:
    """(m, features) what the third pass sees, in parts: the page, the second pass's log odds, ``SITE_FEATURES``."""
    return [evidence.features[:, tables.SHARED_FEATURES], evidence.in_context[:, None].astype(np.float32), of_site]


def described(about: Mapping[str, Any], lexicon: Lexicon) -> dict[str, Any]:
    """Columns of a model file that say how the model was made, and those of its lexicon, for `lexicon_of`."""
    return {
        "about": np.frombuffer(json.dumps(about).encode(), np.uint8),
        "tokens": np.array(list(lexicon), np.uint64),
        "odds": np.array(list(lexicon.values()), np.float32),
    }


def lexicon_of(data: Mapping[str, NDArray[Any]]) -> Lexicon:
    """Restore the lexicon from the columns of a model file."""
    return dict(zip(data["tokens"].tolist(), data["odds"].tolist(), strict=True))


@lru_cache(4)
def load(name: str) -> Model:
    """Read a model, by the name of a shipped one or by the path of a file that ``pagelets train`` has written.

    Raise ModelError if there is no such file, or if it is not a model of this version.
    """
    path = files("scrapy_pagelets.decision").joinpath(f"{name}.npz") if name in SHIPPED else Path(name)
    return read(path, name, _model, "model", SHIPPED)


def read(
    path: Traversable, name: str, make: Callable[[dict[str, Any]], T], kind: str, shipped: Sequence[str], way: str = ""
) -> T:
    """Make something of the columns of a file; ModelError if there is no such file, or if it is none of this version.

    ``kind``: what the file has. ``shipped``: names of the files in the package. ``way``: option of ``pagelets train``.
    """
    try:
        with path.open("rb") as file, np.load(file) as data:
            return make({key: data[key] for key in data.files})
    except FileNotFoundError:
        raise ModelError(f"there is no {kind} {name}: give {' or '.join(shipped)}, or the path of a file") from None
    except OSError as error:
        raise ModelError(f"{name} cannot be read: {error.strerror or error}") from None
    except (EOFError, KeyError, ValueError, BadZipFile):  # NumPy's own words would name an option that runs code
        raise ModelError(f"{name} is not a {kind} of this version: train it again with `pagelets train{way}`") from None


def _model(data: dict[str, Any]) -> Model:
    about = json.loads(data["about"].tobytes())
    if about.get("version") != VERSION or about.get("features") != FEATURES:
        raise ValueError("it has other features")
    lexicon = lexicon_of(data)
    classifier = Classifier(*(data[f"classifier_{part.name}"] for part in fields(Classifier)))
    trees, context, decision, cut = (trees_of(data, f"{name}_") for name in _PASSES)
    roles = tuple(trees_of(data, f"role{number}_") for number in range(len(ROLES) - 1) if f"role{number}_bias" in data)
    own_tokens = tuple(data["marks"].tolist())
    return Model(classifier, trees, context, decision, cut, roles, lexicon, own_tokens, about)


def columns_of(trees: Trees, prefix: str = "") -> dict[str, Any]:
    """Columns of a model file with some trees, for `trees_of`."""
    return {
        f"{prefix}feature": trees.feature.astype(np.int16),
        f"{prefix}border": trees.border,
        f"{prefix}value": trees.value,
        f"{prefix}bias": np.float64(trees.bias),
    }


def trees_of(data: Mapping[str, Any], prefix: str = "") -> Trees:
    """Restore trees from the columns of a model file."""
    feature, border, value, bias = (data[f"{prefix}{part}"] for part in ("feature", "border", "value", "bias"))
    return Trees(feature.astype(np.int64), border, value, float(bias))
