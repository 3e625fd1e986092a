"""What the pages of a site have taught: their classes, links and fragments, each page once."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import accumulate, chain, pairwise
from typing import Final, Self

import numpy as np
from xxhash import xxh3_64_intdigest

from scrapy_pagelets.nodes import TEXT, Floats, Ints, NodeTable, mix, signature
from scrapy_pagelets.page import Page
from scrapy_pagelets.templates.complete_subdigraph import followed
from scrapy_pagelets.templates.evidence import CLASSES, Column, Counts, Fragments, keys_of

#: Two pages are of one class if so much of their outline is common (Jaccard).
_SAME_CLASS: Final = 0.4
#: The outline ends here: what lies deeper is content as often as template.
_OUTLINE_DEPTH: Final = 4
#: Pages whose URL and text are remembered, so that none is counted twice.
_MAX_SEEN: Final = 100_000
#: Pages whose links are remembered, for subdigraphs.
_MAX_LINKS: Final = 500


@dataclass
class Template:
    """A class of pages with one look.

    Attributes
    ----------
    id : site and number, ``example.com#1``
    number : from 0
    outline : hashes of the paths of the first levels, of the key page
    pages : number of pages of the class, copies apart
    """

    id: str
    number: int
    outline: frozenset[int]
    pages: int = 0


@dataclass(frozen=True, kw_only=True)
class Observation:
    """All that a page teaches of its site.

    Attributes
    ----------
    key : of its URL
    body : hash of its text
    outline : see ``outline``
    links : keys of the pages that it links to
    fragments : what it adds to the counts; None for a copy of a page that was counted
    """

    key: int
    body: int
    outline: frozenset[int]
    links: frozenset[int]
    fragments: Fragments | None

    @classmethod
    def of(cls, page: Page, odds: Floats | None) -> Self:
        """The lesson of a page.

        Parameters
        ----------
        odds : (n, JUDGES) of the page-level classifiers; None for a copy of a page that was counted
        """
        return cls(
            key=page.key,
            body=body_of(page),
            outline=outline(page.nodes),
            links=followed(page),
            fragments=None if odds is None else Fragments.of(page.nodes, keys_of(page), odds),
        )


class SiteCounts:
    """What is known of a site; not guarded against other threads.

    A page counts once, and so do pages of the same text under several URLs: whole-page duplicates are set aside before
    fragments are counted (Bar-Yossef & Rajagopalan 2002, Section 3.2, Figure 4).

    Parameters
    ----------
    name : of the site

    Attributes
    ----------
    counts : fragments of all pages
    templates : the classes of pages seen so far
    seen : the template of each page, by its key
    bodies : hashes of the texts of the pages
    links : keys of the pages that a page links to, by its key, of the last pages
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.counts = Counts()
        self.templates: list[Template] = []
        self.seen: OrderedDict[int, Template] = OrderedDict()
        self.bodies: OrderedDict[int, None] = OrderedDict()
        self.links: OrderedDict[int, frozenset[int]] = OrderedDict()

    @property
    def size(self) -> int:
        """Number of entries, by which memory is measured."""
        return self.counts.size + 2 * len(self.seen) + sum(map(len, self.links.values()))

    @property
    def full(self) -> bool:
        """True if the site has as many classes as it may: further pages join the nearest one."""
        return len(self.templates) >= CLASSES

    def take(self, lesson: Observation) -> Template:
        """Count a page that was not seen before; returns its template."""
        template = self.fitting(lesson.outline) or self._new(lesson.outline)
        if lesson.fragments is not None and lesson.body not in self.bodies:
            template.pages += 1
            self.counts.add(lesson.fragments, template.number)
        self.bodies[lesson.body] = None
        self.seen[lesson.key] = template
        self.links[lesson.key] = lesson.links
        for memory, most in ((self.seen, _MAX_SEEN), (self.bodies, _MAX_SEEN), (self.links, _MAX_LINKS)):
            if len(memory) > most:
                memory.popitem(last=False)
        return template

    def take_new(self, lessons: Iterable[Observation]) -> None:
        """Count those of the pages that were not seen before."""
        for lesson in lessons:
            if lesson.key not in self.seen:
                self.take(lesson)

    def knows(self, page: Page) -> bool:
        """True if the page, or a copy of it, has been counted."""
        return page.key in self.seen or body_of(page) in self.bodies

    def template(self, page: Page) -> Template | None:
        """The template that the page fits, None if it fits no known one."""
        return self.seen.get(page.key) or self.fitting(outline(page.nodes))

    def fitting(self, mark: frozenset[int]) -> Template | None:
        """The template of the pages with such an outline."""
        best = max(self.templates, key=lambda t: _jaccard(t.outline, mark), default=None)
        return best if best and (self.full or same_class(best.outline, mark)) else None

    def _new(self, mark: frozenset[int]) -> Template:
        self.templates.append(Template(f"{self.name}#{len(self.templates) + 1}", len(self.templates), mark))
        return self.templates[-1]

    def arrays(self) -> dict[str, Column]:
        """All of it as columns, for `from_arrays`."""
        number = {template.id: i for i, template in enumerate(self.templates)}
        return {
            **self.counts.arrays(),
            **_packed("outline", [template.outline for template in self.templates]),
            "template_pages": np.array([template.pages for template in self.templates], np.int64),
            "seen": np.fromiter(self.seen, np.int64, len(self.seen)),
            "seen_template": np.array([number[template.id] for template in self.seen.values()], np.int8),
            "bodies": np.fromiter(self.bodies, np.int64, len(self.bodies)),
            "links": np.fromiter(self.links, np.int64, len(self.links)),
            **_packed("targets", self.links.values()),
        }

    @classmethod
    def from_arrays(cls, name: str, arrays: Mapping[str, Column]) -> Self:
        """What ``arrays`` gave of the site of this name."""
        learnt = cls(name)
        learnt.counts = Counts.from_arrays(arrays)
        for mark, pages in zip(_unpacked("outline", arrays), arrays["template_pages"].tolist(), strict=True):
            learnt._new(mark).pages = pages
        numbers = arrays["seen_template"].tolist()
        learnt.seen.update(zip(arrays["seen"].tolist(), (learnt.templates[i] for i in numbers), strict=True))
        learnt.bodies.update(dict.fromkeys(arrays["bodies"].tolist()))
        learnt.links.update(zip(arrays["links"].tolist(), _unpacked("targets", arrays), strict=True))
        return learnt


