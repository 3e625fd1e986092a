"""Train the model: the page-level classifiers, and one pass after the other on top of them."""

import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from scrapy_pagelets.base.arrays import Floats
from scrapy_pagelets.decision.classifiers import Trees, sigmoid
from scrapy_pagelets.decision.cut import CUTS, cut_features, shifted
from scrapy_pagelets.decision.model import Model, context_parts, site_parts
from scrapy_pagelets.decision.page_features import PROSE, node_features, page_features
from scrapy_pagelets.decision.site import Site
from scrapy_pagelets.page.roles import is_template
from scrapy_pagelets.papers.page_level import smoothed
from scrapy_pagelets.training import training_tables
from scrapy_pagelets.training.synthetic_sites import evidence
from scrapy_pagelets.training.training_tables import CONTENT, FOLDS, UNKNOWN, Example, Leaves, Nodes

#: Number of other pages of the site that an example knows, in addition to an example with all and one with none.
_KNOWN: Final = (1, 2, 3, 5, 9, 20)
#: Sites with fewer pages also get synthetic pages; and the weight of examples with synthetic pages.
_FEW: Final = 10
_SYNTHETIC_WEIGHT: Final = 0.3
#: Weight of recall in the F-measure that cuts are rated by: of a page alone, and with other pages of its site.
_BETA: Final = (0.7, 1.2)
#: The same of articles, and the share of prose in its content that makes a page one. There the log odds of content are
#: clear, and what lies beyond them is most often comments, captions and teasers.
_BETA_OF_ARTICLE: Final = (0.35, 0.8)
_ARTICLE: Final = 0.6
TREES: Final = 250  # number of trees of each pass
ALL: Final = -1  # the number that stands for all examples, beside those of the folds


@dataclass(frozen=True)
class Part:
    """An example with some other pages of its site."""

    example: Example  # the example
    others: int  # number of other pages of its site that are known
    columns: NDArray[np.float32]  # (m, features) what the pass sees
    weight: float = 1.0  # weight of the example in training


@dataclass(frozen=True)
class Material:
    """The training data of the passes that follow the page-level classifiers."""

    #: by fold, models of the page alone, trained without it, or on all for `ALL`; their later passes are placeholders
    page_level: dict[int, Model]
    alone: list[Part]  # the examples for the second pass
    known: list[Part]  # the examples with other pages of their sites, real or synthetic, for the third pass

    @classmethod
    def of(cls, examples: Sequence[Example], trees: int = TREES, *, by_people: bool = True) -> Self:
        """Train what decides by the page alone, as `train`, and apply it to pages outside its training data."""
        examples = [example for example in examples if len(example.labels)]
        labelled = [example for example in examples if (example.labels != UNKNOWN).any()]
        chosen = training_tables.thinned(sorted(labelled, key=lambda example: example.site))
        if len({example.fold for example in chosen}) < 2:
            raise ValueError("pages of more sites are needed: all of them are in one fold of the cross-validation")
        complete = [example for example in chosen if example.is_complete]
        first = _first_pass([e for e in examples if e.is_complete], complete, trees)
        alone = [Part(example, 0, _in_context(first[example.fold], example)) for example in complete]
        second = trees_by_fold(alone, trees)
        models = {fold: replace(first[fold], context=second[fold]) for fold in first}
        known = list(_with_sites(examples, set(chosen), models, all_pages=by_people))
        if by_people:
            counted = Counter(example.site for example in examples)  # small sites tell too little of each other
            known += _with_synthetic([example for example in chosen if counted[example.site] < _FEW], models)
        if not known:
            raise ValueError("two pages of one site are needed: single pages do not show what their site repeats")
        return cls(models, alone, known)


