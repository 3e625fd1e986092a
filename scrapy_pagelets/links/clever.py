"""Hubs and authorities of a weighted graph, and those for a query: six versions of Clever.

Source: Bar-Yossef & Rajagopalan 2002, Section 4, case 1, and Section 5. What differs from the paper:
``docs/algorithms/pagelets-templates-2002.md``.
"""

from dataclasses import replace
from typing import Any, Final, NamedTuple

import numpy as np

from scrapy_pagelets.base.arrays import Bools, Floats
from scrapy_pagelets.links.link_tables import Tables
from scrapy_pagelets.links.votes import Votes, host_weights, matrix, voters, votes

ROOTS: Final = 200  # pages of the root set (Kleinberg 1999, Section 2)
_PARENTS: Final = 50  # pages that link to one of them
#: Hubs are pages, or pagelets. FT, filter templates; FNM, filter non-matching hubs, those without a term of the query:
#: if hubs are pages, such pages are no authorities either.
VERSIONS: Final[tuple[str, ...]] = ("page", "page-fnm", "pagelet", "pagelet-fnm", "pagelet-ft", "pagelet-ft-fnm")
BEST: Final = "pagelet-ft-fnm"  # the version that performed best in the paper
ITERATIONS: Final = 50  # as in Kleinberg 1999; most graphs converge earlier
_TOLERANCE: Final = 1e-9


class CleverScores(NamedTuple):
    """The result of `clever`."""

    authorities: Floats  # (n,) authority scores of the pages
    hubs: Floats  # (k,) hub scores of the pagelets, or (n,) of the pages
    base: Bools  # (n,) whether each page is in the base set


def clever(
    tables: Tables, version: str = BEST, *, within: bool | None = None, template: Bools | None = None
) -> CleverScores:
    """Rank the pages of the crawl for the query that its tables were read with.

    The base set adds to `roots` the pages that these link to, and for each of them up to 50 pages that link to it, for
    all versions by the links of templates as well. The weight of an edge is 1 plus the number of query terms around its
    link (Chakrabarti et al. 1998), times the weights of Bharat and Henzinger, which give each host one vote, or each
    page if links within a site count. ``version``: one of `VERSIONS`, else ValueError. ``within``: count links within a
    site, see `votes`. ``template``: (k,) the pagelets that FT leaves out; by default the templates of the feed.

    >>> from scrapy_pagelets.links.link_tables import Query, read
    >>> links = [{"url": f"http://{host}.com/", "anchor": host} for host in ("fender", "gibson")]
    >>> shops = {"id": 0, "role": "content", "text": "guitar shops", "links": links}
    >>> lines = [{"url": "http://a.com/", "pagelets": [shops]}, {"url": "http://fender.com/", "pagelets": []}]
    >>> ranking = clever(read(lines, Query("guitar")))
    >>> ranking.authorities.tolist(), ranking.hubs.tolist()
    ([0.0, 1.0, 0.0], [1.0])
    """
    if version not in VERSIONS:
        raise ValueError(f"there is no version {version!r}: choose from {', '.join(VERSIONS)}")
    pagelets, ft, fnm = version.startswith("pagelet"), "-ft" in version, "-fnm" in version
    every = votes(tables, pagelets=False, templates=True, within=within)
    base = base_set(every.where(tables.crawled[every.target]), roots(tables))
    filtered = tables if template is None else replace(tables, template=template)
    edges = votes(filtered, pagelets=pagelets, templates=not ft, within=within)
    edges = edges.where(base[edges.page] & base[edges.target])
    if fnm and pagelets:
        edges = edges.where(tables.matches[edges.hub] > 0)
    elif fnm:
        matches = np.bincount(tables.page, tables.matches, len(tables.urls)) > 0
        edges = edges.where(matches[edges.page] & matches[edges.target])
    shape = (len(tables.page) if pagelets else len(tables.urls), len(tables.urls))
    authority, hub = host_weights(edges, voters(tables, within))
    anchor = 1.0 + edges.near
    hubs, authorities = hits(matrix(anchor * authority, edges, shape), matrix(anchor * hub, edges, shape))
    return CleverScores(authorities, hubs, base)


def roots(tables: Tables) -> Bools:
    """(n,) the root set: the best 200 pages by the number of query terms in their content, then by their frequency.

    Pages that tie with the last one are included. It replaces the search engine of the paper, and searches content
    only, because a menu would match all pages of a site.
    """
    content = ~tables.template
    frequency = np.bincount(tables.page[content], tables.matches[content], len(tables.urls))
    root = tables.terms > 0
    best = np.lexsort((-frequency, -tables.terms))[:ROOTS]
    if root.sum() > ROOTS:
        terms, times = tables.terms[best[-1]], frequency[best[-1]]
        root = (tables.terms > terms) | ((tables.terms == terms) & (frequency >= times))
    return root


def base_set(edges: Votes, root: Bools) -> Bools:
    """(n,) the root set, the pages it links to, and of each page the first 50 that link to it (Kleinberg 1999, 2)."""
    base = root.copy()
    base[edges.target[root[edges.page]]] = True
    target, parent = np.divmod(np.unique(edges.target * len(root) + edges.page), len(root))
    target, parent = target[root[target]], parent[root[target]]
    base[parent[np.arange(len(target)) - np.searchsorted(target, target) < _PARENTS]] = True
    return base


def hits(weights: Any, hub_weights: Any = None, *, iterations: int = ITERATIONS) -> tuple[Floats, Floats]:
    """HITS: good hubs link to good authorities, and good authorities are linked to by good hubs.

    Source: Kleinberg 1999; with weights, Chakrabarti et al. 1998 (Clever) and Bharat & Henzinger 1998. Return (k,) hub
    and (n,) authority scores, each of Euclidean length 1, or zeros if there is no edge: of one matrix its principal
    singular vectors, if these are unique. ``weights``: (k, n) weights of the edges from hubs to authorities, 0 or more;
    sparse or dense. ``hub_weights``: (k, n) weights of the same edges for scoring hubs, by default the same.
    ``iterations``: the maximum, from 1, else ValueError; it stops earlier once no score changes by 1e-9 or more.

    >>> hubs, authorities = hits(np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 0.0]]))
    >>> hubs.round(3).tolist(), authorities.round(3).tolist()
    ([0.851, 0.526], [0.526, 0.851, 0.0])
    """
    if iterations < 1:
        raise ValueError(f"iterations is {iterations}: give 1 or more")
    hub_weights = weights if hub_weights is None else hub_weights
    back = weights.T
    hubs, authorities = np.ones(weights.shape[0]), np.zeros(weights.shape[1])
    for _ in range(iterations):
        updated = _unit(back @ hubs)
        hubs = _unit(hub_weights @ updated)
        converged = bool(np.abs(updated - authorities).max(initial=0.0) < _TOLERANCE)
        authorities = updated
        if converged:
            break
    return hubs, authorities


def _unit(values: Floats) -> Floats:
    length = float(np.linalg.norm(values))
    return values / length if length > 0 else values
