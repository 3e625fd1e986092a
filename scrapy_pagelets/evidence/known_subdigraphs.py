"""Complete subdigraphs among pages that are at hand, as in an archive: nothing is loaded.

Source: Alarte et al. 2014, Section 4.1, Algorithm 1.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from scrapy_pagelets.base.arrays import Ints
from scrapy_pagelets.evidence.complete_subdigraph import Subdigraph
from scrapy_pagelets.evidence.menu_links import candidates, link_targets
from scrapy_pagelets.evidence.site_counts import PageClass, body_of
from scrapy_pagelets.page.page import Page

#: Pages of a site whose links are kept: its first ones, which are those near its start page; and pages of all sites,
#: whose links take about 2 kB each.
_MAX_PAGES: Final = 1000
_MAX_ALL: Final = 100_000
#: Candidates that are tried for a key page: the search for a set is cubic in their number.
_MAX_CANDIDATES: Final = 200


@dataclass
class _Site:
    """The links and classes of the pages of a site, and the candidates of the key page of each class, by keys."""

    bodies: set[int] = field(default_factory=set)
    links: dict[int, Ints] = field(default_factory=dict)
    classes: dict[int, str] = field(default_factory=dict)
    candidates: OrderedDict[str, tuple[int, list[int]]] = field(default_factory=OrderedDict)


class KnownSubdigraphs:
    """Find a set of mutually linked pages for each page class; its key page is the first page of the class.

    Parameters
    ----------
    size : n, the number of pages, beside the key page, that must link to each other
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
class LinkedPages:
    """A key page and the pages of its complete subdigraph.

    Attributes
    ----------
    key_page : key of the key page
    missing : keys of the pages that have not been added yet, the key page among them
    pages : the pages that have been added, by key
    """

    key_page: int
    missing: set[int]
    pages: dict[int, Page] = field(default_factory=dict)

    @property
    def is_complete(self) -> bool:
        """True if all pages have been added."""
        return not self.missing

    def add(self, page: Page) -> None:
        """Add a page that is missing."""
        self.missing.remove(page.key)
        self.pages[page.key] = page