def _packed(name: str, sets: Iterable[frozenset[int]]) -> dict[str, Column]:
    sets = list(sets)
    sizes = np.array([len(one) for one in sets], np.int64)
    return {name: np.fromiter(chain.from_iterable(sets), np.int64, int(sizes.sum())), f"{name}_sizes": sizes}


def _unpacked(name: str, arrays: Mapping[str, Column]) -> list[frozenset[int]]:
    keys, cuts = arrays[name].tolist(), accumulate(arrays[f"{name}_sizes"].tolist(), initial=0)
    return [frozenset(keys[start:end]) for start, end in pairwise(cuts)]


def body_of(page: Page) -> int:
    """Hash of all text of a page, to the letter."""
    return xxh3_64_intdigest("\0".join(page.nodes.strings).encode("utf-8", "replace")) >> 1


def outline(nodes: NodeTable) -> frozenset[int]:
    """Hashes of the paths of the first levels by tag and class, without rank and id: what pages of one class share."""
    marks = np.array([signature((tag, "", classes, "")) for tag, _, classes, _ in nodes.looks], np.int64)
    own: Ints = marks[nodes.look]
    paths = own.copy()
    for rows in nodes.levels[1 : _OUTLINE_DEPTH + 1]:
        paths[rows] = mix(paths[nodes.parent[rows]] * 31 + own[rows])
    return frozenset(paths[(nodes.depth <= _OUTLINE_DEPTH) & (nodes.tag != TEXT)].tolist())


def same_class(one: frozenset[int], other: frozenset[int]) -> bool:
    """True if two pages with these outlines are of one class."""
    return _jaccard(one, other) >= _SAME_CLASS


def _jaccard(one: frozenset[int], other: frozenset[int]) -> float:
    return len(one & other) / len(one | other)
