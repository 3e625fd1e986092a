"""Global template detection, page by page: pagelets with one shingle on pages that links connect.

Source: Bar-Yossef & Rajagopalan 2002, *Template Detection via Data Mining and its Applications*, Section 3.2, Figure 5.
``docs/algorithms/pagelets-templates-2002.md`` lists the corrections: a template needs two distinct pages. The module
``relational`` does the same in SQL for all pages at once.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Generic, NamedTuple, TypeVar

#: Name of a page.
Key = int | str
T = TypeVar("T", bound=Hashable)


class RepeatedPagelet(NamedTuple):
    """A template by Definition 4: pagelets with the same shingle on two pages or more."""

    shingle: int  # shingle of all pagelets
    pagelets: tuple[tuple[Key, int], ...]  # (page, pagelet) of each, in order

    @property
    def pages(self) -> tuple[Key, ...]:
        """The distinct owners of the pagelets, in order."""
        return tuple(dict.fromkeys(page for page, _ in self.pagelets))


class GlobalTemplates:
    """The templates of the pages added so far: links among pages with the same pagelet suggest one author.

    This distinguishes the template of a site, or of sister sites, from text that unrelated pages share by accident or
    as copies. The shingles of all pages are kept, and the links to pages that have not been added yet.

    >>> crawl = GlobalTemplates()
    >>> crawl.add("a", [(0, 7), (1, 1)], links=["b", "c"])
    >>> crawl.add("b", [(0, 7), (1, 2)])
    >>> crawl.add("d", [(0, 7), (1, 3)], links=["c"])
    >>> crawl.templates()
    [RepeatedPagelet(shingle=7, pagelets=(('a', 0), ('b', 0)))]
    """

    def __init__(self) -> None:
        self._pagelets: dict[Key, dict[int, list[int]]] = {}
        self._original: dict[Key, Key] = {}
        self._by_sketch: dict[int, Key] = {}
        self._waiting: dict[Key, set[Key]] = {}
        self._components: Components[tuple[int, Key]] = Components()

    def add(
        self, page: Key, pagelets: Iterable[tuple[int, int]], links: Iterable[Key] = (), *, sketch: int | None = None
    ) -> None:
        """Add a page. If it was added before, only its links are added.

        Parameters
        ----------
        pagelets : (pagelet, shingle) of each pagelet, the shingle 0 for none
        links : the pages that it links to; directions have no meaning
        sketch : sketch of the whole page; of several pages with the same sketch, only the first one counts. A page
            without one is no duplicate
        """
        if page not in self._original:
            self._add_pagelets(page, sorted(set(pagelets)), sketch)
        original = self._original[page]
        for source in self._waiting.pop(page, ()):
            self._join(source, original)
        for target in links:
            if target in self._original:
                self._join(original, self._original[target])
            else:
                self._waiting.setdefault(target, set()).add(original)

    def templates(self) -> list[RepeatedPagelet]:
        """Return the templates of the pages added so far, sorted by shingle, then by first page."""
        result = []
        for group in self._components.groups():
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


class Components(Generic[T]):
    """Connected components of a graph that grows edge by edge: union-find, in nearly constant time for each edge.

    Source: Tarjan & van Leeuwen 1984, union by size with path halving.

    >>> graph = Components[str]()
    >>> graph.union("a", "b")
    >>> graph.union("c", "d")
    >>> graph.union("b", "a")
    >>> graph.size("a"), graph.size("e"), graph.groups()
    (2, 1, [['a', 'b'], ['c', 'd']])
    """

    def __init__(self) -> None:
        self._parent: dict[T, T] = {}
        self._size: dict[T, int] = {}

    def size(self, item: T) -> int:
        """Number of vertices in the component of a vertex; 1 if it has no edge."""
        return self._size[self._find(item)] if item in self._parent else 1

    def union(self, one: T, other: T) -> None:
        """Add an edge, and its ends if they are new."""
        for item in (one, other):
            if item not in self._parent:
                self._parent[item], self._size[item] = item, 1
        one, other = self._find(one), self._find(other)
        if one != other:
            if self._size[one] < self._size[other]:
                one, other = other, one
            self._parent[other] = one
            self._size[one] += self._size.pop(other)

    def groups(self) -> list[list[T]]:
        """Return the vertices of each component, in the order in which they were added."""
        groups: dict[T, list[T]] = {}
        for item in self._parent:
            groups.setdefault(self._find(item), []).append(item)
        return list(groups.values())

    def _find(self, item: T) -> T:
        """The representative of the component of a vertex."""
        parent = self._parent
        while parent[item] != item:
            parent[item] = item = parent[parent[item]]
        return item
