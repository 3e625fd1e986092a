"""PageRank of a crawl, by the links of its content."""

from __future__ import annotations

from typing import Final

import numpy as np

from scrapy_pagelets.links.link_tables import Tables
from scrapy_pagelets.links.votes import votes
from scrapy_pagelets.nodes import Floats

DAMPING: Final = 0.85
_REST: Final = 1e-10


def pagerank(tables: Tables, *, templates: bool = False, damping: float = DAMPING) -> Floats:
    """How often a reader is on each page who follows links at random, and now and then begins anew.

    Source: Page et al. 1998. Links within a site count, those to pages that were not crawled do not; a page votes once
    for each page that it links to. From a page without such links the reader goes anywhere.

    Parameters
    ----------
    templates : links of templates count
    damping : share of the steps that follow a link, from 0 to less than 1

    Returns
    -------
    (n,) with the sum 1; 0 for pages that were not crawled

    Raises
    ------
    ValueError : for a damping out of range

    Examples
    --------
    >>> from scrapy_pagelets.links.link_tables import read
    >>> text = {"id": 0, "role": "content", "text": "B", "links": [{"url": "http://h/b", "anchor": "B"}]}
    >>> pages = [{"url": "http://h/a", "pagelets": [text]}, {"url": "http://h/b", "pagelets": []}]
    >>> pagerank(read(pages)).round(3).tolist()
    [0.351, 0.649]
    """
    from scipy.sparse import csr_array

    if not 0 <= damping < 1:
        raise ValueError(f"damping is {damping}: give 0 or more, and less than 1")
    edges = votes(tables, pagelets=False, templates=templates, within=True)
    edges = edges.where(tables.crawled[edges.target])
    size, uniform = len(tables.urls), tables.crawled / max(1, tables.crawled.sum())
    out = np.bincount(edges.page, minlength=size)
    steps = csr_array((1.0 / out[edges.page], (edges.target, edges.page)), shape=(size, size))
    lost = out == 0
    rank: Floats = np.zeros(size)
    found: Floats = uniform
    while np.abs(found - rank).sum() > _REST:  # less by the damping each time
        rank = found
        found = damping * (steps @ rank + rank[lost].sum() * uniform) + (1 - damping) * uniform
    return found
