"""What has been learnt of a site: its templates, the fragments that its pages share, and what that says of a page."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from scrapy_pagelets.nodes import TEXT, Floats, Ints, NodeTable, mix, signature
from scrapy_pagelets.page import Page
from scrapy_pagelets.templates.evidence import Counts, keys_of, mean_odds
from scrapy_pagelets.templates.features import site_features
from scrapy_pagelets.templates.isotonic import smooth
from scrapy_pagelets.templates.model import LABELLED, Model, load
from scrapy_pagelets.templates.subdigraph import followed
from scrapy_pagelets.templates.trees import sigmoid

#: Two pages are of one class if so much of their outline is common (Jaccard).
_SAME_CLASS: Final = 0.4
#: The outline ends here: what lies deeper is content as often as template.
_OUTLINE_DEPTH: Final = 4
#: A site has no more classes than this; further pages join the nearest one.
_MAX_TEMPLATES: Final = 8
#: What a further section must gain, in words on a log scale; levels of the grid of templateness.
_SECTION: Final = 0.3
_GRID: Final = 16
#: Pages whose URL is remembered, so that none is counted twice.
_MAX_SEEN: Final = 100_000
#: Pages whose links are remembered, for subdigraphs.
_MAX_LINKS: Final = 500


@dataclass
class Template:
    """A class of pages with one look.

    Attributes
    ----------
    id : site and number, ``example.com#1``
    outline : hashes of the paths of the first levels, of the key page
    pages : number of pages of the class
    """

    id: str
    outline: frozenset[int]
    pages: int = 0


class Site:
    """One site, learnt page by page. Safe for several threads.

    Parameters
    ----------
    name : registrable domain, or host and port
    model : name or path of the model that weighs the witnesses

    Attributes
    ----------
    counts : fragments of all pages
    templates : the classes of pages seen so far
    links : keys of the pages that a page links to, by its key, of the last pages

    Examples
    --------
    >>> site = Site("example.com")
    >>> for name in ("a", "b", "c"):
    ...     menu = "<div id=menu><a href=a>A</a> <a href=b>B</a> <a href=c>C</a></div>"
    ...     page = Page.parse(f"{menu}<p>All there is to say of {name}.".encode(), f"http://example.com/{name}")
    ...     template = site.learn(page)
    >>> site.counts.pages, template.id
    (3, 'example.com#1')
    """

    def __init__(self, name: str, model: str = LABELLED) -> None:
        self.name = name
        self._model = model
        self.counts = Counts()
        self.templates: list[Template] = []
        self.links: OrderedDict[int, frozenset[int]] = OrderedDict()
        self._seen: OrderedDict[int, Template] = OrderedDict()
        self._lock = threading.Lock()

    @property
    def model(self) -> Model:
        """What weighs the witnesses."""
        return load(self._model)

    @property
    def pages(self) -> int:
        """Number of distinct pages learnt."""
        return self.counts.pages

    @property
    def full(self) -> bool:
        """True if the site has as many classes as it may: further pages join the nearest one."""
        return len(self.templates) >= _MAX_TEMPLATES

    def learn(self, page: Page) -> Template:
        """Count a page, once for each URL; returns its template."""
        with self._lock:
            return self._seen[page.key] if page.key in self._seen else self.count(page, self.model.judge(page)[1])

    def template(self, page: Page) -> Template | None:
        """The template that the page fits, None if it fits no known one."""
        with self._lock:
            return self._seen.get(page.key) or self._template(page)

    def templateness(self, page: Page) -> Floats:
        """(m,) how surely each leaf belongs to the template, 0 to 1."""
        with self._lock:
            columns, odds = self.model.judge(page)
            if self.counts.pages - (page.key in self._seen) > 0:
                odds = self.model.site(np.hstack([columns, self.evidence(page, odds)]))
            return smoothed(page.nodes, sigmoid(odds))

    def count(self, page: Page, odds: Floats) -> Template:
        """Count a page whose log odds, (m,), the page-level classifier has given; not guarded against other threads."""
        template = self._template(page) or self._new(page)
        template.pages += 1
        self.counts.learn(page.nodes, keys_of(page), mean_odds(page.nodes, odds))
        self._remember(page, template)
        return template

    def evidence(self, page: Page, odds: Floats) -> NDArray[np.float32]:
        """(m, features) what the other pages of the site say of each leaf; not guarded against other threads."""
        template = self._seen.get(page.key) or self._template(page)
        known = page.key in self._seen
        pages = template.pages if template else 0
        return site_features(page, keys_of(page), mean_odds(page.nodes, odds), self.counts, pages, known)

    def _remember(self, page: Page, template: Template) -> None:
        self._seen[page.key] = template
        self.links[page.key] = followed(page)
        for memory, most in ((self._seen, _MAX_SEEN), (self.links, _MAX_LINKS)):
            if len(memory) > most:
                memory.popitem(last=False)

    def _template(self, page: Page) -> Template | None:
        mark = outline(page.nodes)
        best = max(self.templates, key=lambda t: _jaccard(t.outline, mark), default=None)
        return best if best and (self.full or same_class(best.outline, mark)) else None

    def _new(self, page: Page) -> Template:
        self.templates.append(Template(f"{self.name}#{len(self.templates) + 1}", outline(page.nodes)))
        return self.templates[-1]


def smoothed(nodes: NodeTable, x: Floats) -> Floats:
    """(m,) templateness of the leaves after isotonic smoothing: few sections, no node more template than its leaves.

    Parameters
    ----------
    x : (m,) of each leaf by itself; nodes between the leaves have no weight of their own
    """
    weight = nodes.spread(np.log1p(nodes.words.astype(np.float64)))
    return smooth(nodes.levels, nodes.parent, nodes.spread(x), weight, _SECTION, _GRID)[nodes.leaves]


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


class Sites:
    """All sites of a crawl, by name.

    Parameters
    ----------
    model : name or path of the model that weighs the witnesses in all of them
    """

    def __init__(self, model: str = LABELLED) -> None:
        self._model = model
        self._sites: dict[str, Site] = {}
        self._lock = threading.Lock()

    def __getitem__(self, name: str) -> Site:
        with self._lock:
            if name not in self._sites:
                self._sites[name] = Site(name, self._model)
            return self._sites[name]

    def __iter__(self) -> Iterator[Site]:
        return iter(list(self._sites.values()))

    def of(self, page: Page) -> Site:
        """The site of a page."""
        return self[page.site]
