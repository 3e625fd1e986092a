"""The downloader middleware that answers requests from an archive."""

from __future__ import annotations

from hashlib import blake2b
from threading import Lock
from typing import Any, Final

from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import IgnoreRequest
from scrapy.http import HtmlResponse, Response

from scrapy_pagelets.archives.reader import ArchiveError, Reader, Record
from scrapy_pagelets.session.crawl_session import Component
from scrapy_pagelets.session.threads import in_thread

#: Request meta: source, offset and base of the archived page that answers the request.
ARCHIVED: Final = "_pagelets_archived"
#: Characters of a URL; Scrapy drops requests with longer ones. The response has the full URL.
_MAX_URL_LENGTH: Final = 2000


class ArchivedMiddleware(Component):
    """Answer requests of the spider `archive` before any other middleware sees them, so that nothing is fetched."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._reader = Reader()
        self._reading = Lock()
        crawler.signals.connect(self._reader.close, signals.spider_closed)

    async def process_request(self, request: Request) -> Response | None:
        if ARCHIVED not in request.meta:
            return None
        if self.session.config.render:
            rendered = await in_thread(self.session.responses.take, response_token(request))
            if rendered is not None:
                return rendered.replace(request=request)
        return await in_thread(self._read, *request.meta[ARCHIVED])

    def _read(self, source: str, offset: int, base: str) -> Response:
        try:
            with self._reading:
                self._reader.resources = self.session.resources
                record = self._reader.read(source, offset, base)
        except ArchiveError as error:
            raise IgnoreRequest(str(error)) from None
        return HtmlResponse(record.url, headers=record.headers, body=record.body)


def archive_request(record: Record, base: str) -> Request:
    """Return a request for a page of an archive, see `ArchivedMiddleware`; ValueError if Scrapy refuses the URL."""
    meta: dict[str, Any] = {ARCHIVED: (record.source, record.offset, base), "pagelets_fetched_at": record.fetched_at}
    # No middleware may send the request to the network, whatever the page contains.
    meta |= dict.fromkeys(
        ("dont_redirect", "dont_retry", "dont_cache", "dont_merge_cookies", "dont_obey_robotstxt"), True
    )
    return Request(record.url[:_MAX_URL_LENGTH], dont_filter=True, priority=10, meta=meta)


def response_token(request: Request) -> str:
    """Return the key of a rendered page in the response store, made from its location in the archive."""
    source, offset, _ = request.meta[ARCHIVED]
    return f"archived-{blake2b(f'{source}:{offset}'.encode(), digest_size=16).hexdigest()}"
