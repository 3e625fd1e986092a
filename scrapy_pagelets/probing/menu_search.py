"""The search for a complete subdigraph: load pages of a menu until enough of them link each other."""

from __future__ import annotations

import logging
from typing import Final, NamedTuple
from urllib.parse import urldefrag, urljoin

from scrapy import Request

from scrapy_pagelets import urls
from scrapy_pagelets.page import Page
from scrapy_pagelets.probing.prober import Prober
from scrapy_pagelets.probing.traffic import Targets, Traffic
from scrapy_pagelets.session.crawl_session import CrawlSession
from scrapy_pagelets.session.outgoing import requested_url
from scrapy_pagelets.session.threads import in_thread
from scrapy_pagelets.templates.complete_subdigraph import Subdigraph
from scrapy_pagelets.templates.detections import ETDM
from scrapy_pagelets.templates.menu_links import candidates, is_harmless, link_targets, lonely_words
from scrapy_pagelets.templates.site import Site

logger = logging.getLogger(__name__)

#: Maximal number of pages loaded for one template.
MAX_LOADS: Final = 8
#: Maximal number of links tried for one template: many are loaded already, or forbidden.
_MAX_TRIES: Final = 32
#: Maximal number of redirects followed from one link.
_MAX_HOPS: Final = 3


class _Reached(NamedTuple):
    """The page behind a link: its key, the keys of the URLs that redirect to it, and the pages that it links to."""

    key: int
    alias_keys: list[int]
    targets: Targets


class MenuSearch:
    """The search that starts at one key page (Alarte et al. 2014, Algorithm 1). It may be cancelled at any time.

    Attributes
    ----------
    best : keys of the largest set of pages found so far that all link each other, the key page among them
    loaded : pages that were loaded, by key
    loads : number of requests sent to the site
    possible : False once it is clear that no page can be loaded for this key page
    """

    def __init__(self, session: CrawlSession, prober: Prober, traffic: Traffic, site: Site, shapes: set[str]) -> None:
        self._session = session
        self._prober = prober
        self._traffic = traffic
        self._site = site
        self._shapes = shapes
        self.best: set[int] = set()
        self.loaded: dict[int, Page] = {}
        self.loads = 0
        self.possible = True

    async def run(self, page: Page, request: Request) -> None:
        """Search until there are enough pages or no links left to try."""
        self.possible = self._prober.may_load_for(request)
        links = await in_thread(self._candidates, page)
        # In the paper, the pages of the set are beside the key page.
        among = None if self._session.config.detection == ETDM else page.key
        last = lonely_words(links, page.url) - self._session.in_sitemaps
        graph = Subdigraph(links, self._session.config.probe, among, last)
        self.best = graph.best
        tries = 0
        while not graph.done and self.loads < MAX_LOADS and tries < _MAX_TRIES and (key := graph.next()) is not None:
            tries += 1
            if (reached := await self._reach(key, links[key], page, request)) is not None:
                graph.add(reached.key, reached.targets, reached.alias_keys)
                self.best = graph.best

    def _candidates(self, page: Page) -> dict[int, str]:
        """URLs by key, the likeliest menu entries first."""
        links = page.nodes.links
        likeliest = {}
        for i in candidates(page, self._shapes, self._session.in_sitemaps):
            url = requested_url(urldefrag(urljoin(page.base, links.href[i].strip())).url)
            if urls.same_host(url, page.url) and i not in page.marks.ignored_links:
                likeliest[int(links.key[i])] = url
        return likeliest

    async def _reach(self, key: int, url: str, page: Page, request: Request) -> _Reached | None:
        """The page behind a link, which is loaded if necessary; None if that fails."""
        alias_keys, hops = [key], 0
        visited: list[str] = []
        while hops <= _MAX_HOPS:
            reached = await self._without_loading(url)
            if reached is not None:
                return _Reached(reached.key, [*alias_keys, *reached.alias_keys], reached.targets)
            if not self.possible or (probe := self._prober.probe_for(url, request, visited)) is None:
                return None
            loaded = await self._prober.load(probe)
            self.loads += loaded.asked
            self.possible = loaded.possible
            if loaded.page is not None:
                self.loaded[loaded.page.key] = loaded.page
                return _Reached(loaded.page.key, alias_keys, await in_thread(link_targets, loaded.page))
            if not loaded.location:
                return None
            visited.append(url)
            url = self._redirected(url, loaded.location, page)
            if not url or url in visited:
                break
            alias_keys.append(urls.key(url))
            hops += 1
        self._session.count("probe/failed/redirected")
        return None

    def _redirected(self, url: str, location: str, page: Page) -> str:
        """The target of a redirect, "" if a link to it would not be followed."""
        try:
            target = requested_url(urldefrag(urljoin(url, location)).url)
        except ValueError:  # "http://[broken"
            return ""
        usable = urls.same_host(target, page.url) and urls.is_page(target) and is_harmless(target, self._shapes)
        return target if usable else ""

    async def _without_loading(self, url: str) -> _Reached | None:
        """The page behind a URL if it need not be loaded: the site has its links, or the spider has requested it.

        In the second case, wait until it arrives.
        """
        key = urls.key(url)
        if (targets := self._site.links.get(key)) is not None:
            return _Reached(key, [], targets)
        arrived = await self._traffic.targets(url, self._prober.patience(Request(url)))
        return None if arrived is None else _Reached(urls.key(arrived.url), [key], arrived.targets)

    def urls(self, key_page: Page) -> list[str]:
        """URLs of the key page, and of the pages of the set that were loaded."""
        return [key_page.url, *(p.url for key, p in self.loaded.items() if key in self.best and key != key_page.key)]

    def learn(self, key_page: Page) -> int:
        """Learn the pages of the set as one class, and their template; the other loaded pages as pages of the site.

        Returns
        -------
        The number of pages that define the template, with the key page; 0 without a template
        """
        linked = [page for key, page in self.loaded.items() if key in self.best and key != key_page.key]
        sites = self._session.sites
        page_class = sites.learn_set(key_page, linked) if len(self.best) > 1 and linked else sites.learn(key_page)
        for page in self.loaded.values():
            sites.learn(page)
        template = page_class.subdigraph_template
        return template.voters if template is not None else 0
