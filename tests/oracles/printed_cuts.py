"""GCuts and CClus as Chakrabarti, Kumar and Punera 2008 print them, where ours start or end otherwise.

GCuts (Section 4.2) starts with one arbitrary visible label for all nodes, and expands all labels in turn until none
lowers the energy. The best expansion of a label is `energy.expansion`, which brute force checks.

CClus (Section 4.1) is run several times, and the run of least cost is the answer. A run takes a random leaf out of the
graph, with all leaves that are left and belong to it rather than not, and so on.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from scrapy_pagelets.base.arrays import Floats, Ints
from scrapy_pagelets.papers.graph_cuts.energy import Energy, expansion, quantised
from scrapy_pagelets.papers.graph_cuts.gcuts import cost, joining

#: The paper has "several independent trials".
_TRIALS: Final = 10


def expanded_from_one_label(energy: Energy) -> Ints:
    """(k,) Labelling that no expansion improves, from the first label for all nodes."""
    integral = quantised(energy)
    labels = np.zeros(len(energy.tree), np.int64)
    least, improved = integral.of(labels), True
    while improved:
        improved = False
        for label in range(energy.data.shape[1]):
            candidate, value = expansion(integral, labels, label)
            if value < least:
                labels, least, improved = candidate, value, True
    return labels


def pivots(together: Floats, penalty: float) -> Ints:
    """(k,) Number of the cluster of each item: the cheapest of some runs.

    ``together``: (k, k) probability that two items belong together. ``penalty``: lambda.
    """
    joined = joining(together, penalty)
    random = np.random.default_rng(0)
    return min((_run(joined, random) for _ in range(_TRIALS)), key=lambda labels: cost(joined, labels))


def _run(joined: Floats, random: np.random.Generator) -> Ints:
    labels = np.full(len(joined), -1)
    rest, cluster = [*range(len(joined))], 0
    while rest:
        pivot = rest[random.integers(len(rest))]
        labels[[item for item in rest if item == pivot or joined[pivot, item] <= 0]] = cluster
        rest, cluster = [item for item in rest if labels[item] < 0], cluster + 1
    return labels
