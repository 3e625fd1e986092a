"""Learning to weigh the witnesses: examples from labelled or unlabelled sites, the lexicon, the trees, the report.

Source: Chakrabarti, Kumar, Punera 2007 (slides): labels from the site level, a model that needs the page alone. Labels
by people take their place where there are some.
"""

from __future__ import annotations

import bisect
import json
import random
import tempfile
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from scrapy_pagelets.nodes import TEXT, Bools, Floats, Ints, NodeTable
from scrapy_pagelets.page import Page
from scrapy_pagelets.templates.counting import look_up
from scrapy_pagelets.templates.features import page_features, tokens
from scrapy_pagelets.templates.model import Model
from scrapy_pagelets.templates.site import Site
from scrapy_pagelets.templates.trees import Trees
from scrapy_pagelets.words import words

TEMPLATE, CONTENT, UNKNOWN = 1, 0, -1
#: Folds of the cross-validation; all pages of a site are in one.
FOLDS: Final = 6
#: Pages of one site that become examples: sites of thousands must not outvote the others.
_PAGES_PER_SITE: Final = 25
#: Leaves of one page that become rows.
_LEAVES_PER_PAGE: Final = 128
#: How many other pages of the site an example knows, beside one that knows all.
_KNOWN: Final = (1, 2, 3, 5, 9, 20)
#: A text on this share of the pages of a class, and on three at least, is template (``algorithms.md`` C.5).
_FREQUENT: Final = 0.3
#: Sites that must know a token before it enters the lexicon, and how many it takes to be believed half.
_TOKEN_SITES: Final = 5
_TOKEN_PAGES: Final = 30


@dataclass(frozen=True)
class Example:
    """A page with labels.

    Attributes
    ----------
    site : name; decides the fold
    page, labels : (m,) TEMPLATE, CONTENT or UNKNOWN for each leaf
    """

    page: Page
    labels: Ints

    @property
    def site(self) -> str:
        """Name of the site."""
        return self.page.site

    @property
    def fold(self) -> int:
        """Fold of the site."""
        return fold_of(self.site)


def fold_of(site: str) -> int:
    """Fold of the cross-validation that a site is in."""
    return zlib.crc32(site.encode()) % FOLDS


def by_gold(page: Page, content: str) -> Ints:
    """(m,) labels from the text that people call the content of the page.

    Leaves are looked up in it, the longest first, between the places of those that are found already: a word of a menu
    that also stands in the content is not mistaken for it.
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
    if len(leaf) >= 8:  # long runs count if a part of them is there: the gold may cut or glue words
        middle = len(leaf) // 2
        tries += [leaf[:6], leaf[-6:], leaf[middle : middle + 6]]
    for part in tries:
        text = f" {' '.join(part)} "
        if (start := gold.find(text, low, high)) >= 0:
            return start, start + len(text)
    return None


def by_sites(pages: Iterable[Page]) -> Iterator[Example]:
    """Examples with labels from the site level, without people (``algorithms.md`` C.5).

    Template is text on ``_FREQUENT`` of the pages of a site; content is what stands on one page only and not inside of
    template; what lies between is left out.
    """
    groups: dict[str, list[Page]] = defaultdict(list)
    for page in pages:
        groups[page.site].append(page)
    for group in groups.values():
        counts = Counter(key for page in group for key in set(page.nodes.text.tolist()))
        for page in group:
            yield Example(page, _by_counts(page.nodes, look_up(counts, page.nodes.text), len(group)))


def _by_counts(nodes: NodeTable, count: Ints, pages: int) -> Ints:
    template = count >= max(3, _FREQUENT * pages)
    words = nodes.total(nodes.spread(nodes.words))
    inside = (nodes.total(nodes.spread(nodes.words * template)) > 0.8 * words) & (nodes.tag != TEXT)
    for rows in nodes.levels[1:]:
        inside[rows] |= inside[nodes.parent[rows]]
    labels = np.where(template, TEMPLATE, np.where((count == 1) & ~inside[nodes.leaves], CONTENT, UNKNOWN))
    return np.where((nodes.words == 0) | (pages < 3), UNKNOWN, labels)


def lexicon(examples: Iterable[Example]) -> dict[int, float]:
    """Log odds that words below a class, id or role token are template, against the base rate; sites count alike."""
    rates: dict[int, list[float]] = defaultdict(list)
    base: list[float] = []
    for group in _by_site(examples).values():
        below: dict[int, Floats] = defaultdict(lambda: np.zeros(2))
        for example in group[:_TOKEN_PAGES]:
            base.append(_token_words(example, below))
        for token, (template, total) in below.items():
            rates[token].append(template / total)
    mean = float(np.clip(np.mean(base), 0.02, 0.98)) if base else 0.5
    return {
        token: (_logit((sum(seen) + mean) / (len(seen) + 1)) - _logit(mean)) * len(seen) / (len(seen) + _TOKEN_SITES)
        for token, seen in rates.items()
        if len(seen) >= _TOKEN_SITES
    }


def _token_words(example: Example, below: dict[int, Floats]) -> float:
    """Add the shares of template words and of all words below each token; returns the page's share of template."""
    nodes = example.page.nodes
    weight = nodes.words * (example.labels != UNKNOWN)
    all_words = max(1, int(weight.sum()))
    total = nodes.total(nodes.spread(weight)) / all_words
    template = nodes.total(nodes.spread(weight * (example.labels == TEMPLATE))) / all_words
    for row in np.flatnonzero((nodes.tag != TEXT) & (total > 0)).tolist():
        for token in tokens(nodes.looks[nodes.look[row]]):
            below[token] += (template[row], total[row])
    return float(template[0])


