"""Complete subdigraphs: pages that link to each other, as those of a menu do; among pages to load, or pages at hand.

Source: Alarte, Insa, Silva, Tamarit 2014, *Web Template Extraction Based on Hyperlink Analysis*, Section 4.1,
Algorithm 1. ``menu_links`` has the links to choose from.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from scrapy_pagelets.base.arrays import Ints
from scrapy_pagelets.evidence.menu_links import candidates, link_targets
from scrapy_pagelets.evidence.site_counts import PageClass, body_of
from scrapy_pagelets.page.page import Page

_LAST: Final = -(1 << 30)  # fewer links than any page has, for candidates that come last
#: Pages of a site whose links are kept: its first ones, which are those near its start page; and pages of all sites,
#: whose links take about 2 kB each.
_MAX_PAGES: Final = 1000
_MAX_ALL: Final = 100_000
_MAX_CANDIDATES: Final = 200  # candidates that are tried for a key page: the search for a set is cubic in their number


class Subdigraph:
    """The largest set of mutually linked pages among those loaded so far, extended one page at a time.

    A page counts as linking to itself, because menus omit the link to the current page. Taken literally, Algorithm 1
    both requires such links and ignores them, so it would find no set at all.

    Pages of another class than the key page share less with it than its own class does. They are only taken if no two
    pages of its class link to each other.

    ``candidates``: keys of the pages that the key page links to (``reachableLinks``), best first. ``size``: n, the
    number of pages that must link to each other. ``key_page``: key of the key page, if it may be one of them; Algorithm
    1 searches only among those that it links to. ``last``: keys of candidates to load only if no other is left.
    """

    def __init__(
        self, candidates: Iterable[int], size: int, key_page: int | None = None, last: Collection[int] = ()
    ) -> None:
        candidates = list(candidates)
        self.size = size
        #: The largest sets of pages of the class of the key page, and of any class.
        self._alike: set[int] = set()
        self._any: set[int] = set()
        #: From candidate to number of loaded pages that link to it.
        self._waiting = {candidate: _LAST if candidate in last else 0 for candidate in candidates}
        self._links: dict[int, set[int]] = {}
        self._names: dict[int, set[int]] = {}
        self._of_class = {key_page}
        if key_page is not None:
            self._alike, self._links[key_page], self._names[key_page] = {key_page}, set(candidates), {key_page}
            self._any = self._alike

    @property
    def best(self) -> set[int]:
        """The pages that define the template."""
        return self._alike if len(self._alike) > 1 else self._any

    @property
    def done(self) -> bool:
        """True once ``size`` pages of the class link to each other."""
        return len(self._alike) >= self.size

    def next(self) -> int | None:
        """Remove and return the candidate to load next: the first to which most loaded pages link, as to menus."""
        if not self._waiting:
            return None
        candidate = max(self._waiting, key=self._waiting.__getitem__)  # max returns the first of equals
        del self._waiting[candidate]
        return candidate

    def add(self, page: int, links: Iterable[int], names: Iterable[int] = (), *, alike: bool = True) -> set[int]:
        """Add a loaded page and its links; returns the largest complete subdigraph that contains the page.

        ``links``: keys of the pages that it links to. ``names``: other keys of the page: of URLs that redirect to it,
        or to which it redirects. ``alike``: whether the page is of the class of the key page.
        """
        targets = set(links)
        self._names[page] = {page, *names}
        for name in self._names[page]:
            self._waiting.pop(name, None)
        for target in targets & self._waiting.keys():
            self._waiting[target] += 1
        self._links[page] = targets
        linked = [other for other in self._links if other != page and self._mutual(page, other)]
        clique = {page} | self._clique(linked)
        if len(self._any) < self.size:  # more pages than that would share less
            self._any = max(self._any, clique, key=len)
        if alike:
            self._of_class.add(page)
            of_class = [other for other in linked if other in self._of_class]
            found = clique if of_class == linked else {page} | self._clique(of_class)
            self._alike = max(self._alike, found, key=len)
        return clique

    def _mutual(self, page: int, other: int) -> bool:
        return not (
            self._names[other].isdisjoint(self._links[page]) or self._names[page].isdisjoint(self._links[other])
        )

    def _clique(self, pages: list[int]) -> set[int]:
        """Largest set of mutually linked pages: branch and bound over an explicit stack, exact."""
        best: set[int] = set()
        stack: list[tuple[set[int], list[int]]] = [(set(), pages)]
        while stack:
            chosen, rest = stack.pop()
            if len(chosen) > len(best):
                best = chosen
            for i, page in enumerate(rest):
                if len(chosen) + len(rest) - i <= len(best):
                    break
                near = [p for p in rest[i + 1 :] if self._mutual(page, p)]
                stack.append((chosen | {page}, near))
        return best


class KnownSubdigraphs:
    """Find a set of mutually linked pages for each page class; its key page is the first page of the class.

    ``size``: n, the number of pages, beside the key page, that must link to each other.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._sites: dict[str, _Site] = {}
        self._pages = 0

    def add(self, page: Page, page_class: PageClass) -> None:
        """Add the links of a page, unless it is a copy of another one."""
        site = self._sites.setdefault(page.site, _Site())
        if len(site.links) >= _MAX_PAGES or self._pages >= _MAX_ALL or (body := body_of(page)) in site.bodies:
            return
        if page_class.id not in site.candidates:
            keys = page.nodes.links.key[candidates(page)[:_MAX_CANDIDATES]].tolist()
            site.candidates[page_class.id] = page.key, keys
        site.bodies.add(body)
        site.classes[page.key] = page_class.id
        site.links[page.key] = np.fromiter(link_targets(page), np.int64)
        self._pages += 1

    def found(self) -> Iterator[LinkedPages]:
        """Yield the pages of each class that has two or more linked ones beside its key page."""
        for site in self._sites.values():
            for page_class, (key_page, keys) in site.candidates.items():
                graph = Subdigraph((key for key in keys if key in site.links), self._size)
                while not graph.done and (key := graph.next()) is not None:
                    graph.add(key, site.links[key].tolist(), alike=site.classes[key] == page_class)
                if len(graph.best) > 1:
                    yield LinkedPages(key_page, graph.best | {key_page})


@dataclass
class _Site:
    """The links and classes of the pages of a site, and the candidates of the key page of each class, by keys."""

    bodies: set[int] = field(default_factory=set)
    links: dict[int, Ints] = field(default_factory=dict)
    classes: dict[int, str] = field(default_factory=dict)
    candidates: dict[str, tuple[int, list[int]]] = field(default_factory=dict)


@dataclass
class LinkedPages:
    """A key page and the pages of its complete subdigraph."""

    key_page: int  # key of the key page
    missing: set[int]  # keys of the pages that have not been added yet, the key page among them
    pages: dict[int, Page] = field(default_factory=dict)  # the pages that have been added, by key
