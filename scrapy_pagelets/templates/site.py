"""What has been learnt of a site: its templates, the texts that its pages repeat, and what that says of a page."""

from __future__ import annotations

import threading
from collections import Counter, OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from scrapy_pagelets.nodes import TEXT, Floats, Ints, NodeTable, mix, signature
from scrapy_pagelets.page import Page
from scrapy_pagelets.templates.mapping import Votes, forget_rare, look_up
from scrapy_pagelets.templates.subdigraph import followed

#: Two pages are of one class if so much of their outline is common (Jaccard).
_SAME_CLASS: Final = 0.4
#: The outline ends here: what lies deeper is content as often as template.
_OUTLINE_DEPTH: Final = 4
#: A site has no more classes than this; further pages join the nearest one.
_MAX_TEMPLATES: Final = 8
#: Pages whose URL is remembered, so that none is counted twice.
_MAX_SEEN: Final = 100_000
#: Pages whose links are remembered, for subdigraphs.
_MAX_LINKS: Final = 500
#: A text on this share of the other pages is template; a place on `VOTE` of the pages that holds links on this share of them, too.
_REPEATED: Final = 0.7


@dataclass
class Template:
    """A class of pages with one look.

    Attributes
    ----------
    id : site and number, ``example.com#1``
    outline : hashes of the paths of the first levels, of the key page
    votes : nodes and texts of the pages, counted
    """

    id: str
    outline: frozenset[int]
    votes: Votes = field(default_factory=Votes)


class Site:
    """One site, learnt page by page. Safe for several threads.

    Attributes
    ----------
    name : registrable domain, or host and port
    pages : number of distinct pages learnt
    templates : the classes of pages seen so far
    links : keys of the pages that a page links to, by its key, of the last pages
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.pages = 0
        self.templates: list[Template] = []
        self.links: OrderedDict[int, frozenset[int]] = OrderedDict()
        self._texts: Counter[int] = Counter()
        self._seen: OrderedDict[int, Template] = OrderedDict()
        self._lock = threading.Lock()

    def learn(self, page: Page) -> Template:
        """Count a page, once for each URL; returns its template."""
        with self._lock:
            if page.key in self._seen:
                return self._seen[page.key]
            template = self._template(page) or self._new(page)
            self._seen[page.key] = template
            self.links[page.key] = followed(page)
            for memory, most in ((self._seen, _MAX_SEEN), (self.links, _MAX_LINKS)):
                if len(memory) > most:
                    memory.popitem(last=False)
            self.pages += 1
            self._texts.update(set(page.nodes.text.tolist()))
            forget_rare(self._texts)
            template.votes.learn(page.nodes)
            return template

    def template(self, page: Page) -> Template | None:
        """The template that the page fits, None if it fits no known one."""
        with self._lock:
            return self._seen.get(page.key) or self._template(page)

    def templateness(self, page: Page) -> Floats:
        """(m,) how surely each leaf belongs to the template, 0 to 1; 0 throughout while no other page is known."""
        template = self.template(page)
        with self._lock:
            return self._evidence(page, template) if template else np.zeros(len(page.nodes.leaves))

    @property
    def full(self) -> bool:
        """True if the site has as many classes as it may: further pages join the nearest one."""
        return len(self.templates) >= _MAX_TEMPLATES

    def _template(self, page: Page) -> Template | None:
        mark = outline(page.nodes)
        best = max(self.templates, key=lambda t: _jaccard(t.outline, mark), default=None)
        return best if best and (self.full or same_class(best.outline, mark)) else None

    def _new(self, page: Page) -> Template:
        self.templates.append(Template(f"{self.name}#{len(self.templates) + 1}", outline(page.nodes)))
        return self.templates[-1]

    def _evidence(self, page: Page, template: Template) -> Floats:
        nodes, known = page.nodes, page.key in self._seen
        others = self.pages - known
        repeated = (look_up(self._texts, nodes.text) - known) / max(1, others)
        votes = template.votes
        menu = (votes.support(nodes) >= _REPEATED) & (votes.linked(nodes) >= _REPEATED) & (votes.pages >= 3)
        for rows in nodes.levels[1:]:
            menu[rows] |= menu[nodes.parent[rows]]
        return np.clip(np.maximum(repeated / _REPEATED / 2, menu[nodes.leaves]), 0, 1)


def outline(nodes: NodeTable) -> frozenset[int]:
    """Hashes of the paths of the first levels by tag and class, without rank and id: what pages of one class share."""
    own: Ints = np.array([signature((tag, "", classes, "")) for tag, _, classes, _ in nodes.looks], np.int64)[nodes.look]
    paths = own.copy()
    for rows in nodes.levels[1 : _OUTLINE_DEPTH + 1]:
        paths[rows] = mix(paths[nodes.parent[rows]] * 31 + own[rows])
    return frozenset(paths[(nodes.depth <= _OUTLINE_DEPTH) & (nodes.tag != TEXT)].tolist())


def same_class(one: frozenset[int], other: frozenset[int]) -> bool:
    """True if two pages with these outlines are of one class."""
    return _jaccard(one, other) >= _SAME_CLASS


def _jaccard(one: frozenset[int], other: frozenset[int]) -> float:
    return len(one & other) / len(one | other)


class Sites:
    """All sites of a crawl, by name."""

    def __init__(self) -> None:
        self._sites: dict[str, Site] = {}
        self._lock = threading.Lock()

    def __getitem__(self, name: str) -> Site:
        with self._lock:
            return self._sites.setdefault(name, Site(name))

    def __iter__(self) -> Iterator[Site]:
        return iter(list(self._sites.values()))

    def of(self, page: Page) -> Site:
        """The site of a page."""
        return self[page.site]
