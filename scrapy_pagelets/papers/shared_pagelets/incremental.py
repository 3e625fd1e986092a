"""Template detection during a crawl: find the pagelets that the pages so far share, on a site and across sites.

Source: Bar-Yossef & Rajagopalan 2002, Section 3.2, Figures 4 (local) and 5 (global), with Definition 2 in its strict
form. The two shingles of a pagelet, the least share of a site's pages, and the need for two distinct pages, are ours
(``docs/algorithms/pagelets-templates-2002.md``).
"""

from collections import Counter
from collections.abc import Iterable
from itertools import combinations
from typing import Any, Final, NamedTuple, Self

import numpy as np

from scrapy_pagelets.base.arrays import Bools, Floats, Ints, mix
from scrapy_pagelets.evidence.partition import STRICT_K, partition
from scrapy_pagelets.evidence.site_counts import Unsaved, body_of
from scrapy_pagelets.page.page import Page
from scrapy_pagelets.papers.methods import LOCAL, REPEATED
from scrapy_pagelets.papers.shared_pagelets import pagelet_shingles
from scrapy_pagelets.papers.shared_pagelets.pagelet_shingles import LEAST_TOKENS, NEAR, resemblance, super_shingles

#: Pagelets and links that are kept, of up to 800 bytes each; a page has about 100 to 500 of them.
_CAPACITY: Final = 250_000
#: Minimum number of pages of a template, and their share of the site: lists quote a text on fewer pages than that.
_LEAST: Final = 2
_SHARE: Final = 0.2
_EXACT, _NEAR = 0, 1  # columns of the shingles of a pagelet
#: Number of pagelets that are compared for one super-shingle: unlike ones rarely have one in common.
_MAX_LEADERS: Final = 16
Key = int | str  # name of a page


class GlobalTemplates:
    """The templates of the pages added so far: links among pages with the same pagelet suggest one author.

    Text that unrelated pages share is none. The shingles of all pages are kept, and links to pages to come.
    """

    def __init__(self) -> None:
        from scipy.cluster.hierarchy import DisjointSet

        self._shingles: dict[Key, set[int]] = {}
        self._original: dict[Key, Key] = {}
        self._by_sketch: dict[int, Key] = {}
        self._waiting: dict[Key, set[Key]] = {}
        self._components: Any = DisjointSet()  # of pairs of a shingle and a page

    def add(self, page: Key, shingles: Iterable[int], links: Iterable[Key] = (), *, sketch: int | None = None) -> None:
        """Add a page. If it was added before, only its links are added.

        ``shingles``: of its pagelets, 0 for none. ``links``: the pages that it links to, or that link to it.
        ``sketch``: of the whole page; of several pages with the same one, only the first counts.
        """
        if page not in self._original:
            self._original[page] = page if sketch is None else self._by_sketch.setdefault(sketch, page)
            if self._original[page] == page:
                self._shingles[page] = set(shingles) - {0}
        original = self._original[page]
        for source in self._waiting.pop(page, ()):
            self._join(source, original)
        for target in links:
            if target in self._original:
                self._join(original, self._original[target])
            else:
                self._waiting.setdefault(target, set()).add(original)

    def templates(self) -> list[tuple[int, list[Key]]]:
        """Return the templates of the pages added so far, by Definition 4: the shingle and the pages of each, in order.

        These are two pages or more.
        """
        groups = self._components.subsets()
        return sorted((next(iter(group))[0], sorted(page for _, page in group)) for group in groups)

    def is_original(self, page: Key) -> bool:
        """Return True if the page was added, and is not a duplicate of an earlier page."""
        return self._original.get(page) == page

    def owners(self, page: Key, shingle: int) -> int:
        """Number of pages connected to this one among those with the shingle, including itself; 0 if it lacks it."""
        original = self._original.get(page, page)
        if shingle not in self._shingles.get(original, ()):
            return 0
        owner = shingle, original
        return int(self._components.subset_size(owner)) if owner in self._components else 1

    def _join(self, one: Key, other: Key) -> None:
        if one != other:
            for shingle in self._shingles[one] & self._shingles[other]:
                for page in (one, other):
                    self._components.add((shingle, page))
                self._components.merge((shingle, one), (shingle, other))


