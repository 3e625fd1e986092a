"""What feedback gains on queries with many answers: the experiment of Yu, Cai, Wen and Ma (2003), and our defaults.

Data: the sites of the folders ``sites`` and ``sites2`` below ``--data``, in place of WT10g. The pages are whole, with
their templates, except for their tags and breadcrumbs; ``topics.py`` has the queries. As printed, terms come from the
best pages (FULLDOC), from blocks that the tags named in the paper delimit (DOMPS), or from the segments of VIPS in its
form of 2003, whose layout is guessed without ``--rendered``.

For each kind of topics, the program prints the mean average precision by the number of pages or segments that terms
come from (Table 1 and Figure 3 of the paper), the precision at eleven levels of recall (Table 2), and both
precisions by the number of added terms, which is 10 in the paper. For Table 2, the numbers of segments are those that
are best on half of the sites; its queries are those of the others. Then the feedback of ``pagelets search`` by default,
on the same pages, and on the pagelets of ``--feeds`` if there are any. Gains are over no feedback, with the p-value of
a paired randomisation test.

    python -m benchmarks expansion --every 3 --picture docs/algorithms/feedback.svg
    python -m benchmarks expansion --only drupalcz,midcamp --rendered out/rendered   # laid out by Chromium
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from benchmarks.retrieval import change, gain
from benchmarks.searched_sites import Searched, add_data, load
from benchmarks.tools import option_parser, table
from benchmarks.topics import Found, Topic, Topics, answered, average_precision, precisions
from scrapy_pagelets.base.arrays import Floats
from scrapy_pagelets.retrieval.collection import Cut, cut_whole
from scrapy_pagelets.retrieval.search import FEEDBACK, printed


def cut_body(texts: Sequence[str]) -> Sequence[str]:
    """The segments of a page but for its title, which is in no block of its body."""
    return texts[1:]


class Source(NamedTuple):
    """Where a method of the paper takes its terms from."""

    system: str  # the collection
    cut: Cut
    best: int  # the number of segments that was best in the paper
    default: str  # what is nearest to it in `scrapy pagelets search`


METHODS: Final = {
    "FULLDOC": Source("vips-strict", cut_whole, 10, "pages"),
    "DOMPS": Source("tags", cut_body, 50, "blocks"),
    "VIPS": Source("vips-strict", cut_body, 20, "segments"),
}
SYSTEMS: Final = frozenset(source.system for source in METHODS.values())
#: Average precision in the paper (Section 4.2): without feedback, and with the best number of segments.
PAPER: Final = {"none": 0.1655, "FULLDOC": 0.1910, "DOMPS": 0.1967, "VIPS": 0.2098}
#: The paper goes from 3 to 60.
SELECTED: Final = (3, 5, 10, 20, 30, 40, 50, 60)
TERMS: Final = (1, 3, 5, 10, 20, 40)
RECALL: Final = np.arange(11) / 10

Curves = dict[str, list[float]]


def search_of(name: str, selected: int, terms: int = 10) -> dict[str, Any]:
    """Arguments of a search with feedback from so many pages (FULLDOC) or segments."""
    method, cut = printed("segments"), METHODS[name].cut
    pages = selected if cut is cut_whole else method["feedback"].pages
    return method | {"feedback": replace(method["feedback"], cut=cut, pages=pages, selected=selected, terms=terms)}


def eleven_points(found: Found) -> Floats:
    """(11,) the best precision at each level of recall or above; 0 where it is not reached."""
    at = np.flatnonzero(found.right)
    best = np.maximum.accumulate((np.arange(1, len(at) + 1) / (at + 1))[::-1])[::-1]
    needed = np.maximum(1, np.ceil(RECALL * found.answers - 1e-9)).astype(int)
    points: Floats = np.append(best, 0.0)[np.minimum(needed - 1, len(best))]
    return points


class Experiment:
    """The searches for some topics."""

    def __init__(self, searched: dict[str, Searched], topics: list[Topic]) -> None:
        self._searched = searched
        self._topics = topics
        self.tuned = np.array([topic.tuned for topic in topics])
        self.base = answered(searched["vips-strict"], topics, printed())
        self._found: dict[tuple[str, int, int], list[Found]] = {}

    def expanded(self, name: str, selected: int, terms: int = 10) -> list[Found]:
        """What is found with a method."""
        key = name, selected, terms
        if key not in self._found:
            searched = self._searched[METHODS[name].system]
            self._found[key] = answered(searched, self._topics, search_of(*key))
        return self._found[key]

    def by_segments(self) -> Curves:
        """Print and return Table 1 and Figure 3: the mean average precision by the number of segments."""
        lines = {name: [mean_of(self.expanded(name, n)) for n in SELECTED] for name in METHODS}
        rows = [[str(n), *values] for n, *values in zip(SELECTED, *lines.values(), strict=True)]
        best = [f"{PAPER[name]:.3f} at {source.best}" for name, source in METHODS.items()]
        table(
            ["segments", *METHODS],
            [["no feedback", *[mean_of(self.base)] * len(METHODS)], *rows, [f"paper, {PAPER['none']:.3f}", *best]],
        )
        return lines

    def by_recall(self) -> None:
        """Print Table 2 on the topics for judging, with the numbers of segments that are best on the others."""
        judged = np.flatnonzero(~self.tuned)
        if self.tuned.all() or not self.tuned.any():
            print("\nno eleven points: all queries are of the same half of the sites")
            return
        columns = {"none": self.base}
        for name in METHODS:
            scores = [mean_of([self.expanded(name, n)[i] for i in np.flatnonzero(self.tuned)]) for n in SELECTED]
            best = SELECTED[int(np.argmax(scores))]
            columns[f"{name} {best}"] = self.expanded(name, best)
        of = [[found[i] for i in judged] for found in columns.values()]
        points = np.array([np.mean([eleven_points(each) for each in found], axis=0) for found in of])
        rows: list[list[Any]] = [
            [f"{level:.1f}", *values] for level, *values in zip(RECALL, *points.tolist(), strict=True)
        ]
        scores_of = [precisions(found) for found in of]
        for column, measure in enumerate(("MAP", "P@10")):
            rows.append([measure, *(float(scores[:, column].mean()) for scores in scores_of)])
        gains = [gain(scores[:, 0], scores_of[0][:, 0]) for scores in scores_of]
        rows += [["gain", *(each for each, _ in gains)], ["p", *(p for _, p in gains)]]
        print(f"\n{len(judged)} queries; the number of segments is the best one for the other {sum(self.tuned)}\n")
        table(["recall", *columns], rows)

    def by_terms(self) -> None:
        """Print both precisions by the number of added terms, with the paper's numbers of segments."""
        rows: list[list[Any]] = []
        for name, source in METHODS.items():
            means = [precisions(self.expanded(name, source.best, n)).mean(axis=0).tolist() for n in TERMS]
            rows += [
                [f"{name}, {m}", *values] for m, values in zip(("MAP", "P@10"), zip(*means, strict=True), strict=True)
            ]
        print()
        table(["added terms", *map(str, TERMS)], rows)

    def by_default(self) -> None:
        """Print what the search of `scrapy pagelets search` finds with each feedback."""
        rows: list[list[Any]] = []
        for system in sorted(self._searched.keys() - {"tags"}, reverse=True):
            base = precisions(answered(self._searched[system], self._topics, {}))
            for way in ("none", *FEEDBACK):
                found = precisions(answered(self._searched[system], self._topics, {"feedback": way}))
                label = f"{'whole pages' if system == 'vips-strict' else system}, {way}"
                rows.append([label, *map(float, found.mean(axis=0)), *gain(found[:, 0], base[:, 0])])
        print()
        table(["by default", "MAP", "P@10", "gain", "p"], rows)


