"""Use everything that a crawl uses once before it begins, so that imports and models do not block it in the middle."""

from __future__ import annotations

from importlib import import_module
from typing import Final

import numpy as np

from scrapy_pagelets.decision.decision import decided
from scrapy_pagelets.decision.site import Site
from scrapy_pagelets.duplicates.certainty import word_weights
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
