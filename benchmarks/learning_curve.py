"""What more labelled pages are worth: F1 on pages of unseen families against the number of sites and single pages.

Models are trained on some of the sites and all single pages (``wcxb-dev``), and on all sites and some of the single
pages. A larger number includes the sites or pages of a smaller one. Each page is cleaned by the cross-validation model
that was trained without its family (``families.json``), so that a model learns from five sixths of the sites and pages
given, on average. All figures are from the same pages, cleaned alone and, of sites, once more with all pages read of
the site known: the F1 of content words, as the mean over the pages of a site, then over sites; of single pages, over
pages. The models have fewer trees and see fewer pages of each site than the shipped one.

    python -m benchmarks learning_curve --picture docs/evaluation/learning-curve.svg
    python -m benchmarks learning_curve --sites 9 --singles 0 --pages 4 --every 20 --trees 10    # a quick look
"""

from __future__ import annotations

import random
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from benchmarks.labelled_pages import ALONE_AND_KNOWN, SETS, Scored, add_options, alone_and_known, read
from benchmarks.page_sets import MIXED, SITES
from benchmarks.role_labels import the_referee
from benchmarks.tools import log_odds, option_parser, table
from scrapy_pagelets import Site
from scrapy_pagelets.training.model_training import f1, train
from scrapy_pagelets.training.training_tables import Example

#: Number of sites, and of single pages; all that there are come in addition.
NUMBERS_OF_SITES = (9, 18, 36)
NUMBERS_OF_SINGLES = (0, 200, 600)

Sets = Mapping[str, Sequence[Example]]
#: By number, the F1 by the names of ``ALONE_AND_KNOWN``.
Curve = dict[int, dict[str, float]]


def main(argv: Sequence[str]) -> None:
    parser = option_parser(__name__, __doc__)
    add_options(parser)
    parser.add_argument("--sites", type=int, nargs="*", default=NUMBERS_OF_SITES, metavar="N", help="numbers of sites")
    parser.add_argument("--singles", type=int, nargs="*", default=NUMBERS_OF_SINGLES, metavar="N", help="of pages")
    args = parser.parse_args(argv)
    sets = read(args, the_referee(args.referee))
    of_sites, singles = shuffled([example for name in SITES for example in sets[name]]), shuffled(sets[MIXED])
    everything = figures(joined(of_sites) + joined(singles), sets, args.trees)
    curves: dict[str, Curve] = {"sites": {}, "single pages": {}}
    for number in args.sites:
        curves["sites"][number] = figures(joined(of_sites[:number]) + joined(singles), sets, args.trees)
    for number in args.singles:
        examples = joined(of_sites) + joined(singles)[:number]
        curves["single pages"][number] = figures(examples, sets, args.trees)
    curves["sites"][len(of_sites)] = everything
    curves["single pages"][len(sets[MIXED])] = everything
    for name, curve in curves.items():
        table([name, *ALONE_AND_KNOWN], [[str(n), *map(row.get, ALONE_AND_KNOWN)] for n, row in curve.items()])
        print()
    if args.picture:
        draw(curves, args.picture)


def shuffled(examples: Sequence[Example]) -> list[list[Example]]:
    """The examples by site, the sites in random order."""
    groups: dict[str, list[Example]] = defaultdict(list)
    for example in examples:
        groups[example.site].append(example)
    found = list(groups.values())
    random.Random(0).shuffle(found)
    return found


def joined(groups: Sequence[Sequence[Example]]) -> list[Example]:
    return [example for group in groups for example in group]


def figures(examples: Sequence[Example], sets: Sets, trees: int) -> dict[str, float]:
    """Train on some examples; return the mean F1 of all sets."""
    models = train(examples, trees)[1]
    with tempfile.TemporaryDirectory() as folder:
        paths = [str(Path(folder, f"fold-{number}.npz")) for number in range(len(models))]
        for model, path in zip(models, paths, strict=True):
            model.save(path)
        return alone_and_known(scores(sets, paths), sets)


def scores(sets: Sets, models: Sequence[str]) -> Iterator[Scored]:
    """Yield the F1 of each page alone, and of each page of a site with the others known; fold by fold.

    Parameters
    ----------
    models : paths of the models trained without each fold
    """
    for fold, model in enumerate(models):
        for name in SETS:
            for group in shuffled([example for example in sets[name] if example.fold == fold]):
                yield from ((e, 0, cleaned(Site(e.site, model), e)) for e in group)
                if name in SITES:
                    site = Site(group[0].site, model)
                    for example in group:
                        site.learn(example.page)
                    yield from ((e, len(group) - 1, cleaned(site, e)) for e in group)


def cleaned(site: Site, example: Example) -> float:
    """F1 of a page as its site cleans it."""
    return f1(example, log_odds(site.templateness(example.page)))


def draw(curves: Mapping[str, Curve], picture: Path) -> None:
    """Draw the curves over sites and over single pages."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 4), layout="constrained")
    for axes, (name, curve) in zip(figure.subplots(1, 2, sharey=True), curves.items(), strict=True):
        for number, column in enumerate(ALONE_AND_KNOWN):
            marker = "s--" if column.endswith("known") else "o-"
            axes.plot(list(curve), [row[column] for row in curve.values()], marker, color=f"C{number}", label=column)
        axes.set(xlabel=f"labelled {name} in the training data", xticks=list(curve))
        axes.grid(alpha=0.3)
    figure.axes[0].set_ylabel("content F1, families left out")
    figure.legend(*figure.axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=len(ALONE_AND_KNOWN))
    figure.savefig(picture, metadata={"Date": None})
