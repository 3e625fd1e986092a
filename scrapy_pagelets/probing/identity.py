"""As whom a request is sent: what decides, beside its URL, which page a site answers with."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any, Final

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.utils.misc import load_object

#: Headers that let a site know somebody again: pages that were sent for them belong to nobody else.
_SESSION: Final = (b"Cookie", b"Authorization")
#: The page where a link was found. Its value differs for each request.
_IGNORED: Final = frozenset((b"referer",))
#: Request meta that decides which way a request goes, whatever handles it.
ROUTES: Final = ("bindaddress", "cookiejar", "pagelets_render", "playwright", "playwright_context", "proxy")
#: Request meta that does not, for handlers that are not Scrapy's own: those may read any other key.
_BOOKKEEPING: Final = (
    "_", "allow_offsite", "autothrottle_", "cached_response", "depth", "dont_", "download_", "give_up_log_level",
    "handle_httpstatus_", "is_start_request", "link_text", "max_retry_times", "pagelets_", "redirect_",
    "referrer_policy", "retry_times", "rule", "verbatim_url",
)  # fmt: skip
_SCRAPYS: Final = "scrapy.core.downloader.handlers."


class Identities:
    """Tell as whom requests are sent, once all middlewares have had their say."""

    def __init__(self, crawler: Crawler) -> None:
        handlers = crawler.settings.getwithbase("DOWNLOAD_HANDLERS")
        self._foreign = {
            scheme
            for scheme, handler in handlers.items()
            if handler is not None and not load_object(handler).__module__.startswith(_SCRAPYS)
        }

    def of(self, request: Request) -> str | None:
        """Hash of headers and routing, equal for requests that would be sent alike.

        None for a request with a session or a body, and for one that a handler of the project may send its own way.
        """
        headers = request.headers
        if request.method != "GET" or request.body or any(name in headers for name in _SESSION):
            return None
        if request.url.partition(":")[0] in self._foreign and any(_may_route(key) for key in request.meta):
            return None
        sent = sorted((name.lower(), *values) for name, values in headers.items() if name.lower() not in _IGNORED)
        return blake2b(repr((sent, routes_of(request))).encode(), digest_size=8).hexdigest()


def routes_of(request: Request) -> dict[str, Any]:
    """The request meta that decides which way a request goes."""
    return {key: request.meta[key] for key in ROUTES if request.meta.get(key) is not None}


def _may_route(key: object) -> bool:
    return key not in ROUTES and not str(key).startswith(_BOOKKEEPING)
