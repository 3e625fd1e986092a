"""The downloader middleware that answers requests with responses already loaded for a template."""

import asyncio
from functools import cached_property
from hashlib import blake2b
from types import SimpleNamespace
from typing import Any, Final

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.downloadermiddlewares.httpcache import HttpCacheMiddleware
from scrapy.downloadermiddlewares.stats import DownloaderStats
from scrapy.http import Response
from scrapy.utils.misc import load_object
from scrapy.utils.python import global_object_name

from scrapy_pagelets.probing.prober import RECEIVED, RESPONSE_KEY, IdentityDiffers, key_of_response
from scrapy_pagelets.session.crawl_session import Component
from scrapy_pagelets.session.requests import Obstacle, Sent
from scrapy_pagelets.session.response_store import FRAMES, RenderedResponse
from scrapy_pagelets.session.scrapy_hooks import is_starting
from scrapy_pagelets.session.threads import in_thread

#: Headers that identify a session: a response to such a request must not be used for another one.
_SESSION_HEADERS: Final = (b"Cookie", b"Authorization")
#: Headers that differ for each request without changing the response. A page that was loaded in full is one also where
#: it would have been requested only if modified.
_IGNORED: Final = frozenset((b"if-modified-since", b"if-none-match", b"referer"))
#: Keys of request meta that decide how a request is sent, whichever handler sends it.
_ROUTES: Final = ("bindaddress", "cookiejar", "pagelets_render", "playwright", "playwright_context", "proxy")
_DEFAULTS: Final = {"playwright_context": "default"}  # mean the same as none: a handler adds them
_BOOKKEEPING: Final = (  # prefixes of request meta that no handler uses to route requests
    "_", "allow_offsite", "autothrottle_", "cached_response", "depth", "dont_", "download_", "give_up_log_level",
    "handle_httpstatus_", "is_start_request", "link_text", "max_retry_times", "pagelets_",
    "playwright_security_details", "playwright_suggested_filename", "redirect_", "referrer_policy", "retry_times",
    "rule", "verbatim_url",
)  # fmt: skip
#: Packages of download handlers -> prefix of the other keys of request meta that they use. Scrapy's own use none.
_HANDLERS: Final = {"scrapy": None, "scrapy_playwright": "playwright"}
#: The methods of middlewares nearer the downloader that leave requests as they are.
_UNCHANGING: Final = (DownloaderStats.process_request, HttpCacheMiddleware.process_request)


class HandoverMiddleware(Component):
    """Answer requests with responses that were loaded for a template, so that no page is fetched twice.

    A request gets the response that `MenuSubdigraphMiddleware` has loaded, or is loading, for its URL, if it would be
    sent with the same headers, by the same route, and without a session. All middlewares process it once, on its way to
    the spider. If one nearer the downloader may change requests (any with a ``process_request`` but Scrapy's stats and
    cache), nothing is handed over, or loaded for templates.
    """

    for_single_pages = False

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        #: For each scheme with a handler from outside Scrapy, the prefix of the request meta that may route requests.
        self._prefixes: dict[str, str] = {}
        for scheme, handler in crawler.settings.getwithbase("DOWNLOAD_HANDLERS").items():
            if handler is not None:
                package = load_object(handler).__module__.partition(".")[0]
                if (prefix := _HANDLERS.get(package, "")) is not None:
                    self._prefixes[scheme] = prefix

    async def process_request(self, request: Request) -> Response | None:
        sent = self._sent(request)
        if RESPONSE_KEY in request.meta:
            # A middleware may have given a probe another identity than the request of its key page has.
            expected = request.meta[RESPONSE_KEY]
            if sent.obstacle is not None or key_of_response(self.crawler, request, sent.identity) != expected:
                raise IdentityDiffers
            request.meta["dont_merge_cookies"] = True  # nor may its response change the cookies of the spider
            return None
        self.session.sent[request] = sent
        if sent.obstacle is not None or (key := key_of_response(self.crawler, request, sent.identity)) is None:
            return None
        if (loading := self.session.menu_loads.pop(key, None)) is not None:
            await asyncio.wait({loading})
        elif not self.session.handovers.has(key):
            return None
        if (stored := await in_thread(self.session.handovers.take, key)) is None:
            return None
        self.session.count("probe/handed_over")
        if stored.request is not None:
            request.meta.update(stored.request.meta)
        if isinstance(stored, RenderedResponse):
            request.meta[FRAMES] = stored.frames
        response = stored.replace(request=request)
        # Subtract in advance what `DownloaderStats` will count: it counted the response when it was loaded.
        if self.crawler.get_downloader_middleware(DownloaderStats) is not None:
            subtract = self.session.stats.inc_value
            stats: Any = SimpleNamespace(inc_value=lambda key, count=1, **_: subtract(key, -count))
            DownloaderStats(stats).process_response(request, response)
        return response

    def _sent(self, request: Request) -> Sent:
        """Return how a request is sent."""
        meta = request.meta
        routes = {key: meta[key] for key in _ROUTES if meta.get(key) not in (None, _DEFAULTS.get(key))}
        headers = request.headers.items()
        sent = sorted((name.lower(), *values) for name, values in headers if name.lower() not in _IGNORED)
        identity = blake2b(repr((sent, routes)).encode(), digest_size=8).hexdigest()
        return Sent(identity, routes, self._below or self._obstacle(request))

    @cached_property
    def _below(self) -> Obstacle | None:
        """The obstacle of a middleware that may change requests after they were seen here."""
        chain = self.crawler.engine.downloader.middleware.middlewares
        for middleware in chain[chain.index(self) + 1 :]:
            if getattr(type(middleware), "process_request", _UNCHANGING[0]) not in _UNCHANGING:
                name = global_object_name(type(middleware))
                return Obstacle("middleware", f"{name} may change requests: give it a priority below 845")
        return None

    def _obstacle(self, request: Request) -> Obstacle | None:
        if request.method != "GET" or request.body:
            return Obstacle("no_get", "the page was not requested by GET without a body")
        if any(name in request.headers for name in _SESSION_HEADERS):
            return Obstacle("session", "the page was requested with cookies or a login")
        if (prefix := self._prefixes.get(request.url.partition(":")[0])) is not None:
            for key in map(str, request.meta):
                if key.startswith(prefix) and key not in _ROUTES and not key.startswith(_BOOKKEEPING):
                    return Obstacle("handler", f"the download handler may send pages with the meta {key} differently")
        return None

    def process_response(self, request: Request, response: Response) -> Response:
        self.session.cut_bodies.arrived(request, response)
        if RESPONSE_KEY in request.meta:
            request.meta[RECEIVED] = response.copy()  # decompression changes the headers in place
        return response

    def scheduler_empty(self) -> None:
        """Cancel probes that are still loading if they alone keep the crawl from finishing."""
        engine: Any = self.crawler.engine
        active = engine.downloader.active
        if not active or is_starting(self.crawler) or not engine.scraper.slot.is_idle():
            return
        if all(RESPONSE_KEY in request.meta for request in active):
            self.session.cancel_menu_loads()

    def spider_closed(self, reason: str) -> None:
        if self.session.menu_loads:
            self.session.count("probe/unclaimed", len(self.session.menu_loads))
        if reason == "finished":  # a later crawl with this job directory must not get what is old by then
            for key in self.session.responses.keys(""):
                self.session.responses.remove(key)
        self.session.cancel_menu_loads()
