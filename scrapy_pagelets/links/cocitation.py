"""Related pages by co-citation: plain counts, and votes."""

from __future__ import annotations

from typing import Final

import numpy as np

from scrapy_pagelets.base.arrays import Floats, Ints
from scrapy_pagelets.links.link_tables import Tables
from scrapy_pagelets.links.votes import Votes, best, voters, votes

#: A pagelet that links to more pages is a directory: it says little about any two of them.
MOST: Final = 50


def cocitations(tables: Tables, page: int, *, within: bool | None = None) -> Ints:
    """Count the pages that cite each page together with a given one: in a content pagelet that links to both.

    Source: Small 1973 and Dean & Henzinger 1999; within pagelets, Bar-Yossef & Rajagopalan 2002, Section 4, case 3,
    number 1. Citations from templates are ignored (number 2).

    Parameters
    ----------
    page : number of the page
    within : count links within a site, see `votes`

    Returns
    -------
    (n,) numbers of citing pages; 0 for the page itself

    Examples
    --------
    >>> from scrapy_pagelets.links.link_tables import read
    >>> links = [{"url": f"http://{name}.com/", "anchor": name} for name in ("fender", "gibson")]
    >>> makers = {"id": 0, "role": "content", "text": "Fender, Gibson", "links": links}
    >>> tables = read([{"url": f"http://{host}/", "pagelets": [makers]} for host in "hi"])
    >>> cocitations(tables, tables.find("http://gibson.com")).tolist()
    [0, 2, 0, 0]
    """
    edges = _citing(votes(tables, within=within), page)
    pairs = np.unique(np.stack([edges.page, edges.target]), axis=1)
    counts: Ints = np.bincount(pairs[1], minlength=len(tables.urls))
    return counts


def _citing(edges: Votes, page: int) -> Votes:
    """The edges to other pages from the hubs that link to a page."""
    return edges.where(np.isin(edges.hub, edges.hub[edges.target == page]) & (edges.target != page))


def related(tables: Tables, page: int, *, within: bool | None = None, most: int = MOST) -> Floats:
    """Score how related each page is to a given one: by the content pagelets that link to both.

    A pagelet that links to m pages gives 1 / (m - 1) to each pair of them, so that each of its pages has one vote. For
    each pair, only the best pagelet of each host counts; if links within a site count, the best one of each page.

    Source: Dean & Henzinger 1999, within pagelets after Bar-Yossef & Rajagopalan 2002, Section 4, case 3. The weights
    and the bound are ours (``docs/algorithms/pagelets-templates-2002.md``).

    Parameters
    ----------
    page : number of the page
    within : count links within a site, see `votes`
    most : ignore pagelets that link to more pages

    Returns
    -------
    (n,) scores of crawled and other pages; 0 for the page itself

    Examples
    --------
    >>> from scrapy_pagelets.links.link_tables import read
    >>> links = [{"url": f"http://{name}.com/", "anchor": name} for name in ("fender", "gibson", "ibanez")]
    >>> makers = {"id": 0, "role": "content", "text": "Fender, Gibson, Ibanez", "links": links}
    >>> tables = read([{"url": "http://h/a", "pagelets": [makers]}, {"url": "http://i/", "pagelets": []}])
    >>> related(tables, tables.find("http://gibson.com")).tolist()
    [0.0, 0.5, 0.0, 0.5, 0.0]
    """
    edges = votes(tables, within=within)
    count = np.bincount(edges.hub, minlength=len(tables.page))
    edges = _citing(edges.where(count[edges.hub] <= most), page)
    weights: Floats = 1.0 / (count[edges.hub] - 1)
    one = best(weights, voters(tables, within)[edges.page], edges.target)
    scores = np.zeros(len(tables.urls))
    np.add.at(scores, edges.target[one], weights[one])
    return scores
