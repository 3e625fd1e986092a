"""Template detection on plain tables: which pagelets a collection of pages shares.

Source: Bar-Yossef & Rajagopalan 2002, *Template Detection via Data Mining and its Applications*, Section 3.2: Figures 4
(local) and 5 (global). ``docs/algorithms/pagelets-templates-2002.md`` has what was corrected: a template needs two
distinct pages, and both forms set duplicate pages aside. ``relational`` has the same as set operations.

The tables are sequences of rows, or arrays, in any order: PAGELETS ``(page, pagelet, shingle)``, all pagelets of each
page, and LINKS ``(source, target)``. A page is an integer or a string, a shingle an integer, 0 for none.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from math import ceil
from typing import Final, Literal, NamedTuple

import numpy as np
from xxhash import xxh3_64_intdigest

from scrapy_pagelets.nodes import Ints
from scrapy_pagelets.templates.detection.components import Components
from scrapy_pagelets.templates.detection.pagelet_tables import Key, Links, Pagelets, Table, owners, read, url
from scrapy_pagelets.urls import site_of

__all__ = ["Components", "GlobalTemplates", "RepeatedPagelet", "global_templates", "local_templates"]

#: What shows that pages with one pagelet have one author: links among them, their common site, or either.
Authority = Literal["links", "domain", "either"]
AUTHORITIES: Final = ("links", "domain", "either")

#: Rows of a join that are worked on at once.
_BATCH: Final = 1 << 18


class RepeatedPagelet(NamedTuple):
    """Definition 4: pagelets of one shingle on two pages or more.

    Attributes
    ----------
    shingle : of every pagelet
    pagelets : (page, pagelet) of each, in order
    """

    shingle: int
    pagelets: tuple[tuple[Key, int], ...]

    @property
    def pages(self) -> tuple[Key, ...]:
        """The owners of the pagelets, each once, in order."""
        return tuple(dict.fromkeys(page for page, _ in self.pagelets))


def local_templates(
    pagelets: Pagelets, *, sketches: Mapping[Key, int] | None = None, least: int = 2, share: float = 0.0
) -> list[RepeatedPagelet]:
    """Figure 4: the pagelets of equal shingle, after duplicate pages were set aside.

    For collections too small to hold the links among the pages of a template, and for the pages of one site.

    Parameters
    ----------
    pagelets : PAGELETS
    sketches : of whole pages; pages of one sketch are duplicates, of which the first by name counts, and a page
        without one has none: ``{}`` sets nothing aside. By default pages are duplicates if their pagelets have the same
        shingles in the same order
    least : pages that make a template, 2 or more
    share : of all pages, duplicates apart, that make a template, 0 to 1; a template needs this share and ``least``

    Returns
    -------
    The templates by shingle

    Raises
    ------
    ValueError : for a table of another form, and for ``least`` or ``share`` out of range

    Examples
    --------
    >>> local_templates([("a", 0, 7), ("a", 1, 5), ("b", 0, 7), ("b", 1, 6), ("copy of b", 0, 7), ("copy of b", 1, 6)])
    [RepeatedPagelet(shingle=7, pagelets=(('a', 0), ('b', 0)))]
    """
    table = read(pagelets, sketches)
    needed = support(least, share, len(np.unique(table.mark)))
    table = table.candidates()
    return _templates(table, table.shingle, needed)


def global_templates(
    pagelets: Pagelets,
    links: Links,
    *,
    authority: Authority = "links",
    sites: Mapping[Key, Hashable] | None = None,
    sketches: Mapping[Key, int] | None = None,
    least: int = 2,
) -> list[RepeatedPagelet]:
    """Figure 5: the pagelets of equal shingle whose pages are connected by links among the pages that have it.

    This tells the template of a site, or of sister sites, from what unrelated pages share by accident or as copies.

    Parameters
    ----------
    pagelets : PAGELETS
    links : LINKS; their directions do not count, nor do those from or to pages without pagelets
    authority : ``links`` is the paper's; ``domain`` connects the pages of a site instead, for crawls too partial to
        have the links; ``either`` does both
    sites : of the pages; by default the registrable domains of their URLs
    sketches : as for ``local_templates``; a page and its duplicates are one page with the links and sites of all
    least : pages that make a template, 2 or more

    Returns
    -------
    The templates by shingle, those of one shingle by their first page

    Raises
    ------
    ValueError : for tables of another form, an unknown authority, and pages whose site is asked for and not known

    Examples
    --------
    >>> table = [(page, number, shingle) for page in "abcd" for number, shingle in enumerate((7, ord(page)))]
    >>> [template.pages for template in global_templates(table, [("b", "a"), ("c", "d")])]
    [('a', 'b'), ('c', 'd')]
    """
    check(authority)
    table = read(pagelets, sketches)
    needed = support(least, 0.0, 0)
    graph = _Graph(table.candidates())
    edges = [] if authority == "domain" else graph.linked(table.links(links))
    if authority != "links":
        edges.append(graph.sited(table.original, table.sites(sites)))
    return _templates(graph.table, graph.components(edges)[graph.vertex], needed)


class GlobalTemplates:
    """``global_templates`` during a crawl: pages come one by one, the templates so far can be asked for at any time.

    It keeps the shingles of every page, and the links to pages that have not come yet.

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
        self._by_mark: dict[tuple[str, int], Key] = {}
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
        """Take in a page. If it came before, only its links count, as further ones.

        Parameters
        ----------
        pagelets : (pagelet, shingle) of each
        links : the pages that it links to
        site : by default the registrable domain of its URL
        sketch : of the whole page, by default its sequence of shingles; of pages with one the first to come counts
        """
        if page not in self._original:
            self._take(page, sorted(set(pagelets)), sketch)
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
        """The templates of the pages so far, in the order of ``global_templates``."""
        needed = support(least, 0.0, 0)
        found = []
        for group in self._components.groups():
            if len(group) >= needed:
                rows = sorted((page, pagelet) for shingle, page in group for pagelet in self._pagelets[page][shingle])
                found.append(RepeatedPagelet(group[0][0], tuple(rows)))
        return sorted(found)

    def is_original(self, page: Key) -> bool:
        """True if the page has come, and was no duplicate of one that came before."""
        return self._original.get(page) == page

    def owners(self, page: Key, shingle: int) -> int:
        """Pages that links connect to this one among those with the shingle, itself included; 0 if it has none."""
        original = self._original.get(page, page)
        if shingle not in self._pagelets.get(original, ()):
            return 0
        return self._components.size((shingle, original))

    def _take(self, page: Key, rows: list[tuple[int, int]], sketch: int | None) -> None:
        sequence = np.array([shingle for _, shingle in rows], np.int64)
        mark = ("pagelets", xxh3_64_intdigest(sequence.tobytes())) if sketch is None else ("page", sketch)
        self._original[page] = self._by_mark.setdefault(mark, page)
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


