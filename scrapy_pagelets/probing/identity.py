"""The identity of a request: everything except its URL that decides which page a site returns."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any, Final

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.exceptions import IgnoreRequest
from scrapy.utils.misc import load_object

from scrapy_pagelets.session.fingerprints import known_fingerprint

#: Request meta of a probe: the token under which its response is stored until the spider requests the page.
HANDOVER_TOKEN: Final = "_pagelets_handover_token"
#: Request meta of a probe: its response as the downloader returned it.
RECEIVED: Final = "_pagelets_received"
#: Request meta: the key of the response, loaded by an earlier version, that answers a request of the same job.
STORED: Final = "_pagelets_stored"
#: Headers that identify a session: a response to such a request must not be used for another one.
_SESSION: Final = (b"Cookie", b"Authorization")
#: Headers that differ for each request without changing the response.
_IGNORED: Final = frozenset((b"referer",))
#: Keys of request meta that decide how a request is sent, whichever handler sends it.
ROUTES: Final = ("bindaddress", "cookiejar", "pagelets_render", "playwright", "playwright_context", "proxy")
#: Prefixes of request meta that no handler uses to route requests. A handler outside Scrapy may use any other key.
_BOOKKEEPING: Final = (
    "_", "allow_offsite", "autothrottle_", "cached_response", "depth", "dont_", "download_", "give_up_log_level",
    "handle_httpstatus_", "is_start_request", "link_text", "max_retry_times", "pagelets_", "redirect_",
    "referrer_policy", "retry_times", "rule", "verbatim_url",
)  # fmt: skip
_SCRAPY_HANDLERS: Final = "scrapy.core.downloader.handlers."


class AnotherVisitor(IgnoreRequest):
    """Raised for a probe that would be sent differently from the request of its key page."""


class Identities:
    """Compute the identities of requests after all other middlewares have processed them."""

    def __init__(self, crawler: Crawler) -> None:
        handlers = crawler.settings.getwithbase("DOWNLOAD_HANDLERS")
        self._foreign = {
            scheme
            for scheme, handler in handlers.items()
            if handler is not None and not load_object(handler).__module__.startswith(_SCRAPY_HANDLERS)
        }

    def of(self, request: Request) -> str | None:
        """Return a hash of headers and routing, equal for requests that would be sent in the same way.

        None for a request with a session or a body, and for one that a handler outside Scrapy may route differently.
        """
        headers = request.headers
        if request.method != "GET" or request.body or any(name in headers for name in _SESSION):
            return None
        if request.url.partition(":")[0] in self._foreign and any(_may_route(key) for key in request.meta):
            return None
        sent = sorted((name.lower(), *values) for name, values in headers.items() if name.lower() not in _IGNORED)
        return blake2b(repr((sent, routes_of(request))).encode(), digest_size=8).hexdigest()


def routes_of(request: Request) -> dict[str, Any]:
    """Return the request meta that decides how a request is sent."""
    return {key: request.meta[key] for key in ROUTES if request.meta.get(key) is not None}


def _may_route(key: object) -> bool:
    return key not in ROUTES and not str(key).startswith(_BOOKKEEPING)


def token_of(crawler: Crawler, request: Request, identity: str) -> str | None:
    """Return the key of a response in the response store: the fingerprint of its request and the request's identity.

    None for a request without a fingerprint.
    """
    fingerprint = known_fingerprint(crawler, request)
    if fingerprint is None:
        return None
    # Fingerprinters may take two URLs for one; a response belongs to the URL that was requested.
    url = blake2b(request.url.encode("utf-8", "replace"), digest_size=8).hexdigest()
    return fingerprint + identity + url
