"""The downloader middleware that learns the template of a site from pages that its menu links to each other."""

import asyncio
import logging
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from typing import Final

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.http import HtmlResponse, Response
from scrapy.http.request import NO_CALLBACK
from scrapy.utils.asyncio import is_asyncio_available
from scrapy.utils.datatypes import LocalCache

from scrapy_pagelets.decision.site import Site
from scrapy_pagelets.evidence.class_template import ClassTemplate
from scrapy_pagelets.evidence.menu_links import shape
from scrapy_pagelets.evidence.site_counts import outline, same_class
from scrapy_pagelets.page import urls
from scrapy_pagelets.page.page import Page
from scrapy_pagelets.probing.menu_search import MAX_LOADS, MenuSearch
from scrapy_pagelets.probing.prober import Prober, Traffic
from scrapy_pagelets.session.crawl_session import Component
from scrapy_pagelets.session.response_store import is_html
from scrapy_pagelets.session.scrapy_hooks import before_closing
from scrapy_pagelets.session.threads import in_thread

logger = logging.getLogger(__name__)

_FLUSH: Final = 50  # answered requests that are saved in one batch
_FREE_LOADS: Final = 5 * MAX_LOADS  # pages loaded for a site's templates, beside one for each page received
_MAX_SHAPES: Final = 100  # shapes of a site


@dataclass
class _RunningSearch:
    """A running search for a subdigraph, and the outline of the pages that wait for it."""

    outline: frozenset[int]
    done: asyncio.Event = field(default_factory=asyncio.Event)
    task: asyncio.Task[None] | None = None


@dataclass
class _SiteHistory:
    """Shapes of URLs of a site, pages that the spider received, and loads, which running searches have or may make."""

    shapes: set[str] = field(default_factory=set)
    pages: int = 0
    loads: int = 0


