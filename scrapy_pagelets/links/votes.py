"""The links of a crawl that count as votes, their weights, and co-citation."""

from dataclasses import dataclass
from typing import Any, Final, Self

import numpy as np

from scrapy_pagelets.base.arrays import Bools, Floats, Ints
from scrapy_pagelets.links.link_tables import Tables

MOST: Final = 50  # a pagelet that links to more pages is a directory: it says little about any two of them


@dataclass(frozen=True, eq=False)
class Votes:
    """The distinct edges from hubs to pages."""

    hub: Ints  # (e,) number of a pagelet, or of a page
    page: Ints  # (e,) number of the hub's page
    target: Ints  # (e,) number of another page
    near: Ints  # (e,) number of query terms around the link; the maximum, if several links make the edge

    def where(self, kept: Bools | Ints) -> Self:
        """Select edges by a mask or by their indices."""
        return type(self)(self.hub[kept], self.page[kept], self.target[kept], self.near[kept])


def votes(tables: Tables, *, pagelets: bool = True, templates: bool = False, within: bool | None = None) -> Votes:
    """Select the links that count. Links of a page to itself and nepotistic links never do.

    ``pagelets``: hubs are pagelets (Bar-Yossef & Rajagopalan 2002, Section 4), else pages. ``templates``: count links
    of templates. ``within``: count links within a site. By default they count only if the feed has a single site;
    otherwise they are nepotistic (Kleinberg 1999).
    """
    page, target = tables.page[tables.source], tables.target
    counts = page != target
    if not templates:
        counts &= ~tables.template[tables.source]
    if not inside(tables, within):
        counts &= tables.sites[page] != tables.sites[target]
    edges = Votes(tables.source if pagelets else page, page, target, tables.near).where(counts)
    return edges.where(best(edges.near, edges.hub, edges.target))


def inside(tables: Tables, within: bool | None) -> bool:
    """Return whether links within a site count: ``within``, or if that is None, whether the feed has a single site."""
    return tables.single_site if within is None else within


def best(values: Ints | Floats, one: Ints, other: Ints) -> Ints:
    """For each distinct pair of ``one`` and ``other``, return the index of the row with the greatest value."""
    order = np.lexsort((values, other, one))
    last = np.ones(len(order), np.bool_)
    one, other = one[order], other[order]
    last[:-1] = (one[1:] != one[:-1]) | (other[1:] != other[:-1])
    return order[last]


def voters(tables: Tables, within: bool | None) -> Ints:
    """(n,) the voter that each page votes for: its host, or the page itself if links within a site count."""
    return np.arange(len(tables.urls)) if inside(tables, within) else tables.hosts


def host_weights(edges: Votes, voter: Ints) -> tuple[Floats, Floats]:
    """Weights that give each host one vote, however many of its pages link.

    Source: Bharat & Henzinger 1998, as restated by Dean & Henzinger 1999, Section 2.1.3. Return (e,) weights for
    authorities, 1/k for k edges from one host to one page, and (e,) weights for hubs, 1/l for l edges from one hub to
    one host. ``voter``: (n,) number of the voter of each page, see `voters`.
    """
    authority = _sizes(voter[edges.page], edges.target)
    hub = _sizes(edges.hub, voter[edges.target])
    return 1.0 / authority, 1.0 / hub


def _sizes(one: Ints, other: Ints) -> Ints:
    """(e,) number of rows with the same pair of ``one`` and ``other``."""
    pairs = one * (other.max(initial=0) + 1) + other
    _, group, sizes = np.unique(pairs, return_inverse=True, return_counts=True)
    return np.asarray(sizes[group])


def matrix(values: Floats, edges: Votes, shape: tuple[int, int]) -> Any:
    """Sparse matrix of the edges, hubs by targets."""
    from scipy.sparse import csr_array

    return csr_array((values, (edges.hub, edges.target)), shape=shape)


def cocitations(tables: Tables, page: int, *, within: bool | None = None) -> Ints:
    """(n,) numbers of pages that cite each page together with a given one in a content pagelet; 0 for itself.

    Source: Small 1973 and Dean & Henzinger 1999; within pagelets, without those of templates, Bar-Yossef & Rajagopalan
    2002, Section 4, case 3. ``page``: its number. ``within``: count links within a site, see `votes`.
    """
    edges = citing(votes(tables, within=within), page)
    pairs = np.unique(np.stack([edges.page, edges.target]), axis=1)
    return np.bincount(pairs[1], minlength=len(tables.urls))


def citing(edges: Votes, page: int) -> Votes:
    """The edges to other pages from the hubs that link to a page."""
    return edges.where(np.isin(edges.hub, edges.hub[edges.target == page]) & (edges.target != page))


def related(tables: Tables, page: int, *, within: bool | None = None, most: int = MOST) -> Floats:
    """Score how related each page is to a given one: by the content pagelets that link to both.

    A pagelet that links to m pages, at ``most``, gives 1 / (m - 1) to each pair of them, so that each of its pages has
    one vote. For each pair, only the best pagelet of each host counts; if links within a site count, the best one of
    each page. Source: Dean & Henzinger 1999, within pagelets after Bar-Yossef & Rajagopalan 2002, Section 4, case 3;
    weights and bound are ours (``docs/algorithms/pagelets-templates-2002.md``). Return (n,) scores of crawled and other
    pages; 0 for the page itself. ``page``: its number. ``within``: count links within a site, see `votes`.
    """
    edges = votes(tables, within=within)
    count = np.bincount(edges.hub, minlength=len(tables.page))
    edges = citing(edges.where(count[edges.hub] <= most), page)
    weights: Floats = 1.0 / (count[edges.hub] - 1)
    one = best(weights, voters(tables, within)[edges.page], edges.target)
    scores = np.zeros(len(tables.urls))
    np.add.at(scores, edges.target[one], weights[one])
    return scores
