"""The registry of segmenters, with what a caller must know of each, and that of detections. Importing it is cheap."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pkgutil import resolve_name
from typing import Any, Final, Literal

import numpy as np

from scrapy_pagelets.base.arrays import Floats, Ints
from scrapy_pagelets.evidence.partition import partition_of_rows
from scrapy_pagelets.page.page import Page

_LINKS, _SIGHT = ("k",), ("pdoc",)


@dataclass(frozen=True)
class Method:
    """A segmentation method."""

    name: str  # of the segmenter
    about: str  # what it does, for `docs/settings.md`
    #: path of a function, which is imported when it is used: it takes a page and options, and returns what `labels_of`
    #: returns; of a learnt method, it takes a described page and weights, and returns the cut of the page
    path: str
    options: tuple[str, ...] = ()  # names of the options
    given: Mapping[str, Any] = field(default_factory=dict)  # options that it has unless others are given
    whole: bool = True  # whether a pagelet with content and template stays whole in a feed of all pagelets
    needs_maxflow: bool = False  # whether rendered pages need PyMaxflow

    @cached_property
    def function(self) -> Any:
        """The function of the path."""
        return resolve_name(self.path)

    def labels(self, page: Page, templateness: Floats | None, **options: Any) -> Ints:  # noqa: ARG002
        """(n,) Number of the pagelet of each row, see `labels_of`."""
        return np.asarray(self.function(page, **{**self.given, **options}))


@dataclass(frozen=True)
class LearntMethod(Method):
    """A segmentation method whose costs are learnt from pages that people have divided.

    Options: ``penalty`` (lambda) or ``segments`` (the wanted number), and ``weights``, a file.
    """

    options: tuple[str, ...] = ("penalty", "segments", "weights")
    level: Literal["inner", "top"] = "inner"  # of the shipped weights

    def labels(self, page: Page, templateness: Floats | None, **options: Any) -> Ints:
        """(n,) Number of the segment of each run of text and of each picture, see `labels_of`."""
        from scrapy_pagelets.papers.graph_cuts.gcuts import Described, by_number
        from scrapy_pagelets.papers.graph_cuts.segment_weights import load

        penalty, rendered = options.get("penalty"), page.layout is not None
        if penalty is not None and not 0 <= penalty < math.inf:
            raise ValueError(f"penalty is {penalty}: give a finite number, 0 or greater")
        labels = np.full(len(page.nodes), -1)
        if not len(page.nodes.leaves):
            return labels
        described, learnt = Described.of(page, templateness), load(self.level, rendered=rendered)
        if (path := options.get("weights")) and load(path).rendered == rendered:
            learnt = load(path)
        cut = self.function(described, learnt)
        if (segments := options.get("segments")) is not None:
            labels[described.tree.seen] = by_number(cut, segments)
        else:
            labels[described.tree.seen] = cut(learnt.penalties[self.name] if penalty is None else penalty)
        return labels


def labels_of(page: Page, method: str, templateness: Floats | None = None, **options: Any) -> Ints:
    """(n,) Number of the pagelet of each run of text, and of each picture if the method uses pictures; else -1.

    ``method``: a key of ``METHODS``. ``templateness``: (m,) of each leaf, a feature for GCuts; None estimates it from
    the page alone. Options are ``k``, the number of links of a pagelet; ``pdoc`` of VIPS, 1 to 10; for GCuts and CClus,
    ``penalty`` (lambda) or ``segments`` (the wanted number), and ``weights``, a file written by `pagelets train
    --segments`; the shipped ones are used if only one of file and page is rendered. Raise ValueError if there is no
    such method or option; ImportError if a library is missing; ModelError if the file of weights cannot be used.
    """
    if method not in METHODS:
        raise ValueError(f"there is no segmenter {method!r}: choose one of {', '.join(METHODS)}")
    allowed = METHODS[method].options
    if unknown := sorted(set(options) - set(allowed)):
        raise ValueError(f"{method} has no option {', '.join(unknown)}: it takes {' and '.join(allowed)}")
    return METHODS[method].labels(page, templateness, **options)


def cut_by_links(page: Page, **options: Any) -> Ints:
    """(n,) Number of the pagelet of each run of text, else -1: the partition by links."""
    return partition_of_rows(page.nodes, **options)


_PARTITION: Final = "scrapy_pagelets.papers.methods.cut_by_links"
_VIPS: Final = "scrapy_pagelets.papers.vips.vips.cut_by_sight"
_GCUTS: Final = "scrapy_pagelets.papers.graph_cuts.gcuts"
_SECTIONS: Final = "scrapy_pagelets.papers.page_level.cut_by_sections"
_STRICT_LINKS: Final = {"k": 3, "strict": True}
#: All segmenters by name.
METHODS: Final[Mapping[str, Method | LearntMethod]] = {
    method.name: method
    for method in (
        Method("pagelets", "a node whose child has five hyperlinks is divided", _PARTITION, _LINKS, whole=False),
        Method("pagelets-strict", "the same with three (2002)", _PARTITION, _LINKS, _STRICT_LINKS, whole=False),
        LearntMethod("gcuts-top", "header, content and footer, learnt", f"{_GCUTS}.cut_into_regions", level="top"),
        LearntMethod("gcuts", "menus, articles, titles: learnt costs and VIPS", f"{_GCUTS}.cut_into_blocks"),
        LearntMethod("gcuts-strict", "cuts of least energy (2008)", f"{_GCUTS}.cut_by_energy", needs_maxflow=True),
        LearntMethod("cclus", "correlation clustering (2008)", f"{_GCUTS}.cut_by_clusters"),
        Method("sections", "adjacent nodes with one smoothed score (2007)", _SECTIONS),
        Method("vips", "blocks of the page as it looks", _VIPS, _SIGHT),
        Method("vips-top", "few, large blocks of the page as it looks", _VIPS, _SIGHT, {"pdoc": 4}),
        Method("vips-strict", "VIPS as printed (2003)", _VIPS, _SIGHT, {"strict": True}),
    )
}
#: Those whose costs are learnt, by name.
LEARNT: Final[Mapping[str, LearntMethod]] = {
    name: method for name, method in METHODS.items() if isinstance(method, LearntMethod)
}
#: All evidence of page and site (default); the complete subdigraph (2014); pagelets that pages of a site share, or that
#: linked pages share (2002, Figures 4 and 5); the classifier of the page alone (2007).
FUSED, ETDM, LOCAL, GLOBAL, CLASSIFIER = "fused", "etdm", "local", "global", "classifier"
DETECTIONS: Final = (FUSED, ETDM, LOCAL, GLOBAL, CLASSIFIER)
PAGE_LEVEL: Final = "page_level"  # the shipped file of the classifier of the page alone
REPEATED: Final = (LOCAL, GLOBAL)  # those that look for pagelets that pages repeat
