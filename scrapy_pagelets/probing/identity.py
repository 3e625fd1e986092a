"""The identity of a request: everything except its URL that decides which page a site returns."""

from __future__ import annotations

from functools import cached_property
from hashlib import blake2b
from typing import Final

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.downloadermiddlewares.httpcache import HttpCacheMiddleware
from scrapy.downloadermiddlewares.stats import DownloaderStats
from scrapy.exceptions import IgnoreRequest
from scrapy.utils.misc import load_object
from scrapy.utils.python import global_object_name

from scrapy_pagelets.session.crawl_session import session_of
from scrapy_pagelets.session.outgoing import Obstacle, Sent
from scrapy_pagelets.session.requests import fingerprint_of

#: Request meta of a probe: the token under which its response is stored until the spider requests the page.
HANDOVER_TOKEN: Final = "_pagelets_handover_token"
#: Request meta of a probe: its response as the downloader returned it.
RECEIVED: Final = "_pagelets_received"
#: Headers that identify a session: a response to such a request must not be used for another one.
_SESSION: Final = (b"Cookie", b"Authorization")
#: Headers that differ for each request without changing the response. A page that was loaded in full is one also where
#: it would have been requested only if modified.
_IGNORED: Final = frozenset((b"if-modified-since", b"if-none-match", b"referer"))
#: Keys of request meta that decide how a request is sent, whichever handler sends it.
_ROUTES: Final = ("bindaddress", "cookiejar", "pagelets_render", "playwright", "playwright_context", "proxy")
#: Values that mean the same as none: a handler adds them to the request that it sends.
_DEFAULTS: Final = {"playwright_context": "default"}
#: Prefixes of request meta that no handler uses to route requests.
_BOOKKEEPING: Final = (
    "_", "allow_offsite", "autothrottle_", "cached_response", "depth", "dont_", "download_", "give_up_log_level",
    "handle_httpstatus_", "is_start_request", "link_text", "max_retry_times", "pagelets_",
    "playwright_security_details", "playwright_suggested_filename", "redirect_", "referrer_policy", "retry_times",
    "rule", "verbatim_url",
)  # fmt: skip
#: Packages of download handlers -> prefix of the other keys of request meta that they use. Scrapy's own use none.
_HANDLERS: Final = {"scrapy": None, "scrapy_playwright": "playwright"}
#: The methods of middlewares nearer the downloader that leave requests as they are.
_UNCHANGING: Final = (DownloaderStats.process_request, HttpCacheMiddleware.process_request)


OFF: Final = Obstacle("off", "HandoverMiddleware, which has to check the requests for them, is off")
DIFFERS: Final = Obstacle("differs", "they would be requested otherwise than this page, as with cookies of the site")
_SESSIONS: Final = Obstacle("session", "the page was requested with cookies or a login")
_NO_GET: Final = Obstacle("no_get", "the page was not requested by GET without a body")


class IdentityDiffers(IgnoreRequest):
    """Raised for a probe that would be sent with other headers or another route than the request of its key page.

    The site may take it for another visitor, and return another page than the spider would get.
    """


class Identities:
    """Compute the identities of requests where a downloader middleware sees them, after all others."""

    def __init__(self, crawler: Crawler, position: object) -> None:
        self._crawler = crawler
        self._position = position
        #: For each scheme with a handler from outside Scrapy, the prefix of the request meta that may route requests.
        self._prefixes: dict[str, str] = {}
        for scheme, handler in crawler.settings.getwithbase("DOWNLOAD_HANDLERS").items():
            if handler is not None:
                package = load_object(handler).__module__.partition(".")[0]
                if (prefix := _HANDLERS.get(package, "")) is not None:
                    self._prefixes[scheme] = prefix

    def of(self, request: Request) -> Sent:
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
        assert self._crawler.engine is not None
        chain = self._crawler.engine.downloader.middleware.middlewares
        for middleware in chain[chain.index(self._position) + 1 :]:
            if getattr(type(middleware), "process_request", _UNCHANGING[0]) not in _UNCHANGING:
                name = global_object_name(type(middleware))
                return Obstacle("middleware", f"{name} may change requests: give it a priority below 845")
        return None

    def _obstacle(self, request: Request) -> Obstacle | None:
        if request.method != "GET" or request.body:
            return _NO_GET
        if any(name in request.headers for name in _SESSION):
            return _SESSIONS
        if (prefix := self._prefixes.get(request.url.partition(":")[0])) is not None:
            for key in map(str, request.meta):
                if key.startswith(prefix) and key not in _ROUTES and not key.startswith(_BOOKKEEPING):
                    return Obstacle("handler", f"the download handler may send pages with the meta {key} differently")
        return None


def token_of(crawler: Crawler, request: Request, identity: str) -> str | None:
    """Return the key of a response in the response store: the fingerprint of its request and the request's identity.

    None for a request without a fingerprint.
    """
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
