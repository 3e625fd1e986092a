"""The value of each pass of the decision and of each kind of evidence; and the methods of the papers alone.

All figures are the F1 of content words of runs of text on pages of families of sites that were not trained on
(``families.json``): the mean over the pages of a site, then over sites; of single pages (``wcxb-dev``), over pages.
*Known* means that all pages read of the site are known, ten or more. The models are trained as the shipped one, but
with fewer trees and fewer pages of each site.

- The passes: each row adds one, and chooses its cut of the page by trees. The last rows have all passes and another
  cut: the former one, where the share of the mean content probability of the page's content words is 0.5, 0.6 for a
  page alone; and even odds.
- The evidence: the third pass without some of its columns, and with nothing else. The cut is the share of the mean,
  which needs no training.
- The strict forms: each paper's method alone decides. What it finds is removed as template, the rest stays.

    python -m benchmarks ablation --picture docs/evaluation/ablation.svg
    python -m benchmarks ablation --only cmake,boost,flow14,hides,drupalcz --every 20 --trees 10    # a quick look
"""

from __future__ import annotations

import argparse
import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType
from typing import Any, Self

import numpy as np

from benchmarks.labelled_pages import (
    ALONE_AND_KNOWN,
    FEWEST,
    SETS,
    Scored,
    add_options,
    alone_and_known,
    folders,
    mean_of_means,
    of_site,
    read,
)
from benchmarks.page_sets import SITES
from benchmarks.role_labels import the_referee
from benchmarks.tools import option_parser, table
from scrapy_pagelets.base.arrays import Floats
from scrapy_pagelets.decision.classifiers import sigmoid
from scrapy_pagelets.decision.cut import shifted
from scrapy_pagelets.decision.model import Model
from scrapy_pagelets.decision.page_features import PAGE_FEATURES, SHARED_FEATURES, SITE_FEATURES
from scrapy_pagelets.evidence.complete_subdigraph import Subdigraph
from scrapy_pagelets.evidence.etdm import extract, same_signature
from scrapy_pagelets.evidence.menu_links import candidates, link_targets
from scrapy_pagelets.evidence.partition import partition
from scrapy_pagelets.papers.shared_pagelets.pagelet_shingles import shingles
from scrapy_pagelets.training.model_training import Material, Part, cuts_by_fold, f1
from scrapy_pagelets.training.training_tables import FOLDS, Example, Leaves
from tests.oracles.shared_templates import local_templates

#: The columns of the third pass, see `model.site_parts`.
CONTEXT = "in_context"
THIRD = (*PAGE_FEATURES[SHARED_FEATURES], CONTEXT, *SITE_FEATURES)
#: Number of pages of a site on which the methods of the papers are tried.
SAMPLE = 8
#: Share of the mean content probability of the page's content words that a text needs, for pages alone and others, and
#: the least probability.
SHARES, LEAST = (0.6, 0.5), 0.02

Kind = Callable[[str], bool]
#: Parts with the (m,) log odds of a decision that was trained without their family.
Decided = list[tuple[Part, Floats]]
#: Log odds with another zero: those of content are below 0.
Cut = Callable[[Part, Floats], Floats]


def starting(*starts: str) -> Kind:
    return lambda name: name.startswith(starts)


def any_kind(_: str) -> bool:
    return True


def other_than(kind: Kind) -> Kind:
    return lambda name: not kind(name)


def named(name: str) -> bool:
    return name == "heading" or name.startswith(("in_", "lexicon_", "has_", "heading_words", "declared_"))


def pooled(name: str) -> bool:
    return "pooled" in name or "odds_path" in name or "odds_shape" in name


marked = starting("mark_", "declared_")
PAGE = set(PAGE_FEATURES)
EVIDENCE: dict[str, Kind] = {
    "words and links of the page": lambda name: name in PAGE and not named(name),
    "landmarks, class names, headings": lambda name: name in PAGE and named(name),
    "second pass (context)": lambda name: name == CONTEXT,
    "page-level classifiers": lambda name: name.startswith(("site_trees", "site_classifier")) and not pooled(name),
    "classifiers pooled by place": pooled,
    "repeated text": starting(
        *"site_text site_placed site_exact site_variants site_prev_text site_next_text site_page_text".split(),
        *"site_class_text site_fresh site_mass".split(),
    ),
    "repeated paths (ETDM)": starting("site_path", "site_class_path"),
    "repeated links": starting("site_links", "site_linked", "site_target"),
}  # fmt: skip


