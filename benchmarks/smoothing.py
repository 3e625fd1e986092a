"""What isotonic smoothing gains: F1 of nodes and of content words with and without it, on unseen sites.

First the strict form of 2007. Its classifier learns from labels of the site level, in six folds split by site; the gold
text is for scoring only. Then the default decision (``fused``), with all pages of a site known: its log odds of leaves
are carried to the nodes as the mean by words, or as the lowest of the leaves, because a node is template if all its
leaves are. The models of ``--models`` (see ``benchmarks/train.sh``) have not learnt from the site that they judge; if
there are none, the shipped model judges the sites that it has not learnt from.

In the last row of each block, the cost of a section was learnt: for the sites of each fold, the cost with the best F1
of nodes on all other sites. So was that of a distinct value, in the objective as the slides print it.

With `--rendered`, only the strict form on rendered pages, which a browser renders without scripts: its classifier of
rendered pages, which has learnt from their appearance, beside the one of pages as received on the same trees. Pages of
other sites judge, as above. `--out` writes the model that has learnt from all of these sites.

    python -m benchmarks smoothing
    python -m benchmarks smoothing --rendered out/smoothing     # renders 1,150 pages on the first run
"""

from __future__ import annotations

import asyncio
import random
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import ModuleType

import numpy as np

from benchmarks.tools import fold, log_odds, option_parser, referee, sites_below, table
from benchmarks.vips import pages as shown
from benchmarks.vips import render
from scrapy_pagelets import Page, Site
from scrapy_pagelets.base.arrays import Floats
from scrapy_pagelets.decision.classifiers import sigmoid
from scrapy_pagelets.decision.model import LABELLED, load
from scrapy_pagelets.page.nodes import TEXT, NodeTable
from scrapy_pagelets.papers.page_level import scores, smooth, smoothed
from scrapy_pagelets.training.model_training import f1, node_f1
from scrapy_pagelets.training.paper_training import as_rendered, labelled
from scrapy_pagelets.training.paper_training import train_page_level as train
from scrapy_pagelets.training.training_tables import FOLDS, Example, by_gold, by_sites
from tests.oracles.exact_smoothing import smooth_distinct
from tests.oracles.trees import mean_odds

#: Pages of a site that the classifier learns from, and pages that are scored.
LEARNT, SCORED = 16, 8
#: Costs of a section to choose from.
COSTS = (0.3, 1.0, 1.5, 2.0, 3.0)
#: Costs of a distinct value, of which a page has fewer than sections.
DISTINCT_COSTS = (0.3, 1.0, 3.0, 10.0, 30.0)

Smoothing = Callable[[NodeTable, Floats], Floats]


@dataclass(frozen=True)
class Judged:
    """A page to score: its labels by people, and the (m,) log odds of the default decision if it was asked."""

    gold: Example
    odds: Floats | None


def main(argv: Sequence[str]) -> None:
    parser = option_parser(__name__, __doc__)
    parser.add_argument("--data", type=Path, default=Path(".data"))
    parser.add_argument("--referee", type=Path, default=Path("../shared/bench"))
    parser.add_argument("--models", type=Path, default=Path(".data/models"), help="folder with fold-0.npz ...")
    parser.add_argument("--rendered", type=Path, metavar="FOLDER", help="render the pages, and keep them here")
    parser.add_argument("--out", type=Path, metavar="FILE", help="with --rendered, write the model of all sites")
    args = parser.parse_args(argv)
    score = referee(args.referee)
    if args.rendered:
        args.rendered.mkdir(parents=True, exist_ok=True)
        by_look(folders_of(args.data), score, args.rendered, args.out)
        return
    strict, partly, judged = [], [], []
    for folder in folders_of(args.data):
        learnt, also, found = of_site(folder, score, model_of(folder.name, args.models))
        strict += learnt
        partly += also
        judged.append(found)
    folds = train(strict)[1]
    head = [f"strict, {len(judged)} sites", "cost of a section", "nodes' F1", "content F1"]
    before = [[scores(page.gold.page, folds[page.gold.fold]) for page in site] for site in judged]
    table(head, [*rows("labels of all texts", judged, before)])
    print()
    others = train(partly)[1]
    before = [[scores(page.gold.page, others[page.gold.fold]) for page in site] for site in judged]
    table(head, [*rows("texts of few pages left out", judged, before)])
    print()
    fused = [site for site in judged if site[0].odds is not None]
    head[0] = f"fused, {len(fused)} sites"
    lowest = [[sigmoid(lowest_odds(page.gold.page.nodes, odds_of(page))) for page in site] for site in fused]
    means = [[sigmoid(mean_odds(page.gold.page.nodes, odds_of(page))) for page in site] for site in fused]
    table(head, [*rows("lowest leaf", fused, lowest), *rows("mean of leaves", fused, means)])


def by_look(folders: Sequence[Path], score: ModuleType, renderings: Path, out: Path | None) -> None:
    """Print what the appearance of rendered pages is worth to the strict form, and write the model of all sites."""
    learnt: list[Example] = []
    judged: list[list[Judged]] = []
    for folder in folders:
        received, _, pages = of_site(folder, score, None)
        learnt += [*received, *rendered(received, folder.parent, renderings)]
        golds = rendered([page.gold for page in pages], folder.parent, renderings)
        judged.append([Judged(gold, None) for gold in golds])
    model, folds = train(learnt)
    if out:
        about = {"command": shlex.join(["python", "-m", "benchmarks", *sys.argv[1:]])}
        replace(model, about=about | model.about).save(out)
    head = [f"strict, rendered, {len(judged)} sites", "cost of a section", "nodes' F1", "content F1"]
    for name, models in (
        ("without appearance", [replace(one, rendered=None) for one in folds]),
        ("with appearance", folds),
    ):
        before = [[scores(page.gold.page, models[page.gold.fold]) for page in site] for site in judged]
        table(head, [*rows(name, judged, before)])
        print()


