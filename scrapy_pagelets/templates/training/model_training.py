"""Train the model: page-level classifiers, the final decision on top of them, and the figures of quality."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from scrapy_pagelets.nodes import Floats
from scrapy_pagelets.templates.model import Model
from scrapy_pagelets.templates.page_features import PAGE_FEATURES, Lexicon, page_features
from scrapy_pagelets.templates.page_level import smoothed
from scrapy_pagelets.templates.roles import is_template
from scrapy_pagelets.templates.site import ALONE, KNOWN, Site, balanced
from scrapy_pagelets.templates.training.labels import CONTENT, FOLDS, UNKNOWN, Example, template_share
from scrapy_pagelets.templates.training.synthetic_sites import evidence
from scrapy_pagelets.templates.training.training_tables import Leaves, Nodes, lexicon
from scrapy_pagelets.templates.trees import sigmoid

#: Maximum number of examples of one site, so that large sites do not dominate.
_PAGES_PER_SITE: Final = 25
#: Number of other pages of the site that an example knows, in addition to an example with all and one with none.
_KNOWN: Final = (1, 2, 3, 5, 9, 20)
#: Sites with fewer pages also get synthetic pages; and the weight of examples with synthetic pages.
_FEW: Final = 10
_SYNTHETIC_WEIGHT: Final = 0.3
#: Number of trees of each classifier.
TREES: Final = 300


Part = tuple[NDArray[np.float32], Example, int]


@dataclass(frozen=True)
class Material:
    """The training data of the final decision.

    Attributes
    ----------
    parts : features of the leaves, the example, and the number of other pages of its site that were known
    synthetic : the same with synthetic pages instead of other pages; empty if the labels come from the site level
    page_level : model with the page-level classifiers, trained on all examples; its decisions are placeholders
    folds : the same, trained without the sites of each fold
    """

    parts: list[Part]
    synthetic: list[Part]
    page_level: Model
    folds: list[Model]

    @classmethod
    def of(cls, examples: Sequence[Example], trees: int = TREES, *, by_people: bool = True) -> Self:
        """Train the page-level classifiers, and apply them to pages of sites outside their training data.

        See `train` for the parameters.
        """
        examples = [example for example in examples if len(example.labels)]
        chosen = _thinned(examples, random.Random(0))
        if len({examples[i].fold for i in chosen}) < 2:
            raise ValueError("pages of more sites are needed: all of them are in one fold of the cross-validation")
        lexica = [lexicon(e for e in examples if e.fold != fold) for fold in range(FOLDS)]
        columns = [(page_features(examples[i].page, lexica[examples[i].fold]), examples[i]) for i in chosen]
        nodes, leaves = Nodes.stack(columns), Leaves.stack(columns)
        if leaves.template.all() or not leaves.template.any():
            raise ValueError("the labels are all of one kind: both template and content are needed")
        folds = [_page_level(nodes, leaves, fold, trees, lexica[fold]) for fold in range(FOLDS)]
        parts = list(_with_sites(examples, chosen, folds, all_pages=by_people))
        synthetic = list(_with_synthetic(parts, _small_sites(examples), folds)) if by_people else []
        return cls(parts, synthetic, _page_level(nodes, leaves, -1, trees, lexicon(examples)), folds)

    @property
    def known(self) -> Leaves:
        """Leaves of the examples with other pages of their site, real or synthetic.

        Raises
        ------
        ValueError : if there is no such example
        """
        real = [(columns, example) for columns, example, others in self.parts if others]
        synthetic = [(columns, example) for columns, example, _ in self.synthetic]
        if not (real or synthetic):
            raise ValueError("two pages of one site are needed: single pages do not show what their site repeats")
        if not (real and synthetic):
            return Leaves.stack(real or synthetic)
        return Leaves.stack(real).joined(Leaves.stack(synthetic), _SYNTHETIC_WEIGHT)


@dataclass(frozen=True)
class Trained:
    """The result of training.

    Attributes
    ----------
    model : model trained on all examples
    folds : models trained without the sites of each fold
    figures : mean F1 over pages of unseen sites: of nodes, and of content words without and with the rest of the site
    """

    model: Model
    folds: list[Model]
    figures: dict[str, float]


def train(examples: Sequence[Example], trees: int = TREES, *, by_people: bool = True) -> Trained:
    """Train the page-level classifiers, then the final decision on top of them; cross-validated, split by site.

    The final decision is trained on log odds of classifiers that were trained without the site, because it will be
    applied to new sites.

    Parameters
    ----------
    trees : number of trees of the page-level classifier, and of each final decision
    by_people : False if the labels come from the site level. Examples then know only a few of the other pages, because
        all of them would give the labels away

    Raises
    ------
    ValueError : if there are fewer than two sites, labels of one kind only, or no two pages of one site
    """
    material = Material.of(examples, trees, by_people=by_people)
    known = material.known
    alone = Leaves.stack([(columns, example) for columns, example, others in material.parts if not others])
    model, *folds = (
        replace(page_level, decision=known.fit(known.fold != fold, trees), alone=alone.fit(alone.fold != fold, trees))
        for fold, page_level in enumerate((material.page_level, *material.folds), -1)
    )
    return Trained(model, folds, _figures(material, folds))


def _page_level(nodes: Nodes, leaves: Leaves, fold: int, trees: int, lexicon: Lexicon) -> Model:
    """Train the page-level classifiers without a fold; the decisions of the model are placeholders."""
    by_trees = leaves.fit(leaves.fold != fold, trees)
    return Model(nodes.fit(nodes.fold != fold), by_trees, by_trees, by_trees, lexicon, {})


def _thinned(examples: Sequence[Example], rng: random.Random) -> list[int]:
    """Indices of the training examples: those with labels, at most ``_PAGES_PER_SITE`` for each site."""
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
    examples: Sequence[Example], chosen: Sequence[int], folds: Sequence[Model], *, all_pages: bool
) -> Iterator[Part]:
    """Yield the examples with no other page of their site, with a few of them, and with all."""
    rng = random.Random(0)
    groups: dict[str, list[int]] = defaultdict(list)
    for i, example in enumerate(examples):
        groups[example.site].append(i)
    wanted = set(chosen)

    def learnt(pages: Iterable[int]) -> Site:
        site = Site("")
        for j in pages:
            site.count(examples[j].page, folds[examples[j].fold].page_evidence(examples[j].page).odds)
        return site

    for group in groups.values():
        if not wanted.intersection(group):
            continue
        whole = [learnt(group)] if all_pages and len(group) > 1 else []
        for i in sorted(wanted.intersection(group)):
            columns, odds = folds[examples[i].fold].page_evidence(examples[i].page)
            known = [n for n in (_KNOWN if all_pages else _KNOWN[:3]) if n < len(group)]
            few = rng.sample([j for j in group if j != i], rng.choice(known)) if known else []
            for site in (*whole, *([learnt((i, *few))] if few else []), learnt([i])):
                yield np.hstack([columns, site.evidence(examples[i].page, odds)]), examples[i], site.pages - 1


def _small_sites(examples: Iterable[Example]) -> set[str]:
    """Sites with too few pages to provide evidence for each other."""
    counted = Counter(example.site for example in examples)
    return {site for site, pages in counted.items() if pages < _FEW}


def _with_synthetic(parts: Iterable[Part], sites: set[str], folds: Sequence[Model]) -> Iterator[Part]:
    """Yield the examples of some sites, each with synthetic pages of its site."""
    rng = np.random.default_rng(0)
    for columns, example, others in parts:
        if others == 0 and example.site in sites:
            odds = folds[example.fold].page_evidence(example.page).odds
            pages = int(rng.choice(_KNOWN))
            yield np.hstack([columns[:, : len(PAGE_FEATURES)], evidence(example, odds, pages, rng)]), example, pages


def _figures(material: Material, folds: Sequence[Model]) -> dict[str, float]:
    scores: dict[int, list[float]] = defaultdict(list)
    scored = []
    for columns, example, n in material.parts:
        model = folds[example.fold]
        odds = (model.decision if n else model.alone)(columns)
        scores[n].append(f1(example, balanced(odds, example.page.nodes.words, KNOWN if n else ALONE)))
        if n == 0:
            scored.append((example, sigmoid(material.folds[example.fold].page_evidence(example.page).odds[:, 1])))
    means = {
        "nodes, classifier": [node_f1(e, y) for e, y in scored],
        "nodes, classifier smoothed": [node_f1(e, smoothed(e.page.nodes, y)) for e, y in scored],
        "words, page alone": scores[0],
        "words, 1 to 8 other pages known": [s for n, values in scores.items() for s in values if 0 < n < 9],
        "words, 9 or more other pages known": [s for n, values in scores.items() for s in values if n >= 9],
    }
    return {name: round(float(np.mean(values)), 4) for name, values in means.items() if values}


def node_f1(example: Example, templateness: Floats) -> float:
    """F1 of the template nodes; a node is template if all labelled words below it are.

    Source of the definition: Chakrabarti, Kumar, Punera 2007 (slides), "'Templateness' is a monotonic property".

    Parameters
    ----------
    templateness : (n,) scores; see `roles.is_template`
    """
    share, known = template_share(example)
    expected = (known > 0) & (share == 1)
    predicted = (known > 0) & is_template(templateness)
    both = predicted.sum() + expected.sum()
    return float(2 * (predicted & expected).sum() / both) if both else 1.0


def f1(example: Example, odds: Floats) -> float:
    """F1 of the content words of the labelled leaves."""
    weight = example.page.nodes.words * (example.labels != UNKNOWN)
    kept, content = odds < 0, example.labels == CONTENT
    hit, predicted, expected = weight[kept & content].sum(), weight[kept].sum(), weight[content].sum()
    return float(2 * hit / (predicted + expected)) if predicted + expected else 1.0
