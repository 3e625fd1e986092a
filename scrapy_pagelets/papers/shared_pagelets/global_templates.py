"""Global template detection, page by page: pagelets with one shingle on pages that links connect.

Source: Bar-Yossef & Rajagopalan 2002, Section 3.2, Figure 5, with the corrections in
``docs/algorithms/pagelets-templates-2002.md``: a template needs two distinct pages. `relational` does the same in SQL
at once.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

Key = int | str  # name of a page


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

    Text that unrelated pages share is none. The shingles of all pages are kept, and links to pages that are not added
    yet.
    """

    def __init__(self) -> None:
        from scipy.cluster.hierarchy import DisjointSet

        self._pagelets: dict[Key, dict[int, list[int]]] = {}
        self._original: dict[Key, Key] = {}
        self._by_sketch: dict[int, Key] = {}
        self._waiting: dict[Key, set[Key]] = {}
        self._components: Any = DisjointSet()  # of pairs of a shingle and a page

    def add(
        self, page: Key, pagelets: Iterable[tuple[int, int]], links: Iterable[Key] = (), *, sketch: int | None = None
    ) -> None:
        """Add a page. If it was added before, only its links are added.

        ``pagelets``: (pagelet, shingle) of each pagelet, the shingle 0 for none. ``links``: the pages that it links to,
        or that link to it. ``sketch``: of the whole page; of several pages with the same one, only the first counts.
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
        for group in self._components.subsets():
            rows = sorted((page, pagelet) for shingle, page in group for pagelet in self._pagelets[page][shingle])
            result.append(RepeatedPagelet(next(iter(group))[0], tuple(rows)))
        return sorted(result)

    def is_original(self, page: Key) -> bool:
        """Return True if the page was added, and is not a duplicate of an earlier page."""
        return self._original.get(page) == page

    def owners(self, page: Key, shingle: int) -> int:
        """Number of pages connected to this one among those with the shingle, including itself; 0 if it lacks it."""
        original = self._original.get(page, page)
        if shingle not in self._pagelets.get(original, ()):
            return 0
        owner = shingle, original
        return int(self._components.subset_size(owner)) if owner in self._components else 1

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
                for page in (one, other):
                    self._components.add((shingle, page))
                self._components.merge((shingle, one), (shingle, other))