def train(
    examples: Sequence[Example], trees: int = TREES, *, by_people: bool = True
) -> tuple[Model, list[Model], dict[str, float]]:
    """Train one pass after the other; cross-validated, split by site.

    Return the model, those trained without the sites of each fold, and the mean F1 over pages of unseen sites: of
    nodes, and of content words without and with the rest of the site.

    Each pass is trained on the log odds that the passes before give for sites they were not trained on. Examples few
    words of which are labelled serve the third pass alone. ``trees``: number of trees of each pass. ``by_people``:
    False if the labels come from the site level: then examples know only a few of the other pages, all of which would
    give the labels away. ValueError for fewer than two sites, labels of one kind only, or no two pages of one site.
    """
    material = Material.of(examples, trees, by_people=by_people)
    third = trees_by_fold(material.known, trees)
    decided = [(part, material.page_level[part.example.fold].context(part.columns)) for part in material.alone]
    decided += [(part, third[part.example.fold](part.columns)) for part in material.known]
    cuts = cuts_by_fold([(part, odds) for part, odds in decided if part.example.is_complete], trees)
    models = {fold: replace(model, decision=third[fold], cut=cuts[fold]) for fold, model in material.page_level.items()}
    return models[ALL], [models[fold] for fold in range(FOLDS)], _figures(material, decided, cuts)


def _first_pass(examples: Sequence[Example], chosen: Sequence[Example], trees: int) -> dict[int, Model]:
    """Train the page-level classifiers without each fold, and on all examples; later passes are placeholders."""
    numbers = (ALL, *range(FOLDS))
    words = {fold: training_tables.lexicon(e for e in examples if e.fold != fold) for fold in numbers}
    names = {fold: training_tables.own_tokens(e for e in examples if e.fold != fold) for fold in numbers}
    columns = [(page_features(e.page, words[e.fold], names[e.fold]), e) for e in chosen]
    nodes = Nodes.stack((node_features(example.page, own), example) for own, example in columns)
    leaves = Leaves.stack(columns)
    if leaves.template.all() or not leaves.template.any():
        raise ValueError("the labels are all of one kind: both template and content are needed")
    models = {}
    for fold in numbers:
        one = leaves.fit(leaves.fold != fold, trees)
        by_size = nodes.fit(nodes.fold != fold)
        models[fold] = Model(by_size, one, one, one, one, (), words[fold], names[fold], {})
    return models


def _in_context(model: Model, example: Example) -> NDArray[np.float32]:
    columns = page_features(example.page, model.lexicon, model.own_tokens)
    return np.hstack(context_parts(example.page.nodes, columns, model.trees(columns)))


def trees_by_fold(parts: Sequence[Part], trees: int) -> dict[int, Trees]:
    """Train a pass without each fold, and on all parts."""
    leaves = Leaves.stack([(part.columns, part.example) for part in parts], np.array([part.weight for part in parts]))
    return {fold: leaves.fit(leaves.fold != fold, trees) for fold in (ALL, *range(FOLDS))}


def cuts_by_fold(decided: Sequence[tuple[Part, Floats]], trees: int) -> dict[int, Trees]:
    """Train the rating of cuts without each fold, and on all, by (m,) log odds of passes trained without the part."""
    columns = np.stack([cut_features(part.example.page.nodes, odds, part.others) for part, odds in decided])
    rating = np.stack([_rating(part, odds) for part, odds in decided])
    weight = np.array([part.weight for part, _ in decided])
    fold = np.array([part.example.fold for part, _ in decided])
    return {
        one: training_tables.fit_rating(columns[fold != one], rating[fold != one], weight[fold != one], trees)
        for one in (ALL, *range(FOLDS))
    }


def _rating(part: Part, odds: Floats) -> Floats:
    """(len(CUTS),) F-measure of each cut, less that of the best one."""
    nodes = part.example.page.nodes
    content = nodes.words * (part.example.labels == CONTENT)
    prose = content[(nodes.words >= PROSE) & ~nodes.anchor[nodes.leaves]]
    is_article = prose.sum() / max(1, content.sum()) > _ARTICLE
    beta = (_BETA_OF_ARTICLE if is_article else _BETA)[part.others > 0]
    found = np.array([f1(part.example, odds - cut, beta) for cut in CUTS])
    return np.asarray(found - found.max())


