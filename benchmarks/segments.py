"""How well each method cuts pages into segments, and what it costs.

Data: ``segments/random`` below ``--data``, pages on which people have marked blocks of two levels: top (header,
content, footer) and inner (menu, article, title). The referee computes the measures (adjusted Rand index, NMI, B-cubed
F1 over characters), averaged over pages, on the runs of text and the pictures that are in a block. The shipped weights
were learnt without the split ``test``.

    python -m benchmarks segments                     # all methods and trivial cuts, on the split test
    python -m benchmarks segments --rendered out/vips # the same on pages rendered by Chromium, cached in out/vips
    python -m benchmarks segments --curve curve.svg   # adjusted Rand index against lambda
    python -m benchmarks segments --times             # milliseconds at 300 to 10,000 nodes
    python -m benchmarks segments --printed p.svg     # the paper's forms, see `printed_segments`; draws them by page
    python -m benchmarks segments --worst gcuts       # the pages of the other splits on which a method is worst
    python -m benchmarks segments --families          # each family of pages by weights that were learnt from the others

A family is the pages of one look: made by a content system, laid out by tables or not, short or long. Methods with
costs learn from the splits ``train`` and ``validation`` without the family, and their lambda is the best one for the
other families. So the table of ``--families`` shows what carries over to pages of another kind. It judges the splits
that the weights are learnt from, unless ``--splits`` names another.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import statistics
from collections import Counter
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from types import ModuleType
from typing import Any

import numpy as np
from lxml import html

from benchmarks.charts import Axis, chart
from benchmarks.tools import names, need, option_parser, referee, table
from benchmarks.vips import pages as shown
from benchmarks.vips import render
from scrapy_pagelets import Page
from scrapy_pagelets.base.arrays import Ints
from scrapy_pagelets.feed.pagelet import pagelets_of
from scrapy_pagelets.page.nodes import TAG
from scrapy_pagelets.papers.graph_cuts.gcuts import Described
from scrapy_pagelets.papers.graph_cuts.segment_weights import INNER, TOP
from scrapy_pagelets.papers.graph_cuts.tree import compact
from scrapy_pagelets.papers.methods import LEARNT, METHODS, labels_of
from scrapy_pagelets.training.paper_training import GRID, best, curve, fit, read_examples

LEVELS = (TOP, INNER)
MEASURES = ("adj. Rand", "NMI", "B3 chars")
PENALTIES = [2.0**k for k in np.arange(-4, 4.01, 0.5)]
SIZES = (300, 1_000, 3_000, 10_000)
#: Splits that weights are learnt from.
LEARNING = frozenset(("train", "validation"))
#: Pages with at least this many runs of text are long: about half of them.
LONG = 90
CELLS = np.array([TAG["td"], TAG["th"]])
SYSTEMS = rb"wordpress|joomla|blogger|drupal|plone|cms|xt:commerce|synkron|cosmos|personal wizard"
BY_SYSTEM = re.compile(rb"(?i)generator[^>]*(%b)|(%b)[^>]*generator|wp-content/" % (SYSTEMS, SYSTEMS))

Cut = Callable[[Page], list[list[str]]]
#: A function from the name of a family to the cut of its pages.
ByFamily = Callable[[str], Cut]


class Judged:
    """A page, rendered if there is a folder of renderings, with its blocks as the referee sees them."""

    def __init__(self, line: dict[str, Any], folder: Path, score: ModuleType, rendered: Path | None) -> None:
        self.line = line
        self.name = line["page"].split("/")[0]
        body = (folder / line["page"]).read_bytes()
        self.page = shown(line, folder, rendered) if rendered else Page.parse(body, f"http://{line['page']}")
        self.family = family(body)
        self.document = html.document_fromstring(body, parser=html.HTMLParser(encoding="utf-8"))
        self.sizes = [size for *_, size in score.leaves(self.document)]
        self.score = score
        blocks = {TOP: [b for b in line["blocks"] if b["level"] == 1], INNER: line["blocks"]}
        self.truth = {
            level: score.labels(self.document, [[b["xpath"]] for b in chosen]) for level, chosen in blocks.items()
        }

    def judge(self, regions: list[list[str]]) -> dict[str, tuple[float, float, float]]:
        """The measures for each level that has something to divide."""
        predicted = self.score.labels(self.document, regions)
        found = {}
        for level, truth in self.truth.items():
            use = [i for i, block in enumerate(truth) if block >= 0]
            if len(use) > 1:
                pair = [predicted[i] for i in use], [truth[i] for i in use]
                cubed = self.score.b_cubed(*pair, [self.sizes[i] for i in use])
                found[level] = self.score.adjusted_rand(*pair), self.score.nmi(*pair), cubed
        return found


def family(body: bytes) -> str:
    """Name the family of a page."""
    if BY_SYSTEM.search(body):
        return "systems"
    nodes = Page.parse(body, "http://example.com/").nodes
    cells = np.isin(nodes.tag, CELLS)
    for level in nodes.levels[1:]:
        cells[level] |= cells[nodes.parent[level]]
    look = "tables" if cells[nodes.leaves].mean() > 0.5 else "blocks"
    return f"{look}, {'short' if len(nodes.leaves) < LONG else 'long'}"


def main(argv: Sequence[str]) -> None:
    parser = option_parser(__name__, __doc__)
    parser.add_argument("--data", type=Path, default=Path(".data"))
    parser.add_argument("--referee", type=Path, default=Path("../shared/bench"))
    parser.add_argument("--splits", help="comma-separated (default: test; with --families train,validation)")
    parser.add_argument("--rendered", type=Path, metavar="FOLDER", help="render the pages, and keep them here")
    parser.add_argument("--methods", default=",".join(METHODS), help="comma-separated (default: all)")
    parser.add_argument("--curve", metavar="FILE", help="write an SVG picture of the accuracy against lambda")
    parser.add_argument("--printed", metavar="FILE", help="the forms of the paper, and an SVG picture by page")
    parser.add_argument("--times", action="store_true")
    parser.add_argument("--worst", metavar="METHOD")
    parser.add_argument("--families", action="store_true", help="judge each family by weights learnt from the others")
    args = parser.parse_args(argv)
    splits = names(args.splits or "test")
    if args.times:
        times()
    elif args.worst:
        worst(judged(args, LEARNING), args.worst)
    elif args.curve:
        by_penalty(judged(args, splits), Path(args.curve))
    elif args.families:
        by_families(args)
    elif args.printed:
        from benchmarks import printed_segments

        pages, learning = judged(args, splits), judged(args, LEARNING)
        printed_segments.compare(pages, learning, Path(args.printed), rendered=args.rendered is not None)
    else:
        compare(judged(args, splits), [name for name in METHODS if name in names(args.methods)])


def judged(args: argparse.Namespace, splits: Set[str]) -> list[Judged]:
    score = referee(args.referee)
    folder = need(args.data / "segments" / "random", "the benchmark needs the pages of segments/random below --data")
    lines = [line for line in score.read(folder / "gold.jsonl.gz") if line["split"] in splits]
    if args.rendered:
        args.rendered.mkdir(parents=True, exist_ok=True)
        asyncio.run(render(lines, folder, args.rendered))
    return [Judged(line, folder, score, args.rendered) for line in lines]


def by_method(method: str, **options: Any) -> Cut:
    def cut(page: Page) -> list[list[str]]:
        found = pagelets_of(page, labels_of(page, method, **options), whole=True)
        return [pagelet.xpaths for pagelet in found]

    return cut


def by_depth(depth: int) -> Cut:
    """Cut the body's tree at a depth, with chains of single children collapsed."""

    def cut(page: Page) -> list[list[str]]:
        tree = compact(page.nodes)
        labels = np.full(len(page.nodes), -1)
        roots = np.flatnonzero((tree.depth == depth) | (~tree.inner & (tree.depth < depth)))
        for number, root in enumerate(roots):
            labels[tree.seen[tree.first[root] : tree.last[root]]] = number
        return [pagelet.xpaths for pagelet in pagelets_of(page, labels, whole=True)]

    return cut


