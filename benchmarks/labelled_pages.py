"""The pages that people have labelled, for benchmarks that train models again and again: ``ablation.py`` and others."""

from __future__ import annotations

import argparse
import random
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType

import numpy as np

from benchmarks.page_sets import MIXED, SITES
from benchmarks.role_labels import add_rules, by_roles, gold_by_role
from benchmarks.tools import families, names, need, sites_below
from scrapy_pagelets import Page
from scrapy_pagelets.archives.reader import records
from scrapy_pagelets.training.training_tables import Example, by_gold

SETS = (*SITES, MIXED)
#: Number of other pages from which on a site counts as known.
FEWEST = 9
#: Names of the figures: of each set by pages alone, and of sites with their other pages known.
ALONE_AND_KNOWN = (*(f"{name}, alone" for name in SETS), *(f"{name}, known" for name in SITES))
#: An example, the number of known other pages of its site, and its F1.
Scored = tuple[Example, int, float]


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `read`, and those of training and drawing."""
    parser.add_argument("--data", type=Path, default=Path(".data"))
    parser.add_argument("--referee", type=Path, default=Path("../shared/bench"))
    add_rules(parser)
    parser.add_argument("--only", default="", help="comma-separated names of sites; default: all")
    parser.add_argument("--pages", type=int, default=12, help="pages of each site, drawn at random (default: 12)")
    parser.add_argument("--every", type=int, default=1, help=f"every so many pages of {MIXED} (default: 1)")
    parser.add_argument("--trees", type=int, default=60, help="number of trees of each pass (default: 60)")
    parser.add_argument("--picture", type=Path, help="SVG file; needs matplotlib")


def read(args: argparse.Namespace, score: ModuleType) -> dict[str, list[Example]]:
    """Read the pages that models are trained on, by set."""
    sets: dict[str, list[Example]] = defaultdict(list)
    for name in SITES:
        for folder in folders(args, name):
            sets[name] += of_site(args, score, folder, args.pages)
    sets[MIXED] = list(single_pages(args.data, score, args.every))
    return sets


def folders(args: argparse.Namespace, name: str) -> list[Path]:
    """The folders of the chosen sites of a set."""
    below = need(sites_below(args.data).with_name(name), "it is a set of sites")
    return [
        folder
        for folder in sorted(below.iterdir())
        if folder.is_dir() and (not args.only or folder.name in names(args.only))
    ]


def of_site(args: argparse.Namespace, score: ModuleType, folder: Path, pages: int | None = None) -> list[Example]:
    """Read the pages of a site with labels by role, or some of them, drawn at random."""
    gold = gold_by_role(args, score, folder.parent.name, folder.name)
    if pages is not None and pages < len(gold):
        gold = random.Random(0).sample(gold, pages)
    family = families().get(folder.name, "")
    found = []
    for line in gold:
        page = Page.parse((folder / line["path"]).read_bytes(), f"http://{folder.name}.example/{line['path']}")
        found.append(Example(page, by_roles(page, line["runs"]), family))
    return found


def single_pages(data: Path, score: ModuleType, every: int) -> Iterator[Example]:
    """Read pages of all kinds, most of them the only one of their site."""
    lines = score.read(data / "content" / f"{MIXED}.gold.jsonl.gz")[::every]
    gold = {line["url"]: line["content"] for line in lines}
    for record in records(str(data / "content" / f"{MIXED}.warc"), "http://"):
        if record.url in gold:
            page = Page.parse(record.body, record.url, next(iter(record.headers.get("Content-Type", ())), None))
            yield Example(page, by_gold(page, gold[record.url]))


def alone_and_known(scored: Iterable[Scored], sets: Mapping[str, Sequence[Example]]) -> dict[str, float]:
    """Mean F1 by set, of pages alone and of pages of known sites: see ``ALONE_AND_KNOWN``.

    The mean is taken over the pages of a site, then over sites; of single pages, over all.
    """
    of_set = {id(example): name for name, examples in sets.items() for example in examples}
    groups: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for example, others, value in scored:
        name = of_set[id(example)]
        if others == 0 or others >= FEWEST:
            label = f"{name}, known" if others else f"{name}, alone"
            groups[label][example.site if name in SITES else ""].append(value)
    return {label: mean_of_means(sites.values()) for label, sites in groups.items()}


def mean_of_means(groups: Iterable[Sequence[float]]) -> float:
    """Mean of the means of groups."""
    return float(np.mean([np.mean(group) for group in groups]))