def _with_sites(
    examples: Sequence[Example], chosen: set[Example], models: dict[int, Model], *, all_pages: bool
) -> Iterator[Part]:
    """Yield the chosen examples with a few other pages of their site, and with all."""
    rng = random.Random(0)

    def learnt(some: Iterable[Example]) -> Site:
        site = Site("")
        for one in some:
            site.count(one.page, models[one.fold].page_evidence(one.page).odds)
        return site

    for group in training_tables.by_site(examples).values():
        if len(group) < 2 or chosen.isdisjoint(group):
            continue
        whole = [learnt(group)] if all_pages else []
        for example in filter(chosen.__contains__, group):
            known = [n for n in (_KNOWN if all_pages else _KNOWN[:3]) if n < len(group)]
            few = rng.sample([other for other in group if other is not example], rng.choice(known))
            for site in (*whole, learnt((example, *few))):
                found = models[example.fold].page_evidence(example.page)
                others, of_site = site.evidence(example.page, found.odds)
                if others:  # the others may be copies, or of another template
                    yield Part(example, others, np.hstack(site_parts(found, of_site)))


def _with_synthetic(examples: Iterable[Example], models: dict[int, Model]) -> Iterator[Part]:
    """Yield some examples, each with synthetic pages of its site."""
    rng = np.random.default_rng(0)
    for example in examples:
        found = models[example.fold].page_evidence(example.page)
        others, of_site = evidence(example, found.odds, int(rng.choice(_KNOWN)), rng)
        if others:
            yield Part(example, others, np.hstack(site_parts(found, of_site)), _SYNTHETIC_WEIGHT)


def _figures(material: Material, decided: Sequence[tuple[Part, Floats]], cuts: dict[int, Trees]) -> dict[str, float]:
    def scores(wanted: Callable[[int], bool]) -> list[float]:
        return [
            f1(part.example, shifted(cuts[part.example.fold], part.example.page.nodes, odds, part.others))
            for part, odds in decided
            if part.weight == 1 and wanted(part.others)
        ]

    by_classifier = [
        (part.example, sigmoid(material.page_level[part.example.fold].page_evidence(part.example.page).odds[:, 1]))
        for part in material.alone
    ]
    means = {
        "nodes, classifier": [node_f1(e, y) for e, y in by_classifier],
        "nodes, classifier smoothed": [node_f1(e, smoothed(e.page.nodes, y)) for e, y in by_classifier],
        "words, page alone": scores(lambda others: others == 0),
        "words, 1 to 8 other pages known": scores(lambda others: 0 < others < 9),
        "words, 9 or more other pages known": scores(lambda others: others >= 9),
    }
    return {name: round(float(np.mean(values)), 4) for name, values in means.items() if values}


def node_f1(example: Example, templateness: Floats) -> float:
    """F1 of the template nodes, below which all labelled words are template, by (n,) scores, see `roles.is_template`.

    Source: Chakrabarti, Kumar, Punera 2007 (slides), "'Templateness' is a monotonic property".
    """
    share, known = training_tables.template_share(example)
    expected = (known > 0) & (share == 1)
    predicted = (known > 0) & is_template(templateness)
    both = predicted.sum() + expected.sum()
    return float(2 * (predicted & expected).sum() / both) if both else 1.0


def f1(example: Example, odds: Floats, beta: float = 1.0) -> float:
    """F-measure of the labelled content words, by (m,) log odds of template; ``beta``: weight of recall."""
    weight = example.page.nodes.words * (example.labels != UNKNOWN)
    kept, content = odds < 0, example.labels == CONTENT
    hit, predicted, expected = weight[kept & content].sum(), weight[kept].sum(), weight[content].sum()
    either = predicted + beta**2 * expected
    return float((1 + beta**2) * hit / either) if either else 1.0