class Shares(NamedTuple):
    """Numbers of a site's pagelets that are template by the definitions."""

    site: str
    pagelets: int  # all pagelets of its pages, without copies of pages
    local: int  # pagelets on enough pages of the site: two, and a fifth of them
    linked: int  # pagelets on as many pages, of any site, that links among such pages connect
    near: int  # local pagelets that repeat only approximately


class PageletShingles(NamedTuple):
    """The pagelets of a page by their shingles."""

    key: int  # hash of the page's URL
    site: str  # site of the page
    body: int  # hash of the page's text
    rows: Ints  # (p, 2) shingles of each pagelet: the exact one, and a column for the near one; 0 if it is too small
    sketches: Ints  # (p, 16) sketches of the words of each pagelet; 0 if the pagelet is too small
    links: Ints  # (k,) keys of the pages that the page links to

    @classmethod
    def of(cls, page: Page, pagelet: Ints) -> Self:
        """Compute the shingles of the pagelets of a page. ``pagelet``: (m,) number of the pagelet of each leaf."""
        hashes = pagelet_shingles.shingles(page, pagelet)
        rows = np.zeros((len(hashes.exact), 2), np.int64)
        rows[:, _EXACT] = np.where(hashes.candidates, hashes.exact, 0)
        sketches = np.where((hashes.tokens >= LEAST_TOKENS)[:, None], hashes.near, 0)
        links = np.setdiff1d(page.nodes.links.key, (0, page.key))
        return cls(page.key, page.site, body_of(page), rows, sketches, links)