def main(argv: Sequence[str]) -> None:
    parser = option_parser(__name__, __doc__)
    add_options(parser)
    args = parser.parse_args(argv)
    score = the_referee(args.referee)
    sets = read(args, score)
    material = Material.of([example for name in SETS for example in sets[name]], args.trees)
    third = Trial.of(material.known, THIRD, args.trees)
    by_pass = dict(passes(material, third, sets, args.trees))
    table(["passes", *ALONE_AND_KNOWN], [[name, *map(row.get, ALONE_AND_KNOWN)] for name, row in by_pass.items()])
    print()
    by_kind = dict(evidence(third))
    table(["evidence, sites known", "without it", "with it alone"], [[name, *row] for name, row in by_kind.items()])
    print()
    table(["strict form of a paper", *SITES], strict(args, score, material.page_level))
    if args.picture:
        draw(by_pass, by_kind, args.picture)


@dataclass(frozen=True)
class Trial:
    """A pass that is trained on some of its columns, by fold.

    Attributes
    ----------
    parts : the examples with all columns
    leaves : the training table of all columns
    names : names of the columns
    trees : number of trees
    """

    parts: Sequence[Part]
    leaves: Leaves
    names: Sequence[str]
    trees: int
    _decided: dict[tuple[int, ...], Decided] = field(default_factory=dict)

    @classmethod
    def of(cls, parts: Sequence[Part], names: Sequence[str], trees: int) -> Self:
        weight = np.array([part.weight for part in parts])
        return cls(parts, Leaves.stack([(part.columns, part.example) for part in parts], weight), names, trees)

    def __call__(self, kind: Kind) -> Decided:
        """The parts with the log odds of trees over the columns of a kind."""
        chosen = [i for i, name in enumerate(self.names) if kind(name)]
        if (key := tuple(chosen)) not in self._decided:
            leaves = replace(self.leaves, columns=np.ascontiguousarray(self.leaves.columns[:, chosen]))
            folds = [leaves.fit(leaves.fold != fold, self.trees) for fold in range(FOLDS)]
            self._decided[key] = [(part, folds[part.example.fold](part.columns[:, chosen])) for part in self.parts]
        return self._decided[key]


def passes(
    material: Material, third: Trial, sets: dict[str, list[Example]], trees: int
) -> Iterator[tuple[str, Mapping[str, float]]]:
    """Yield the passes that decide, and the mean F1 by set of pages alone and with the pages of their site known."""
    models = [(part, material.page_level[part.example.fold]) for part in material.alone]
    found = [(part, model, model.page_evidence(part.example.page)) for part, model in models]
    first = Trial.of([replace(part, columns=page.features) for part, _, page in found], PAGE_FEATURES, trees)
    rows: dict[str, Decided] = {
        "page features": first(other_than(marked)),
        "+ marks, declared types": [(part, model.trees(page.features)) for part, model, page in found],
        "+ context": [(part, page.in_context) for part, _, page in found],
        "page features + site evidence": third(lambda name: name != CONTEXT),
    }
    for name, decided in rows.items():
        yield name, alone_and_known(scores(decided, learnt_cut(decided, trees)), sets)
    whole = [*rows["+ context"], *third(any_kind)]
    yield "all passes", alone_and_known(scores(whole, learnt_cut(whole, trees)), sets)
    yield "all passes, cut at a share", alone_and_known(scores(whole, share_of_mean), sets)
    yield "all passes, cut at even odds", alone_and_known(scores(whole, lambda _, odds: odds), sets)


def scores(decided: Decided, cut: Cut) -> Iterator[Scored]:
    """Yield the examples whose known pages are real, with their F1."""
    for part, odds in decided:
        if part.weight == 1:
            yield part.example, part.others, f1(part.example, cut(part, odds))


def learnt_cut(decided: Decided, trees: int) -> Cut:
    """The cut by trees that were trained on what these passes have decided."""
    cuts = cuts_by_fold(decided, trees)
    return lambda part, odds: shifted(cuts[part.example.fold], part.example.page.nodes, odds, part.others)


def share_of_mean(part: Part, odds: Floats) -> Floats:
    """Cut at a share of the mean content probability of the page's content words."""
    content = sigmoid(-odds)
    likely = part.example.page.nodes.words * content
    threshold = max(SHARES[part.others > 0] * float(likely @ content) / max(1e-9, float(likely.sum())), LEAST)
    cut: Floats = odds - np.log((1 - threshold) / threshold)
    return cut


def evidence(third: Trial) -> Iterator[tuple[str, tuple[float, float | None]]]:
    """Yield the mean F1 on known sites without each kind of evidence, and with it alone."""
    yield "all evidence", (of_known(third(any_kind)), None)
    real = Trial.of([part for part in third.parts if part.weight == 1], THIRD, third.trees)
    yield "the same, no synthetic sites", (of_known(real(any_kind)), None)
    for name, kind in EVIDENCE.items():
        yield name, (of_known(third(other_than(kind))), of_known(third(kind)))


