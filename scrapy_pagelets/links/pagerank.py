"""PageRank of the pages of a crawl."""

from typing import Final

import numpy as np

from scrapy_pagelets.base.arrays import Floats
from scrapy_pagelets.links.link_tables import Tables
from scrapy_pagelets.links.votes import votes

_DAMPING: Final = 0.85  # probability of following a link
_TOLERANCE: Final = 1e-10


def pagerank(tables: Tables, *, templates: bool = False) -> Floats:
    """PageRank: the share of its time that a random surfer, who sometimes starts over, spends on each page.

    Source: Page et al. 1998. Links within a site count, those to pages that were not crawled do not, several links from
    one page to another count once. From a page without links that count, the surfer jumps to any page. Return (n,)
    scores that sum to 1; 0 for pages that were not crawled. ``templates``: count links of templates.

    >>> from scrapy_pagelets.links.link_tables import read
    >>> text = {"id": 0, "role": "content", "text": "B", "links": [{"url": "http://h/b", "anchor": "B"}]}
    >>> pages = [{"url": "http://h/a", "pagelets": [text]}, {"url": "http://h/b", "pagelets": []}]
    >>> pagerank(read(pages)).round(3).tolist()
    [0.351, 0.649]
    """
    from scipy.sparse import csr_array

    # Not that of networkx, which would be a library to install for these few lines, and makes objects of all links.
    edges = votes(tables, pagelets=False, templates=templates, within=True)
    edges = edges.where(tables.crawled[edges.target])
    size, uniform = len(tables.urls), tables.crawled / max(1, tables.crawled.sum())
    out = np.bincount(edges.page, minlength=size)
    steps = csr_array((1.0 / out[edges.page], (edges.target, edges.page)), shape=(size, size))
    dangling = out == 0
    rank: Floats = np.zeros(size)
    updated: Floats = uniform
    while np.abs(updated - rank).sum() > _TOLERANCE:  # the difference shrinks by `_DAMPING` each time
        rank = updated
        updated = _DAMPING * (steps @ rank + rank[dangling].sum() * uniform) + (1 - _DAMPING) * uniform
    return updated