class MenuSubdigraphMiddleware(Component):
    """Load pages of a menu until ``PAGELETS_PROBE`` of them link each other, before the spider gets the key page.

    The key page is the first page that fits no known template of its site. Pages are loaded one by one through the
    crawler's own downloader: robots.txt, throttling, cache and retries apply. Responses of the same page class wait for
    the search, for a limited time, others pass. Loaded pages are stored for the spider (`HandoverMiddleware`); other
    links are counted in ``pagelets/probe/failed/<why>``. Nothing is loaded for a page that was requested with cookies
    or a login, nor if all searches of the site would load more than 40 pages and one for each that the spider received.
    A response with request meta ``pagelets_probe: False`` is no key page, and is learnt only if it yields an item.
    """

    for_single_pages = False

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        if not self.session.config.probe:
            raise NotConfigured
        if not is_asyncio_available():
            raise NotConfigured("menu subdigraphs need the asyncio reactor: leave TWISTED_REACTOR at Scrapy's default")
        self.traffic = Traffic(crawler, self.session.answered)
        self.prober = Prober(crawler, self.session)
        self._searches: dict[str, list[_RunningSearch]] = {}
        self._histories: LocalCache[str, _SiteHistory] = LocalCache(1000)
        self._closing = False
        self._waiting = 0
        self.session.progress.waiting["while pages of a menu are loaded"] = lambda: self._waiting
        before_closing(crawler, self._close)

    def process_request(self, request: Request) -> None:
        if request.callback is not NO_CALLBACK:
            self.traffic.expect(request)

    def process_exception(self, request: Request, exception: Exception) -> None:
        if request.callback is not NO_CALLBACK:
            self.traffic.arrived(request)

    async def process_response(self, request: Request, response: Response) -> Response:
        if request.callback is NO_CALLBACK:
            return response
        if not is_html(response) or response.status != 200 or not request.meta.get("pagelets_probe", True):
            self.traffic.arrived(request)
            return response
        try:
            await self._wait_and_learn(request, response)
        except Exception:
            self.traffic.arrived(request)
            self.session.failed(response.url)
        return response

    async def _wait_and_learn(self, request: Request, response: HtmlResponse) -> None:
        page, page_outline, site, is_learnt = await self.session.compute(response, self._read, response)
        self.traffic.arrived(request, page)
        history = self._histories[site.name] = self._histories.pop(site.name, _SiteHistory())
        history.pages += 1
        if len(history.shapes) < _MAX_SHAPES:
            history.shapes.add(shape(urls.normalise(page.url)))
        if is_learnt:
            return
        running = self._running(site, page_outline)
        self._waiting += 1
        try:
            if running is not None:
                await running.done.wait()
            elif not site.fits(page_outline) and not self._closing:
                # No await between this check and the start of the search: two pages would both become key pages.
                await self._search(site, history, page, page_outline, request)
        finally:
            self._waiting -= 1
        await self.session.compute(response, self._learn, page)

    def _read(self, response: HtmlResponse) -> tuple[Page, frozenset[int], Site, bool]:
        """Read a page, and learn it at once if there is nothing to wait for: that saves a change of threads."""
        page = self.session.page(response)
        page_outline, site = outline(page.nodes), self.session.sites[page.site]
        may_learn = site.fits(page_outline) and self._running(site, page_outline) is None
        if may_learn:
            self._learn(page)
        return page, page_outline, site, may_learn

    def _running(self, site: Site, page_outline: frozenset[int]) -> _RunningSearch | None:
        searches = list(self._searches.get(site.name, ()))
        return next((search for search in searches if same_class(search.outline, page_outline)), None)

    def _learn(self, page: Page) -> None:
        self.session.sites.learn(page, keep=True)
        self.session.answered.save(_FLUSH)

    async def _search(
        self, site: Site, history: _SiteHistory, page: Page, page_outline: frozenset[int], request: Request
    ) -> None:
        """Search for a subdigraph from a key page on, within the time limit and the budget of the site."""
        if history.loads + MAX_LOADS > _FREE_LOADS + history.pages:
            self.session.count("templates/over_budget")
            logger.debug("%s: no page was loaded for a template of %s: the budget is spent", site.name, page.url)
            return
        running, shared = _RunningSearch(page_outline), self.session.shared
        self._searches.setdefault(site.name, []).append(running)
        try:
            exchange = partial(self.session.sites.exchange, site)
            async with nullcontext() if shared is None else shared.searching(site.name, exchange):
                # Another process may have learnt the class without a set: its pages and ours may be one.
                if not self._closing and not site.has_set(page_outline):
                    await self._search_now(running, site, history, page, request)
        finally:
            self._searches[site.name].remove(running)
            if not self._searches[site.name]:
                del self._searches[site.name]
            running.done.set()

    async def _search_now(
        self, running: _RunningSearch, site: Site, history: _SiteHistory, page: Page, request: Request
    ) -> None:
        history.loads += MAX_LOADS
        search = MenuSearch(self.session, self.prober, self.traffic, site, history.shapes)
        try:
            running.task = asyncio.ensure_future(search.run(page, request))
            await asyncio.wait({running.task}, timeout=self.prober.limit(request, MAX_LOADS))
            running.task.cancel()
            template = await in_thread(search.learn, page)
        finally:
            history.loads -= MAX_LOADS - search.loads
        self._report(site, search, template)
        if running.task.done() and not running.task.cancelled():
            running.task.result()  # raises the exception of the search

    def _report(self, site: Site, search: MenuSearch, template: ClassTemplate | None) -> None:
        self.session.count("templates/probed")
        self.session.count(f"templates/subdigraph/{len(search.best)}")
        if search.obstacle is not None:
            self.session.count("templates/not_probed")
            self.session.count(f"templates/not_probed/{search.obstacle.name}")
        loads = f"(loaded: {search.loads})"
        if template is not None:
            members = [template.source.url, *template.members]
            self.session.progress.found(site.name, members)
            self.session.count("templates/linked_pages", len(members))
            sentence = "%s: the template of a class of pages is what %d pages that link each other share %s: %s"
            logger.info(sentence, site.name, len(members), loads, " ".join(members))
        elif search.obstacle is not None:
            sentence = "%s: no page of the menu was loaded for a template, because %s"
            logger.info(sentence, site.name, search.obstacle.why)
        else:
            alone, copies = "there are no two pages that link each other", "the pages that link each other are copies"
            why = copies if len(search.best) > 1 else alone
            logger.info("%s: no menu has shown a template, %s %s", site.name, why, loads)

    def _close(self) -> None:
        """Release every waiting page and cancel the probes, so that nothing keeps the spider from closing."""
        self._closing = True
        for running in chain(*self._searches.values()):
            if running.task is not None:
                running.task.cancel()
        self.session.cancel_menu_loads()

    def spider_closed(self) -> None:
        if templates := self.session.stat("templates/probed"):
            mean = round(self.session.stat("probe/loaded") / templates, 2)
            self.session.stats.set_value("pagelets/probe/pages_per_template", mean)
