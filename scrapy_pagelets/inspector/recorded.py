"""The decision of a crawl about a page, as its feed tells it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
from lxml import etree

from scrapy_pagelets.base.arrays import Floats, Ints
from scrapy_pagelets.base.characters import readable
from scrapy_pagelets.feed.pagelet import Pagelet
from scrapy_pagelets.page.page import Page

#: Templateness of what is in no pagelet of the feed.
_LEFT_OUT: Final = 1.0


def placed(page: Page, records: Sequence[Mapping[str, Any]]) -> tuple[list[Pagelet], int]:
    """The pagelets of a feed on the page that they come from, and the number of those whose text is no longer there.

    Parameters
    ----------
    records : pagelets of the feed
    """
    row_of = {(page.source or page).nodes.xpath(row): row for row in range(len((page.source or page).nodes))}
    found, lost = [], 0
    for record in records:
        index = _leaves(page, [row_of[path] for path in map(str, record["xpaths"]) if path in row_of])
        if not len(index):
            lost += 1
            continue
        pagelet = Pagelet(page, record["id"], index, float(record["templateness"]), str(record["role"]))
        lost += "".join(pagelet.text.split()) != "".join(str(record["text"]).split())
        found.append(pagelet)
    return found, lost


def _leaves(page: Page, rows: Sequence[int]) -> Ints:
    """The leaves of a page below some rows of the page as received."""
    nodes = (page.source or page).nodes
    mask = np.zeros(len(nodes.leaves), np.bool_)
    for row in rows:
        mask[nodes.first_leaf[row] : nodes.last_leaf[row]] = True
    if page.source is None:
        return np.flatnonzero(mask)
    return np.flatnonzero((page.received >= 0) & np.append(mask, False)[page.received])


def templateness_of(page: Page, pagelets: Sequence[Pagelet]) -> Floats:
    """(m,) templateness of each leaf as its pagelet has it; what is in none of them was left out as template."""
    found = np.full(len(page.nodes.leaves), _LEFT_OUT)
    for pagelet in pagelets:
        found[pagelet.index] = pagelet.templateness
    return found


def as_page(line: Mapping[str, Any], records: Sequence[Mapping[str, Any]]) -> tuple[Page, list[Pagelet]]:
    """A page made from the feed alone, for a page that is gone: its pagelets as blocks of text."""
    root = etree.Element("html")
    title = etree.SubElement(etree.SubElement(root, "head"), "title")
    title.text = readable(str(line.get("title") or line["url"]))
    body = etree.SubElement(root, "body")
    kept = [record for record in records if str(record["text"]).strip()]
    for record in kept:
        etree.SubElement(body, "pre").text = readable(str(record["text"]))
    page = Page.from_root(root, str(line["url"]))
    return page, [
        Pagelet(page, record["id"], np.array([number]), float(record["templateness"]), str(record["role"]))
        for number, record in enumerate(kept)
    ]
