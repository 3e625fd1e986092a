"""How much other pages of a site help: F1 against the number of known pages of the site.

Some pages of each site are cleaned, each by a site that knows a given number of pages: the page itself and others drawn
at random. The cross-validation models (``--models``, see ``benchmarks/train.sh``) are used, so that no site is scored
by a model that has learnt from it. Nothing is crawled. Nodes are template from a templateness of 0.5 on; before
smoothing, their templateness comes from the mean log odds of their leaves, weighted by words. ``--picture`` needs
matplotlib.

    python -m benchmarks known --picture docs/evaluation/known.svg
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.role_labels import add_rules, by_roles, gold_by_role, the_referee
from benchmarks.tools import fold, log_odds, names, option_parser, sites_below, table
from scrapy_pagelets import Page, Site
from scrapy_pagelets.decision.classifiers import sigmoid
from scrapy_pagelets.decision.decision import decided
from scrapy_pagelets.evidence.site_counts import Observation, SiteCounts
from scrapy_pagelets.page.text import plain
from scrapy_pagelets.papers.page_level import smoothed
from scrapy_pagelets.training.model_training import node_f1
from scrapy_pagelets.training.training_tables import Example
from tests.oracles.trees import mean_odds

NUMBERS = (1, 2, 3, 5, 10, 20, 50)
PAGES = 6


def main(argv: Sequence[str]) -> None:
    parser = option_parser(__name__, __doc__)
    parser.add_argument("--data", type=Path, default=Path(".data"))
    parser.add_argument("--referee", type=Path, default=Path("../shared/bench"))
    add_rules(parser)
    parser.add_argument("--models", type=Path, default=Path(".data/models"), help="folder with fold-0.npz ...")
    parser.add_argument("--only", default="", help="comma-separated names of sites; default: all")
    parser.add_argument("--picture", type=Path, help="SVG file for the curves")
    args = parser.parse_args(argv)
    score, folder = the_referee(args.referee), sites_below(args.data)
    scores = np.array(
        [of_site(args, score, site) for site in sorted(folder.iterdir())
         if site.is_dir() and (not args.only or site.name in names(args.only))]
    )  # fmt: skip
    means = scores.mean(axis=0)
    head = ["pages known", "content F1", "template F1", "nodes' F1 before smoothing", "after"]
    table(head, [[str(n), *row] for n, row in zip(NUMBERS, means, strict=True)])
    if args.picture:
        draw(means, args.picture)


def of_site(args: argparse.Namespace, score: ModuleType, folder: Path) -> np.ndarray:
    """(len(NUMBERS), 4) F1 as in the head of the table, mean over some pages."""
    rng = random.Random(0)
    gold = gold_by_role(args, score, folder.parent.name, folder.name)
    pages = [
        Page.parse((folder / line["path"]).read_bytes(), f"http://{folder.name}.example/{line['path']}")
        for line in gold
    ]
    site = Site(folder.name, str(args.models / f"fold-{fold(folder.name)}.npz"))
    observations = [Observation.of(page, site.model.page_evidence(page).odds) for page in pages]
    cleaned = rng.sample(range(len(pages)), min(PAGES, len(pages)))
    found = np.zeros((len(NUMBERS), len(cleaned), 4))
    for column, i in enumerate(cleaned):
        others = rng.sample([one for j, one in enumerate(observations) if j != i], min(max(NUMBERS), len(pages)) - 1)
        for row, known in enumerate(NUMBERS):
            site.learnt = SiteCounts(folder.name)
            site.learnt.count_new([observations[i], *others[: known - 1]])
            found[row, column] = measured(site, pages[i], gold[i], score)
    means: NDArray[np.float64] = found.mean(axis=1)
    return means


def measured(site: Site, page: Page, gold: dict[str, Any], score: ModuleType) -> tuple[float, ...]:
    """F1 of a page: content and template by words, template nodes before and after smoothing."""
    decision = decided(page, site)
    text = plain(page.nodes, decision.content)
    found = score.roles.score([{"url": page.url, "text": text}], [gold])
    nodes, example = page.nodes, Example(page, by_roles(page, gold["runs"]))
    before = sigmoid(mean_odds(nodes, log_odds(decision.templateness)))
    after = smoothed(nodes, before)
    return (
        found["f1"],
        found["template_f1"],
        node_f1(example, before),
        node_f1(example, after),
    )


def draw(means: np.ndarray, picture: Path) -> None:
    """Draw the curves."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 3.6), layout="constrained")
    axes = figure.add_subplot()
    for column, name in enumerate(("content F1", "template F1")):
        axes.plot(NUMBERS, means[:, column], marker="o", label=name)
    axes.set(
        xscale="log", xticks=NUMBERS, xticklabels=NUMBERS, xlabel="pages known of the site", ylabel="mean over sites"
    )
    axes.minorticks_off()
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(picture, metadata={"Date": None})
