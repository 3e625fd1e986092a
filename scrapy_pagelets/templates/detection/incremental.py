"""Template detection during a crawl: which pagelets the pages so far have in common, on a site and across sites.

Source: Bar-Yossef & Rajagopalan 2002, *Template Detection via Data Mining and its Applications*, Section 3.2, Figures 4
(local) and 5 (global). The partition is Definition 2 in its strict form. That a pagelet has three shingles is ours
(``docs/algorithms/pagelets-templates-2002.md``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import combinations
from typing import Final, Literal, NamedTuple, Self

import numpy as np

from scrapy_pagelets.nodes import Bools, Floats, Ints, mix
from scrapy_pagelets.page import Page
from scrapy_pagelets.templates.detection.batch import GlobalTemplates
from scrapy_pagelets.templates.detection.pagelet_shingles import (
    LEAST_TARGETS,
    LEAST_TOKENS,
    NEAR,
    resemblance,
    shingles,
    super_shingles,
)
from scrapy_pagelets.templates.journal import Journal
from scrapy_pagelets.templates.partition import STRICT_K, partition
from scrapy_pagelets.templates.site_counts import body_of

#: Whether pages with a pagelet in common need links among them.
Form = Literal["local", "global"]
FORMS: Final[tuple[Form, ...]] = ("local", "global")
#: Pagelets and links that are kept, of up to 800 bytes each; a page has some 100 to 500 of them.
_CAPACITY: Final = 250_000
#: Pages that make a template.
_LEAST: Final = 2


class Shares(NamedTuple):
    """How much of a site is template by the definitions.

    Attributes
    ----------
    pagelets : of its pages, copies of pages apart
    local : of these on two pages of the site, or more
    linked : of these on pages that links among such pages connect, on whatever sites
    near : of these, local, that repeat only nearly: neither the text nor the set of links is the same
    """

    site: str
    pagelets: int
    local: int
    linked: int
    near: int


class Sisters(NamedTuple):
    """Two sites with templates in common whose pages link each other: an author has both."""

    one: str
    other: str
    templates: int


class Pagelets(NamedTuple):
    """The pagelets of a page by their shingles.

    Attributes
    ----------
    key : of the page's URL
    site : of the page
    body : hash of its text
    rows : (p, 3) exact and link shingle of each pagelet, and room for the near one; 0 if it is too small for one
    sketches : (p, 16) of its words; 0 if it is too small
    links : (k,) keys of the pages that it links to
    """

    key: int
    site: str
    body: int
    rows: Ints
    sketches: Ints
    links: Ints

    @classmethod
    def of(cls, page: Page, pagelet: Ints) -> Self:
        """The pagelets of a page.

        Parameters
        ----------
        pagelet : (m,) of each leaf
        """
        found = shingles(page, pagelet)
        rows = np.zeros((len(found.exact), 3), np.int64)
        rows[:, 0] = np.where(found.candidates, found.exact, 0)
        rows[:, 1] = np.where(found.targets >= LEAST_TARGETS, found.links, 0)
        sketches = np.where((found.tokens >= LEAST_TOKENS)[:, None], found.near, 0)
        links = np.setdiff1d(page.nodes.links.key, (0, page.key))
        return cls(page.key, page.site, body_of(page), rows, sketches, links)


class RepeatedPagelets(Journal[Pagelets]):
    """The pagelets of a crawl by their shingles. Safe for several threads.

    A pagelet has up to three shingles: of its text, tags and links (exact); of the set of its link targets; of its
    words, nearly (that of the first pagelet which is nearly equal, so that the order of pages has a part in it). One
    that repeats is enough. Pages of the same text under several URLs are one page.

    Parameters
    ----------
    capacity : pagelets and links that are kept; later pages are compared with these, and not counted

    Examples
    --------
    >>> crawl = RepeatedPagelets()
    >>> menu = "<p>The same few words here <a href=/1>1</a> <a href=/2>2</a> <a href=/3>3</a></p>"
    >>> texts = ("One page has its own text", "The other has quite another")
    >>> pages = [Page.parse(f"{menu}<p>{text}".encode(), f"http://h/{i}") for i, text in enumerate(texts, 1)]
    >>> for page in pages:
    ...     crawl.add(page)
    >>> crawl.templateness(pages[0], "global").tolist()
    [1.0, 1.0, 1.0, 1.0, 0.0]
    """

    def __init__(self, capacity: int = _CAPACITY) -> None:
        super().__init__()
        self._capacity = capacity
        self._size = 0
        self._linked = GlobalTemplates()
        self._pages: Counter[tuple[str, int]] = Counter()
        self._rows: dict[int, Ints] = {}
        self._sites: dict[int, str] = {}
        self._body: dict[int, int] = {}
        self._bodies: set[tuple[str, int]] = set()
        self._leaders: list[Ints] = []
        self._by_super: dict[int, int] = {}

    @property
    def full(self) -> bool:
        """True if further pages are not counted."""
        return self._size >= self._capacity

    def add(self, page: Page) -> None:
        """Count a page, once for each URL."""
        if page.key in self._rows or self.full:
            return
        found = Pagelets.of(page, partition(page.nodes, STRICT_K, strict=True))
        with self._lock:
            if self._take(found):
                self._remember(found)

    def take(self, pages: Iterable[Pagelets]) -> None:
        """Count pages that a store has."""
        with self._lock:
            for found in pages:
                self._take(found)

    def _take(self, page: Pagelets) -> bool:
        """Count a page; False if it has come before, or there is no room."""
        if page.key in self._rows or self.full:
            return False
        rows = page.rows.copy()
        rows[:, 2] = self._nearest(page.sketches, learn=True)
        self._size += len(rows) + len(page.links)
        self._rows[page.key], self._sites[page.key], self._body[page.key] = rows, page.site, page.body
        known = [(i, s) for i, row in enumerate(rows.tolist()) for s in row if s]
        self._linked.add(page.key, known, page.links.tolist(), sketch=page.body)
        if (page.site, page.body) not in self._bodies:
            self._bodies.add((page.site, page.body))
            self._pages.update({(page.site, shingle) for _, shingle in known})
        return True

    def templateness(self, page: Page, form: Form) -> Floats:
        """(m,) 1 for each leaf in a pagelet that is part of a template of the pages so far, else 0; counts the page."""
        self.add(page)
        pagelet = partition(page.nodes, STRICT_K, strict=True)
        own = None if self._is_known(page, pagelet) else Pagelets.of(page, pagelet)
        with self._lock:
            if own is None:
                found = self._found({page.key}, page.site, self._rows[page.key], form)
            else:  # there was no room for it, or it was another: it is as much template as the pages that it links to
                own.rows[:, 2] = self._nearest(own.sketches, learn=False)
                found = self._found(set(own.links.tolist()), page.site, own.rows, form)
        shared: Bools = np.asarray(found.any(1))
        return shared[pagelet].astype(np.float64)

    def _is_known(self, page: Page, pagelet: Ints) -> bool:
        """True if the page was counted as it is now."""
        rows = self._rows.get(page.key)
        return rows is not None and self._body[page.key] == body_of(page) and len(rows) == pagelet.max(initial=-1) + 1

    def about(self) -> list[Shares]:
        """What each site shares, those with the most pagelets first."""
        sums: dict[str, Ints] = {}
        with self._lock:
            for key, rows in self._rows.items():
                if self._linked.is_original(key):
                    site = self._sites[key]
                    local, linked = (self._found({key}, site, rows, form) for form in FORMS)
                    near = local[:, 2] & ~local[:, :2].any(1)
                    counts = np.array([len(rows), local.any(1).sum(), linked.any(1).sum(), near.sum()])
                    sums[site] = sums.get(site, 0) + counts
        rows_of = (Shares(site, *counts.tolist()) for site, counts in sums.items())
        return sorted(rows_of, key=lambda shares: (-shares.pagelets, shares.site))

    def sisters(self) -> list[Sisters]:
        """Pairs of sites with templates in common (Figure 5), those with the most first."""
        with self._lock:
            pairs = Counter(pair for sites in self._owners() for pair in combinations(sorted(sites), 2))
        return [Sisters(one, other, count) for (one, other), count in pairs.most_common()]

    def _owners(self) -> Iterator[set[str]]:
        """The sites of each template."""
        for template in self._linked.templates(_LEAST):
            yield {self._sites[int(page)] for page in template.pages}

    def _found(self, pages: set[int], site: str, rows: Ints, form: Form) -> Bools:
        """(p, 3) whether enough pages have each shingle: on the site, or connected to one of these pages."""

        def count(shingle: int) -> int:
            if not shingle or form == "local":
                return self._pages[site, shingle]
            return max((self._linked.owners(page, shingle) for page in pages), default=0)

        found: Bools = np.array([[count(s) >= _LEAST for s in row] for row in rows.tolist()], np.bool_).reshape(-1, 3)
        return found

    def _nearest(self, sketches: Ints, *, learn: bool) -> Ints:
        """(p,) the near shingle of each pagelet: that of the first one that it nearly equals; 0 without words."""
        marks = super_shingles(sketches).tolist()
        found = np.zeros(len(sketches), np.int64)
        for i in np.flatnonzero(sketches.any(1)).tolist():
            known = {self._by_super[mark] for mark in marks[i] if mark in self._by_super}
            near = [leader for leader in sorted(known) if resemblance(self._leaders[leader], sketches[i]) >= NEAR]
            if near:
                found[i] = self._name(near[0])
            elif learn:
                found[i] = self._name(len(self._leaders))
                for mark in marks[i]:
                    self._by_super.setdefault(mark, len(self._leaders))
                self._leaders.append(sketches[i].copy())
        return found

    @staticmethod
    def _name(leader: int) -> int:
        return int(mix(np.array([leader + 1]))[0])
