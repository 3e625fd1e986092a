"""The five papers by themselves: each one's own measure, of its strict form and of ours, beside what it reports.

Templates (2014, 2002, 2007) are scored on eight pages of each site, means over pages, then over sites. The labels are
those of `by_gold`: a run of text is template if its words are not in the gold content. Ours is the default, ``fused``,
with all pages of a site known, by models of ``--models`` that have not learnt from the site.

- 2014: precision, recall and F1 of template runs of text. Each page is a key page; its set is searched for as printed,
  with four pages beside it and eight loads at most. The runs are those of the ETDM, whatever they say, and then those
  that say the same on all pages, as with ``PAGELETS_DETECTION=etdm``.
- 2002: the same measure of pagelets (*k* = 3) that two pages of the site have, by exact shingles. The paper's own
  measure is the precision of ranked pages, judged by people, for which this data has no queries; ``links.py`` prints
  what can be counted instead.
- 2007: F1 of template nodes, which are template if all of their words are, and the number of sections of a page, the
  connected sets of nodes of one score; see ``smoothing.py``.
- 2008: adjusted Rand index and NMI of the inner blocks; see ``segments.py``.
- 2003: mean average precision of queries with many answers, names of pages that list others, on whole pages of
  every third site of all, whose layout is guessed; see ``expansion.py``.

With ``--mappings``, only the mappings of 2014: the measure above for two key pages of each site by each node equality,
for the largest mapping and for that of Algorithm 2 as printed (``tests/oracles/greedy_mapping.py``); and how much
smaller the mappings are by which a crawl aligns later pages. *Label* is the
equality of Figure 1; *weighted*, which only the mapping as printed takes, weighs class, attributes, number of children
and position, as Section 4.2 says of the authors' own.

Then each mode of a paper over the 42 sites, crawled and as archives (``modes.py``). Feeds and logs stay in ``--out``;
what is there already is not run again.

    python -m benchmarks papers
    python -m benchmarks papers --sites 12     # the measures on fewer sites
    python -m benchmarks papers --mappings
    python -m benchmarks papers --modes --only jdo,hexo,typer
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from benchmarks import expansion, modes, segments
from benchmarks.ablation import repeated
from benchmarks.smoothing import Judged, Smoothing, folders_of, lowest_odds, model_of, odds_of, of_site, pages_of, rows
from benchmarks.subdigraphs import Folder, search
from benchmarks.tools import option_parser, referee, sites_below, table
from scrapy_pagelets.base.arrays import Bools, Floats
from scrapy_pagelets.core.subtrees import align_page
from scrapy_pagelets.decision.classifiers import sigmoid
from scrapy_pagelets.evidence.class_template import TemplateTree
from scrapy_pagelets.evidence.etdm import Label, etdm, extract, same_signature
from scrapy_pagelets.page.nodes import NodeTable
from scrapy_pagelets.papers.page_level import scores, sections, smoothed
from scrapy_pagelets.training.paper_training import train_page_level as train
from scrapy_pagelets.training.training_tables import TEMPLATE, UNKNOWN, Example, by_gold
from tests.oracles.greedy_mapping import greedy_template
from tests.oracles.node_equalities import by_label, same_signature_and_text, weighted

DATA = """
2014: other sites and labels than the paper's; it reports seven loads, and our copy of it has no figures of accuracy.
2002: the paper reports precision at 10 of ranked pages by people: 0.81 for pages, 0.91 for pagelets without templates.
2007: 3,000 sites and labels of nodes by hand in the slides, whose diagram of F-measures has no numbers in our copy.
2008: other pages and marks than the paper's.
2003: WT10g and its topics in the paper; here pages of manuals and blogs, of which the first search already finds more.
"""

#: Key pages of a site for `--mappings`.
KEY_PAGES = 2
#: Labels by which nodes are equal; the first are those of Figure 1, the second those of ``PAGELETS_DETECTION=etdm``.
LABELS: dict[str, Label] = {
    "label": lambda nodes: nodes.tag.astype(np.int64),
    "same_signature": same_signature,
    "same_signature_and_text": same_signature_and_text,
}
#: Precision, recall and F1.
Figures = tuple[float, float, float]


def main(argv: Sequence[str]) -> None:
    parser = option_parser(__name__, __doc__)
    parser.add_argument("--data", type=Path, default=Path(".data"))
    parser.add_argument("--referee", type=Path, default=Path("../shared/bench"))
    parser.add_argument("--models", type=Path, default=Path(".data/models"), help="folder with fold-0.npz ...")
    parser.add_argument("--sites", type=int, metavar="N", help="no more than so many sites, spread over the list")
    part = parser.add_mutually_exclusive_group()
    part.add_argument("--mappings", action="store_true", help="only compare the node equalities of 2014")
    part.add_argument("--modes", action="store_true", help="only crawl and clean the 42 sites with each mode")
    parser.add_argument("--only", default="", help="comma-separated names of sites for the modes; default: all")
    parser.add_argument("--out", type=Path, default=Path("out/papers"), help="folder of the crawls")
    args = parser.parse_args(argv)
    if args.modes:
        modes.compare(args)
        return
    score = referee(args.referee)
    folders = spread(folders_of(args.data), args.sites)
    if args.mappings:
        mappings(folders, score)
        return
    found = [*templates(folders, args.models, score), *blocks(args), *feedback(args)]
    print()
    table(["paper: measure", "strict form", "ours", "the paper reports"], found)
    print(DATA)
    modes.compare(args)


def spread(items: list[Any], count: int | None) -> list[Any]:
    """So many of the items, at equal distances."""
    if count is None or count >= len(items):
        return items
    return [items[i * len(items) // count] for i in range(count)]


# Templates: 2014, 2002, 2007


def templates(folders: Sequence[Path], models: Path, score: ModuleType) -> Iterator[list[Any]]:
    """Rows of the papers on templates."""
    learnt: list[Example] = []
    judged: list[list[Judged]] = []
    figures: dict[str, list[np.ndarray]] = {"ours": [], "places": [], "etdm": [], "repeated": []}
    loads = []
    for folder in folders:
        model = model_of(folder.name, models)
        strict, _, pages = of_site(folder, score, model)
        learnt += strict
        if model is None:
            continue
        judged.append(pages)
        examples = [page.gold for page in pages]
        parts = [mapped(folder, example) for example in examples]
        loads.append(np.mean([count for *_, count in parts]))
        figures["ours"].append(mean_runs(examples, [odds_of(page) > 0 for page in pages]))
        figures["places"].append(mean_runs(examples, [rows for rows, *_ in parts]))
        figures["etdm"].append(mean_runs(examples, [same for _, same, _ in parts]))
        figures["repeated"].append(mean_runs(examples, repeated_runs(folder, examples, score)))
        print(folder.name, *(f"{name} {found[-1][2]:.3f}" for name, found in figures.items()), file=sys.stderr)
    means = {name: np.mean(found, axis=0).tolist() for name, found in figures.items()}
    for what, name in (
        ("2014: {}, runs in the ETDM", "places"),
        ("2014: {}, equal runs in it (etdm)", "etdm"),
        ("2002: {}, runs in repeated pagelets", "repeated"),
    ):
        for measure, *pair in zip(("precision", "recall", "F1"), means[name], means["ours"], strict=True):
            yield [what.format(measure), *pair, "-"]
    yield ["2014: loads per key page", float(np.mean(loads)), None, "7"]
    yield from of_nodes(learnt, judged)


def mapped(folder: Path, example: Example) -> tuple[Bools, Bools, int]:
    """Two (m,) masks of the runs in the ETDM of a key page, of all and of equal ones; and the number of loads."""
    page = example.page
    found = search(page, Folder(folder, "").page)
    nodes = page.nodes
    if not found.found:
        nothing = np.zeros(len(nodes.leaves), np.bool_)
        return nothing, nothing, found.loads
    rows, same = extract(nodes, [other.nodes for other in found.found], same_signature)
    return rows[nodes.leaves], same[nodes.leaves], found.loads


def mappings(folders: Sequence[Path], score: ModuleType) -> None:
    """Print precision, recall and F1 of runs of text by node equality and kind of mapping, and the time of a page."""
    figures: dict[tuple[str, str], list[Figures]] = defaultdict(list)
    seconds: dict[tuple[str, str], float] = defaultdict(float)
    sizes: list[tuple[int, int]] = []
    for folder in folders:
        gold = list(score.read(folder / "gold.jsonl.gz"))
        for line in random.Random(0).sample(gold, min(KEY_PAGES, len(gold))):
            (page,) = pages_of(folder, [line])
            example, nodes = Example(page, by_gold(page, line["content"])), page.nodes
            others = [other.nodes for other in search(page, Folder(folder, "").page).found]
            methods = {(name, "largest"): partial(largest_rows, label_of=label_of) for name, label_of in LABELS.items()}
            equalities = {name: by_label(label_of) for name, label_of in LABELS.items()} | {"weighted": weighted}
            methods |= {
                (name, "as printed"): partial(greedy_template, equality=one) for name, one in equalities.items()
            }
            for key, rows_of in methods.items():
                start = time.process_time()
                rows, _ = rows_of(nodes, others)
                seconds[key] += time.process_time() - start
                figures[key].append(of_runs(example, rows[nodes.leaves] & bool(others)))
            sizes += [aligned(nodes, other) for other in others]
    count = len(next(iter(figures.values())))
    print(f"{count} key pages of {len(folders)} sites; without a set, no text is template\n")
    table(
        ["equality", "mapping", "precision", "recall", "F1", "seconds per page"],
        [[*key, *np.mean(found, axis=0).tolist(), seconds[key] / count] for key, found in figures.items()],
    )
    smaller = [few / most for few, most in sizes if few < most]
    print(f"\n{len(sizes)} pages, aligned with a key page in place of the largest mapping, by same_signature: ", end="")
    print(f"{len(smaller)} have fewer pairs of nodes, {min(smaller, default=1):.1%} of the largest at the least")


def aligned(key_page: NodeTable, page: NodeTable) -> tuple[int, int]:
    """Number of pairs of nodes if a page is aligned, as a crawl does with pages that come later, and at most."""
    rows = align_page(TemplateTree.of(key_page), page)
    return int((rows >= 0).sum()), len(etdm(key_page, page, same_signature))


def largest_rows(key_page: NodeTable, pages: Sequence[NodeTable], label_of: Label) -> tuple[Bools, Bools]:
    """(n,) rows in the template by the largest mappings, and those of them that say the same."""
    return extract(key_page, pages, label_of)


def repeated_runs(folder: Path, examples: Sequence[Example], score: ModuleType) -> list[Bools]:
    """(m,) whether each run of text is in a pagelet that two pages of the site have, for each page to judge."""
    pages = pages_of(folder, list(score.read(folder / "gold.jsonl.gz")))
    known = [Example(page, np.full(len(page.nodes.leaves), UNKNOWN)) for page in pages]
    found = repeated(known, list(examples))
    return [rows[one.page.nodes.leaves] > 0 for one, rows in zip(examples, found, strict=True)]


def mean_runs(examples: Sequence[Example], template: Sequence[Bools]) -> np.ndarray:
    """(3,) mean over the pages of a site."""
    found: np.ndarray = np.mean([of_runs(e, t) for e, t in zip(examples, template, strict=True)], axis=0)
    return found


def of_runs(example: Example, template: Bools) -> Figures:
    """Precision, recall and F1 of the runs of text found to be template."""
    known = example.labels != UNKNOWN
    found, right = template & known, example.labels == TEMPLATE
    hits, predicted, expected = (int(runs.sum()) for runs in (found & right, found, right))
    f1 = 2 * hits / (predicted + expected) if predicted + expected else 1.0
    return hits / predicted if predicted else 1.0, hits / expected if expected else 1.0, f1


def of_nodes(learnt: Sequence[Example], judged: Sequence[Sequence[Judged]]) -> Iterator[list[Any]]:
    """F1 of nodes, by the classifier of 2007 and by ours, with and without smoothing."""
    folds = train(learnt)[1]
    strict = [[scores(page.gold.page, folds[page.gold.fold]) for page in site] for site in judged]
    ours = [[sigmoid(lowest_odds(page.gold.page.nodes, odds_of(page))) for page in site] for site in judged]
    tables = [list(rows("", judged, before)) for before in (strict, ours)]
    for number, name in ((0, "without smoothing"), (-1, "with smoothing")):
        yield [f"2007: F1 of nodes, {name}", *(found[number][2] for found in tables), "-"]
    for name, smoothing in (("without smoothing", lambda _, x: x), ("with smoothing", smoothed)):
        counts = [
            np.mean([count_of_sections(page, smoothing, x) for page, x in zip(*site, strict=True)])
            for site in zip(judged, strict, strict=True)
        ]
        yield [f"2007: sections of a page, {name}", f"{np.mean(counts):.1f}", None, "-"]


def count_of_sections(page: Judged, smoothing: Smoothing, x: Floats) -> int:
    """Number of the connected sets of nodes of one score."""
    nodes = page.gold.page.nodes
    return int(sections(nodes.parent, smoothing(nodes, x)).max()) + 1


# Segments: 2008


def blocks(args: argparse.Namespace) -> Iterator[list[Any]]:
    """Rows of the paper on segments."""
    args.rendered = None
    pages = segments.judged(args, {"test"})

    def measured(method: str) -> list[float]:
        """Adjusted Rand index and NMI of the inner level."""
        regions = [segments.by_method(method)(page.page) for page in pages]
        means = segments.means_of(pages, regions)[len(segments.MEASURES) :]
        return means[:2]

    ours, strict, clusters = measured("gcuts"), measured("gcuts-strict"), measured("cclus")
    for number, measure, of_gcuts, of_cclus in ((0, "adjusted Rand", "0.60", "0.46"), (1, "NMI", "0.76", "0.64")):
        yield [f"2008: {measure}, GCuts", strict[number], ours[number], of_gcuts]
        yield [f"2008: {measure}, CClus", clusters[number], None, of_cclus]


# Feedback: 2003


def feedback(args: argparse.Namespace) -> Iterator[list[Any]]:
    """Rows of the paper on feedback."""
    about = [path.name for path in sorted(sites_below(args.data).iterdir()) if path.is_dir()]
    only = "" if args.sites is None else ",".join(spread(about, args.sites))
    chosen = {"only": only, "every": 1 if only else 3, "feeds": args.data / "feeds", "cache": Path("out/trafilatura")}
    yield from expansion.summary(argparse.Namespace(**vars(args) | chosen))
