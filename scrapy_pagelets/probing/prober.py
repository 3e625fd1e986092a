"""Pages loaded for templates, one by one, as the spider would load them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.exceptions import IgnoreRequest
from scrapy.http import HtmlResponse, Response
from scrapy.http.request import NO_CALLBACK
from scrapy.utils.defer import maybe_deferred_to_future
from scrapy.utils.httpobj import urlparse_cached

from scrapy_pagelets.limits import TooLarge
from scrapy_pagelets.middlewares.addresses import FOLLOWED
from scrapy_pagelets.middlewares.handover import PROBE, RECEIVED, AnotherVisitor, token_of
from scrapy_pagelets.page import Page
from scrapy_pagelets.probing.identity import routes_of
from scrapy_pagelets.session.crawl_session import CrawlSession
from scrapy_pagelets.session.rendered_response import RenderedResponse
from scrapy_pagelets.session.threads import in_thread

logger = logging.getLogger(__name__)

#: Seconds that a search waits for a page, and that it may take.
PATIENCE: Final = 5.0
LIMIT: Final = 15.0
#: Headers that say which form of a page is wanted. Others may say who wants it, and are left to the middlewares.
_NEGOTIATION: Final = ("Accept", "Accept-Encoding", "Accept-Language", "User-Agent")
#: Errors that the spider would get as well; of others it is to judge itself.
_LASTING_ERRORS: Final = (404, 410)


class Loaded(NamedTuple):
    """What is behind a link.

    Attributes
    ----------
    page : None if there is none to be had
    location : where the link redirects to, "" for a link that does not
    asked : whether the site was asked for it
    possible : False if no page can be loaded for this key page, whatever the link
    """

    page: Page | None = None
    location: str = ""
    asked: bool = True
    possible: bool = True


class Prober:
    """Load pages through the crawler's own downloader, so that robots.txt, throttle, cache and retries apply.

    The requests pass by the engine: they are no responses of the spider, and do not keep it from closing. They carry
    no cookies, and none is sent for a page that was loaded with some. What is loaded stays with ``CrawlSession.probes``
    until the spider asks for it.
    """

    def __init__(self, crawler: Crawler, session: CrawlSession) -> None:
        self.crawler = crawler
        self.session = session

    def may_load_for(self, key: Request) -> bool:
        """True if a page may be loaded on behalf of the request of a key page."""
        return key in self.session.identities

    def limit(self, request: Request, loads: int) -> float:
        """How many seconds a search may take: more if the site is not to be asked often, or many others wait."""
        return LIMIT + loads * self._pause(request)

    def patience(self, request: Request) -> float:
        """How many seconds a search waits for one page."""
        return PATIENCE + self._pause(request)

    def _pause(self, request: Request) -> float:
        """How many seconds it takes at the most until a request is sent that is made now."""
        assert self.crawler.engine is not None
        downloader = self.crawler.engine.downloader
        slot = downloader.slots.get(downloader.get_slot_key(request))
        return 2 * slot.delay * (len(slot.queue) + 1) if slot else 0.0

    async def load(self, probe: Request) -> Loaded:
        """Load a page; why it cannot be had is counted. A slow page goes on loading, for the spider may ask for it."""
        token = probe.meta[PROBE]
        if token in self.session.probes or self.session.spool.has(token):
            return Loaded(asked=False)  # loaded for another template, or before the crawl was interrupted
        task = self.session.probes[token] = asyncio.ensure_future(self._download(probe))
        await asyncio.wait({task}, timeout=self.patience(probe))
        if not task.done() or task.cancelled():
            self.session.count("probe/failed/slow")
            return Loaded()
        response = task.result()
        if isinstance(response, Exception):
            self.session.probes.pop(token, None)
            return self._failed(probe, response)
        if not _is_kept(response):
            self.session.probes.pop(token, None)
        if response.status in range(300, 400) and "Location" in response.headers:
            return Loaded(location=(response.headers["Location"] or b"").decode("latin-1"))
        if response.status != 200 or not isinstance(response, HtmlResponse):
            self.session.count(f"probe/failed/{'broken' if response.status != 200 else 'not_html'}")
            return Loaded()
        try:
            return Loaded(await in_thread(self.session.page, response))
        except TooLarge:
            self.session.count("probe/failed/too_large")
            return Loaded()

    def probe_for(self, url: str, key: Request, redirected: Sequence[str] = ()) -> Request:
        """Request that loads a page on behalf of that of a key page.

        Parameters
        ----------
        url : one that Scrapy takes, see `requested_url`
        redirected : the URLs that have led to it
        """
        headers = {name: key.headers.getlist(name) for name in _NEGOTIATION if name in key.headers}
        meta: dict[str, Any] = routes_of(key) | {"dont_redirect": True}
        if redirected:
            meta["redirect_urls"] = list(redirected)
        probe = Request(url, callback=NO_CALLBACK, headers=headers, meta=meta)
        probe.meta[PROBE] = token_of(self.crawler, probe, self.session.identities[key])
        if urlparse_cached(probe).hostname != urlparse_cached(key).hostname:
            probe.meta[FOLLOWED] = True
        return probe

    async def _download(self, probe: Request) -> Response | Exception:
        assert self.crawler.engine is not None
        engine: Any = self.crawler.engine
        found: Request | Response = probe
        try:
            while isinstance(found, Request):  # a middleware tries again
                sent = found
                found = await maybe_deferred_to_future(engine.downloader.fetch(sent))
        except Exception as error:  # whatever a download can end with, the crawl goes on
            return error
        finally:
            if engine._slot is not None:
                engine._slot.nextcall.schedule()  # there is room for another request
        self.session.count("probe/loaded")
        if _is_kept(found):
            await in_thread(self.session.spool.put, probe.meta[PROBE], _received(found, sent))
        return found

    def _failed(self, probe: Request, error: Exception) -> Loaded:
        if isinstance(error, AnotherVisitor):
            return Loaded(asked=False, possible=False)
        forbidden = isinstance(error, IgnoreRequest)
        self.session.count(f"probe/failed/{'forbidden' if forbidden else 'broken'}")
        logger.debug("%s could not be loaded for a template: %r", probe.url, error)
        return Loaded(asked=not forbidden)


def _received(response: Response, probe: Request) -> Response:
    """The response as the downloader gave it, with what a browser has made of it."""
    received: Response = probe.meta.pop(RECEIVED, response)
    if isinstance(response, RenderedResponse):
        received = received.replace(cls=RenderedResponse, frames=response.frames)
    return received.replace(request=probe)


def _is_kept(response: Response) -> bool:
    return response.status < 400 or response.status in _LASTING_ERRORS
