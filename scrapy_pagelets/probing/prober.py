"""Loading pages for templates, one by one, in the way the spider would load them, if it does not request them."""

import asyncio
import logging
from collections.abc import Sequence
from functools import partial
from hashlib import blake2b
from typing import Any, Final, NamedTuple
from weakref import WeakValueDictionary

from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Response
from scrapy.http.request import NO_CALLBACK
from scrapy.utils.datatypes import LocalCache
from scrapy.utils.defer import maybe_deferred_to_future
from scrapy.utils.httpobj import urlparse_cached

from scrapy_pagelets.page.limits import TooLarge
from scrapy_pagelets.page.page import Page
from scrapy_pagelets.page.urls import site_of
from scrapy_pagelets.session.crawl_session import CrawlSession, session_of
from scrapy_pagelets.session.requests import FOLLOWED, AnsweredRequests, Obstacle, fingerprint_of
from scrapy_pagelets.session.response_store import RenderedResponse, fingerprint_in, is_html
from scrapy_pagelets.session.scrapy_hooks import look_for_work
from scrapy_pagelets.session.threads import in_thread, in_waiting_thread

#: Request meta of a probe: the key under which its response is stored until the spider requests the page.
RESPONSE_KEY: Final = "_pagelets_response_key"
RECEIVED: Final = "_pagelets_received"  # request meta of a probe: its response as the downloader returned it
OFF: Final = Obstacle("off", "HandoverMiddleware, which has to check the requests for them, is off")
DIFFERS: Final = Obstacle("differs", "they would be requested otherwise than this page, as with cookies of the site")


class IdentityDiffers(IgnoreRequest):
    """Raised for a probe with other headers or another route than its key page: the site might send it another page."""


def key_of_response(crawler: Crawler, request: Request, identity: str) -> str | None:
    """The key of a stored response: fingerprint, identity and URL of its request; None without a fingerprint."""
    if (fingerprint := known_fingerprint(crawler, request)) is None:
        return None
    # Fingerprinters may take two URLs for one; a response belongs to the URL that was requested.
    url = blake2b(request.url.encode("utf-8", "replace"), digest_size=8).hexdigest()
    return fingerprint + identity + url


def known_fingerprint(crawler: Crawler, request: Request) -> str | None:
    """Return the fingerprint of a request, None if there is none: that of a project may need meta of its spiders."""
    try:
        return fingerprint_of(crawler, request)
    except Exception as error:
        sentence = "no page is loaded for a template where the request fingerprinter of the project fails (%s): %r"
        session_of(crawler).warn("probe/failed/fingerprint", sentence, request.url, error)
        return None


logger = logging.getLogger(__name__)

PATIENCE: Final = 5.0  # seconds that a search waits for one page
LIMIT: Final = 15.0  # seconds that it may take altogether
#: Headers for content negotiation. Others may identify the client; probes get those only from middlewares.
_NEGOTIATION: Final = ("Accept", "Accept-Encoding", "Accept-Language", "User-Agent")


class Loaded(NamedTuple):
    """The result of loading a link."""

    page: Page | None = None  # the page, None if there is none
    location: str = ""  # target of a redirect, "" without one
    asked: bool = True  # whether a request was sent to the site
    obstacle: Obstacle | None = None  # why no page can be loaded for this key page, if known


