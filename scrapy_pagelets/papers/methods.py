"""The segmentation methods, by name."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, Final

import numpy as np

from scrapy_pagelets.base.arrays import Floats, Ints
from scrapy_pagelets.evidence.partition import DEFAULT_K, STRICT_K, partition_of_rows
from scrapy_pagelets.page.page import Page
from scrapy_pagelets.papers.graph_cuts.cclus import clusters
from scrapy_pagelets.papers.graph_cuts.gcuts import (
    NO_PARENTS,
    NOT_LEARNT,
    STRICT,
    Cut,
    Described,
    blocks,
    by_number,
    labelled,
    regions,
)
from scrapy_pagelets.papers.graph_cuts.segment_weights import INNER, TOP, Weights, load
from scrapy_pagelets.papers.vips.vips import INNER_PDOC, TOP_PDOC, vips_labels

#: A function from a described page and weights to the cut of the page.
Costed = Callable[[Described, Weights], Cut]
#: The methods with learnt costs.
BY_COSTS: Final[dict[str, Costed]] = {
    "gcuts": blocks,
    "gcuts-top": regions,
    "gcuts-strict": partial(labelled, form=STRICT),
    "gcuts-np": partial(labelled, form=NO_PARENTS),
    "gcuts-nl": partial(labelled, form=NOT_LEARNT),
    "cclus": clusters,
}


def labels_of(page: Page, method: str, templateness: Floats | None = None, **options: Any) -> Ints:
    """(n,) Number of the pagelet of each run of text, and of each picture if the method uses pictures; else -1.

    Parameters
    ----------
    method : a key of ``METHODS``
    templateness : (m,) of each leaf, a feature for GCuts; None estimates it from the page alone
    options : ``k``, number of links of a pagelet; ``pdoc`` of VIPS, 1 to 10; for GCuts and CClus, ``penalty`` (lambda)
        or ``segments`` (the wanted number), and ``weights``, a file written by `scrapy pagelets train --segments`. If
        it is for rendered pages and the page is not rendered, or the other way round, the shipped weights are used

    Raises
    ------
    ValueError : if there is no such method, or if it has no such option
    ImportError : if the method needs a library that is missing
    WeightsError : if the file of weights cannot be used
    """
    if method not in METHODS:
        raise ValueError(f"there is no segmenter {method!r}: choose one of {', '.join(METHODS)}")
    cut, allowed = METHODS[method]
    if unknown := sorted(set(options) - set(allowed)):
        raise ValueError(f"{method} has no option {', '.join(unknown)}: it takes {' and '.join(allowed)}")
    return cut(page, templateness, **options)


def _by_links(page: Page, _: Floats | None, *, k: int, strict: bool = False) -> Ints:
    return partition_of_rows(page.nodes, k, strict=strict)


def _by_blocks(page: Page, _: Floats | None, *, pdoc: int, strict: bool = False) -> Ints:
    labels = np.full(len(page.nodes), -1)
    labels[page.nodes.leaves] = vips_labels(page, pdoc, strict=strict)
    return labels


def _by_costs(
    page: Page,
    templateness: Floats | None,
    *,
    name: str,
    level: str = INNER,
    penalty: float | None = None,
    segments: int | None = None,
    weights: str = "",
) -> Ints:
    if penalty is not None and not 0 <= penalty < math.inf:
        raise ValueError(f"penalty is {penalty}: give a finite number, 0 or greater")
    labels = np.full(len(page.nodes), -1)
    if not len(page.nodes.leaves):
        return labels
    described, learnt = Described.of(page, templateness), _weights(weights, level, rendered=page.layout is not None)
    cut = BY_COSTS[name](described, learnt)
    if segments is None:
        leaf_labels = cut(learnt.penalties[name] if penalty is None else penalty)
    else:
        leaf_labels = by_number(cut, segments)
    labels[described.tree.seen] = leaf_labels
    return labels


def _weights(path: str, level: str, *, rendered: bool) -> Weights:
    own = load(path) if path else None
    return load(level, rendered=rendered) if own is None or own.rendered != rendered else own


_LINKS, _BLOCKS = ("k",), ("pdoc",)
_COSTS: Final = ("penalty", "segments", "weights")
#: Method -> the function that cuts a page, and the options that it takes.
METHODS: Final[dict[str, tuple[Callable[..., Ints], tuple[str, ...]]]] = {
    "pagelets": (partial(_by_links, k=DEFAULT_K), _LINKS),
    "pagelets-strict": (partial(_by_links, k=STRICT_K, strict=True), _LINKS),
    "vips": (partial(_by_blocks, pdoc=INNER_PDOC), _BLOCKS),
    "vips-top": (partial(_by_blocks, pdoc=TOP_PDOC), _BLOCKS),
    "vips-strict": (partial(_by_blocks, pdoc=INNER_PDOC, strict=True), _BLOCKS),
    **{name: (partial(_by_costs, name=name), _COSTS) for name in BY_COSTS},
    "gcuts-top": (partial(_by_costs, name="gcuts-top", level=TOP), _COSTS),
}
