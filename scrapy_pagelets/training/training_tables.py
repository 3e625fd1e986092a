"""Training tables of nodes and of leaves, and the lexicon of class names and headings."""

from __future__ import annotations

import json
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from scrapy_pagelets.base.arrays import Bools, Floats, Ints
from scrapy_pagelets.decision.classifiers import Classifier, Trees, fit, size_class
from scrapy_pagelets.decision.lexicon import heading_tokens, look_tokens
from scrapy_pagelets.decision.page_features import OWN_TOKENS, headings, node_features
from scrapy_pagelets.page.nodes import TEXT
from scrapy_pagelets.training.labels import TEMPLATE, UNKNOWN, Example, template_share

#: Maximum number of leaves and nodes of one page that become rows.
_LEAVES_PER_PAGE: Final = 128
_NODES_PER_PAGE: Final = 100
#: Minimum number of sites with a token in the lexicon, at which its log odds are halved; and pages used of each site.
_TOKEN_SITES: Final = 5
_TOKEN_PAGES: Final = 30
#: Options of CatBoost for leaves and for cuts.
_BOOSTING: Final[dict[str, Any]] = {
    "depth": 6, "learning_rate": 0.08, "border_count": 48, "bootstrap_type": "Bernoulli", "random_seed": 0,
    "verbose": False, "allow_writing_files": False,
}  # fmt: skip


@dataclass(frozen=True)
class Nodes:
    """Training table of the page-level classifier, one row for each node: features, size class, label, weight, fold."""

    columns: Floats
    sizes: Ints
    template: Bools
    weight: Floats
    fold: Ints

    @classmethod
    def stack(cls, parts: Sequence[tuple[NDArray[np.float32], Example]]) -> Self:
        """Stack a sample of the nodes of each page; pages have equal weight, nodes by the logarithm of their words."""
        rng = np.random.default_rng(0)
        tables = [cls._of(columns, example, rng) for columns, example in parts]
        return cls(*(np.concatenate(column) for column in zip(*tables, strict=True)))

    @staticmethod
    def _of(columns: NDArray[np.float32], example: Example, rng: np.random.Generator) -> tuple[Any, ...]:
        share, below = template_share(example)
        rows = _sample(np.flatnonzero(below > 0), _NODES_PER_PAGE, rng)
        weight = np.log1p(below[rows])
        features = node_features(example.page, columns)[rows].astype(np.float32)
        sizes = size_class(example.page.nodes)[rows]
        return features, sizes, share[rows] >= 0.5, weight / weight.sum(), np.full(len(rows), example.fold)

    def fit(self, rows: Bools) -> Classifier:
        """Train the classifier on the rows of a mask."""
        return fit(self.columns[rows], self.sizes[rows], self.template[rows], self.weight[rows])


def _sample(rows: Ints, most: int, rng: np.random.Generator) -> Ints:
    return rows if len(rows) <= most else np.sort(rng.choice(rows, most, replace=False))


def _weights(example: Example, rows: Ints) -> Floats:
    """(rows,) weight of some leaves: all pages count alike, leaves by their words; 0 without a label."""
    weight = np.where(example.labels == UNKNOWN, 0, example.page.nodes.words).astype(np.float64)
    weight /= max(1.0, weight.sum())
    scaled: Floats = weight[rows] * weight.sum() / max(1e-9, weight[rows].sum())
    return scaled


@dataclass(frozen=True)
class Leaves:
    """Training table of the final decision, one row for each leaf: features, label, weight, fold."""

    columns: NDArray[np.float32]
    template: Bools
    weight: Floats
    fold: Ints

    @classmethod
    def stack(cls, parts: Sequence[tuple[NDArray[np.float32], Example]], weight: Floats | None = None) -> Self:
        """Stack the labelled leaves of many examples; a sample of long pages, because adjacent leaves are similar.

        ``weight``: (examples,) weight of each example; None for equal weights.
        """
        rng = np.random.default_rng(0)
        rows = [_sample(np.flatnonzero(e.labels != UNKNOWN), _LEAVES_PER_PAGE, rng) for _, e in parts]
        examples = [example for _, example in parts]
        factors = np.ones(len(parts)) if weight is None else weight
        return cls(
            np.vstack([columns[k] for (columns, _), k in zip(parts, rows, strict=True)]),
            np.concatenate([e.labels[k] == TEMPLATE for e, k in zip(examples, rows, strict=True)]),
            np.concatenate([w * _weights(e, k) for w, e, k in zip(factors, examples, rows, strict=True)]),
            np.concatenate([np.full(len(k), e.fold) for e, k in zip(examples, rows, strict=True)]),
        )

    def fit(self, rows: Bools, trees: int) -> Trees:
        """Train symmetric boosted trees of depth 6 on the rows of a mask.

        Raise ImportError if catboost, which only training needs, is not installed.
        """
        from catboost import CatBoostClassifier

        learner = CatBoostClassifier(iterations=trees, l2_leaf_reg=5, rsm=0.4, subsample=0.5, **_BOOSTING)
        learner.fit(self.columns[rows], self.template[rows], sample_weight=self.weight[rows])
        return read(learner)


def fit_rating(columns: NDArray[np.float32], rating: Floats, weight: Floats, trees: int) -> Trees:
    """Train the rating of cuts. Raise ImportError if catboost, which only training needs, is not installed.

    Parameters
    ----------
    columns : (pages, cuts, features)
    rating : (pages, cuts)
    weight : (pages,)
    """
    from catboost import CatBoostRegressor

    learner = CatBoostRegressor(iterations=trees, l2_leaf_reg=10, rsm=0.5, subsample=0.6, **_BOOSTING)
    rows = columns.reshape(-1, columns.shape[2])
    learner.fit(rows, rating.ravel(), sample_weight=np.repeat(weight, columns.shape[1]))
    return read(learner)