def summary(args: argparse.Namespace) -> Iterator[list[Any]]:
    """Rows for names of pages that list others: the mean average precision as printed, by default, and of the paper."""
    searched, topics = collections(args)
    if "category pages" not in topics.kinds:
        yield ["2003: MAP, no query among these sites", None, None, PAPER["none"]]
        return
    asked = topics.kinds["category pages"]
    experiment, ours = Experiment(searched, asked), searched["vips-strict"]
    base = mean_of(experiment.base), mean_of(answered(ours, asked, {})), PAPER["none"]
    yield ["2003: MAP, no feedback", *base]
    for name, source in METHODS.items():
        found = experiment.expanded(name, source.best), answered(ours, asked, {"feedback": source.default})
        means = *map(mean_of, found), PAPER[name]
        yield [f"2003: MAP, {name}", *(f"{m:.3f} ({change(m, none)})" for m, none in zip(means, base, strict=True))]


def collections(args: argparse.Namespace, rendered: Path | None = None) -> tuple[dict[str, Searched], Topics]:
    """The pages of the sites by system, and the topics; prints how many there are, and the length of their segments."""
    systems = SYSTEMS | ({"pagelets"} if args.feeds.exists() else set())
    sites = load(args, systems, ("sites", "sites2"), tags=True, rendered=rendered)
    print(f"{len(sites)} sites, {sum(len(site.titles) for site in sites)} pages")
    for name, source in METHODS.items():
        texts = (
            text for site in sites for page in site.texts[source.system].values() for text in source.cut(["", *page])
        )
        print(f"{name}: {np.mean([len(text.encode()) for text in texts]):.0f} bytes on average")
    topics = Topics(sites)
    return {system: topics.searched(sites, system) for system in systems}, topics


def mean_of(found: Sequence[Found]) -> float:
    """Mean average precision."""
    return float(np.mean([average_precision(each) for each in found])) if found else 0.0


def draw(curves: dict[str, tuple[float, Curves]], picture: Path) -> None:
    """Draw Figure 3: a part for each kind of topics, in which the dotted line is without feedback."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3.2), layout="constrained")
    for axes, (label, (base, lines)) in zip(
        figure.subplots(1, len(curves), squeeze=False)[0], curves.items(), strict=True
    ):
        for name, values in lines.items():
            axes.plot(SELECTED, values, marker="o", markersize=3, label=name)
        axes.axhline(base, color="black", linestyle="dotted")
        axes.set(title=label, xlabel="pages or segments", ylabel="mean average precision")
        axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(picture, metadata={"Date": None})


def main(argv: Sequence[str]) -> None:
    parser = option_parser(__name__, __doc__)
    add_data(parser)
    parser.add_argument("--rendered", type=Path, metavar="FOLDER", help="render the pages, and keep them here")
    parser.add_argument("--picture", type=Path, metavar="FILE", help="draw Figure 3")
    args = parser.parse_args(argv)
    searched, topics = collections(args, args.rendered)
    curves = {}
    for kind, asked in topics.kinds.items():
        answers = np.mean([len(topic.answers) for topic in asked])
        print(f"\n{kind}: {len(asked)} queries, {answers:.1f} answers on average\n")
        experiment = Experiment(searched, asked)
        curves[kind] = mean_of(experiment.base), experiment.by_segments()
        experiment.by_recall()
        experiment.by_terms()
        experiment.by_default()
    if args.picture:
        draw(curves, args.picture)