def rendered(examples: Sequence[Example], root: Path, out: Path) -> list[Example]:
    """The same pages of a folder of sites, rendered; those that are not in `out` yet are rendered now."""
    lines = [{"page": example.page.url.removeprefix("http://")} for example in examples]
    asyncio.run(render(lines, root, out, screenshots=False))
    return [as_rendered(example, shown(line, root, out)) for example, line in zip(examples, lines, strict=True)]


def folders_of(data: Path) -> list[Path]:
    """The folders of all sites of the data."""
    return [one for group in (sites_below(data), data / "sites2") if group.exists()
            for one in sorted(group.iterdir()) if one.is_dir()]  # fmt: skip


def pages_of(folder: Path, gold: Sequence[dict[str, str]]) -> list[Page]:
    """The pages of a site that have gold text."""
    return [Page.parse((folder / line["path"]).read_bytes(), f"http://{folder.name}/{line['path']}") for line in gold]


def model_of(name: str, models: Path) -> str | None:
    """A model that has not learnt from a site; None if there is none."""
    if models.exists():
        return str(models / f"fold-{fold(name)}.npz")
    return None if f"/{name}/" in load(LABELLED).about["command"] else LABELLED


def of_site(folder: Path, score: ModuleType, model: str | None) -> tuple[list[Example], list[Example], list[Judged]]:
    """Some pages of a site with labels for training, the same with the labels of `by_sites`, and those to score."""
    gold = list(score.read(folder / "gold.jsonl.gz"))
    pages = pages_of(folder, gold)
    chosen = random.Random(0).sample(range(len(pages)), min(LEARNT, len(pages)))
    site = Site(folder.name, model or LABELLED)
    if model:
        for page in pages:
            site.learn(page)
    judged = [
        Judged(Example(pages[i], by_gold(pages[i], gold[i]["content"])), decided(site, pages[i]) if model else None)
        for i in chosen[:SCORED]
    ]
    strict, partly = ({found.page: found for found in labels(pages)} for labels in (labelled, by_sites))
    return [strict[pages[i]] for i in chosen if pages[i] in strict], [partly[pages[i]] for i in chosen], judged


def decided(site: Site, page: Page) -> Floats:
    """(m,) log odds of the default decision, shifted by its cut."""
    return log_odds(site.templateness(page))


def odds_of(page: Judged) -> Floats:
    assert page.odds is not None
    return page.odds


def lowest_odds(nodes: NodeTable, odds: Floats) -> Floats:
    """(n,) lowest log odds of the leaves below each node; 0 if there are none."""
    lowest = np.full(len(nodes), np.inf)
    lowest[nodes.leaves] = odds
    for below in reversed(nodes.levels[1:]):
        np.minimum.at(lowest, nodes.parent[below], lowest[below])
    return np.where(np.isfinite(lowest), lowest, 0)


def rows(name: str, judged: Sequence[Sequence[Judged]], before: Sequence[Sequence[Floats]]) -> Iterator[list[object]]:
    """A row for each kind of smoothing."""

    def measured(smoothing: Smoothing) -> Floats:
        """(sites, 2) F1 of nodes and of content words."""
        return np.array(
            [
                np.mean([scored(page, smoothing(page.gold.page.nodes, x)) for page, x in zip(*site, strict=True)], 0)
                for site in zip(judged, before, strict=True)
            ]
        )

    def row(what: str, cost: str, found: Floats) -> list[object]:
        return [f"{name}, {what}", cost, *(float(mean) for mean in found.mean(0))]

    folds = np.array([site[0].gold.fold for site in judged])
    yield row("not smoothed", "-", measured(lambda _, x: x))
    yield row("runs of text only, 16 levels", "0.3", measured(leaves_only))
    yield row("monotone", "0", measured(partial(smoothed, section=0)))
    distinct = {cost: measured(partial(by_distinct_values, cost=cost)) for cost in DISTINCT_COSTS}
    yield row("distinct values, as printed", *learnt(distinct, folds))
    yield row("smoothed", *learnt({cost: measured(partial(smoothed, section=cost)) for cost in COSTS}, folds))


def scored(page: Judged, y: Floats) -> tuple[float, float]:
    """F1 of the template nodes, and of the content words."""
    return node_f1(page.gold, y), f1(page.gold, y[page.gold.page.nodes.leaves] - 0.5)


def leaves_only(nodes: NodeTable, x: Floats) -> Floats:
    """(n,) the same if elements have no weight: what the default did before."""
    weight = np.where(nodes.tag == TEXT, np.log1p(nodes.total(nodes.spread(nodes.words))), 0)
    return smooth(nodes.levels, nodes.parent, x, weight, 0.3, 16)


def by_distinct_values(nodes: NodeTable, x: Floats, cost: float) -> Floats:
    """(n,) the same with a penalty for each distinct value."""
    weight = np.log1p(nodes.sum_below(nodes.words).astype(np.float64))
    return smooth_distinct(nodes.levels, nodes.parent, x, weight, cost, np.linspace(0, 1, 17))


def learnt(found: dict[float, Floats], fold: Floats) -> tuple[str, Floats]:
    """The costs chosen for the folds, and the (sites, 2) F1 with the cost that was best on the sites of other folds."""
    best = [max(found, key=lambda cost: found[cost][fold != number, 0].mean()) for number in range(FOLDS)]
    chosen = sorted(set(best))
    span = f"{chosen[0]:g}" if len(chosen) == 1 else f"{chosen[0]:g} to {chosen[-1]:g}"
    return span, np.array([found[best[number]][site] for site, number in enumerate(fold)])