def support(least: int, share: float, pages: int) -> int:
    """Pages that make a template: ``least``, or the share of the pages if that is more."""
    if least < 2:
        raise ValueError(f"least is {least}: what one page has is no template, so it is 2 or more")
    if not 0 <= share <= 1:
        raise ValueError(f"share is {share}: a share of the pages is 0 to 1")
    return max(least, ceil(share * pages - 1e-9))


def check(authority: Authority) -> Authority:
    """The authority, if it is one."""
    if authority not in AUTHORITIES:
        raise ValueError(f"authority is {authority!r}: choose from {', '.join(AUTHORITIES)}")
    return authority


class _Graph:
    """The graph of Figure 5: a vertex for each shingle of each page.

    Attributes
    ----------
    table : TEMPLATE_CANDIDATES
    vertex : (rows,) of each row
    """

    def __init__(self, table: Table) -> None:
        self.table = table
        names, shingle = np.unique(table.shingle, return_inverse=True)
        self._width = max(1, len(names))
        self._cells, self.vertex = np.unique(table.page * self._width + shingle, return_inverse=True)
        self._page, self._shingle = np.divmod(self._cells, self._width)

    def linked(self, links: Ints) -> list[Ints]:
        """TEMPLATE_LINKS: (edges, 2) for the pages of each link, one for each shingle that both have."""
        starts = np.searchsorted(self._page, np.arange(len(self.table.pages) + 1))
        sizes = np.diff(starts)
        fewer = np.where(sizes[links[:, 0]] <= sizes[links[:, 1]], 0, 1)
        small, large = np.take_along_axis(links, np.column_stack((fewer, 1 - fewer)), axis=1).T
        batch = np.cumsum(sizes[small]) // _BATCH
        cuts = np.flatnonzero(np.diff(batch)) + 1
        found = []
        for some, others in zip(np.split(small, cuts), np.split(large, cuts), strict=True):
            own = _ranges(starts[some], sizes[some])
            wanted = np.repeat(others, sizes[some]) * self._width + self._shingle[own]
            place = np.searchsorted(self._cells, wanted)
            both = np.append(self._cells, -1)[place] == wanted
            found.append(np.column_stack((own[both], place[both])))
        return found

    def sited(self, original: Ints, sites: list[Hashable]) -> Ints:
        """(edges, 2) from the vertices of a shingle to one for it on each site of their pages."""
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
    """The numbers from each start on, as many as its size, one range after the other."""
    ends = np.cumsum(sizes)
    return np.arange(int(sizes.sum())) + np.repeat(starts - ends + sizes, sizes)


def _templates(table: Table, group: Ints, needed: int) -> list[RepeatedPagelet]:
    """The groups of rows that are on enough pages."""
    enough = np.flatnonzero(owners(group, table.page) >= needed)
    found: dict[int, list[tuple[Key, int]]] = {}
    shingles: dict[int, int] = {}
    numbers = (column[enough].tolist() for column in (group, table.shingle, table.page, table.pagelet))
    for number, shingle, page, pagelet in zip(*numbers, strict=True):
        found.setdefault(number, []).append((table.pages[page], pagelet))
        shingles[number] = shingle
    return sorted(RepeatedPagelet(shingles[number], tuple(rows)) for number, rows in found.items())