def fit_classes(columns: NDArray[np.float32], number: Ints, weight: Floats, trees: int) -> tuple[Trees, ...]:
    """Train a rating of each class; the largest one names the class. All have the same splits.

    Raise ImportError if catboost, which only training needs, is not installed.

    Parameters
    ----------
    columns : (rows, features)
    number : (rows,) of the class of each row; each class has rows
    weight : (rows,)
    """
    from catboost import CatBoostClassifier

    learner = CatBoostClassifier(
        iterations=trees, loss_function="MultiClass", l2_leaf_reg=5, rsm=0.4, subsample=0.5, **_BOOSTING
    )
    learner.fit(columns, number, sample_weight=weight)
    return tuple(read(learner, of) for of in range(int(number.max()) + 1))


def read(learner: Any, of: int = 0) -> Trees:
    """Convert a catboost model, or what it has to say of one class, by way of its JSON format."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "trees.json")
        learner.save_model(path, format="json")
        data = json.loads(path.read_text())
    trees = data["oblivious_trees"]
    # A tree without a useful split has none: null in the JSON.
    depth = max(1, *(len(tree["splits"] or ()) for tree in trees))
    feature = np.zeros((len(trees), depth), np.int64)
    border = np.full((len(trees), depth), np.inf, np.float32)
    value = np.zeros((len(trees), 2**depth), np.float32)
    for i, tree in enumerate(trees):
        for level, split in enumerate(tree["splits"] or ()):
            feature[i, level] = split["float_feature_index"]
            border[i, level] = split["border"]
        own = np.reshape(tree["leaf_values"], (2 ** len(tree["splits"] or ()), -1))[:, of]
        value[i] = np.resize(own, 2**depth)
    scale, bias = data["scale_and_bias"]
    return Trees(feature, border, value * np.float32(scale), float(np.ravel(bias)[of]))


def lexicon(examples: Iterable[Example]) -> dict[int, float]:
    """Log odds that words below a class, id or role token, or below a heading, are template, relative to the base rate.

    Sites have equal weight.
    """
    rates: dict[int, list[float]] = defaultdict(list)
    base: list[float] = []
    for group in by_site(examples).values():
        below: dict[int, Floats] = defaultdict(lambda: np.zeros(2))
        for example in group[:_TOKEN_PAGES]:
            base.append(_look_words(example, below))
            _heading_words(example, below)
        for token, (template, total) in below.items():
            rates[token].append(template / total)
    mean = float(np.clip(np.mean(base), 0.02, 0.98)) if base else 0.5
    return {
        token: (_logit((sum(seen) + mean) / (len(seen) + 1)) - _logit(mean)) * len(seen) / (len(seen) + _TOKEN_SITES)
        for token, seen in rates.items()
        if len(seen) >= _TOKEN_SITES
    }


def own_tokens(examples: Iterable[Example]) -> tuple[int, ...]:
    """The class, id and role tokens that say most about what they contain, be it template or content, site by site.

    The lexicon has one figure for each token, and none for those that are template on blogs and content on forums.
    Tokens are rated by the squared difference between the share of template below them and that of the site, times the
    square root of their share of the words; sites have equal weight.
    """
    rating: dict[int, float] = defaultdict(float)
    for group in by_site(examples).values():
        pages = group[:_TOKEN_PAGES]
        below: dict[int, Floats] = defaultdict(lambda: np.zeros(2))
        base = float(np.mean([_look_words(example, below) for example in pages]))
        for token, (template, total) in below.items():
            rating[token] += (template / total - base) ** 2 * min(1.0, total / len(pages)) ** 0.5
    return tuple(sorted(rating, key=lambda token: (-rating[token], token))[:OWN_TOKENS])


def _look_words(example: Example, below: dict[int, Floats]) -> float:
    """Add the shares of template words and of all words below each token; returns the template share of the page."""
    nodes = example.page.nodes
    weight = nodes.words * (example.labels != UNKNOWN)
    all_words = max(1, int(weight.sum()))
    total = nodes.sum_below(weight) / all_words
    template = nodes.sum_below(weight * (example.labels == TEMPLATE)) / all_words
    for row in np.flatnonzero((nodes.tag != TEXT) & (total > 0)).tolist():
        for token in look_tokens(nodes.looks[nodes.look[row]]):
            below[token] += (template[row], total[row])
    return float(template[0])


def _heading_words(example: Example, below: dict[int, Floats]) -> None:
    """Do the same for the text between each heading and the next."""
    weight = example.page.nodes.words * (example.labels != UNKNOWN)
    share = weight / max(1, int(weight.sum()))
    last = headings(example.page.nodes)
    follows = (last >= 0) & (last != np.arange(len(last)))
    total = np.bincount(last[follows], share[follows], len(last))
    template = np.bincount(last[follows], (share * (example.labels == TEMPLATE))[follows], len(last))
    for leaf in np.flatnonzero(total).tolist():
        for token in heading_tokens(example.page.nodes.strings[leaf]):
            below[token] += (template[leaf], total[leaf])


def _logit(p: float) -> float:
    p = min(max(p, 0.02), 0.98)
    return float(np.log(p / (1 - p)))


def by_site(examples: Iterable[Example]) -> dict[str, list[Example]]:
    """Group the examples by site."""
    groups: dict[str, list[Example]] = defaultdict(list)
    for example in examples:
        groups[example.site].append(example)
    return groups
