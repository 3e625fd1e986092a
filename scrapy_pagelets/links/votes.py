"""Which links of a crawl are votes, and what each is worth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from scrapy_pagelets.links.link_tables import Tables
from scrapy_pagelets.nodes import Bools, Floats, Ints


@dataclass(frozen=True, eq=False)
class Votes:
    """Edges from hubs to pages, each once.

    Attributes
    ----------
    hub : (e,) a pagelet, or a page
    page : (e,) the page of the hub
    target : (e,) another page
    near : (e,) the most terms of the query around one of the links
    """

    hub: Ints
    page: Ints
    target: Ints
    near: Ints

    def __len__(self) -> int:
        """Return the number of edges."""
        return len(self.hub)

    def where(self, kept: Bools | Ints) -> Votes:
        """Some of the edges, by a mask or by their numbers."""
        return Votes(self.hub[kept], self.page[kept], self.target[kept], self.near[kept])


def votes(tables: Tables, *, pagelets: bool = True, templates: bool = False, within: bool | None = None) -> Votes:
    """The links that count: those of a page to itself never do, nor nepotistic ones.

    Parameters
    ----------
    pagelets : hubs are pagelets (Bar-Yossef & Rajagopalan 2002, Section 4); else pages
    templates : links of templates count
    within : links within a site count as well. By default they do if the feed has a single site; else they are
        nepotistic (Kleinberg 1999)

    Examples
    --------
    >>> from scrapy_pagelets.links.link_tables import read
    >>> link = {"url": "http://h/b", "anchor": "B"}
    >>> text = {"id": 0, "role": "content", "text": "B and B", "links": [link, link]}
    >>> tables = read([{"url": "http://h/a", "pagelets": [text]}])
    >>> len(votes(tables)), len(votes(tables, within=False))
    (1, 0)
    """
    page, target = tables.page[tables.source], tables.target
    counts = page != target
    if not templates:
        counts &= ~tables.template[tables.source]
    if not inside(tables, within):
        counts &= tables.sites[page] != tables.sites[target]
    found = Votes(tables.source if pagelets else page, page, target, tables.near).where(counts)
    return found.where(best(found.near, found.hub, found.target))


def inside(tables: Tables, within: bool | None) -> bool:
    """Whether links within a site count: as asked for, else if there is but one."""
    return tables.single_site if within is None else within


def best(values: Ints | Floats, one: Ints, other: Ints) -> Ints:
    """Of the rows of each pair of numbers, the index of the one with the greatest value."""
    order = np.lexsort((values, other, one))
    last = np.ones(len(order), np.bool_)
    one, other = one[order], other[order]
    last[:-1] = (one[1:] != one[:-1]) | (other[1:] != other[:-1])
    return order[last]


def voters(tables: Tables, within: bool | None) -> Ints:
    """(n,) who votes by each page: its host; if links within a site count, the page itself."""
    return np.arange(len(tables.urls)) if inside(tables, within) else tables.hosts


def host_weights(found: Votes, voter: Ints) -> tuple[Floats, Floats]:
    """Weights by which a host has one vote, however many of its pages give it.

    Source: Bharat & Henzinger 1998, as restated by Dean & Henzinger 1999, Section 2.1.3.

    Parameters
    ----------
    voter : (n,) host of each page, or who else has one vote

    Returns
    -------
    (e,) of the authority side, 1/k for k edges from one host to one page, and (e,) of the hub side, 1/l for l edges
    from one hub to one host
    """
    authority = _sizes(voter[found.page], found.target)
    hub = _sizes(found.hub, voter[found.target])
    return 1.0 / authority, 1.0 / hub


def _sizes(one: Ints, other: Ints) -> Ints:
    """(e,) number of rows with the same pair of numbers."""
    pairs = one * (other.max(initial=0) + 1) + other
    _, group, sizes = np.unique(pairs, return_inverse=True, return_counts=True)
    found: Ints = sizes[group]
    return found


def matrix(values: Floats, found: Votes, shape: tuple[int, int]) -> Any:
    """Sparse matrix of hubs and targets."""
    from scipy.sparse import csr_array

    return csr_array((values, (found.hub, found.target)), shape=shape)
