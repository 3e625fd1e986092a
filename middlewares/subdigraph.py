"""Menu subdigraphs: learn the template of a site from the pages that its menu links together."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any, Final, Self
from urllib.parse import urldefrag, urljoin

from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import IgnoreRequest, NotConfigured
from scrapy.http import HtmlResponse, Response
from scrapy.http.request import NO_CALLBACK
from scrapy.utils.asyncio import is_asyncio_available

from scrapy_pagelets.middlewares.handover import ARCHIVED, PROBE, STORED, fingerprint_of
from scrapy_pagelets.middlewares.state import state_of
from scrapy_pagelets.page import Page
from scrapy_pagelets.templates.site import Site, outline, same_class
from scrapy_pagelets.templates.subdigraph import Subdigraph, candidates, followed

logger = logging.getLogger(__name__)

#: Pages loaded for one template at the most.
_MAX_LOADS: Final = 8
#: Seconds that a template waits for a page. A slower one goes on loading, for the spider that may ask for it.
_PATIENCE: Final = 10.0
_MAX_PAGELESS: Final = 10_000
#: What a probe takes over from the request of its key page.
_META: Final = ("cookiejar", "proxy", "http_user", "http_pass")


@dataclass
class _Decision:
    """A subdigraph that is being looked for, and whom it concerns."""

    outline: frozenset[int]
    done: asyncio.Event


class MenuSubdigraphMiddleware:
    """Load pages of the menu until ``PAGELETS_PROBE`` of them link each other, before the first page of a class goes on.

    The key page is the first page that fits no known template of its site. Pages are loaded one by one through the crawler's own
    downloader: robots.txt, throttle, cookies, cache and retries apply. Responses of the same class wait for the decision, others
    pass. Loaded pages are kept for the spider (`HandoverMiddleware`). Links that are offsite, forbidden, broken, redirected, slow or
    not HTML cost their stat, ``pagelets/probe/failed/<why>``, and no more.

    Request meta ``pagelets_probe: False`` keeps a page from becoming a key page.
    """

    def __init__(self, crawler: Crawler) -> None:
        self.state = state_of(crawler)
        if not self.state.config.probe:
            raise NotConfigured
        if not is_asyncio_available():
            raise NotConfigured("menu subdigraphs need the asyncio reactor: leave TWISTED_REACTOR at Scrapy's default")
        self.crawler = crawler
        self._decisions: dict[str, list[_Decision]] = {}
        #: Requests of the spider on their way, by fingerprint; the links of the page once it is there.
        self._coming: dict[str, asyncio.Future[frozenset[int] | None]] = {}
        #: Fingerprints of the last requests that ended without a page: dead links, files.
        self._pageless: OrderedDict[str, None] = OrderedDict()
        crawler.signals.connect(self.spider_closed, signals.spider_closed)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    def process_request(self, request: Request) -> None:
        if PROBE not in request.meta and request.callback is not NO_CALLBACK:
            self._coming.setdefault(fingerprint_of(self.crawler, request), asyncio.get_running_loop().create_future())

    def process_exception(self, request: Request, exception: Exception) -> None:
        self._arrived(request, None)

    async def process_response(self, request: Request, response: Response) -> Response:
        if not _is_page(request, response):
            self._arrived(request, None)
            return response
        assert isinstance(response, HtmlResponse)
        page, mark = await asyncio.to_thread(self._read, response)
        site = self.state.sites.of(page)
        self._arrived(request, followed(page))
        decisions = self._decisions.setdefault(site.name, [])
        waiting = next((d for d in decisions if same_class(d.outline, mark)), None)
        if waiting is not None:
            await waiting.done.wait()
        elif request.meta.get("pagelets_probe", True) and site.template(page) is None and not site.full:
            await self._decide(site, page, mark, request)
        site.learn(page)
        return response

    def _arrived(self, request: Request, links: frozenset[int] | None) -> None:
        fingerprint = fingerprint_of(self.crawler, request)
        coming = self._coming.pop(fingerprint, None)
        if coming is not None and not coming.done():
            coming.set_result(links)
        if links is None:
            self._pageless[fingerprint] = None
            if len(self._pageless) > _MAX_PAGELESS:
                self._pageless.popitem(last=False)

    def _read(self, response: HtmlResponse) -> tuple[Page, frozenset[int]]:
        page = self.state.page(response)
        return page, outline(page.nodes)

    async def _decide(self, site: Site, page: Page, mark: frozenset[int], request: Request) -> None:
        decision = _Decision(mark, asyncio.Event())
        self._decisions[site.name].append(decision)
        try:
            graph, loads = await self._subdigraph(site, page, request)
        finally:
            self._decisions[site.name].remove(decision)
            decision.done.set()
        self.state.count("templates/probed")
        self.state.count(f"templates/subdigraph/{len(graph.best)}")
        logger.info("%s: a template from %d pages that link each other, %d loaded for it", site.name, len(graph.best), loads)

    async def _subdigraph(self, site: Site, page: Page, request: Request) -> tuple[Subdigraph, int]:
        """The subdigraph of a key page, and the number of pages loaded for it; all of them are learnt."""
        links = page.nodes.links
        urls = {int(links.key[i]): urldefrag(urljoin(page.base, links.href[i].strip())).url for i in candidates(page)}
        graph = Subdigraph(urls, self.state.config.probe)
        site.learn(page)
        loads = tries = 0
        while not graph.done and loads < _MAX_LOADS and tries < 4 * _MAX_LOADS and (key := graph.next()) is not None:
            tries += 1
            known = site.links.get(key) or await self._on_its_way(urls[key])
            if known is None:
                other, asked = await self._load(urls[key], request)
                loads += asked
                if other is None:
                    continue
                site.learn(other)
                known = followed(other)
            graph.add(key, known)
        return graph, loads

    async def _on_its_way(self, url: str) -> frozenset[int] | None:
        """Links of a page that the spider has asked for already, None if it has not or the page does not come."""
        fingerprint = fingerprint_of(self.crawler, Request(url))
        if fingerprint in self._pageless:
            return frozenset()
        coming = self._coming.get(fingerprint)
        if coming is None:
            return None
        await asyncio.wait({coming}, timeout=_PATIENCE)
        return (coming.result() if coming.done() else None) or frozenset()

    async def _load(self, url: str, key: Request) -> tuple[Page | None, bool]:
        """The page behind a link, None if there is none to be had; and whether the site was asked. The reason is counted."""
        meta: dict[str, Any] = {k: key.meta[k] for k in _META if k in key.meta}
        probe = Request(url, callback=NO_CALLBACK, meta=meta | {PROBE: True, "dont_redirect": True})
        fingerprint = fingerprint_of(self.crawler, probe)
        if fingerprint in self.state.probes:
            return None, False  # loaded for another template, and of no use there
        task = self.state.probes[fingerprint] = asyncio.ensure_future(self._download(probe, fingerprint))
        await asyncio.wait({task}, timeout=_PATIENCE)
        if not task.done():
            self.state.count("probe/failed/slow")
            return None, True
        response = task.result()
        if response is None:
            self.state.probes.pop(fingerprint, None)
            return None, False
        if response.status != 200 or not isinstance(response, HtmlResponse):
            self.state.count(f"probe/failed/{_reason(response)}")
            return None, True
        return await asyncio.to_thread(self.state.page, response), True

    async def _download(self, probe: Request, fingerprint: str) -> Response | None:
        assert self.crawler.engine is not None
        try:
            response = await self.crawler.engine.download_async(probe)
        except IgnoreRequest:
            self.state.count("probe/failed/forbidden")
            return None
        except Exception as error:  # whatever a download can end with, the crawl goes on
            logger.debug("%s could not be loaded for a template: %s", probe.url, error)
            self.state.count(f"probe/failed/{type(error).__name__}")
            return None
        self.state.count("probe/loaded")
        await asyncio.to_thread(self.state.spool.put, fingerprint, response)
        return response

    def spider_closed(self) -> None:
        stats = self.state.stats
        if stats is not None and (templates := stats.get_value("pagelets/templates/probed")):
            loaded = stats.get_value("pagelets/probe/loaded", 0)
            stats.set_value("pagelets/probe/pages_per_template", round(loaded / templates, 2))


def _is_page(request: Request, response: Response) -> bool:
    """False for robots.txt, probes, stored responses that were read before, errors, and what is not HTML."""
    return (
        isinstance(response, HtmlResponse)
        and response.status == 200
        and request.callback is not NO_CALLBACK
        and STORED not in request.meta
        and ARCHIVED not in request.meta
    )


def _reason(response: Response) -> str:
    if response.status in range(300, 400):
        return "redirected"
    return "broken" if response.status != 200 else "not_html"
