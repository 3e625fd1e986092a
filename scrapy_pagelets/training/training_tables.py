"""Labels of pages, training tables of nodes and of leaves, and the lexicon of class names and headings."""

import bisect
import json
import random
import tempfile
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from scrapy_pagelets.base.arrays import Bools, Floats, Ints
from scrapy_pagelets.base.characters import words
from scrapy_pagelets.decision.classifiers import Classifier, Trees, fit, size_class
from scrapy_pagelets.decision.model import heading_tokens, look_tokens
from scrapy_pagelets.decision.page_features import OWN_TOKENS, headings
from scrapy_pagelets.page.nodes import TEXT
from scrapy_pagelets.page.page import Page

P = TypeVar("P", "Page", "Example")
TEMPLATE, CONTENT, UNKNOWN = 1, 0, -1
#: Number of folds of the cross-validation; all pages of a family of sites are in one fold.
FOLDS: Final = 6
#: A text on this share of the pages of a site, and on at least three, is template. The slides give no threshold.
_FREQUENT: Final = 0.3
_PAGES: Final = 16  # maximum number of pages of one site that are learnt from, so that large sites do not dominate


@dataclass(frozen=True, eq=False)
class Example:
    """A page with labels."""

    page: Page
    labels: Ints  # (m,) TEMPLATE, CONTENT or UNKNOWN for each leaf
    family: str = ""  # name of the sites like this one, such as those of one generator; "" if unknown

    @property
    def is_complete(self) -> bool:
        """Whether most words have a label; else, as where facts alone are labelled, their mean says nothing."""
        words = self.page.nodes.words
        return bool(2 * words[self.labels != UNKNOWN].sum() >= words.sum())

    @property
    def site(self) -> str:
        """Name of the site."""
        return self.page.site

    @property
    def fold(self) -> int:
        """Fold in the cross-validation: that of its family."""
        return fold_of(self.family or self.site)


def fold_of(family: str) -> int:
    """Fold of a family of sites, or of a site without one, in the cross-validation."""
    return zlib.crc32(family.encode()) % FOLDS


def by_gold(page: Page, content: str) -> Ints:
    """(m,) labels from the text that people have marked as the content of the page.

    Leaves are located in it, longest first, each between its neighbours located before it, so that a menu entry whose
    words also appear in the content is not mistaken for content.
    """
    gold = f" {' '.join(words(content))} "
    leaves = [words(s) for s in page.nodes.strings]
    labels = np.full(len(leaves), UNKNOWN)
    spans: dict[int, tuple[int, int]] = {}
    placed: list[int] = []
    for leaf in sorted((i for i in range(len(leaves)) if leaves[i]), key=lambda i: (-len(leaves[i]), i)):
        k = bisect.bisect(placed, leaf)
        low = spans[placed[k - 1]][1] - 1 if k else 0
        high = spans[placed[k]][0] + 1 if k < len(placed) else len(gold)
        span = _find(gold, leaves[leaf], low, high)
        labels[leaf] = TEMPLATE if span is None else CONTENT
        if span is not None:
            spans[leaf] = span
            placed.insert(k, leaf)
    return labels


def _find(gold: str, leaf: list[str], low: int, high: int) -> tuple[int, int] | None:
    tries = [leaf]
    if len(leaf) >= 8:  # for a long run, a part is enough: the labelled text may split or join words
        middle = len(leaf) // 2
        tries += [leaf[:6], leaf[-6:], leaf[middle : middle + 6]]
    for part in tries:
        text = f" {' '.join(part)} "
        if (start := gold.find(text, low, high)) >= 0:
            return start, start + len(text)
    return None


def by_sites(pages: Iterable[Page]) -> Iterator[Example]:
    """Yield examples with labels derived from the site level (Chakrabarti, Kumar, Punera 2007).

    Text on the share ``_FREQUENT`` of the pages, and on at least three, is template; text on a single page, and not
    inside template, is content.
    """
    for group in by_site(pages).values():
        counts = Counter(key for page in group for key in set(page.nodes.text.tolist()))
        for page in group:
            count = np.array([counts[key] for key in page.nodes.text.tolist()], np.int64)
            nodes, template = page.nodes, count >= max(3, _FREQUENT * len(group))
            words = nodes.sum_below(nodes.words)
            inside = (nodes.sum_below(nodes.words * template) > 0.8 * words) & (nodes.tag != TEXT)
            nodes.inherit(inside, np.bitwise_or)
            labels = np.where(template, TEMPLATE, np.where((count == 1) & ~inside[nodes.leaves], CONTENT, UNKNOWN))
            yield Example(page, np.where((nodes.words == 0) | (len(group) < 3), UNKNOWN, labels))