def compare(pages: list[Judged], methods: list[str]) -> None:
    """Print a line for each method."""
    cuts = {"one segment": by_depth(0), "cut at depth 2": by_depth(2), "cut at depth 3": by_depth(3)}
    cuts |= {"each leaf": by_depth(10**9)} | {name: by_method(name) for name in methods}
    inner = [name for name in methods if name in LEARNT and by_level(name) == INNER]
    cuts |= {f"{name}, weights of the top level": by_method(name, weights=TOP) for name in inner}
    print(f"{len(pages)} pages\n")
    rows = []
    for name, cut in cuts.items():
        regions = [cut(page.page) for page in pages]
        rows.append([name, f"{statistics.mean(map(len, regions)):.1f}", *means_of(pages, regions)])
    table(["", "segments", *(f"{level} {measure}" for level in LEVELS for measure in MEASURES)], rows)


def means_of(pages: Sequence[Judged], regions: Sequence[list[list[str]]]) -> list[float]:
    """Means over pages of the measures of the top level, then of the inner one."""
    figures = [page.judge(found) for page, found in zip(pages, regions, strict=True)]
    return [
        float(np.mean([figure[level][i] for figure in figures if level in figure]))
        for level in LEVELS
        for i in range(len(MEASURES))
    ]


def by_families(args: argparse.Namespace) -> None:
    """Print a table for each level: the adjusted Rand index of each family, and the means over all pages."""
    splits = names(args.splits) if args.splits else LEARNING
    pages = judged(args, splits | LEARNING)
    learning, shown = ([p for p in pages if p.line["split"] in chosen] for chosen in (LEARNING, splits))
    for text, chosen in (("learnt from", learning), ("judged", shown)):
        print(f"{text}: {', '.join(f'{n} {f}' for f, n in sorted(Counter(p.family for p in chosen).items()))}")
    for level in LEVELS:
        print(f"\n{level}")
        with TemporaryDirectory() as folder:
            cuts = unlearnt(level) | left_out(learning, level, Path(folder))
            table_of_families(shown, level, cuts)