def _logit(p: float) -> float:
    p = min(max(p, 0.02), 0.98)
    return float(np.log(p / (1 - p)))


def _by_site(examples: Iterable[Example]) -> dict[str, list[Example]]:
    groups: dict[str, list[Example]] = defaultdict(list)
    for example in examples:
        groups[example.site].append(example)
    return groups


def _sample(example: Example, rng: np.random.Generator) -> Ints:
    known = np.flatnonzero(example.labels != UNKNOWN)
    return known if len(known) <= _LEAVES_PER_PAGE else np.sort(rng.choice(known, _LEAVES_PER_PAGE, replace=False))


def _weights(example: Example, rows: Ints) -> Floats:
    weight = importance(example)
    scaled: Floats = weight[rows] * weight.sum() / max(1e-9, weight[rows].sum())
    return scaled


def importance(example: Example) -> Floats:
    """(m,) weight of each leaf: its share of the words of the page, pages count alike; 0 if unknown."""
    weight = np.where(example.labels == UNKNOWN, 0, example.page.nodes.words).astype(np.float64)
    share: Floats = weight / max(1.0, weight.sum())
    return share


@dataclass(frozen=True)
class Table:
    """Rows to learn from: features, whether template, weight, fold."""

    columns: NDArray[np.float32]
    template: Bools
    weight: Floats
    fold: Ints

    @classmethod
    def stack(cls, parts: Sequence[tuple[NDArray[np.float32], Example]]) -> Table:
        """One table of known leaves of many examples; of long pages a sample: neighbours say the same."""
        rng = np.random.default_rng(0)
        chosen = [_sample(example, rng) for _, example in parts]
        return cls(
            np.vstack([columns[k] for (columns, _), k in zip(parts, chosen, strict=True)]),
            np.concatenate([example.labels[k] == TEMPLATE for (_, example), k in zip(parts, chosen, strict=True)]),
            np.concatenate([_weights(example, k) for (_, example), k in zip(parts, chosen, strict=True)]),
            np.concatenate([np.full(len(k), example.fold) for (_, example), k in zip(parts, chosen, strict=True)]),
        )

    def fit(self, rows: Bools, trees: int) -> Trees:
        """Symmetric boosted trees of depth 6 over the rows of a mask.

        Raises
        ------
        ImportError : without catboost, which only training needs
        """
        from catboost import CatBoostClassifier

        learner = CatBoostClassifier(
            iterations=trees, depth=6, learning_rate=0.08, border_count=48, l2_leaf_reg=5, rsm=0.4,
            bootstrap_type="Bernoulli", subsample=0.5,
            random_seed=0, verbose=False, allow_writing_files=False,
        )  # fmt: skip
        learner.fit(self.columns[rows], self.template[rows], sample_weight=self.weight[rows])
        return read(learner)


