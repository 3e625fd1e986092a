"""What is learnt from the pages of a site: their classes, links and fragments, counting each page once."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Generic, Self, TypeVar

import numpy as np
from xxhash import xxh3_64_intdigest

from scrapy_pagelets.base.arrays import Floats
from scrapy_pagelets.base.caches import RecentKeys, once
from scrapy_pagelets.core import counter
from scrapy_pagelets.evidence import class_template as templates
from scrapy_pagelets.evidence.class_template import ClassTemplate, KeptPage
from scrapy_pagelets.evidence.evidence import CLASSES, Column, Counts, Fragments, keys_of, pictures_of
from scrapy_pagelets.evidence.menu_links import link_targets
from scrapy_pagelets.metadata.dates import keys_told
from scrapy_pagelets.page.page import Page

_SAME_CLASS: Final = 0.4  # two pages belong to one class if the Jaccard coefficient of their outlines is at least this
_MAX_SEEN: Final = 100_000  # pages whose URL and text are remembered, so that none is counted twice
_MAX_LINKS: Final = 500  # pages whose links are remembered, for subdigraphs
_KEPT: Final = 8  # pages of each class that are kept, for subdigraphs
_ENTRY: Final = 60  # bytes of a kept page that count as one entry in memory
Entry = TypeVar("Entry")


@dataclass
class PageClass:
    """A class of pages of a site with the same outline, and so with one template."""

    id: str  # site and number, from 1: ``example.com#1``
    number: int  # number of the class, from 0
    outline: frozenset[int]  # outline of the first page of the class
    pages: int = 0  # number of pages of the class, without copies
    #: what its pages have in common with its key page; None if no page of it was parsed by this process
    template: ClassTemplate | None = None

    @property
    def subdigraph_template(self) -> ClassTemplate | None:
        """The template, if it comes from a complete subdigraph."""
        return self.template if self.template is not None and self.template.settled else None


@dataclass(slots=True, kw_only=True, eq=False)
class Observation:
    """Everything that a site learns from one page."""

    key: int  # hash of its URL
    body: int  # hash of its text
    outline: frozenset[int]  # see the function ``outline``
    links: frozenset[int]  # keys of the pages that it links to
    fragments: Fragments | None  # its contribution to the counts; None for a copy of a page that was counted
    told: list[int]  # keys of what other pages may tell alike, see `dates.keys_told`
    source: KeptPage | None = None  # the page, if it is kept for subdigraphs

    @classmethod
    def of(cls, page: Page, odds: Floats | None) -> Self:
        """Make the observation of a page.

        ``odds``: (n, CLASSIFIERS) log odds of the page-level classifiers; None for a copy of a page that was counted.
        """
        return cls(
            key=page.key,
            body=body_of(page),
            outline=outline(page.nodes),
            links=link_targets(page),
            fragments=None if odds is None else Fragments.of(page.nodes, keys_of(page), odds, pictures_of(page)[1]),
            told=keys_told(page),
        )


class Unsaved(Generic[Entry]):
    """Base of classes that learn, and that record their observations until a store has written them. Thread-safe."""

    def __init__(self) -> None:
        self.lock = threading.Lock()  # is held while something is learnt or read
        self.entries: list[Entry] | None = None  # since the last call of `hand_over`; None if they are not recorded

    @property
    def recorded(self) -> int:
        """Number of entries since the last call of `hand_over`."""
        return len(self.entries or ())

    def record(self) -> None:
        """Start to record entries for a store."""
        with self.lock:
            self.entries = self.entries or []

    def hand_over(self) -> list[Entry]:
        """Return the entries since the last call, an empty list if they are not recorded."""
        with self.lock:
            entries = self.entries or []
            self.entries = None if self.entries is None else []
            return entries

    def keep(self, entries: Iterable[Entry]) -> None:
        """Put back entries that could not be written, for the next call of `hand_over`."""
        with self.lock:
            self.entries = [*entries, *(self.entries or ())]

    def append(self, entry: Entry) -> None:
        """Record an entry; the caller holds the lock."""
        if self.entries is not None:
            self.entries.append(entry)


class SiteCounts:
    """Everything learnt about a site. Not thread-safe.

    Each page counts once. Pages with the same text under several URLs count once as well: duplicate pages are removed
    before fragments are counted (Bar-Yossef & Rajagopalan 2002, Section 3.2, Figure 4).
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.counts = Counts()  # counts of the fragments of all pages
        self.classes: list[PageClass] = []  # the page classes seen so far
        self.seen = RecentKeys(_MAX_SEEN)  # the number of the class of each page, by its key
        self.bodies = RecentKeys(_MAX_SEEN)  # hashes of the texts of the pages
        #: for each of the last pages, by its key, the keys of the pages that it links to
        self.links: OrderedDict[int, frozenset[int]] = OrderedDict()
        self.kept: dict[int, KeptPage] = {}  # the first pages of each class, by their keys

    @property
    def size(self) -> int:
        """Number of entries, a measure of memory."""
        trees = sum(len(one.template.tree) for one in self.classes if one.template is not None)
        kept = sum(len(source.markup) for source in self.kept.values()) // _ENTRY
        return self.counts.size + 2 * len(self.seen) + sum(map(len, self.links.values())) + trees + kept

    @property
    def full(self) -> bool:
        """True if the site has the maximum number of classes; further pages join the nearest one."""
        return len(self.classes) >= CLASSES

    def count(self, observation: Observation) -> PageClass:
        """Count a page that was not seen before; returns its class."""
        page_class = self.fitting(observation.outline) or self._new(observation.outline)
        if observation.fragments is not None and observation.body not in self.bodies:
            page_class.pages += 1
            self.counts.add(observation.fragments, page_class.number)
            self.counts.tables["told"].add(np.array(observation.told, np.int64), np.ones(1))
        self.bodies.add(observation.body)
        self.seen.add(observation.key, page_class.number)
        self.links[observation.key] = observation.links
        if len(self.links) > _MAX_LINKS:
            self.links.popitem(last=False)
        if observation.source is not None and self._keeps(page_class):
            self.kept[observation.key] = observation.source
        return page_class

    def keeps(self, observation: Observation) -> bool:
        """Return True if a page that was not seen before would be kept."""
        page_class = self.fitting(observation.outline)
        return observation.fragments is not None and (page_class is None or self._keeps(page_class))

    def _keeps(self, page_class: PageClass) -> bool:
        return sum(self.seen.get(key) == page_class.number for key in self.kept) < _KEPT

    def count_new(self, observations: Iterable[Observation]) -> None:
        """Count the pages that were not seen before."""
        for observation in observations:
            if observation.key not in self.seen:
                self.count(observation)

    def merge(self, other: SiteCounts) -> None:
        """Add the counts of other pages of the site; classes of both are one if their outlines fit, as for pages.

        Exact but for copies in both, which count twice, and "new" texts of the first of the other pages, which these
        may have.
        """
        classes = [self.fitting(known.outline) or self._new(known.outline) for known in other.classes]
        for own, known in zip(classes, other.classes, strict=True):
            own.pages += known.pages
        self.counts.merge(other.counts, [own.number for own in classes])
        for key, number in zip(*(column.tolist() for column in other.seen.items()), strict=True):
            if key not in self.seen:
                self.seen.add(key, classes[number].number)
        for body in other.bodies.items()[0].tolist():
            self.bodies.add(body)

    def adopt_templates(self, other: SiteCounts) -> None:
        """Take over the templates of the same classes if they are settled, or if more pages have voted for them."""
        for known in other.classes:
            if known.template is not None and (own := self.fitting(known.outline)) is not None:
                both = filter(None, (own.template, known.template))
                own.template = max(both, key=lambda one: (one.settled, one.voters))

    def knows(self, page: Page) -> bool:
        """Return True if the page, or a copy of it, has been counted."""
        return page.key in self.seen or body_of(page) in self.bodies

    def counted_class(self, key: int) -> PageClass | None:
        """The class with which a page was counted, by its key; None if it was not."""
        number = self.seen.get(key)
        return None if number is None else self.classes[number]

    def page_class(self, page: Page) -> PageClass | None:
        """The class of a page, None if it is new."""
        return self.counted_class(page.key) or self.fitting(outline(page.nodes))

    def fitting(self, page_outline: frozenset[int]) -> PageClass | None:
        """The class of pages with such an outline, None if it is new."""
        best = max(self.classes, key=lambda known: _jaccard(known.outline, page_outline), default=None)
        return best if best and (self.full or same_class(best.outline, page_outline)) else None

    def _new(self, page_outline: frozenset[int]) -> PageClass:
        self.classes.append(PageClass(f"{self.name}#{len(self.classes) + 1}", len(self.classes), page_outline))
        return self.classes[-1]

    def arrays(self) -> dict[str, Column]:
        """Everything learnt as columns, for `from_arrays`."""
        seen, numbers = self.seen.items()
        return {
            **self.counts.arrays(),
            **_packed_sets("outline", [one.outline for one in self.classes]),
            "template_pages": np.array([one.pages for one in self.classes], np.int64),
            "seen": seen,
            "seen_template": numbers,
            "bodies": self.bodies.items()[0],
            "links": np.fromiter(self.links, np.int64, len(self.links)),
            **_packed_sets("targets", self.links.values()),
            **templates.to_arrays(one.template for one in self.classes),
            "kept": np.fromiter(self.kept, np.int64, len(self.kept)),
            **templates.packed_pages("kept_page", self.kept.values()),
        }

    @classmethod
    def from_arrays(cls, name: str, arrays: Mapping[str, Column]) -> Self:
        """Restore a site from the result of ``arrays``."""
        learnt = cls(name)
        learnt.counts = Counts.from_arrays(arrays)
        outlines = _unpacked_sets("outline", arrays)
        for page_outline, pages in zip(outlines, arrays["template_pages"].tolist(), strict=True):
            learnt._new(page_outline).pages = pages
        for page_class, template in zip(learnt.classes, templates.from_arrays(arrays), strict=True):
            page_class.template = template
        learnt.seen.extend(arrays["seen"], arrays["seen_template"])
        learnt.bodies.extend(arrays["bodies"], np.zeros(len(arrays["bodies"]), np.int8))
        learnt.links.update(zip(arrays["links"].tolist(), _unpacked_sets("targets", arrays), strict=True))
        learnt.kept.update(zip(arrays["kept"].tolist(), templates.unpacked_pages("kept_page", arrays), strict=True))
        return learnt


def _packed_sets(name: str, sets: Iterable[frozenset[int]]) -> dict[str, Column]:
    return templates.packed(name, [np.fromiter(one, np.int64, len(one)) for one in sets])


def _unpacked_sets(name: str, arrays: Mapping[str, Column]) -> list[frozenset[int]]:
    return [frozenset(row.tolist()) for row in templates.unpacked(name, arrays)]


@once
def body_of(page: Page) -> int:
    """Hash of the exact text of a page."""
    return xxh3_64_intdigest("\0".join(page.nodes.strings).encode("utf-8", "replace")) >> 1


outline = once(counter.outline)  # each page is asked for it many times


def same_class(one: frozenset[int], other: frozenset[int]) -> bool:
    """Return True if pages with these outlines belong to one class."""
    return _jaccard(one, other) >= _SAME_CLASS


def _jaccard(one: frozenset[int], other: frozenset[int]) -> float:
    shared = len(one & other)
    return shared / (len(one) + len(other) - shared)
