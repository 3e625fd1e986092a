"""The sites of a crawl: recently used ones in memory, the others on disk."""

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from weakref import WeakValueDictionary

import numpy as np

from scrapy_pagelets.base.arrays import Floats
from scrapy_pagelets.decision.model import LABELLED
from scrapy_pagelets.decision.site import Site
from scrapy_pagelets.evidence.site_counts import PageClass
from scrapy_pagelets.page.page import Page
from scrapy_pagelets.papers import page_level
from scrapy_pagelets.papers.methods import CLASSIFIER, ETDM, FUSED, PAGE_LEVEL, REPEATED
from scrapy_pagelets.papers.shared_pagelets.incremental import RepeatedPagelets
from scrapy_pagelets.sites.site_store import MergingStore

_CAPACITY: Final = 2_000_000  # entries of all sites in memory, of about 60 bytes each (``python -m benchmarks memory``)
_FLUSH: Final = 50  # pages of a site that are learnt before it is written; a killed process loses up to this many


@dataclass(eq=False)
class SiteCache:
    """All sites of a crawl, by name. Thread-safe. It reads and writes files, so do not use it in the reactor thread.

    The least recently used sites are written to the ``store`` when those in memory exceed ``capacity`` entries, see
    ``SiteCounts.size``; the site in use may do so alone. ``model``: its name or path. ``detection``: one of
    ``methods.DETECTIONS``. ``strict``: -1 to 1, from recall to precision. ``classifier``: its page-level file.
    """

    store: MergingStore
    model: str = LABELLED
    capacity: int = _CAPACITY
    detection: str = FUSED
    strict: float = 0.0
    classifier: str = PAGE_LEVEL

    def __post_init__(self) -> None:
        #: counts of the pagelets that pages share, for the methods that need them
        self.repeated = RepeatedPagelets() if self.detection in REPEATED else None
        self._loaded: OrderedDict[str, Site] = OrderedDict()
        #: Sites that are still referenced somewhere: there must never be two of one name.
        self._alive: WeakValueDictionary[str, Site] = WeakValueDictionary()
        self._changed: dict[str, Site] = {}  # sites with pages that the store does not have
        self._sizes: dict[str, int] = {}
        self._total = 0
        self._fills = False
        self._summary: dict[str, tuple[int, int]] = {}
        self._lock = threading.Lock()
        #: Names of the sites whose stored pagelets were read, and the number of recorded pages at the next exchange.
        self._exchanged: set[str] = set()
        self._exchange_at = _FLUSH
        if self.repeated is not None and self.store.lasting:
            self.repeated.record()

    def __getitem__(self, name: str) -> Site:
        with self._lock:
            site = self._alive.get(name)
            if site is None:
                site = self._alive[name] = Site(name, self.model, self.strict)
                self.store.load(site)
            fresh = name not in self._loaded
            self._loaded[name] = site
            self._loaded.move_to_end(name)
        if fresh:
            self._update_size(site)
            self._shrink()
        return site

    def __len__(self) -> int:
        """Number of sites that were used."""
        return len(self._summary)

    @property
    def may_wait(self) -> bool:
        """Whether an access may wait for the disk: if others read what is written, or the sites fill the memory."""
        return self.store.lasting or self._fills

    def learn(self, page: Page, *, keep: bool = False) -> PageClass:
        """Count a page with its site, once for each URL, see `Site.learn`; returns its class."""
        site = self[page.site]
        new = page.key not in site.learnt.seen
        page_class = site.learn(page, keep=keep)
        if self.repeated is not None:
            self._share(page, self.repeated)
        if new:
            self._has_changed(site)
        return page_class

    def learn_set(self, key_page: Page, pages: Sequence[Page]) -> PageClass:
        """Count the pages of a complete subdigraph with their site, see `Site.learn_set`; returns their class."""
        site = self[key_page.site]
        page_class = site.learn_set(key_page, pages)
        if self.repeated is not None:
            for page in (key_page, *pages):
                self._share(page, self.repeated)
        self._has_changed(site)
        return page_class

    def _has_changed(self, site: Site) -> None:
        with self._lock:
            self._changed[site.name] = site
        self._update_size(site)
        self._shrink()
        if site.recorded >= _FLUSH:
            self._save(site)

    def templateness(self, page: Page) -> Floats:
        """(m,) templateness of each leaf by the method that decides."""
        if self.repeated is not None:
            return self.repeated.templateness(page, self.detection)
        if self.detection == ETDM:
            return self[page.site].in_subdigraph_template(page).astype(np.float64)
        if self.detection == CLASSIFIER:
            return page_level.templateness(page, page_level.load(self.classifier))
        return self[page.site].templateness(page)

    def summary(self) -> list[tuple[str, int, int]]:
        """Return name, number of pages and number of page classes of each site that was used."""
        with self._lock:
            return [(name, *numbers) for name, numbers in self._summary.items()]

    def close(self) -> None:
        """Write the sites that have changed."""
        if not self.store.lasting:
            return
        with self._lock:
            changed = list(self._changed.values())
        for site in changed:
            self._save(site)
        if self.repeated is not None:
            self._exchange(self.repeated)

    def exchange(self, *only: Site) -> None:
        """Write the sites in memory that have changed, or some; read what other processes have learnt about others."""
        with self._lock:
            sites = list(only or self._loaded.values())
        for site in sites:
            if not self._save(site):
                self.store.load(site)

    def _share(self, page: Page, repeated: RepeatedPagelets) -> None:
        with self._lock:
            new = page.site not in self._exchanged
            self._exchanged.add(page.site)
        if new:
            self._exchange(repeated)
        repeated.add(page)
        if repeated.recorded >= self._exchange_at:
            self._exchange(repeated)

    def _exchange(self, repeated: RepeatedPagelets) -> None:
        """Write pagelets, and count those that other runs have written for the sites of this crawl."""
        if not self.store.lasting:
            return
        pages = repeated.hand_over()
        with self._lock:
            names = sorted(self._exchanged)
        if (others := self.store.exchange(pages, names)) is None:
            repeated.keep(pages)
        else:
            repeated.count(others)
        self._exchange_at = repeated.recorded + _FLUSH

    def _save(self, site: Site) -> bool:
        """Write a site; False if it has not changed."""
        with self._lock:
            changed = self._changed.pop(site.name, None)  # before it is written: it may change meanwhile
        if changed is not None and not self.store.save(site):
            with self._lock:
                self._changed.setdefault(site.name, site)
        return changed is not None

    def _update_size(self, site: Site) -> None:
        size = site.size
        with self._lock:
            self._summary[site.name] = site.pages, len(site.classes)
            if site.name in self._loaded:
                self._total += size - self._sizes.get(site.name, 0)
                self._sizes[site.name] = size
                self._fills |= self._total > self.capacity // 2

    def _shrink(self) -> None:
        dropped = []
        with self._lock:
            while self._total > self.capacity and len(self._loaded) > 1:
                name, site = self._loaded.popitem(last=False)
                self._total -= self._sizes.pop(name, 0)
                dropped.append(site)
        for site in dropped:
            self._save(site)