class RepeatedPagelets(Unsaved[PageletShingles]):
    """The pagelets of a crawl by their shingles. Thread-safe.

    A pagelet is template if one of its two shingles is on two pages and on a fifth of the pages of its site: the exact
    one of its text, tags and links, or the near one of its words, that of the first pagelet that nearly equals it.
    Pages with the same text are one. ``capacity``: pagelets and links that are kept; later pages are only compared.
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
        self._distinct: Counter[str] = Counter()
        self._first_sketches: list[Ints] = []
        self._by_super: dict[int, list[int]] = {}

    @property
    def full(self) -> bool:
        """True if the capacity is reached, so that further pages are not counted."""
        return self._size >= self._capacity

    def add(self, page: Page) -> None:
        """Count a page, once for each URL."""
        if page.key in self._rows or self.full:
            return
        pagelets = PageletShingles.of(page, partition(page.nodes, STRICT_K, strict=True))
        with self.lock:
            if self._count(pagelets):
                self.append(pagelets)

    def count(self, pages: Iterable[PageletShingles]) -> None:
        """Count pages that a store has returned."""
        with self.lock:
            for page in pages:
                self._count(page)

    def _count(self, page: PageletShingles) -> bool:
        """Count a page; returns False if it was counted before, or if the capacity is reached."""
        if page.key in self._rows or self.full:
            return False
        rows = page.rows.copy()
        rows[:, _NEAR] = self._nearest(page.sketches, learn=True)
        self._size += len(rows) + len(page.links)
        self._rows[page.key], self._sites[page.key], self._body[page.key] = rows, page.site, page.body
        shingles = set(rows.ravel().tolist()) - {0}
        self._linked.add(page.key, shingles, page.links.tolist(), sketch=page.body)
        if (page.site, page.body) not in self._bodies:
            self._bodies.add((page.site, page.body))
            self._distinct[page.site] += 1
            self._pages.update((page.site, shingle) for shingle in shingles)
        return True

    def templateness(self, page: Page, form: str) -> Floats:
        """(m,) 1 for leaves in a pagelet that is template according to the pages so far, else 0; counts the page.

        ``form``: ``local`` counts the pages of a site with a pagelet, ``global`` those that links among them connect.
        """
        self.add(page)
        pagelet = partition(page.nodes, STRICT_K, strict=True)
        rows = self._rows.get(page.key, ())
        if self._body.get(page.key) == body_of(page) and len(rows) == pagelet.max(initial=-1) + 1:
            with self.lock:
                repeated = self._repeated({page.key}, page.site, self._rows[page.key], form)
        else:
            own = PageletShingles.of(page, pagelet)
            # The page was not counted, or it has changed: use the connections of the pages that it links to.
            with self.lock:
                own.rows[:, _NEAR] = self._nearest(own.sketches, learn=False)
                repeated = self._repeated(set(own.links.tolist()), page.site, own.rows, form)
        template: Bools = np.asarray(repeated.any(1))
        return template[pagelet].astype(np.float64)

    def shares(self) -> list[Shares]:
        """The numbers of shared pagelets of each site, sites with the most pagelets first."""
        sums: dict[str, Ints] = {}
        with self.lock:
            for key, rows in self._rows.items():
                if self._linked.is_original(key):
                    site = self._sites[key]
                    local, linked = (self._repeated({key}, site, rows, form) for form in REPEATED)
                    near = local[:, _NEAR] & ~local[:, _EXACT]
                    counts = np.array([len(rows), local.any(1).sum(), linked.any(1).sum(), near.sum()])
                    sums[site] = sums.get(site, 0) + counts
        rows_of = (Shares(site, *counts.tolist()) for site, counts in sums.items())
        return sorted(rows_of, key=lambda shares: (-shares.pagelets, shares.site))

    def sisters(self) -> list[tuple[str, str, int]]:
        """Pairs of sites that link each other, which suggests one author, and how many templates they share (Figure 5).

        Pairs with the most templates come first.
        """
        with self.lock:
            owners = ({self._sites[int(page)] for page in pages} for _, pages in self._linked.templates())
            pairs = Counter(pair for sites in owners for pair in combinations(sorted(sites), 2))
        return [(one, other, count) for (one, other), count in pairs.most_common()]

    def _repeated(self, pages: set[int], site: str, rows: Ints, form: str) -> Bools:
        """(p, 2) whether enough pages have each shingle: of the site, or connected to one of the given pages."""
        needed = max(_LEAST, _SHARE * self._distinct[site])

        def count(shingle: int) -> int:
            if not shingle or form == LOCAL:
                return self._pages[site, shingle]
            return max((self._linked.owners(page, shingle) for page in pages), default=0)

        return np.array([count(s) >= needed for s in rows.ravel().tolist()], np.bool_).reshape(rows.shape)

    def _nearest(self, sketches: Ints, *, learn: bool) -> Ints:
        """(p,) near shingle of each pagelet: that of the first pagelet that it nearly equals; 0 if it has no words."""
        marks = super_shingles(sketches).tolist()
        near_shingles = np.zeros(len(sketches), np.int64)
        for i in np.flatnonzero(sketches.any(1)).tolist():
            candidates = {leader for mark in marks[i] for leader in self._by_super.get(mark, ())}
            alike = (one for one in sorted(candidates) if resemblance(self._first_sketches[one], sketches[i]) >= NEAR)
            if (leader := next(alike, None)) is not None:
                near_shingles[i] = leader + 1
            elif learn:
                for mark in marks[i]:
                    leaders = self._by_super.setdefault(mark, [])
                    if len(leaders) < _MAX_LEADERS:
                        leaders.append(len(self._first_sketches))
                self._first_sketches.append(sketches[i].copy())
                near_shingles[i] = len(self._first_sketches)
        return np.where(near_shingles > 0, mix(near_shingles), 0)