class Prober:
    """Load pages through the crawler's own downloader, so that robots.txt, throttling, cache and retries apply.

    Probes bypass the engine, so that they do not keep the spider from closing. They carry no cookies, and none is sent
    for a key page requested with cookies. ``CrawlSession.menu_loads`` holds what they load for the spider.
    """

    def __init__(self, crawler: Crawler, session: CrawlSession) -> None:
        self.crawler = crawler
        self.session = session

    def limit(self, request: Request, loads: int) -> float:
        """Return how many seconds a search may take: more with a download delay or a long queue."""
        return LIMIT + loads * self._pause(request)

    def patience(self, request: Request) -> float:
        """Return how many seconds a search waits for one page."""
        return PATIENCE + self._pause(request)

    def _pause(self, request: Request) -> float:
        """Maximal number of seconds until a request that is made now is sent."""
        downloader = self.crawler.engine.downloader
        slot = downloader.slots.get(downloader.get_slot_key(request))
        return 2 * slot.delay * (len(slot.queue) + 1) if slot else 0.0

    async def load(self, probe: Request) -> Loaded:
        """Load a page and count failures. A slow page continues to load, because the spider may request it."""
        key, shared = probe.meta[RESPONSE_KEY], self.session.shared
        if key in self.session.menu_loads or self.session.handovers.has(key):
            return Loaded(asked=False)  # loaded for another template, or before the crawl was interrupted
        if shared is not None and not await in_waiting_thread(shared.frontier.claim, fingerprint_in(key)):
            return Loaded(asked=False)  # another process requests it, or has loaded it
        task = asyncio.ensure_future(self._download(probe))
        self.session.menu_loads[key] = task
        task.add_done_callback(partial(self._release, key))
        await asyncio.wait({task}, timeout=self.patience(probe))
        if not task.done() or task.cancelled():
            self.session.count("probe/failed/slow")
            return Loaded()
        response = task.result()
        if isinstance(response, Exception):
            self.session.menu_loads.pop(key, None)
            return self._failed(probe, response)
        if not _is_handed_over(response):
            self.session.menu_loads.pop(key, None)
        if response.status in range(300, 400) and "Location" in response.headers:
            return Loaded(location=(response.headers["Location"] or b"").decode("latin-1"))
        if response.status != 200 or not is_html(response):
            self.session.count(f"probe/failed/{'broken' if response.status != 200 else 'not_html'}")
            return Loaded()
        try:
            return Loaded(await in_thread(self.session.page, response))
        except TooLarge:
            self.session.count("probe/failed/too_large")
            return Loaded()

    def _release(self, key: str, task: asyncio.Future[Any]) -> None:
        """Let go of a response once it is stored: nobody may ever request it."""
        if self.session.menu_loads.get(key) is task:
            done = self.session.menu_loads[key] = asyncio.get_running_loop().create_future()
            done.set_result(None)

    def probe_for(self, url: str, key: Request, redirected: Sequence[str]) -> Request | None:
        """Return a request that loads a URL for the page of ``key``, after redirects; None if it has no fingerprint."""
        headers = {name: key.headers.getlist(name) for name in _NEGOTIATION if name in key.headers}
        timeout = min(LIMIT + PATIENCE, self.crawler.settings.getfloat("DOWNLOAD_TIMEOUT"))
        sent = self.session.sent[key]
        meta: dict[str, Any] = sent.routes | {"dont_redirect": True, "download_timeout": timeout}
        if redirected:
            meta["redirect_urls"] = list(redirected)
        probe = Request(url, callback=NO_CALLBACK, headers=headers, meta=meta)
        if (found := key_of_response(self.crawler, probe, sent.identity)) is None:
            return None
        probe.meta[RESPONSE_KEY] = found
        if urlparse_cached(probe).hostname != urlparse_cached(key).hostname:
            probe.meta[FOLLOWED] = True
        return probe

    async def _download(self, probe: Request) -> Response | Exception:
        result: Request | Response = probe
        try:
            while isinstance(result, Request):  # a middleware retries, or asks for something else
                if not _is_same(result, probe):
                    return IgnoreRequest(f"a middleware asks for {result.url} instead")
                sent = result
                result = await maybe_deferred_to_future(self.crawler.engine.downloader.fetch(sent))
            self.session.count("probe/loaded")
            self.session.progress.has_loaded(site_of(probe.url))
            if _is_handed_over(result):
                await in_thread(self.session.handovers.put, probe.meta[RESPONSE_KEY], _received(result, sent))
            return result
        except Exception as error:  # a download can raise anything; the crawl goes on
            return error
        finally:
            look_for_work(self.crawler)
            if (shared := self.session.shared) is not None:
                await in_waiting_thread(shared.frontier.release, "probing", fingerprint_in(probe.meta[RESPONSE_KEY]))

    def _failed(self, probe: Request, error: Exception) -> Loaded:
        if isinstance(error, IdentityDiffers):
            return Loaded(asked=False, obstacle=DIFFERS)
        forbidden = isinstance(error, IgnoreRequest)
        self.session.count(f"probe/failed/{'forbidden' if forbidden else 'broken'}")
        logger.debug("%s could not be loaded for a template: %r", probe.url, error)
        return Loaded(asked=not forbidden)


