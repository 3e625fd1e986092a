"""Responses that are here already: loaded for a template, or standing in an archive."""

from __future__ import annotations

import asyncio
from hashlib import blake2b
from threading import Lock
from typing import Any, Final, Self

from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import IgnoreRequest
from scrapy.http import HtmlResponse, Response

from scrapy_pagelets.archives import ArchiveError, Reader, Record
from scrapy_pagelets.middlewares.state import state_of
from scrapy_pagelets.middlewares.threads import in_thread

#: Request meta: source, offset and base of the archived page that answers the request.
ARCHIVED: Final = "_pagelets_archived"
#: Request meta: the request loads a page for a template.
PROBE: Final = "_pagelets_probe"
#: What request meta begins with by which a site tells its visitors apart: one's page is not handed to another.
_VISITOR: Final = ("cookiejar", "http_user", "playwright")
#: Scrapy drops requests with longer URLs; the response has the whole one.
_LONGEST: Final = 2000


class HandoverMiddleware:
    """Answer requests from what is here already, so that no page is fetched twice.

    A request for an archived page is answered by that; any other one by the response that `MenuSubdigraphMiddleware`
    has loaded, or is loading, for the same fingerprint. Each is handed over once; ``pagelets/probe/unclaimed`` counts
    those that were not asked for.
    """

    def __init__(self, crawler: Crawler) -> None:
        self.state = state_of(crawler)
        self.crawler = crawler
        self._reader = Reader()
        self._reading = Lock()
        crawler.signals.connect(self.scheduler_empty, signals.scheduler_empty)
        crawler.signals.connect(self.spider_closed, signals.spider_closed)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    async def process_request(self, request: Request) -> Response | None:
        if PROBE in request.meta:
            return None
        if ARCHIVED in request.meta:
            kept = await in_thread(self.state.spool.take, place_of(request)) if self.state.config.render else None
            return kept or await in_thread(self._read, *request.meta[ARCHIVED])
        token = token_of(self.crawler, request)
        if (loading := self.state.probes.pop(token, None)) is not None:
            await asyncio.wait({loading})
        elif not self.state.spool.has(token):
            return None
        response = await in_thread(self.state.spool.take, token)
        if response is not None:
            self.state.count("probe/handed_over")
        return response

    def _read(self, source: str, offset: int, base: str) -> Response:
        try:
            with self._reading:
                record = self._reader.read(source, offset, base)
        except ArchiveError as error:
            raise IgnoreRequest(str(error)) from None
        return HtmlResponse(record.url, headers=record.headers, body=record.body)

    def scheduler_empty(self) -> None:
        """Give up slow pages that nobody waits for, when they are all that keeps the crawl from its end."""
        assert self.crawler.engine is not None
        engine: Any = self.crawler.engine
        active = engine.downloader.active
        if not active or engine._start is not None or not engine.scraper.slot.is_idle():
            return
        if all(PROBE in request.meta for request in active):
            for loading in self.state.probes.values():
                loading.cancel()

    def spider_closed(self) -> None:
        self._reader.close()
        if self.state.probes:
            self.state.count("probe/unclaimed", len(self.state.probes))
        for loading in self.state.probes.values():
            loading.cancel()


def archived(record: Record, base: str) -> Request:
    """Request that is answered by a page of an archive.

    Raises
    ------
    ValueError : if the URL is none that Scrapy takes
    """
    meta: dict[str, Any] = {ARCHIVED: (record.source, record.offset, base), "pagelets_fetched_at": record.fetched_at}
    # No middleware shall send it out into the world, whatever the page says.
    meta |= dict.fromkeys(
        ("dont_redirect", "dont_retry", "dont_cache", "dont_merge_cookies", "dont_obey_robotstxt"), True
    )
    return Request(record.url[:_LONGEST], dont_filter=True, priority=10, meta=meta)


def place_of(request: Request) -> str:
    """Under what an archived page is kept that has been rendered: where it stands."""
    source, offset, _ = request.meta[ARCHIVED]
    return f"archived-{blake2b(f'{source}:{offset}'.encode(), digest_size=16).hexdigest()}"


def fingerprint_of(crawler: Crawler, request: Request) -> str:
    """Fingerprint of a request as text."""
    assert crawler.request_fingerprinter is not None
    return crawler.request_fingerprinter.fingerprint(request).hex()


def token_of(crawler: Crawler, request: Request) -> str:
    """Under what the response to a request is kept: its fingerprint, and as whom it was asked for."""
    visitor = [f"{name}={value!r}" for name, value in sorted(request.meta.items()) if name.startswith(_VISITOR)]
    suffix = blake2b("\0".join(visitor).encode(), digest_size=8).hexdigest() if visitor else ""
    return fingerprint_of(crawler, request) + suffix