def of_known(decided: Decided) -> float:
    """Mean F1 over the pages of each known site, then over sites."""
    groups: dict[str, list[float]] = defaultdict(list)
    for example, others, value in scores(decided, share_of_mean):
        if others >= FEWEST:
            groups[example.site].append(value)
    return mean_of_means(groups.values())


def strict(args: argparse.Namespace, score: ModuleType, folds: Mapping[int, Model]) -> Iterator[list[Any]]:
    """Yield a row for each strict form of a paper: by set, the mean F1 over some pages of each site, then over sites.

    Parameters
    ----------
    folds : models trained without each fold
    """
    found: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for name in SITES:
        for folder in folders(args, name):
            pages = of_site(args, score, folder)
            if len(pages) >= SAMPLE:
                for form, value in strict_forms(pages, folds[pages[0].fold]):
                    found[form][name].append(value)
    for form, by_set in found.items():
        yield [form, *(float(np.mean(by_set[name])) if by_set[name] else None for name in SITES)]


def strict_forms(pages: list[Example], model: Model) -> Iterator[tuple[str, float]]:
    """Yield the mean F1 of each strict form over some pages of a site."""
    few = random.Random(0).sample(pages, SAMPLE)
    forms: dict[str, Iterable[Floats]] = {
        "complete subdigraph of 4 pages, ETDM (2014)": subdigraphs(pages, few),
        "repeated pagelets, k=3, exact shingles, local (2002)": repeated(pages, few),
        "classifier of the page alone (2007)": (sigmoid(model.page_evidence(e.page).odds[:, 1]) for e in few),
    }
    for name, templateness in forms.items():
        yield (
            name,
            float(np.mean([f1(e, y[e.page.nodes.leaves] - 0.5) for e, y in zip(few, templateness, strict=True)])),
        )


def subdigraphs(pages: list[Example], key_pages: list[Example]) -> Iterator[Floats]:
    """For each key page: 1 where a row is in the mapping with the pages of its subdigraph."""
    by_key = {example.page.key: example.page for example in pages}
    for page in (example.page for example in key_pages):
        links = page.nodes.links.key[candidates(page)].tolist()
        graph = Subdigraph((key for key in links if key in by_key), 4)
        graph.add(page.key, link_targets(page))
        while not graph.done and (key := graph.next()) is not None:
            graph.add(key, link_targets(by_key[key]))
        others = [by_key[key].nodes for key in graph.best if key != page.key]
        rows = extract(page.nodes, others, same_signature)[0] if others else np.zeros(len(page.nodes), np.bool_)
        yield rows.astype(np.float64)


def repeated(pages: list[Example], judged: list[Example]) -> Iterator[Floats]:
    """For each page to judge: 1 where a row is in a pagelet that two pages have."""
    cut = {example.page.url: partition(example.page.nodes, 3, strict=True) for example in pages}
    rows = [
        (example.page.url, pagelet, shingle)
        for example in pages
        for pagelet, shingle in enumerate(shingles(example.page, cut[example.page.url]).exact.tolist())
        if shingle
    ]
    found = {place for template in local_templates(rows) for place in template.pagelets}
    for page in (example.page for example in judged):
        in_template = [(page.url, pagelet) in found for pagelet in cut[page.url].tolist()]
        yield page.nodes.spread(np.array(in_template, np.float64))


def draw(
    by_pass: Mapping[str, Mapping[str, float]], by_kind: Mapping[str, tuple[float, float | None]], picture: Path
) -> None:
    """Draw the figures of the passes by set, and those of the kinds of evidence."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 7), layout="constrained")
    above, below = figure.subplots(2, 1, height_ratios=(len(by_pass), len(by_kind)))
    for number, column in enumerate(ALONE_AND_KNOWN):
        values = [row.get(column, np.nan) for row in by_pass.values()]
        marker = "s" if column.endswith("known") else "o"
        above.plot(values, range(len(values)), marker, color=f"C{number}", label=column)
    above.set(yticks=range(len(by_pass)), yticklabels=list(by_pass), xlabel="content F1, families left out")
    kinds = {name: values for name, values in by_kind.items() if values[1] is not None}
    for number, label in enumerate(("without it", "with it alone")):
        below.plot(
            [values[number] for values in kinds.values()], range(len(kinds)), "s" if number else "o", label=label
        )
    below.axvline(by_kind["all evidence"][0], color="grey", linestyle="--", label="all evidence")
    below.set(yticks=range(len(kinds)), yticklabels=list(kinds), xlabel="content F1, sites known, families left out")
    for axes in (above, below):
        axes.invert_yaxis()
        axes.grid(alpha=0.3)
        axes.legend(loc="center left", bbox_to_anchor=(1, 0.5))
    figure.savefig(picture, metadata={"Date": None})
