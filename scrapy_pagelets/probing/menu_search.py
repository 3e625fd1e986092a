"""The search for a complete subdigraph: load pages of a menu until enough of them link each other."""

from collections.abc import Collection, Sequence
from typing import Final, NamedTuple
from urllib.parse import urldefrag, urljoin

from scrapy import Request

from scrapy_pagelets.decision.site import Site
from scrapy_pagelets.evidence.class_template import ClassTemplate, KeptPage
from scrapy_pagelets.evidence.complete_subdigraph import Subdigraph
from scrapy_pagelets.evidence.menu_links import candidates, is_harmless, link_targets, lonely_words
from scrapy_pagelets.evidence.site_counts import outline, same_class
from scrapy_pagelets.page import urls
from scrapy_pagelets.page.page import Page
from scrapy_pagelets.papers.methods import ETDM
from scrapy_pagelets.probing.prober import OFF, Loaded, Prober, Traffic
from scrapy_pagelets.session.crawl_session import CrawlSession
from scrapy_pagelets.session.requests import Obstacle, requested_url
from scrapy_pagelets.session.threads import in_thread

MAX_LOADS: Final = 8  # maximal number of pages loaded for one template
_MAX_TRIES: Final = 32  # maximal number of links tried for one template: many are loaded already, or forbidden
_MAX_HOPS: Final = 3  # maximal number of redirects followed from one link


class _Reached(NamedTuple):
    """The page behind a link: its key, its outline or that of its class, and keys of pages and of redirecting URLs."""

    key: int
    outline: frozenset[int] = frozenset()
    targets: Collection[int] = ()
    names: Sequence[int] = ()


class MenuSearch:
    """The search that starts at one key page (Alarte et al. 2014, Algorithm 1). It may be cancelled at any time."""

    def __init__(self, session: CrawlSession, prober: Prober, traffic: Traffic, site: Site, shapes: set[str]) -> None:
        self._session = session
        self._prober = prober
        self._traffic = traffic
        self._site = site
        self._shapes = shapes
        self.best: set[int] = set()  # keys of the largest set so far of pages that link each other
        self.loads = 0  # number of requests sent to the site
        self.obstacle: Obstacle | None = None  # why no page can be loaded for this key page
        #: The pages behind the links, by key: those that were loaded, and those that were there.
        self._loaded: dict[int, Page] = {}
        self._known: dict[int, Page | KeptPage] = {}

    async def run(self, page: Page, request: Request) -> None:
        """Search until there are enough pages or no links left to try."""
        self.obstacle = sent.obstacle if (sent := self._session.sent.get(request)) else OFF
        links = await in_thread(self._candidates, page)
        is_etdm = self._session.config.detection == ETDM  # in the paper, the pages of the set are beside the key page
        among = None if is_etdm else page.key
        page_outline = outline(page.nodes)
        last = lonely_words(links, page.url) - self._session.in_sitemaps
        graph = Subdigraph(links, self._session.config.probe, among, last)
        self.best = graph.best
        tries = 0
        while not graph.done and self.loads < MAX_LOADS and tries < _MAX_TRIES and (key := graph.next()) is not None:
            tries += 1
            if (reached := await self._reach(key, links[key], page, request)) is not None:
                alike = not is_etdm or same_class(page_outline, reached.outline)
                graph.add(reached.key, reached.targets, reached.names, alike=alike)
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
        names, visited = [key], list[str]()
        for _ in range(_MAX_HOPS + 1):
            reached = await self._without_loading(url, page)
            if reached is not None:
                return reached._replace(names=[*names, *reached.names])
            if self.obstacle is not None or (probe := self._prober.probe_for(url, request, visited)) is None:
                return None
            loaded = await self._load(probe)
            self.loads += loaded.asked
            self.obstacle = loaded.obstacle
            if loaded.page is not None and urls.same_host(loaded.page.url, page.url):
                self._loaded[loaded.page.key] = loaded.page
                return await in_thread(_reached, loaded.page, names)
            # A browser follows redirects by itself, to other hosts too.
            location = loaded.location if loaded.page is None else loaded.page.url
            if not location:
                return None
            visited.append(url)
            url = self._redirected(url, location, page)
            if not url or url in visited:
                break
            names.append(urls.key(url))
        self._session.count("probe/failed/redirected")
        return None

    async def _load(self, probe: Request) -> Loaded:
        """Load a page, for which other searches wait meanwhile."""
        self._traffic.expect(probe)
        loaded = Loaded()
        try:
            loaded = await self._prober.load(probe)
            return loaded
        finally:
            self._traffic.arrived(probe, loaded.page, is_probe=True)

    def _redirected(self, url: str, location: str, page: Page) -> str:
        """The target of a redirect, "" if a link to it would not be followed."""
        try:
            target = requested_url(urldefrag(urljoin(url, location)).url)
        except ValueError:  # "http://[broken"
            return ""
        usable = urls.same_host(target, page.url) and urls.is_page(target) and is_harmless(target, self._shapes)
        return target if usable else ""

    async def _without_loading(self, url: str, key_page: Page) -> _Reached | None:
        """Return a page that is known or requested by others; without links if the page was dropped or comes late."""
        arrived = await self._traffic.arrival(url, self._prober.patience(Request(url)))
        arrived_url, page = arrived or (url, None)
        key = urls.key(arrived_url)
        if page is not None and urls.same_host(page.url, key_page.url):
            self._known[page.key] = page
            return await in_thread(_reached, page, [urls.key(url), key])
        if (known := self._site.known(key)) is not None:
            targets, page_class, self._known[key] = known
            return _Reached(key, page_class.outline, targets, [urls.key(url)])
        return None if arrived is None else _Reached(key, names=[urls.key(url)])

    def learn(self, key_page: Page) -> ClassTemplate | None:
        """Learn the pages of the set as one class, others as pages of the site; return the template, if any."""
        sites, found = self._session.sites, self._known | self._loaded
        others = [page for key, page in found.items() if key in self.best - {key_page.key}]
        members = [page.page() if isinstance(page, KeptPage) else page for page in others]
        page_class = sites.learn_set(key_page, members) if len(self.best) > 1 else sites.learn(key_page)
        for page in found.values():
            if isinstance(page, Page):
                sites.learn(page, keep=True)
        return page_class.subdigraph_template


def _reached(page: Page, names: Sequence[int]) -> _Reached:
    return _Reached(page.key, outline(page.nodes), link_targets(page), names)
