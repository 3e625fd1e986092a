"""The search for a complete subdigraph: pages of one menu, loaded until enough of them link each other."""

from __future__ import annotations

import logging
from typing import Final, NamedTuple
from urllib.parse import urldefrag, urljoin

from scrapy import Request

from scrapy_pagelets import urls
from scrapy_pagelets.middlewares.addresses import requested_url
from scrapy_pagelets.page import Page
from scrapy_pagelets.probing.prober import Prober
from scrapy_pagelets.probing.traffic import Targets, Traffic
from scrapy_pagelets.session.crawl_session import CrawlSession
from scrapy_pagelets.session.threads import in_thread
from scrapy_pagelets.templates.complete_subdigraph import Subdigraph, candidates, followed, is_harmless, same_host
from scrapy_pagelets.templates.site import Site

logger = logging.getLogger(__name__)

#: Pages loaded for one template at the most.
MAX_LOADS: Final = 8
#: Links looked at for one template at the most: many are loaded already, or forbidden.
_MAX_TRIES: Final = 32
#: Redirects that are followed from one link.
_MAX_HOPS: Final = 3


class _Reached(NamedTuple):
    """The page behind a link: its key, the keys of the URLs that redirect to it, and where it links to."""

    key: int
    names: list[int]
    targets: Targets


class MenuSearch:
    """One search, from a key page on (Alarte et al. 2014, Algorithm 1). It may be cancelled at any time.

    Attributes
    ----------
    best : keys of the largest set of pages found so far that link each other
    loads : how often the site was asked for a page
    possible : False once it is known that no page can be loaded for this key page
    """

    def __init__(self, session: CrawlSession, prober: Prober, traffic: Traffic, site: Site, shapes: set[str]) -> None:
        self._session = session
        self._prober = prober
        self._traffic = traffic
        self._site = site
        self._shapes = shapes
        self.best: set[int] = set()
        self.loads = 0
        self.possible = True

    async def run(self, page: Page, request: Request) -> None:
        """Search until there are enough pages, or nothing is left to try; the pages that are loaded are learnt."""
        self.possible = self._prober.may_load_for(request)
        links = await in_thread(self._candidates, page)
        graph = Subdigraph(links, self._session.config.probe)
        await in_thread(self._learn, page)
        tries = 0
        while not graph.done and self.loads < MAX_LOADS and tries < _MAX_TRIES and (key := graph.next()) is not None:
            tries += 1
            if (reached := await self._reach(key, links[key], page, request)) is not None:
                graph.add(reached.key, reached.targets, reached.names)
                self.best = graph.best

    def _candidates(self, page: Page) -> dict[int, str]:
        """URLs by key, the likeliest entries of the menu first."""
        links = page.nodes.links
        found = {}
        for i in candidates(page, self._shapes, self._session.listed):
            url = requested_url(urldefrag(urljoin(page.base, links.href[i].strip())).url)
            if same_host(url, page.url):
                found[int(links.key[i])] = url
        return found

    async def _reach(self, key: int, url: str, page: Page, request: Request) -> _Reached | None:
        """The page behind a link, loaded if it need be; None if it is not to be had."""
        names, hops = [key], 0
        visited: list[str] = []
        while hops <= _MAX_HOPS:
            known = await self._known(url)
            if known is not None:
                return _Reached(known.key, [*names, *known.names], known.targets)
            if not self.possible:
                return None
            loaded = await self._prober.load(self._prober.probe_for(url, request, visited))
            self.loads += loaded.asked
            self.possible = loaded.possible
            if loaded.page is not None:
                return _Reached(loaded.page.key, names, await in_thread(self._learn, loaded.page))
            if not loaded.location:
                return None
            visited.append(url)
            url = self._redirected(url, loaded.location, page)
            if not url or url in visited:
                break
            names.append(urls.key(url))
            hops += 1
        self._session.count("probe/failed/redirected")
        return None

    def _redirected(self, url: str, location: str, page: Page) -> str:
        """Where a redirect leads to, "" if a link that led there would not be followed."""
        try:
            target = requested_url(urldefrag(urljoin(url, location)).url)
        except ValueError:  # "http://[broken"
            return ""
        usable = same_host(target, page.url) and urls.is_page(target) and is_harmless(target, self._shapes)
        return target if usable else ""

    async def _known(self, url: str) -> _Reached | None:
        """A page that need not be loaded: it is known, or comes, or will not come."""
        key = urls.key(url)
        if (targets := self._site.links.get(key)) is not None:
            return _Reached(key, [], targets)
        found = await self._traffic.targets(url, self._prober.patience(Request(url)))
        return None if found is None else _Reached(urls.key(found.url), [key], found.targets)

    def _learn(self, page: Page) -> Targets:
        self._session.sites.learn(page)
        return followed(page)
