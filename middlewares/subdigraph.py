"""Menu subdigraphs: learn the template of a site from the pages that its menu links together."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field
from typing import Final, Self
from urllib.parse import urldefrag, urljoin

from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.http import HtmlResponse, Response
from scrapy.http.request import NO_CALLBACK
from scrapy.utils.asyncio import is_asyncio_available
from scrapy.utils.spider import DefaultSpider

from scrapy_pagelets.middlewares.handover import ARCHIVED
from scrapy_pagelets.middlewares.probe import Prober
from scrapy_pagelets.middlewares.state import state_of
from scrapy_pagelets.middlewares.threads import in_thread
from scrapy_pagelets.middlewares.traffic import Targets, Traffic
from scrapy_pagelets.page import Page
from scrapy_pagelets.templates.learnt import outline, same_class
from scrapy_pagelets.templates.site import Site
from scrapy_pagelets.templates.subdigraph import Subdigraph, candidates, followed

logger = logging.getLogger(__name__)

#: Pages loaded for one template at the most.
_MAX_LOADS: Final = 8
#: Links looked at for one template at the most: many are loaded already, or forbidden.
_MAX_TRIES: Final = 32
#: Answered requests that are written at once.
_FLUSH: Final = 50


@dataclass
class _Decision:
    """A subdigraph that is being looked for, and whom it concerns."""

    outline: frozenset[int]
    done: asyncio.Event = field(default_factory=asyncio.Event)


class MenuSubdigraphMiddleware:
    """Load pages of the menu until ``PAGELETS_PROBE`` of them link each other, before the first page of a class goes.

    The key page is the first page that fits no known template of its site. Pages are loaded one by one through the
    crawler's own downloader: robots.txt, throttle, cookies, cache and retries apply. Responses of the same class wait
    for the decision, others pass. Loaded pages are kept for the spider (`HandoverMiddleware`). Links that are
    forbidden, broken, redirected, slow or not HTML cost their stat, ``pagelets/probe/failed/<why>``, and no more.

    Request meta ``pagelets_probe: False`` keeps a response out of all this: it is neither a key page nor learnt.
    """

    def __init__(self, crawler: Crawler) -> None:
        self.state = state_of(crawler)
        if not self.state.config.probe or isinstance(crawler.spider, DefaultSpider):
            raise NotConfigured  # `scrapy fetch`, `view` and `shell` want one page and no more
        if not is_asyncio_available():
            raise NotConfigured("menu subdigraphs need the asyncio reactor: leave TWISTED_REACTOR at Scrapy's default")
        self.traffic = Traffic(crawler, self.state.memory)
        self.prober = Prober(crawler, self.state)
        self._decisions: dict[str, list[_Decision]] = {}
        crawler.signals.connect(self.spider_closed, signals.spider_closed)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    def process_request(self, request: Request) -> None:
        if request.callback is not NO_CALLBACK:
            self.traffic.expect(request)

    def process_exception(self, request: Request, exception: Exception) -> None:
        if request.callback is not NO_CALLBACK:
            self.traffic.arrived(request)

    async def process_response(self, request: Request, response: Response) -> Response:
        if request.callback is NO_CALLBACK or ARCHIVED in request.meta:
            return response
        if not _is_page(request, response):
            self.traffic.arrived(request)
            return response
        try:
            await self._meet(request, response)
        except Exception:
            self.traffic.arrived(request)
            self.state.failed(response.url)
        return response

    async def _meet(self, request: Request, response: Response) -> None:
        """Let a page wait until the template of its class is known, and learn it."""
        assert isinstance(response, HtmlResponse)
        page, mark, targets = await in_thread(self._read, response)
        site = await in_thread(self.state.sites.of, page)
        self.traffic.arrived(request, targets)
        decisions = self._decisions.setdefault(site.name, [])
        waiting = next((decision for decision in decisions if same_class(decision.outline, mark)), None)
        if waiting is not None:
            await waiting.done.wait()
        elif not site.fits(mark):  # nobody may wait between this and the decision: two pages would both be key pages
            await self._decide(site, page, mark, request)
        await in_thread(self._learn, page)

    def _read(self, response: HtmlResponse) -> tuple[Page, frozenset[int], Targets]:
        page = self.state.page(response)
        return page, outline(page.nodes), followed(page)

    def _learn(self, page: Page) -> Targets:
        """Count a page; returns where it links to."""
        self.state.sites.learn(page)
        self.state.memory.save(_FLUSH)
        return followed(page)

    async def _decide(self, site: Site, page: Page, mark: frozenset[int], request: Request) -> None:
        decision = _Decision(mark)
        self._decisions[site.name].append(decision)
        try:
            graph, loads = await self._subdigraph(site, page, request)
        finally:
            self._decisions[site.name].remove(decision)
            decision.done.set()
        found = len(graph.best)
        self.state.count("templates/probed")
        self.state.count(f"templates/subdigraph/{found}")
        logger.info("%s: a template from %d pages that link each other, %d loaded for it", site.name, found, loads)

    async def _subdigraph(self, site: Site, page: Page, request: Request) -> tuple[Subdigraph, int]:
        """The subdigraph of a key page, and the number of pages loaded for it; all of them are learnt."""
        urls = await in_thread(_candidates, page)
        graph = Subdigraph(urls, self.state.config.probe)
        await in_thread(self._learn, page)
        loads = tries = 0
        while not graph.done and loads < _MAX_LOADS and tries < _MAX_TRIES and (key := graph.next()) is not None:
            tries += 1
            known = await self._known(site, key, urls[key])
            if known is None:
                other, asked = await self.prober.load(urls[key], request)
                loads += asked
                if other is None:
                    continue
                known = await in_thread(self._learn, other)
            graph.add(key, known)
        return graph, loads

    async def _known(self, site: Site, key: int, url: str) -> Targets | None:
        """Links of a page that need not be loaded; none if it is not to be had."""
        if (targets := site.links.get(key)) is not None:
            return targets
        return await self.traffic.targets(url, self.prober.patience(Request(url)))

    def spider_closed(self) -> None:
        stats = self.state.stats
        if stats is not None and (templates := stats.get_value("pagelets/templates/probed")):
            loaded = stats.get_value("pagelets/probe/loaded", 0)
            stats.set_value("pagelets/probe/pages_per_template", round(loaded / templates, 2))


def _candidates(page: Page) -> dict[int, str]:
    """URLs by key, the likeliest entries of the menu first."""
    links = page.nodes.links
    return {int(links.key[i]): urldefrag(urljoin(page.base, links.href[i].strip())).url for i in candidates(page)}


def _is_page(request: Request, response: Response) -> bool:
    """False for errors, what is not HTML, and what is kept out."""
    return (
        isinstance(response, HtmlResponse) and response.status == 200 and bool(request.meta.get("pagelets_probe", True))
    )