def _is_same(request: Request, probe: Request) -> bool:
    """True for a probe or its retry; False for a request that a middleware has put in its place."""
    key = request.meta.get(RESPONSE_KEY)
    return (request.method, request.url, key) == (probe.method, probe.url, probe.meta[RESPONSE_KEY])


def _received(response: Response, probe: Request) -> Response:
    """The response as the downloader returned it, with its rendered frames."""
    received: Response = probe.meta.pop(RECEIVED, response)
    if isinstance(response, RenderedResponse):
        received = received.replace(cls=RenderedResponse, frames=response.frames)
    return received.replace(request=probe)


def _is_handed_over(response: Response) -> bool:
    """Whether the spider gets a response when it asks for it: errors that may be over by then it asks for again."""
    return response.status < 400 or response.status in (404, 410)


class Traffic:
    """Track the requests of the spider, because their pages need not be loaded for a template as well."""

    def __init__(self, crawler: Crawler, answered: AnsweredRequests) -> None:
        self.crawler = crawler
        self.answered = answered
        self._pending: dict[str, asyncio.Future[Page | None]] = {}
        #: Pages that something else holds: a response that waits or is in use, or a search.
        self._pages: WeakValueDictionary[str, Page] = WeakValueDictionary()
        self._moved: LocalCache[str, str] = LocalCache(500)  # recent redirects: from fingerprint to URL
        crawler.signals.connect(self.request_scheduled, signals.request_scheduled)

    def expect(self, request: Request) -> None:
        """Record that a request was sent."""
        if (fingerprint := known_fingerprint(self.crawler, request)) is not None:
            self._pending.setdefault(fingerprint, asyncio.get_running_loop().create_future())

    def arrived(self, request: Request, page: Page | None = None, *, is_probe: bool = False) -> None:
        """Record that a request of the spider, or one for a template, was answered, by a page or by something else."""
        if (fingerprint := known_fingerprint(self.crawler, request)) is None:
            return
        if not is_probe:
            self.answered.add_answered(fingerprint)
        if page is not None:
            self._pages[fingerprint] = page
        pending = self._pending.pop(fingerprint, None)
        if pending is not None and not pending.done():
            pending.set_result(page)

    def request_scheduled(self, request: Request) -> None:
        """Record the redirects, by HTTP or by the page, that have led to a request."""
        for url in request.meta.get("redirect_urls", ()):
            if (fingerprint := known_fingerprint(self.crawler, Request(url))) is None:
                return
            self._moved[fingerprint] = request.url
            self.arrived(Request(url))

    async def arrival(self, url: str, patience: float) -> tuple[str, Page | None] | None:
        """Wait for a requested page: return its final URL, with the page if kept; None for a page nobody requested."""
        visited = {url}
        while True:
            if (fingerprint := known_fingerprint(self.crawler, Request(url))) is None:
                return None
            if (pending := self._pending.get(fingerprint)) is not None:
                await asyncio.wait({pending}, timeout=patience)
            moved = self._moved.get(fingerprint, url)
            if moved in visited:
                break
            visited.add(moved)
            url = moved
        if pending is not None:
            return url, pending.result() if pending.done() else None
        page = self._pages.get(fingerprint)
        return (url, page) if page is not None or self.answered.is_answered(fingerprint) else None
