"""Prepare the process for a crawl: load what its pages will need, and let Python collect garbage less often."""

from __future__ import annotations

import gc
from importlib import import_module
from typing import Final

import numpy as np

from scrapy_pagelets.decision.decision import decided
from scrapy_pagelets.decision.site import Site
from scrapy_pagelets.duplicates.shingles import word_weights
from scrapy_pagelets.feed.pagelet import pagelets_of
from scrapy_pagelets.page.page import Page
from scrapy_pagelets.papers.methods import labels_of
from scrapy_pagelets.session.config import Config

_PAGE: Final = """<html lang=en><title>Page {0}</title><body>
<ul id=menu><li><a href=/a>Page a</a><li><a href=/b>Page b</a></ul>
<main><h1>Page {0}</h1><p>All there is to say of {0}: one word, another word, a third word – and é.</main></html>"""


def prepare(config: Config) -> None:
    """Import SciPy, and clean two pages of no site, which loads models, public suffixes and the kinds of characters."""
    key_page, page = (Page.parse(_PAGE.format(name).encode(), f"http://www.example.com/{name}") for name in "ab")
    site = Site(key_page.site, config.model)
    if config.probe:
        import_module("scipy.optimize")  # assigns the nodes of one page of a set to those of another
        site.learn_set(key_page, [page])
    site.learn(page)
    templateness = decided(page, site, None).templateness
    labels = labels_of(page, config.segmenter, templateness, **config.segmenter_options)
    for pagelet in pagelets_of(page, labels, templateness):
        pagelet.record()
    if config.duplicates != "off":
        word_weights(page.nodes, np.ones(len(page.nodes.leaves), np.bool_), templateness)


#: Allocations, and collections of the generation before, after which a generation is collected. A callback of Scrapy
#: makes thousands of short-lived objects: with Python's 700, most collections scan objects that are still in use.
_THRESHOLDS: Final = (10_000, 10, 10)


class GarbageCollector:
    """Freeze what the process has loaded, which need not be scanned again, and collect less often while crawls run.

    The first of several crawls in a process begins this, the last one ends it and restores what was before. A project
    that collects less often anyhow, or not at all, keeps its thresholds.
    """

    def __init__(self) -> None:
        self._crawls = 0
        self._before = gc.get_threshold()

    def begin(self) -> None:
        self._crawls += 1
        if self._crawls > 1:
            return
        gc.freeze()
        self._before = gc.get_threshold()
        if 0 < self._before[0] < _THRESHOLDS[0]:
            gc.set_threshold(*_THRESHOLDS)

    def end(self) -> None:
        self._crawls -= 1
        if self._crawls:
            return
        gc.unfreeze()
        if gc.get_threshold() == _THRESHOLDS:
            gc.set_threshold(*self._before)


#: The collector of this process.
COLLECTOR: Final = GarbageCollector()
