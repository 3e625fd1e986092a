"""Related pages by co-citation."""

from __future__ import annotations

from typing import Final

import numpy as np

from scrapy_pagelets.links.link_tables import Tables
from scrapy_pagelets.links.votes import best, voters, votes
from scrapy_pagelets.nodes import Floats

#: A pagelet that links to more pages is a directory: it says little about any two of them.
MOST: Final = 50


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
    citing = np.zeros(len(tables.page), np.bool_)
    citing[edges.hub[edges.target == page]] = True
    citing &= count <= most
    edges = edges.where(citing[edges.hub] & (edges.target != page))
    weights: Floats = 1.0 / (count[edges.hub] - 1)
    one = best(weights, voters(tables, within)[edges.page], edges.target)
    scores = np.zeros(len(tables.urls))
    np.add.at(scores, edges.target[one], weights[one])
    return scores