def read(learner: Any) -> Trees:
    """Copy the trees out of catboost's JSON."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "trees.json")
        learner.save_model(path, format="json")
        data = json.loads(path.read_text())
    trees = data["oblivious_trees"]
    # A tree that found nothing to ask has no splits: null in the JSON.
    depth = max(1, *(len(tree["splits"] or ()) for tree in trees))
    feature = np.zeros((len(trees), depth), np.int64)
    border = np.full((len(trees), depth), np.inf, np.float32)
    value = np.zeros((len(trees), 2**depth), np.float32)
    for i, tree in enumerate(trees):
        for level, split in enumerate(tree["splits"] or ()):
            feature[i, level] = split["float_feature_index"]
            border[i, level] = split["border"]
        value[i] = np.resize(tree["leaf_values"], 2**depth)
    scale, bias = data["scale_and_bias"]
    return Trees(feature, border, value * np.float32(scale), float(np.ravel(bias)[0]))


@dataclass(frozen=True)
class Trained:
    """What training gives.

    Attributes
    ----------
    model : learnt from all examples
    folds : models learnt without the sites of each fold
    figures : F1 of content words on pages of unseen sites, mean over pages: alone, and with the site known
    """

    model: Model
    folds: list[Model]
    figures: dict[str, float]


def train(examples: Sequence[Example], trees: int = 300, *, by_people: bool = True) -> Trained:
    """Learn the page-level classifier, then the last decision on top of it; cross-validated, split by site.

    The last decision sees log odds of the classifier that come from models without the site, as they will for sites to
    come.

    Parameters
    ----------
    trees : of each of the two learners
    by_people : False if the labels come from the site level; examples then know few of the other pages: all would tell

    Raises
    ------
    ValueError : if there are fewer than two sites or labels of one kind only
    """
    examples = [example for example in examples if len(example.labels)]
    chosen = _thinned(examples, random.Random(0))
    if len({examples[i].fold for i in chosen}) < 2:
        raise ValueError("pages of more sites are needed: all of these fall into one fold of the cross-validation")
    lexica = [lexicon(e for e in examples if e.fold != fold) for fold in range(FOLDS)]
    columns = [page_features(e.page, lexica[e.fold]) for e in examples]
    of_pages = Table.stack([(columns[i], examples[i]) for i in chosen])
    if of_pages.template.all() or not of_pages.template.any():
        raise ValueError("the labels are all of one kind: nothing can be learnt from them")
    by_fold = [of_pages.fit(of_pages.fold != fold, trees) for fold in range(FOLDS)]
    odds = [by_fold[e.fold](c) for e, c in zip(examples, columns, strict=True)]
    parts = list(_with_sites(examples, chosen, columns, odds, all_pages=by_people))
    of_sites = Table.stack([(c, e) for c, e, _ in parts])
    sites_by_fold = [of_sites.fit(of_sites.fold != fold, trees) for fold in range(FOLDS)]
    figures = _figures([(examples[i], odds[i]) for i in chosen], parts, sites_by_fold)
    everything = np.ones(len(of_pages.fold), np.bool_), np.ones(len(of_sites.fold), np.bool_)
    model = Model(of_pages.fit(everything[0], trees), of_sites.fit(everything[1], trees), lexicon(examples), {})
    folds = [Model(by_fold[f], sites_by_fold[f], lexica[f], {}) for f in range(FOLDS)]
    return Trained(model, folds, figures)


def _thinned(examples: Sequence[Example], rng: random.Random) -> list[int]:
    """Indices of the examples to learn from: with a label, at most ``_PAGES_PER_SITE`` a site."""
    groups: dict[str, list[int]] = defaultdict(list)
    for i, example in enumerate(examples):
        if (example.labels != UNKNOWN).any():
            groups[example.site].append(i)
    return [
        i
        for _, group in sorted(groups.items())
        for i in (group if len(group) <= _PAGES_PER_SITE else rng.sample(group, _PAGES_PER_SITE))
    ]


def _with_sites(
    examples: Sequence[Example],
    chosen: Sequence[int],
    columns: Sequence[NDArray[np.float32]],
    odds: Sequence[Floats],
    *,
    all_pages: bool,
) -> Iterator[tuple[NDArray[np.float32], Example, int]]:
    """Features with what other pages say, the example, how many pages were known; for all pages and for some few."""
    rng = random.Random(0)
    groups: dict[str, list[int]] = defaultdict(list)
    for i, example in enumerate(examples):
        groups[example.site].append(i)
    wanted = set(chosen)

    def learnt(pages: Iterable[int]) -> Site:
        site = Site("")
        for j in pages:
            site.count(examples[j].page, odds[j])
        return site

    for group in groups.values():
        if len(group) < 2 or not wanted.intersection(group):
            continue
        whole = learnt(group)
        for i in sorted(wanted.intersection(group)):
            few = rng.choice([n for n in (_KNOWN if all_pages else _KNOWN[:3]) if n < len(group)])
            some = learnt((i, *rng.sample([j for j in group if j != i], few)))
            for site in (whole, some) if all_pages else (some,):
                evidence = site.evidence(examples[i].page, odds[i])
                yield np.hstack([columns[i], evidence]), examples[i], site.pages - 1


def _figures(
    alone: Sequence[tuple[Example, Floats]],
    parts: Sequence[tuple[NDArray[np.float32], Example, int]],
    folds: Sequence[Trees],
) -> dict[str, float]:
    scores: dict[int, list[float]] = defaultdict(list)
    for columns, example, n in parts:
        scores[n].append(f1(example, folds[example.fold](columns)))
    means = {
        "page alone": [f1(example, odds) for example, odds in alone],
        "1 to 8 other pages known": [s for n, found in scores.items() for s in found if n < 9],
        "9 or more other pages known": [s for n, found in scores.items() for s in found if n >= 9],
    }
    return {name: round(float(np.mean(found)), 4) for name, found in means.items() if found}


def f1(example: Example, odds: Floats) -> float:
    """Harmonic mean of precision and recall of the content words of the known leaves."""
    weight = example.page.nodes.words * (example.labels != UNKNOWN)
    kept, content = odds < 0, example.labels == CONTENT
    hit, found, wanted = weight[kept & content].sum(), weight[kept].sum(), weight[content].sum()
    return float(2 * hit / (found + wanted)) if found + wanted else 1.0
