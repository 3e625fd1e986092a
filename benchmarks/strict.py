"""What PAGELETS_STRICT does: precision, recall and F1 of the content over its values.

Pages, models and scores are those of ``quality.py``: families of sites, or hosts, are left out of the models.

    python -m benchmarks strict --every 6 --picture docs/evaluation/strict.svg
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path

from benchmarks.page_sets import SETS, jobs_of
from benchmarks.quality import BATCH, OURS, WORKERS, Scored, check_models, mean, scored
from benchmarks.role_labels import add_rules, the_referee
from benchmarks.tools import option_parser, table

VALUES = (-1.0, -0.5, 0.0, 0.5, 1.0)
KEYS = ("precision", "recall", "f1")
#: By set, then by value, then by score.
Curves = dict[str, dict[float, list[float | None]]]


def main(argv: Sequence[str]) -> None:
    parser = option_parser(__name__, __doc__)
    parser.add_argument("--data", type=Path, default=Path(".data"))
    parser.add_argument("--referee", type=Path, default=Path("../shared/bench"))
    add_rules(parser)
    parser.add_argument("--models", type=Path, default=Path(".data/models"), help="folder with fold-0.npz ...")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="score only every N-th page of a set or site")
    parser.add_argument("--sets", default=",".join(SETS), help="comma-separated names of sets; default: %(default)s")
    parser.add_argument("--picture", type=Path, help="SVG file for the curves")
    args = parser.parse_args(argv, namespace=argparse.Namespace(model="", only=""))
    curves = measured(args)
    table(
        ["set", *(f"{key} at {value:g}" for key in KEYS for value in VALUES)],
        [[name, *(found[value][i] for i in range(len(KEYS)) for value in VALUES)] for name, found in curves.items()],
    )
    if args.picture:
        draw(curves, args.picture)


def measured(args: argparse.Namespace) -> Curves:
    """Clean all pages with each value."""
    jobs = list(jobs_of(args, the_referee(args.referee)))
    check_models({job.model for job in jobs})
    curves: Curves = defaultdict(dict)
    with ProcessPoolExecutor(WORKERS) as pool:
        for value in VALUES:
            strict = [replace(job, strict=value) for job in jobs]
            parts = pool.map(partial(scored, tools=[OURS], folder=args.referee), strict, chunksize=BATCH)
            sets: dict[str, list[Scored]] = defaultdict(list)
            for page in (page for part in parts for page in part):
                sets[page.label].append(page)
            for name, pages in sets.items():
                curves[name][value] = [mean(pages, OURS, key) for key in KEYS]
    return curves


def draw(curves: Curves, picture: Path) -> None:
    """Draw F1 over the values, and precision over recall."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3.8), layout="constrained")
    left, right = figure.subplots(1, 2)
    for name, found in curves.items():
        precision, recall, f1 = zip(*found.values(), strict=True)
        left.plot(VALUES, f1, marker="o", label=name)
        right.plot(recall, precision, marker="o")
    left.set(xlabel="PAGELETS_STRICT", ylabel="content F1", xticks=VALUES)
    right.set(xlabel="recall", ylabel="precision")
    left.legend(fontsize="small")
    for axes in (left, right):
        axes.grid(alpha=0.3)
    figure.savefig(picture, metadata={"Date": None})