def template_share(example: Example) -> tuple[Floats, Floats]:
    """(n,) share of template among the labelled words below each node, and (n,) number of labelled words."""
    nodes = example.page.nodes
    words = nodes.words * (example.labels != UNKNOWN)
    below: Floats = nodes.sum_below(words).astype(np.float64)
    template = nodes.sum_below(words * (example.labels == TEMPLATE))
    return template / np.maximum(1, below), below


_LEAVES_PER_PAGE: Final = 128  # leaves of one page that become rows, at most
_NODES_PER_PAGE: Final = 100  # the same of nodes
#: Minimum number of sites with a token in the lexicon, at which its log odds are halved; and pages used of each site.
_TOKEN_SITES: Final = 5
_TOKEN_PAGES: Final = 30
#: Options of CatBoost for leaves, cuts and roles.
BOOSTING: Final[dict[str, Any]] = {
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
    def stack(cls, parts: Iterable[tuple[Floats, Example]], most: int = _NODES_PER_PAGE, least: float = 0.5) -> Self:
        """Stack a sample of the nodes of each page; pages have equal weight, nodes by the logarithm of their words.

        ``parts``: (n, features) of each page. ``most``: nodes of one page. ``least``: share of template below one.
        """
        rng = np.random.default_rng(0)
        tables = []
        for columns, example in parts:
            share, below = template_share(example)
            rows = _sample(np.flatnonzero(below > 0), most, rng)
            weight = np.log1p(below[rows])
            own = columns[rows].astype(np.float32), size_class(example.page.nodes)[rows], share[rows] >= least
            tables.append((*own, weight / weight.sum(), np.full(len(rows), example.fold)))
        return cls(*(np.concatenate(column) for column in zip(*tables, strict=True)))

    def fit(self, rows: Bools) -> Classifier:
        """Train the classifier on the rows of a mask."""
        return fit(self.columns[rows], self.sizes[rows], self.template[rows], self.weight[rows])


def _sample(rows: Ints, most: int, rng: np.random.Generator) -> Ints:
    return rows if len(rows) <= most else np.sort(rng.choice(rows, most, replace=False))


def _weights(example: Example, rows: Ints) -> Floats:
    """(rows,) weight of some leaves: all pages count alike, leaves by their words; 0 without a label."""
    weight = np.where(example.labels == UNKNOWN, 0, example.page.nodes.words).astype(np.float64)
    weight /= max(1.0, weight.sum())
    return np.asarray(weight[rows] * weight.sum() / max(1e-9, weight[rows].sum()))


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
        """Train symmetric boosted trees of depth 6 on the rows of a mask; ImportError without catboost."""
        from catboost import CatBoostClassifier

        learner = CatBoostClassifier(iterations=trees, l2_leaf_reg=5, rsm=0.4, subsample=0.5, **BOOSTING)
        learner.fit(self.columns[rows], self.template[rows], sample_weight=self.weight[rows])
        return read(learner)


def fit_rating(columns: NDArray[np.float32], rating: Floats, weight: Floats, trees: int) -> Trees:
    """Train the rating of cuts. Raise ImportError if catboost, which only training needs, is not installed.

    ``columns``: (pages, cuts, features). ``rating``: (pages, cuts). ``weight``: (pages,).
    """
    from catboost import CatBoostRegressor

    learner = CatBoostRegressor(iterations=trees, l2_leaf_reg=10, rsm=0.5, subsample=0.6, **BOOSTING)
    rows = columns.reshape(-1, columns.shape[2])
    learner.fit(rows, rating.ravel(), sample_weight=np.repeat(weight, columns.shape[1]))
    return read(learner)


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
    """Log odds of template below a class, id or role token or a heading, beside the base rate; sites weigh the same."""
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

    The lexicon has one figure for each, none for those that are template on blogs and content on forums. They are rated
    by the squared difference between the share of template below them and that of the site, times the square root of
    their share of the words; sites have equal weight.
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


def thinned(examples: Iterable[Example]) -> list[Example]:
    """A sample of the examples of each site, always the same one."""
    groups, rng = by_site(examples).values(), random.Random(0)
    return [one for group in groups for one in (group if len(group) <= _PAGES else rng.sample(group, _PAGES))]


def by_site(some: Iterable[P]) -> dict[str, list[P]]:
    """Group pages, or examples, by site."""
    groups: dict[str, list[P]] = defaultdict(list)
    for one in some:
        groups[one.site].append(one)
    return groups