def unlearnt(level: str) -> dict[str, ByFamily]:
    """Trivial cuts, and the methods without costs for a level."""
    chosen = [name for name in METHODS if name.split("-")[0] in ("vips", "pagelets") and by_level(name) == level]
    cuts = {f"cut at depth {depth}": by_depth(depth) for depth in (2, 3)} | {name: by_method(name) for name in chosen}
    return {name: partial(always, cut) for name, cut in cuts.items()}


def always(cut: Cut, _: str) -> Cut:
    return cut


def by_level(method: str) -> str:
    return TOP if method.endswith(TOP) else INNER


def left_out(pages: Sequence[Judged], level: str, folder: Path) -> dict[str, ByFamily]:
    """The methods with costs, learnt for each family from the pages of the others."""
    examples = read_examples([p.line for p in pages], {p.line["page"]: p.page for p in pages}.__getitem__, level)
    families = np.array([p.family for p in pages])
    names_of = np.unique(families).tolist()
    learnt = {left: fit([examples[i] for i in np.flatnonzero(families != left)]) for left in names_of}
    curves = {name: np.zeros((len(learnt), len(GRID), 2)) for name in LEARNT}
    for number, (left, weights) in enumerate(learnt.items()):
        held_out = [examples[i] for i in np.flatnonzero(families == left)]
        for name, method in LEARNT.items():
            curves[name][number] = len(held_out) * curve(held_out, weights, method.function)
    paths = {left: str(folder / f"{number}.npz") for number, left in enumerate(learnt)}
    for number, (left, weights) in enumerate(learnt.items()):
        penalties = {name: GRID[best(np.delete(parts, number, axis=0).sum(axis=0))] for name, parts in curves.items()}
        replace(weights, penalties=penalties).save(paths[left])
    return {name: partial(with_weights, name, paths) for name in LEARNT}


def with_weights(method: str, paths: dict[str, str], left: str) -> Cut:
    return by_method(method, weights=paths[left])


