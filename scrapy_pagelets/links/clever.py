"""Authorities and hubs for a query: six versions of Clever.

Source: Bar-Yossef & Rajagopalan 2002, Section 4, case 1, and Section 5. What differs from the paper:
``docs/algorithms/pagelets-templates-2002.md``.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Final, NamedTuple

import numpy as np

from scrapy_pagelets.links.hits import hits
from scrapy_pagelets.links.link_tables import Tables
from scrapy_pagelets.links.votes import Votes, host_weights, matrix, voters, votes
from scrapy_pagelets.nodes import Bools, Floats

#: Kleinberg 1999, Section 2: pages of the root set, and of those that link to one of them.
ROOTS: Final = 200
_PARENTS: Final = 50


class Version(NamedTuple):
    """What hubs are, and how the base set is cleaned.

    Attributes
    ----------
    pagelets : hubs are pagelets, not pages
    ft : templates were filtered
    fnm : hubs without a term of the query are filtered; if hubs are pages, such pages are no authorities, either
    """

    pagelets: bool
    ft: bool
    fnm: bool


VERSIONS: Final = MappingProxyType(
    {
        "page": Version(pagelets=False, ft=False, fnm=False),
        "page-fnm": Version(pagelets=False, ft=False, fnm=True),
        "pagelet": Version(pagelets=True, ft=False, fnm=False),
        "pagelet-fnm": Version(pagelets=True, ft=False, fnm=True),
        "pagelet-ft": Version(pagelets=True, ft=True, fnm=False),
        "pagelet-ft-fnm": Version(pagelets=True, ft=True, fnm=True),
    }
)
#: What the paper found to be best.
BEST: Final = "pagelet-ft-fnm"


class CleverScores(NamedTuple):
    """What `clever` finds.

    Attributes
    ----------
    authorities : (n,) scores of pages
    hubs : (k,) scores of pagelets, or (n,) of pages
    base : (n,) the base set
    """

    authorities: Floats
    hubs: Floats
    base: Bools


def clever(tables: Tables, version: str = BEST, *, within: bool | None = None) -> CleverScores:
    """Rank the pages of the crawl for the query that its tables were read with.

    The root set are the pages that `roots` finds, the base set these with the pages that they link to and up to 50 that
    link to each. An edge weighs 1 + the terms of the query around its link (Chakrabarti et al. 1998), times the
    weights of Bharat and Henzinger, by which each host has one vote; if links within a site count, each page.

    Parameters
    ----------
    version : one of `VERSIONS`
    within : links within a site count: see `votes`

    Raises
    ------
    ValueError : if there is no such version

    Examples
    --------
    >>> from scrapy_pagelets.links.query import Query
    >>> from scrapy_pagelets.links.link_tables import read
    >>> links = [{"url": f"http://{host}.com/", "anchor": host} for host in ("fender", "gibson")]
    >>> shops = {"id": 0, "role": "content", "text": "guitar shops", "links": links}
    >>> lines = [{"url": "http://a.com/", "pagelets": [shops]}, {"url": "http://fender.com/", "pagelets": []}]
    >>> ranking = clever(read(lines, Query("guitar")))
    >>> ranking.authorities.tolist(), ranking.hubs.tolist()
    ([0.0, 1.0, 0.0], [1.0])
    """
    if version not in VERSIONS:
        raise ValueError(f"there is no version {version!r}: choose from {', '.join(VERSIONS)}")
    pagelets, ft, fnm = VERSIONS[version]
    edges = votes(tables, pagelets=pagelets, templates=not ft, within=within)
    edges = edges.where(tables.crawled[edges.target])
    base = base_set(edges, roots(tables))
    edges = edges.where(base[edges.page] & base[edges.target])
    if fnm:
        edges = edges.where(_matching(tables, edges, pagelets))
    shape = (len(tables.page) if pagelets else len(tables.urls), len(tables.urls))
    authority, hub = host_weights(edges, voters(tables, within))
    anchor = 1.0 + edges.near
    hubs, authorities = hits(matrix(anchor * authority, edges, shape), matrix(anchor * hub, edges, shape))
    return CleverScores(authorities, hubs, base)


def roots(tables: Tables) -> Bools:
    """(n,) the root set: 200 pages by the number of terms that their content has, then by how often it has them.

    Pages that are as good as the last of them are in, too. This stands for the search engine of the paper; content
    alone is searched, so that the words of a menu, which all pages have, find none.
    """
    content = ~tables.template
    often = np.bincount(tables.page[content], tables.matches[content], len(tables.urls))
    found = tables.terms > 0
    best = np.lexsort((-often, -tables.terms))[:ROOTS]
    if found.sum() > ROOTS:
        terms, times = tables.terms[best[-1]], often[best[-1]]
        found = (tables.terms > terms) | ((tables.terms == terms) & (often >= times))
    return found


def base_set(edges: Votes, root: Bools) -> Bools:
    """(n,) the root set, the pages that it links to, and for each of its pages the first 50 that link there.

    Source: Kleinberg 1999, Section 2.
    """
    base = root.copy()
    base[edges.target[root[edges.page]]] = True
    target, parent = np.divmod(np.unique(edges.target * len(root) + edges.page), len(root))
    target, parent = target[root[target]], parent[root[target]]
    base[parent[np.arange(len(target)) - np.searchsorted(target, target) < _PARENTS]] = True
    return base


def _matching(tables: Tables, edges: Votes, pagelets: bool) -> Bools:
    """FNM: (e,) edges of hubs, and to pages, that have a term of the query in their text."""
    if pagelets:
        return tables.matches[edges.hub] > 0
    matches = np.bincount(tables.page, tables.matches, len(tables.urls)) > 0
    kept: Bools = matches[edges.page] & matches[edges.target]
    return kept
