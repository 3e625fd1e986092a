"""GCuts and CClus in the forms that the paper of 2008 compares, and how far expansions end above the least energy.

All forms have the shipped weights, or, *NL*, none: the distance of nodes is Euclidean in scaled features, and two nodes
belong together with a probability that falls with their mean difference. *NP* has no costs of parents and children.
Where the paper chooses a lambda on its validation pages, the shipped one is from cross-validation; those of NP and NL
are chosen here, on the splits that the weights were learnt from. On pages as received, neighbours follow each other in
the document; on rendered ones they also stand beside and below each other, as in the paper, and *least energy* means
that no expansion finds less.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter

import numpy as np

from benchmarks.charts import Axis, chart
from benchmarks.segments import Cut, Judged, by_method
from benchmarks.tools import table
from scrapy_pagelets import Page
from scrapy_pagelets.base.arrays import Floats, Ints
from scrapy_pagelets.decision.classifiers import sigmoid
from scrapy_pagelets.feed.pagelet import Pagelet, pagelets_of
from scrapy_pagelets.papers.graph_cuts.energy import Energy, expand, minimise
from scrapy_pagelets.papers.graph_cuts.gcuts import (
    Costed,
    Described,
    cluster,
    connected,
    energy_of,
    items,
    probabilities,
    weighed,
)
from scrapy_pagelets.papers.graph_cuts.segment_weights import INNER, Weights, load
from scrapy_pagelets.training.paper_training import GRID, best, curve, read_examples
from tests.oracles.printed_cuts import expanded_from_one_label, pivots

#: Values of the adjusted Rand index at which pages are counted.
STEPS = tuple(np.arange(0, 1.01, 0.05).round(2).tolist())

#: Expansions count costs in whole steps: energies that differ by less than this share are the same.
ROUNDING = 1e-4


@dataclass(frozen=True)
class Form:
    """A form of GCuts or CClus."""

    costed: Costed
    printed: str  # adjusted Rand index and NMI that the paper reports
    method: str = ""  # whose shipped lambda it has; without one, it is chosen here


def by_energy(costs: Callable[[Described, Weights], Energy], solve: Callable[[Energy], Ints]) -> Costed:
    """GCuts with some costs and a solver."""

    def cut_of(described: Described, weights: Weights) -> Callable[[float], Ints]:
        energy = costs(described, weights)

        def cut(penalty: float) -> Ints:
            labels = solve(weighed(energy, penalty))
            return connected(energy, labels[described.tree.leaves])

        return cut

    return cut_of


def by_clusters(
    together: Callable[[Described, Ints, Weights], Floats], solve: Callable[[Floats, float], Ints]
) -> Costed:
    """CClus with some probabilities and a solver."""

    def cut_of(described: Described, weights: Weights) -> Callable[[float], Ints]:
        nodes = items(described.tree)
        probability = together(described, nodes, weights)
        part = np.repeat(np.arange(len(nodes)), described.tree.size[nodes])
        return lambda penalty: solve(probability, penalty)[part]

    return cut_of


def least(energy: Energy) -> Ints:
    """The labelling of least energy; with neighbours on the screen, expansions from the one that ignores these."""
    labels = minimise(energy)
    return labels if (energy.other == energy.one + 1).all() else expand(energy, labels)


def without_parents(described: Described, weights: Weights) -> Energy:
    """The energy without costs of parents and children."""
    energy = energy_of(described, weights)
    return replace(energy, edge=0 * energy.edge)


def unlearnt(described: Described, weights: Weights) -> Energy:
    """The energy of which nothing is learnt."""
    energy = energy_of(described, replace(weights, metric=np.eye(len(weights.center))))
    leaves, parent = energy.tree.leaves, np.maximum(energy.tree.parent, 0)
    edge = alike(described, weights, np.arange(len(energy.tree)), parent)
    return replace(energy, edge=edge, weight=alike(described, weights, leaves[energy.one], leaves[energy.other]))


def alike(described: Described, weights: Weights, one: Ints, other: Ints) -> Floats:
    """(e,) Probability that pairs of nodes belong together, by a sum of their differences with equal weights."""
    space = described.columns / weights.scale
    return sigmoid(-np.abs(space[one] - space[other]).mean(axis=1))


def learnt_pairs(described: Described, nodes: Ints, weights: Weights) -> Floats:
    return probabilities(described, nodes, weights.pairs)


def unlearnt_pairs(described: Described, nodes: Ints, weights: Weights) -> Floats:
    return np.stack([alike(described, weights, np.full_like(nodes, node), nodes) for node in nodes])


FORMS = {
    "GCuts, least energy (`gcuts-strict`)": Form(by_energy(energy_of, least), "0.60 0.76", "gcuts-strict"),
    "GCuts, expansions from one label": Form(
        by_energy(energy_of, expanded_from_one_label), "0.60 0.76", "gcuts-strict"
    ),
    "GCuts-NP, least energy": Form(by_energy(without_parents, least), "0.53 0.73"),
    "GCuts-NL, least energy": Form(by_energy(unlearnt, least), "0.52 0.73"),
    "CClus, leaves moved at the end (`cclus`)": Form(by_clusters(learnt_pairs, cluster), "0.46 0.64", "cclus"),
    "CClus": Form(by_clusters(learnt_pairs, pivots), "0.46 0.64", "cclus"),
    "CClus-NL": Form(by_clusters(unlearnt_pairs, pivots), "fails"),
}
#: Forms of the cumulative chart, by their names in it.
DRAWN = {
    "GCuts": "GCuts, expansions from one label",
    "GCuts-NP": "GCuts-NP, least energy",
    "GCuts-NL": "GCuts-NL, least energy",
    "CClus": "CClus",
}


def compare(pages: Sequence[Judged], learning: Sequence[Judged], picture: Path, *, rendered: bool) -> None:
    """Print the figures of each form on the inner level, draw them page by page, and compare energies."""
    weights = load(INNER, rendered=rendered)
    rows, by_page = [], {}
    for name, form in FORMS.items():
        penalty = weights.penalties[form.method] if form.method else chosen(form.costed, learning, weights)
        cut = cut_by(form.costed, weights, penalty)
        regions = [cut(page.page) for page in pages]
        figures = [page.judge(found)[INNER][:2] for page, found in zip(pages, regions, strict=True)]
        by_page[name] = [rand for rand, _ in figures]
        count = float(np.mean([*map(len, regions)]))
        rows.append([name, f"{penalty:.3g}", f"{count:.1f}", *np.mean(figures, axis=0).tolist(), form.printed])
    print(f"{len(pages)} pages, inner level\n")
    table(["", "lambda", "segments", "adj. Rand", "NMI", "the paper"], rows)
    ours = by_method("gcuts")
    drawn = {name: by_page[form] for name, form in DRAWN.items()}
    drawn["gcuts (ours)"] = [page.judge(ours(page.page))[INNER][0] for page in pages]
    picture.write_text(cumulative(drawn), encoding="utf-8")
    energies(pages, weights)


def chosen(costed: Costed, pages: Sequence[Judged], weights: Weights) -> float:
    """The best lambda on some pages."""
    examples = read_examples([p.line for p in pages], {p.line["page"]: p.page for p in pages}.__getitem__, INNER)
    return GRID[best(curve(examples, weights, costed))]


def cut_by(costed: Costed, weights: Weights, penalty: float) -> Cut:
    return lambda page: [part.xpaths for part in parts(page, costed, weights, penalty)]


def parts(page: Page, costed: Costed, weights: Weights, penalty: float) -> list[Pagelet]:
    """The segments of a page by a form."""
    described = Described.of(page)
    labels = np.full(len(page.nodes), -1)
    labels[described.tree.seen] = costed(described, weights)(penalty)
    return pagelets_of(page, labels, whole=True)


def cumulative(scores: dict[str, list[float]]) -> str:
    """The share of pages with less than each adjusted Rand index, as in the paper's Figures 2 and 4; print it too."""
    lines = {name: [float((np.array(found) < step).mean()) for step in STEPS] for name, found in scores.items()}
    print("\nShare of pages below an adjusted Rand index\n")
    table(["below", *lines], [[f"{step:.2f}", *row] for step, *row in zip(STEPS, *lines.values(), strict=True)][2::2])
    tenths = {n / 10: f"{n / 10:g}" for n in range(0, 11, 2)}
    up = Axis("share of pages with less", tenths)
    points = {name: list(zip(STEPS, shares, strict=True)) for name, shares in lines.items()}
    return chart(points, Axis("adjusted Rand index, inner level", tenths), up)


def energies(pages: Sequence[Judged], weights: Weights) -> None:
    """Print how far expansions from one label end above the least energy, and the time of both."""
    excess, seconds = [], []
    for page in pages:
        energy = weighed(energy_of(Described.of(page.page), weights), weights.penalties["gcuts-strict"])
        times = [perf_counter()]
        found = []
        for solve in (least, expanded_from_one_label):
            found.append(energy.of(solve(energy)))
            times.append(perf_counter())
        excess.append(found[1] / found[0] - 1)
        seconds.append(np.diff(times))
    above = np.array([value for value in excess if value > ROUNDING])
    by = f"{above.mean():.2%} on average, {above.max():.2%} at most" if len(above) else "-"
    print(f"\nExpansions from one label end above the least energy on {len(above)} of {len(pages)} pages, by {by}.")
    exact, cuts = 1000 * np.median(seconds, axis=0)
    print(f"Milliseconds of a page, median: least energy {exact:.0f}, expansions {cuts:.0f}.")