def table_of_families(pages: Sequence[Judged], level: str, cuts: dict[str, ByFamily]) -> None:
    families = sorted({page.family for page in pages})
    rows = []
    for name, cut in cuts.items():
        found = [(p.family, p.judge(cut(p.family)(p.page)).get(level)) for p in pages]
        figures = [(f, measures) for f, measures in found if measures]
        means = (float(np.mean([m[0] for g, m in figures if g == f])) for f in families)
        rows.append([name, *means, *np.mean([m[:2] for _, m in figures], axis=0).tolist()])
    table(["", *families, "all", "NMI"], rows)


def worst(pages: list[Judged], method: str) -> None:
    """Print the pages with the smallest adjusted Rand index."""
    level = by_level(method)
    rows = []
    for page in pages:
        regions = by_method(method)(page.page)
        figures = page.judge(regions)
        if level in figures:
            blocks = len({block for block in page.truth[level] if block >= 0})
            rows.append((page.name, figures[level][0], figures[level][1], len(regions), blocks))
    rows.sort(key=lambda row: row[1])
    table(["page", *MEASURES[:2], "segments", "blocks"], rows[:12])


def by_penalty(pages: list[Judged], path: Path) -> None:
    """Draw and print the adjusted Rand index of the inner level against lambda, for each method that has one."""
    lines = {}
    for name in (name for name in LEARNT if by_level(name) == INNER):
        found = []
        for penalty in PENALTIES:
            figures = [page.judge(by_method(name, penalty=penalty)(page.page)) for page in pages]
            found.append(float(np.mean([figure[INNER][0] for figure in figures if INNER in figure])))
        lines[name] = found
    table(["lambda", *lines], [[f"{p:.3g}", *values] for p, *values in zip(PENALTIES, *lines.values(), strict=True)])
    marks = {float(n): f"{2.0**n:g}" for n in range(-4, 5, 2)}
    points = {name: list(zip(np.log2(PENALTIES).tolist(), values, strict=True)) for name, values in lines.items()}
    up = Axis("adjusted Rand index, inner level", {n / 10: f"{n / 10:g}" for n in range(0, 9, 2)})
    path.write_text(chart(points, Axis("λ, what a cut costs", marks), up), encoding="utf-8")


def times() -> None:
    """Print the milliseconds of each method on pages of some sizes, the best of five, without templateness."""
    rows = []
    pages = {size: built(size) for size in SIZES}
    weights = {size: np.zeros(len(page.nodes.leaves)) for size, page in pages.items()}
    for name in METHODS:
        cells = []
        for size, page in pages.items():

            def cut(page: Page = page, size: int = size, name: str = name) -> Ints:
                return labels_of(page, name, weights[size])

            cells.append(f"{1000 * min(seconds(cut, 5)):.1f}")
        rows.append([name, *cells])
    rows.append(["(features)", *(f"{1000 * min(described(p, weights[s])):.1f}" for s, p in pages.items())])
    table(["ms at nodes", *(f"{len(page.nodes):,}" for page in pages.values())], rows)


def described(page: Page, weights: Any) -> Iterator[float]:
    return seconds(lambda: Described.of(page, weights), 5)


def seconds(run: Callable[[], object], repetitions: int) -> Iterator[float]:
    for _ in range(repetitions):
        start = perf_counter()
        run()
        yield perf_counter() - start


def built(size: int) -> Page:
    """A page of about that many nodes: a menu, articles with teasers and pictures, a footer."""
    article = (
        "<div class='teaser'><h2><a href='/a{0}'>Head {0}</a></h2><img src='i{0}'><p>Some words of article {0}, with "
        "<b>bold</b> ones and <a href='/l{0}'>a link</a>.</p><ul><li>one</li><li>two</li></ul></div>"
    )
    menu = "".join(f"<li><a href='/m{i}'>Entry {i}</a></li>" for i in range(12))
    count = max(1, (size - 70) // 22)
    body = "".join(
        f"<section id='s{k}'>" + "".join(article.format(i) for i in range(k, min(k + 6, count))) + "</section>"
        for k in range(0, count, 6)
    )
    text = f"<div><ul>{menu}</ul></div><div>{body}</div><div id='footer'><p>Imprint</p><p>2026</p></div>"
    return Page.parse(text.encode(), "http://example.com/")
