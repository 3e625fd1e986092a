"""Co-citation that counts all pages, and those that cite within one pagelet more."""

from __future__ import annotations

import numpy as np

from scrapy_pagelets.base.arrays import Floats
from scrapy_pagelets.links.link_tables import Tables
from scrapy_pagelets.links.votes import citing, cocitations, votes


def weighted_cocitations(tables: Tables, page: int, *, pagelet: float = 2.0, within: bool | None = None) -> Floats:
    """Score each page by those that cite it together with a given one: 1 for each page, more within one pagelet.

    Source: Bar-Yossef & Rajagopalan 2002, Section 4, case 3, number 1, the alternative: "co-citation within a pagelet
    can be weighted more heavily". How much more is not printed. Citations from templates are ignored (number 2). Return
    (n,) scores; 0 for the page itself.

    Parameters
    ----------
    page : number of the page
    pagelet : for a page that cites both in one pagelet, instead of 1
    within : count links within a site, see `votes`
    """
    inner = cocitations(tables, page, within=within)
    edges = citing(votes(tables, pagelets=False, within=within), page)
    scores: Floats = np.bincount(edges.target, minlength=len(tables.urls)) + (pagelet - 1) * inner
    return scores
