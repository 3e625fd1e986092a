"""Learning to weigh the witnesses: page-level classifiers, the decision on top of them, the report."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from scrapy_pagelets.nodes import Floats, NodeTable
from scrapy_pagelets.templates.model import Model
from scrapy_pagelets.templates.page_features import PAGE_FEATURES, Lexicon, page_features
from scrapy_pagelets.templates.site import ALONE, KNOWN, Site, balanced, smoothed
from scrapy_pagelets.templates.training.labels import CONTENT, FOLDS, UNKNOWN, Example, template_share
from scrapy_pagelets.templates.training.synthetic_sites import evidence
from scrapy_pagelets.templates.training.training_tables import Leaves, Nodes, lexicon
from scrapy_pagelets.templates.trees import sigmoid

#: Pages of one site that become examples: sites of thousands must not outvote the others.
_PAGES_PER_SITE: Final = 25
#: How many other pages of the site an example knows, beside one that knows all and one that knows none.
_KNOWN: Final = (1, 2, 3, 5, 9, 20)
#: Sites of fewer pages have imagined ones, too, and what such an example weighs.
_FEW: Final = 10
_IMAGINED: Final = 0.3
#: Trees of each learner.
TREES: Final = 300


Part = tuple[NDArray[np.float32], Example, int]


@dataclass(frozen=True)
class Material:
    """What the last decision is learnt from.

    Attributes
    ----------
    parts : features of the leaves, the example, and how many other pages of its site were known
    imagined : the same, the other pages being imagined; none if the labels come from the site level
    judges : model with the page-level classifiers, learnt from all examples; its decision is still to come
    folds : the same, learnt without the sites of each fold
    """

    parts: list[Part]
    imagined: list[Part]
    judges: Model
    folds: list[Model]

    @classmethod
    def of(cls, examples: Sequence[Example], trees: int = TREES, *, by_people: bool = True) -> Self:
        """Learn the page-level classifiers, and let them judge pages of sites that they have not seen.

        See `train` for the parameters.
        """
        examples = [example for example in examples if len(example.labels)]
        chosen = _thinned(examples, random.Random(0))
        if len({examples[i].fold for i in chosen}) < 2:
            raise ValueError("pages of more sites are needed: all of these fall into one fold of the cross-validation")
        lexica = [lexicon(e for e in examples if e.fold != fold) for fold in range(FOLDS)]
        columns = [(page_features(examples[i].page, lexica[examples[i].fold]), examples[i]) for i in chosen]
        nodes, leaves = Nodes.stack(columns), Leaves.stack(columns)
        if leaves.template.all() or not leaves.template.any():
            raise ValueError("the labels are all of one kind: nothing can be learnt from them")
        folds = [_judges(nodes, leaves, fold, trees, lexica[fold]) for fold in range(FOLDS)]
        parts = list(_with_sites(examples, chosen, folds, all_pages=by_people))
        imagined = list(_with_imagined(parts, _lonely(examples), folds)) if by_people else []
        return cls(parts, imagined, _judges(nodes, leaves, -1, trees, lexicon(examples)), folds)

    @property
    def known(self) -> Leaves:
        """Leaves of the examples that know other pages of their site, real and imagined ones.

        Raises
        ------
        ValueError : if there is no such example
        """
        real = [(columns, example) for columns, example, others in self.parts if others]
        imagined = [(columns, example) for columns, example, _ in self.imagined]
        if not (real or imagined):
            raise ValueError("two pages of one site are needed: of single ones nobody knows what their sites repeat")
        if not (real and imagined):
            return Leaves.stack(real or imagined)
        return Leaves.stack(real).joined(Leaves.stack(imagined), _IMAGINED)


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


def train(examples: Sequence[Example], trees: int = TREES, *, by_people: bool = True) -> Trained:
    """Learn the page-level classifier, then the last decision on top of it; cross-validated, split by site.

    The last decision sees log odds of the classifier that come from models without the site, as they will for sites to
    come.

    Parameters
    ----------
    trees : of the trees of the pages, and of those of the last decision
    by_people : False if the labels come from the site level; examples then know few of the other pages: all would tell

    Raises
    ------
    ValueError : if there are fewer than two sites, labels of one kind only, or no page that knows another one
    """
    material = Material.of(examples, trees, by_people=by_people)
    known = material.known
    alone = Leaves.stack([(columns, example) for columns, example, others in material.parts if not others])
    model, *folds = (
        replace(judges, decision=known.fit(known.fold != fold, trees), alone=alone.fit(alone.fold != fold, trees))
        for fold, judges in enumerate((material.judges, *material.folds), -1)
    )
    return Trained(model, folds, _figures(material, folds))


def _judges(nodes: Nodes, leaves: Leaves, fold: int, trees: int, lexicon: Lexicon) -> Model:
    """The page-level classifiers, learnt without a fold; the decision is still to come."""
    by_trees = leaves.fit(leaves.fold != fold, trees)
    return Model(nodes.fit(nodes.fold != fold), by_trees, by_trees, by_trees, lexicon, {})


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
    examples: Sequence[Example], chosen: Sequence[int], folds: Sequence[Model], *, all_pages: bool
) -> Iterator[Part]:
    """Examples that know no other page of their site, some few, and all."""
    rng = random.Random(0)
    groups: dict[str, list[int]] = defaultdict(list)
    for i, example in enumerate(examples):
        groups[example.site].append(i)
    wanted = set(chosen)

    def learnt(pages: Iterable[int]) -> Site:
        site = Site("")
        for j in pages:
            site.count(examples[j].page, folds[examples[j].fold].judge(examples[j].page)[1])
        return site

    for group in groups.values():
        if not wanted.intersection(group):
            continue
        whole = [learnt(group)] if all_pages and len(group) > 1 else []
        for i in sorted(wanted.intersection(group)):
            columns, odds = folds[examples[i].fold].judge(examples[i].page)
            known = [n for n in (_KNOWN if all_pages else _KNOWN[:3]) if n < len(group)]
            few = rng.sample([j for j in group if j != i], rng.choice(known)) if known else []
            for site in (*whole, *([learnt((i, *few))] if few else []), learnt([i])):
                yield np.hstack([columns, site.evidence(examples[i].page, odds)]), examples[i], site.pages - 1


def _lonely(examples: Iterable[Example]) -> set[str]:
    """Sites of which too few pages are at hand to tell what others would say."""
    counted = Counter(example.site for example in examples)
    return {site for site, pages in counted.items() if pages < _FEW}


def _with_imagined(parts: Iterable[Part], sites: set[str], folds: Sequence[Model]) -> Iterator[Part]:
    """The examples of some sites, each with imagined pages around it."""
    rng = np.random.default_rng(0)
    for columns, example, others in parts:
        if others == 0 and example.site in sites:
            odds = folds[example.fold].judge(example.page)[1]
            pages = int(rng.choice(_KNOWN))
            yield np.hstack([columns[:, : len(PAGE_FEATURES)], evidence(example, odds, pages, rng)]), example, pages


def _figures(material: Material, folds: Sequence[Model]) -> dict[str, float]:
    scores: dict[int, list[float]] = defaultdict(list)
    judged = []
    for columns, example, n in material.parts:
        model = folds[example.fold]
        odds = (model.decision if n else model.alone)(columns)
        scores[n].append(f1(example, balanced(odds, example.page.nodes.words, KNOWN if n else ALONE)))
        if n == 0:
            judged.append((example, sigmoid(material.folds[example.fold].judge(example.page)[1][:, 1])))
    means = {
        "nodes, classifier": [node_f1(e, y) for e, y in judged],
        "nodes, classifier smoothed": [node_f1(e, _smoothed(e.page.nodes, y)) for e, y in judged],
        "words, page alone": scores[0],
        "words, 1 to 8 other pages known": [s for n, found in scores.items() for s in found if 0 < n < 9],
        "words, 9 or more other pages known": [s for n, found in scores.items() for s in found if n >= 9],
    }
    return {name: round(float(np.mean(found)), 4) for name, found in means.items() if found}


def _smoothed(nodes: NodeTable, x: Floats) -> Floats:
    return smoothed(nodes, x, nodes.total(nodes.spread(nodes.words)))


def node_f1(example: Example, templateness: Floats) -> float:
    """Harmonic mean of precision and recall of the nodes that are template, as all that is below them is.

    Source of the definition: Chakrabarti, Kumar, Punera 2007 (slides), "'Templateness' is a monotonic property".

    Parameters
    ----------
    templateness : (n,) template from 0.5 on
    """
    share, known = template_share(example)
    wanted = (known > 0) & (share == 1)
    found = (known > 0) & (templateness >= 0.5)
    both = found.sum() + wanted.sum()
    return float(2 * (found & wanted).sum() / both) if both else 1.0


def f1(example: Example, odds: Floats) -> float:
    """Harmonic mean of precision and recall of the content words of the known leaves."""
    weight = example.page.nodes.words * (example.labels != UNKNOWN)
    kept, content = odds < 0, example.labels == CONTENT
    hit, found, wanted = weight[kept & content].sum(), weight[kept].sum(), weight[content].sum()
    return float(2 * hit / (found + wanted)) if found + wanted else 1.0
