"""Template detection on plain tables: find the pagelets that a collection of pages shares.

Source: Bar-Yossef & Rajagopalan 2002, *Template Detection via Data Mining and its Applications*, Section 3.2, Figures 4
(local) and 5 (global). ``docs/algorithms/pagelets-templates-2002.md`` lists the corrections: a template needs two
distinct pages. The local form removes duplicate pages first; the global one does so if it is given their sketches. The
module ``relational`` does the same in SQL.

The tables are sequences of rows, or arrays, in any order: PAGELETS ``(page, pagelet, shingle)`` with all pagelets of
each page, and LINKS ``(source, target)``. A page is an integer or a string, a shingle an integer, 0 for none.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import Final, Generic, Literal, NamedTuple, TypeVar

import numpy as np

from scrapy_pagelets.base.arrays import Ints
from scrapy_pagelets.page.urls import site_of
from scrapy_pagelets.papers.shared_pagelets.pagelet_tables import Key, Links, Pagelets, Table, owners, read, url

__all__ = ["Components", "GlobalTemplates", "RepeatedPagelet", "global_templates", "local_templates"]
#: The evidence that pages with the same pagelet have one author: links among them, their common site, or either.
Authority = Literal["links", "domain", "either"]
AUTHORITIES: Final = ("links", "domain", "either")
#: Number of rows of a join that are processed at once.
_BATCH: Final = 1 << 18
T = TypeVar("T", bound=Hashable)


class RepeatedPagelet(NamedTuple):
    """A template by Definition 4: pagelets with the same shingle on two pages or more.

    Attributes
    ----------
    shingle : shingle of all pagelets
    pagelets : (page, pagelet) of each, in order
    """

    shingle: int
    pagelets: tuple[tuple[Key, int], ...]

    @property
    def pages(self) -> tuple[Key, ...]:
        """The distinct owners of the pagelets, in order."""
        return tuple(dict.fromkeys(page for page, _ in self.pagelets))


def local_templates(
    pagelets: Pagelets, *, sketches: Mapping[Key, int] | None = None, least: int = 2
) -> list[RepeatedPagelet]:
    """Figure 4: find the pagelets with equal shingles, after duplicate pages are removed.

    Use this form for the pages of one site, and for collections too small to have the links among the pages of a
    template.

    Parameters
    ----------
    pagelets : PAGELETS
    sketches : sketches of whole pages. Pages with the same sketch are duplicates, of which only the first by name
        counts. A page without a sketch has no duplicates, so ``{}`` removes nothing. By default, pages are duplicates
        if their pagelets have the same shingles in the same order
    least : minimum number of pages of a template, 2 or more

    Returns
    -------
    The templates, sorted by shingle

    Raises
    ------
    ValueError : if the table has another form, or ``least`` is out of range

    Examples
    --------
    >>> local_templates([("a", 0, 7), ("a", 1, 5), ("b", 0, 7), ("b", 1, 6), ("copy of b", 0, 7), ("copy of b", 1, 6)])
    [RepeatedPagelet(shingle=7, pagelets=(('a', 0), ('b', 0)))]
    """
    check_least(least)
    table = read(pagelets, sketches).candidates()
    return _templates(table, table.shingle, least)


def global_templates(
    pagelets: Pagelets,
    links: Links,
    *,
    authority: Authority = "links",
    sites: Mapping[Key, Hashable] | None = None,
    sketches: Mapping[Key, int] | None = None,
    least: int = 2,
) -> list[RepeatedPagelet]:
    """Figure 5: find the pagelets with equal shingles on pages that links among the pages with the shingle connect.

    This distinguishes the template of a site, or of sister sites, from text that unrelated pages share by accident or
    as copies.

    Parameters
    ----------
    pagelets : PAGELETS
    links : LINKS; directions are ignored, and so are links from or to pages without pagelets
    authority : ``links`` is the form of the paper; ``domain`` connects the pages of a site instead, for crawls too
        incomplete to have the links; ``either`` does both
    sites : sites of the pages; by default the registrable domains of their URLs
    sketches : sketches of whole pages. Pages with the same sketch are one page with the links and sites of all. By
        default no page is a duplicate, as in the figure
    least : minimum number of pages of a template, 2 or more

    Returns
    -------
    The templates, sorted by shingle, then by first page

    Raises
    ------
    ValueError : if a table has another form, the authority is unknown, or the site of a page is needed and unknown

    Examples
    --------
    >>> table = [(page, number, shingle) for page in "abcd" for number, shingle in enumerate((7, ord(page)))]
    >>> [template.pages for template in global_templates(table, [("b", "a"), ("c", "d")])]
    [('a', 'b'), ('c', 'd')]
    """
    check(authority)
    check_least(least)
    table = read(pagelets, sketches or {})
    graph = _Graph(table.candidates())
    edges = [] if authority == "domain" else graph.linked(table.links(links))
    if authority != "links":
        edges.append(graph.sited(table.original, table.sites(sites)))
    return _templates(graph.table, graph.components(edges)[graph.vertex], least)


class GlobalTemplates:
    """Incremental ``global_templates``: add pages one by one, and get the templates found so far at any time.

    The shingles of all pages are kept, and the links to pages that have not been added yet.

    Parameters
    ----------
    authority : as for ``global_templates``

    Examples
    --------
    >>> crawl = GlobalTemplates()
    >>> crawl.add("a", [(0, 7), (1, 1)], links=["b", "c"])
    >>> crawl.add("b", [(0, 7), (1, 2)])
    >>> crawl.add("d", [(0, 7), (1, 3)], links=["c"])
    >>> crawl.templates()
    [RepeatedPagelet(shingle=7, pagelets=(('a', 0), ('b', 0)))]
    """

    def __init__(self, authority: Authority = "links") -> None:
        self._authority = check(authority)
        self._pagelets: dict[Key, dict[int, list[int]]] = {}
        self._original: dict[Key, Key] = {}
        self._by_sketch: dict[int, Key] = {}
        self._waiting: dict[Key, set[Key]] = {}
        self._on_site: dict[tuple[int, Hashable], Key] = {}
        self._components: Components[tuple[int, Key]] = Components()

    def add(
        self,
        page: Key,
        pagelets: Iterable[tuple[int, int]],
        links: Iterable[Key] = (),
        *,
        site: Hashable = None,
        sketch: int | None = None,
    ) -> None:
        """Add a page. If it was added before, only its links are added.

        Parameters
        ----------
        pagelets : (pagelet, shingle) of each pagelet
        links : the pages that it links to
        site : its site; by default the registrable domain of its URL
        sketch : sketch of the whole page; of several pages with the same sketch, only the first one counts. A page
            without one is no duplicate
        """
        if page not in self._original:
            self._add_pagelets(page, sorted(set(pagelets)), sketch)
        original = self._original[page]
        if self._authority != "links":
            self._join_site(original, site_of(url(page)) if site is None else site)
        if self._authority != "domain":
            for source in self._waiting.pop(page, ()):
                self._join(source, original)
            for target in links:
                if target in self._original:
                    self._join(original, self._original[target])
                else:
                    self._waiting.setdefault(target, set()).add(original)

    def templates(self, least: int = 2) -> list[RepeatedPagelet]:
        """Return the templates of the pages added so far, in the order of ``global_templates``."""
        check_least(least)
        result = []
        for group in self._components.groups():
            if len(group) >= least:
                rows = sorted((page, pagelet) for shingle, page in group for pagelet in self._pagelets[page][shingle])
                result.append(RepeatedPagelet(group[0][0], tuple(rows)))
        return sorted(result)

    def is_original(self, page: Key) -> bool:
        """Return True if the page was added, and is not a duplicate of an earlier page."""
        return self._original.get(page) == page

    def owners(self, page: Key, shingle: int) -> int:
        """Number of pages connected to this one among those with the shingle, including itself; 0 if it lacks it."""
        original = self._original.get(page, page)
        if shingle not in self._pagelets.get(original, ()):
            return 0
        return self._components.size((shingle, original))

    def _add_pagelets(self, page: Key, rows: list[tuple[int, int]], sketch: int | None) -> None:
        self._original[page] = page if sketch is None else self._by_sketch.setdefault(sketch, page)
        if self._original[page] == page:
            shingles = self._pagelets[page] = {}
            for pagelet, shingle in rows:
                if shingle:
                    shingles.setdefault(shingle, []).append(pagelet)

    def _join(self, one: Key, other: Key) -> None:
        if one != other:
            for shingle in self._pagelets[one].keys() & self._pagelets[other].keys():
                self._components.union((shingle, one), (shingle, other))

    def _join_site(self, page: Key, site: Hashable) -> None:
        for shingle in self._pagelets[page]:
            first = self._on_site.setdefault((shingle, site), page)
            if first != page:
                self._components.union((shingle, first), (shingle, page))


def check_least(least: int) -> int:
    """Return the minimum number of pages of a template if it is valid, else raise ValueError."""
    if least < 2:
        raise ValueError(f"least is {least}: a template is on several pages, give 2 or more")
    return least


def check(authority: Authority) -> Authority:
    """Return the authority if it is valid, else raise ValueError."""
    if authority not in AUTHORITIES:
        raise ValueError(f"authority is {authority!r}: choose from {', '.join(AUTHORITIES)}")
    return authority


class _Graph:
    """The graph of Figure 5: a vertex for each shingle of each page.

    Attributes
    ----------
    table : TEMPLATE_CANDIDATES
    vertex : (rows,) vertex of each row
    """

    def __init__(self, table: Table) -> None:
        self.table = table
        names, shingle = np.unique(table.shingle, return_inverse=True)
        self._width = max(1, len(names))
        self._cells, self.vertex = np.unique(table.page * self._width + shingle, return_inverse=True)
        self._page, self._shingle = np.divmod(self._cells, self._width)

    def linked(self, links: Ints) -> list[Ints]:
        """TEMPLATE_LINKS: (edges, 2) for each link, one edge for each shingle that both of its pages have."""
        starts = np.searchsorted(self._page, np.arange(len(self.table.pages) + 1))
        sizes = np.diff(starts)
        fewer = np.where(sizes[links[:, 0]] <= sizes[links[:, 1]], 0, 1)
        small, large = np.take_along_axis(links, np.column_stack((fewer, 1 - fewer)), axis=1).T
        batch = np.cumsum(sizes[small]) // _BATCH
        cuts = np.flatnonzero(np.diff(batch)) + 1
        edges = []
        for some, others in zip(np.split(small, cuts), np.split(large, cuts), strict=True):
            own = _ranges(starts[some], sizes[some])
            wanted = np.repeat(others, sizes[some]) * self._width + self._shingle[own]
            place = np.searchsorted(self._cells, wanted)
            both = np.append(self._cells, -1)[place] == wanted
            edges.append(np.column_stack((own[both], place[both])))
        return edges

    def sited(self, original: Ints, sites: list[Hashable]) -> Ints:
        """(edges, 2) from each vertex to an additional vertex for its shingle on each site of its page."""
        number = {site: i for i, site in enumerate(dict.fromkeys(sites))}
        owned = np.array([number[site] for site in sites], np.int64)
        order = np.argsort(original, kind="stable")
        copies = np.bincount(original, minlength=len(original))
        starts, sizes = (np.cumsum(copies) - copies)[self._page], copies[self._page]
        vertex = np.repeat(np.arange(len(self._page)), sizes)
        site = owned[order][_ranges(starts, sizes)]
        _, place = np.unique(site * self._width + self._shingle[vertex], return_inverse=True)
        return np.column_stack((vertex, len(self._cells) + place))

    def components(self, edges: list[Ints]) -> Ints:
        """(vertices,) number of the component of each vertex."""
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        one, other = np.concatenate(edges).T
        size = max(len(self._cells), int(other.max(initial=-1)) + 1)
        graph = coo_array((np.ones(len(one), np.bool_), (one, other)), (size, size))
        labels: Ints = connected_components(graph, directed=False)[1]
        return labels.astype(np.int64)


def _ranges(starts: Ints, sizes: Ints) -> Ints:
    """Concatenate the ranges that begin at each start and have the given sizes."""
    ends = np.cumsum(sizes)
    return np.arange(int(sizes.sum())) + np.repeat(starts - ends + sizes, sizes)


def _templates(table: Table, group: Ints, needed: int) -> list[RepeatedPagelet]:
    """Return the groups of rows that are on enough pages as templates."""
    enough = np.flatnonzero(owners(group, table.page) >= needed)
    groups: dict[int, list[tuple[Key, int]]] = {}
    shingles: dict[int, int] = {}
    numbers = (column[enough].tolist() for column in (group, table.shingle, table.page, table.pagelet))
    for number, shingle, page, pagelet in zip(*numbers, strict=True):
        groups.setdefault(number, []).append((table.pages[page], pagelet))
        shingles[number] = shingle
    return sorted(RepeatedPagelet(shingles[number], tuple(rows)) for number, rows in groups.items())


class Components(Generic[T]):
    """Connected components of a graph that grows edge by edge: union-find, in nearly constant time for each edge.

    Source: Tarjan & van Leeuwen 1984, union by size with path halving.

    Examples
    --------
    >>> graph = Components[str]()
    >>> graph.union("a", "b"), graph.union("c", "d"), graph.union("b", "a")
    (True, True, False)
    >>> graph.find("a") == graph.find("d"), graph.union("b", "c"), graph.find("a") == graph.find("d")
    (False, True, True)
    >>> len(graph), graph.groups()
    (1, [['a', 'b', 'c', 'd']])
    """

    def __init__(self) -> None:
        self._parent: dict[T, T] = {}
        self._size: dict[T, int] = {}

    def __len__(self) -> int:
        """Return the number of components."""
        return len(self._size)

    def add(self, item: T) -> None:
        """Add a vertex without edges, if it is new."""
        if item not in self._parent:
            self._parent[item] = item
            self._size[item] = 1

    def find(self, item: T) -> T:
        """Return the representative of the component of a vertex.

        Raises
        ------
        KeyError : if the vertex was never added
        """
        parent = self._parent
        while parent[item] != item:
            parent[item] = item = parent[parent[item]]
        return item

    def size(self, item: T) -> int:
        """Number of vertices in the component of a vertex; 1 if the vertex was never added."""
        return self._size[self.find(item)] if item in self._parent else 1

    def union(self, one: T, other: T) -> bool:
        """Add an edge, and its ends if they are new; returns whether it joined two components."""
        self.add(one)
        self.add(other)
        one, other = self.find(one), self.find(other)
        if one == other:
            return False
        if self._size[one] < self._size[other]:
            one, other = other, one
        self._parent[other] = one
        self._size[one] += self._size.pop(other)
        return True

    def groups(self) -> list[list[T]]:
        """Return the vertices of each component, in the order in which they were added."""
        groups: dict[T, list[T]] = {}
        for item in self._parent:
            groups.setdefault(self.find(item), []).append(item)
        return list(groups.values())
