"""The value of each kind of evidence: content F1 without it and with it alone; and the methods of the papers alone.

The models are trained as the shipped model, on the sites and pages of ``--data`` whose licence is stated and on
synthetic sites, with six folds split by site, but with a fifth of the trees, so that a row takes a minute. The figures
are the F1 of content words of leaves on sites that were not trained on and of which ten or more pages are known: the
mean over the pages of a site, then over sites. In the strict forms, each paper's method alone decides: what it finds is
removed as template, the rest stays.

    python benchmarks/ablation.py
"""

from __future__ import annotations

import argparse
import json
import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from tools import referee, sites_below, table

from scrapy_pagelets import Page
from scrapy_pagelets.archives.reader import records
from scrapy_pagelets.nodes import Floats
from scrapy_pagelets.templates.complete_subdigraph import Subdigraph
from scrapy_pagelets.templates.detection.batch import local_templates
from scrapy_pagelets.templates.detection.pagelet_shingles import shingles
from scrapy_pagelets.templates.mapping.equality import same_signature
from scrapy_pagelets.templates.mapping.etdm import extract
from scrapy_pagelets.templates.menu_links import candidates, link_targets
from scrapy_pagelets.templates.model import Model
from scrapy_pagelets.templates.page_features import PAGE_FEATURES, SITE_FEATURES
from scrapy_pagelets.templates.partition import partition
from scrapy_pagelets.templates.site import balanced
from scrapy_pagelets.templates.training.labels import FOLDS, Example, by_gold
from scrapy_pagelets.templates.training.model_training import Material, f1
from scrapy_pagelets.templates.training.training_tables import Leaves
from scrapy_pagelets.templates.trees import sigmoid

NAMES = (*PAGE_FEATURES, *SITE_FEATURES)
TREES = 60
#: Number of other pages from which on a site counts as known.
FEWEST = 9
#: Number of pages of a site on which the methods of the papers are tried.
SAMPLE = 8

Kind = Callable[[str], bool]


def starting(*starts: str) -> Kind:
    return lambda name: name.startswith(starts)


def any_kind(_: str) -> bool:
    return True


def other_than(kind: Kind) -> Kind:
    return lambda name: not kind(name)


def named(name: str) -> bool:
    return name == "heading" or name.startswith(("in_", "lexicon_", "has_", "heading_words"))


def pooled(name: str) -> bool:
    return "pooled" in name or "odds_path" in name or "odds_shape" in name


PAGE = set(PAGE_FEATURES)
EVIDENCE: dict[str, Kind] = {
    "words and links of the page": lambda name: name in PAGE and not named(name),
    "landmarks, class names, headings": lambda name: name in PAGE and named(name),
    "page-level classifiers": lambda name: name.startswith(("site_trees", "site_classifier")) and not pooled(name),
    "classifiers pooled by place": pooled,
    "repeated text": starting(
        *"site_text site_placed site_exact site_variants site_prev_text site_next_text site_page_text".split(),
        *"site_class_text site_fresh site_mass".split(),
    ),
    "repeated paths (ETDM)": starting("site_path", "site_class_path"),
    "repeated links": starting("site_links", "site_linked", "site_target"),
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path(".data"))
    parser.add_argument("--referee", type=Path, default=Path("../shared/bench"))
    args = parser.parse_args()
    examples = list(read(args.data, referee(args.referee)))
    material = Material.of(examples, TREES)
    trial, real = Trial(material, material.known), Trial(material, replace(material, synthetic=[]).known)
    rows: list[list[Any]] = [
        ["all evidence", trial(any_kind), None],
        ["the same, no synthetic sites", real(any_kind), None],
    ]
    rows += [[name, trial(other_than(kind)), trial(kind)] for name, kind in EVIDENCE.items()]
    table(["evidence", "without it", "with it alone"], rows)
    print()
    table(["strict form of a paper", "content F1 on the sites"], strict(examples, material.folds))


def read(data: Path, score: Any) -> Iterator[Example]:
    """Pages of the sites with a stated licence, and of WCXB, with their labels."""
    sites = sites_below(data)
    for site in json.loads((sites / "sites.json").read_text(encoding="utf-8")):
        if "not stated" in site["licence"]:
            continue
        for line in score.read(sites / site["name"] / "gold.jsonl.gz"):
            body = (sites / site["name"] / line["path"]).read_bytes()
            page = Page.parse(body, f"http://{site['name']}.example/{line['path']}")
            yield Example(page, by_gold(page, line["content"]))
    gold = {line["url"]: line["content"] for line in score.read(data / "content/wcxb-dev.gold.jsonl.gz")}
    for record in records(str(data / "content/wcxb-dev.warc"), "http://"):
        page = Page.parse(record.body, record.url, next(iter(record.headers.get("Content-Type", ())), None))
        yield Example(page, by_gold(page, gold[record.url]))


@dataclass(frozen=True)
class Trial:
    """The decision trained on some columns, evaluated on pages of unseen sites."""

    material: Material
    leaves: Leaves

    def __call__(self, kind: Kind) -> float:
        """F1 of the decision that uses the features of a kind."""
        chosen = [i for i, name in enumerate(NAMES) if kind(name)]
        leaves = replace(self.leaves, columns=np.ascontiguousarray(self.leaves.columns[:, chosen]))
        decisions = [leaves.fit(leaves.fold != fold, TREES) for fold in range(FOLDS)]
        known: dict[str, list[float]] = defaultdict(list)
        for columns, example, others in self.material.parts:
            if others >= FEWEST:
                odds = balanced(decisions[example.fold](columns[:, chosen]), example.page.nodes.words)
                known[example.site].append(f1(example, odds))
        return float(np.mean([np.mean(found) for found in known.values()]))


def strict(examples: list[Example], folds: Sequence[Model]) -> Iterator[list[Any]]:
    """A row for each strict form of a paper: the mean F1 over some pages of each site, then over sites."""
    rng = random.Random(0)
    sites: dict[str, list[Example]] = defaultdict(list)
    for example in examples:
        if example.site.endswith(".example"):
            sites[example.site].append(example)
    few = {site: rng.sample(pages, SAMPLE) for site, pages in sites.items() if len(pages) >= SAMPLE}

    def judged(pages: list[Example]) -> list[Floats]:
        return [sigmoid(folds[e.fold].page_evidence(e.page).odds[:, 1]) for e in pages]

    forms: dict[str, Callable[[str], Iterable[Floats]]] = {
        "complete subdigraph of 4 pages, ETDM (2014)": lambda site: subdigraphs(sites[site], few[site]),
        "repeated pagelets, k=3, exact shingles, local (2002)": lambda site: repeated(sites[site], few[site]),
        "classifier of the page alone (2007)": lambda site: judged(few[site]),
    }
    for name, form in forms.items():
        means = [
            np.mean([f1(e, y[e.page.nodes.leaves] - 0.5) for e, y in zip(pages, form(site), strict=True)])
            for site, pages in few.items()
        ]
        yield [name, float(np.mean(means))]


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
        rows = extract(page.nodes, others, same_signature).rows if others else np.zeros(len(page.nodes), np.bool_)
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


if __name__ == "__main__":
    main()
