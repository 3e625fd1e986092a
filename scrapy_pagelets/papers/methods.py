"""The registry of segmenters, with what a caller must know of each, and that of detections. Importing it is cheap."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from scrapy_pagelets.base.arrays import Floats, Ints

if TYPE_CHECKING:
    from scrapy_pagelets.page.page import Page
    from scrapy_pagelets.papers.graph_cuts.gcuts import Costed
    from scrapy_pagelets.papers.graph_cuts.segment_weights import Weights

_LINKS, _SIGHT = ("k",), ("pdoc",)


@dataclass(frozen=True)
class Method:
    """A segmentation method."""

    name: str  # of the segmenter
    #: takes a page and the options, and returns (n,) the number of the pagelet of each run of text, else -1
    function: Callable[..., Ints]
    options: tuple[str, ...]  # names of the options
    whole: bool = True  # whether a pagelet with content and template stays whole in a feed of all pagelets
    needs_maxflow: bool = False  # whether rendered pages need PyMaxflow

    def labels(self, page: Page, templateness: Floats | None, **options: Any) -> Ints:  # noqa: ARG002
        """(n,) Number of the pagelet of each row, see `labels_of`."""
        return self.function(page, **options)


@dataclass(frozen=True)
class LearntMethod:
    """A segmentation method whose costs are learnt from pages that people have divided."""

    #: name, whole, needs_maxflow: as of `Method`
    name: str
    #: path of the function from a described page and weights to the cut of the page; it is imported when it is used
    path: str
    level: Literal["inner", "top"] = "inner"  # of the shipped weights
    needs_maxflow: bool = False
    whole: bool = True
    #: ``penalty`` (lambda) or ``segments`` (the wanted number), and ``weights``, a file
    options: tuple[str, ...] = ("penalty", "segments", "weights")

    @property
    def function(self) -> Costed:
        """The function of the path."""
        module, _, name = self.path.rpartition(".")
        found: Costed = getattr(import_module(module), name)
        return found

    def labels(
        self,
        page: Page,
        templateness: Floats | None,
        *,
        penalty: float | None = None,
        segments: int | None = None,
        weights: str = "",
    ) -> Ints:
        """(n,) Number of the segment of each run of text and of each picture, see `labels_of`."""
        from scrapy_pagelets.papers.graph_cuts.gcuts import Described, by_number

        if penalty is not None and not 0 <= penalty < math.inf:
            raise ValueError(f"penalty is {penalty}: give a finite number, 0 or greater")
        labels = np.full(len(page.nodes), -1)
        if not len(page.nodes.leaves):
            return labels
        described, learnt = Described.of(page, templateness), self._weights(weights, rendered=page.layout is not None)
        cut = self.function(described, learnt)
        if segments is None:
            leaf_labels = cut(learnt.penalties[self.name] if penalty is None else penalty)
        else:
            leaf_labels = by_number(cut, segments)
        labels[described.tree.seen] = leaf_labels
        return labels

    def _weights(self, path: str, *, rendered: bool) -> Weights:
        from scrapy_pagelets.papers.graph_cuts.segment_weights import load

        own = load(path) if path else None
        return load(self.level, rendered=rendered) if own is None or own.rendered != rendered else own


def labels_of(page: Page, method: str, templateness: Floats | None = None, **options: Any) -> Ints:
    """(n,) Number of the pagelet of each run of text, and of each picture if the method uses pictures; else -1.

    Parameters
    ----------
    method : a key of ``METHODS``
    templateness : (m,) of each leaf, a feature for GCuts; None estimates it from the page alone
    options : ``k``, number of links of a pagelet; ``pdoc`` of VIPS, 1 to 10; for GCuts and CClus, ``penalty`` (lambda)
        or ``segments`` (the wanted number), and ``weights``, a file written by `pagelets train --segments`. If
        it is for rendered pages and the page is not rendered, or the other way round, the shipped weights are used

    Raises
    ------
    ValueError : if there is no such method, or if it has no such option
    ImportError : if the method needs a library that is missing
    WeightsError : if the file of weights cannot be used
    """
    if method not in METHODS:
        raise ValueError(f"there is no segmenter {method!r}: choose one of {', '.join(METHODS)}")
    allowed = METHODS[method].options
    if unknown := sorted(set(options) - set(allowed)):
        raise ValueError(f"{method} has no option {', '.join(unknown)}: it takes {' and '.join(allowed)}")
    return METHODS[method].labels(page, templateness, **options)


def _cut_by_links(page: Page, **options: Any) -> Ints:
    from scrapy_pagelets.evidence.partition import partition_of_rows

    return partition_of_rows(page.nodes, **options)


def _cut_by_sight(page: Page, pdoc: int = 8, *, strict: bool = False) -> Ints:
    from scrapy_pagelets.papers.vips.vips import vips

    labels = np.full(len(page.nodes), -1)
    labels[page.nodes.leaves] = vips(page, pdoc, strict=strict).labels(pdoc)
    return labels


def _cut_by_sections(page: Page) -> Ints:
    from scrapy_pagelets.papers.page_level import cut_by_sections

    return cut_by_sections(page)


#: All segmenters by name.
METHODS: Final[Mapping[str, Method | LearntMethod]] = MappingProxyType(
    {
        method.name: method
        for method in (
            Method("pagelets", _cut_by_links, _LINKS, whole=False),
            Method("pagelets-strict", partial(_cut_by_links, k=3, strict=True), _LINKS, whole=False),
            LearntMethod("gcuts-top", "scrapy_pagelets.papers.graph_cuts.gcuts.cut_into_regions", "top"),
            LearntMethod("gcuts", "scrapy_pagelets.papers.graph_cuts.gcuts.cut_into_blocks"),
            LearntMethod("gcuts-strict", "scrapy_pagelets.papers.graph_cuts.gcuts.cut_by_energy", needs_maxflow=True),
            LearntMethod("cclus", "scrapy_pagelets.papers.graph_cuts.gcuts.cut_by_clusters"),
            Method("sections", _cut_by_sections, ()),
            Method("vips", _cut_by_sight, _SIGHT),
            Method("vips-top", partial(_cut_by_sight, pdoc=4), _SIGHT),
            Method("vips-strict", partial(_cut_by_sight, strict=True), _SIGHT),
        )
    }
)
#: Those whose costs are learnt, by name.
LEARNT: Final[Mapping[str, LearntMethod]] = MappingProxyType(
    {name: method for name, method in METHODS.items() if isinstance(method, LearntMethod)}
)
#: All evidence of page and site (default); the complete subdigraph (2014); pagelets that pages of a site share, or that
#: linked pages share (2002, Figures 4 and 5); the classifier of the page alone (2007).
FUSED, ETDM, LOCAL, GLOBAL, CLASSIFIER = "fused", "etdm", "local", "global", "classifier"
DETECTIONS: Final = (FUSED, ETDM, LOCAL, GLOBAL, CLASSIFIER)
#: The shipped file of the classifier of the page alone.
PAGE_LEVEL: Final = "page_level"
#: Those that count the pagelets of all pages.
COUNTED: Final = (LOCAL, GLOBAL)
