"""Responses that are here already: loaded for a template, or held back by a spider."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from threading import Lock
from typing import Any, Final, Self

from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import IgnoreRequest
from scrapy.http import HtmlResponse, Response

from scrapy_pagelets.archives import ArchiveError, Reader, Record
from scrapy_pagelets.middlewares.state import state_of

Callback = Callable[..., Any]
#: Request meta: token of the stored response that answers the request.
STORED: Final = "_pagelets_stored"
#: Request meta: source, offset and base of the archived page that answers the request.
ARCHIVED: Final = "_pagelets_archived"
#: Request meta: the request loads a page for a template.
PROBE: Final = "_pagelets_probe"


class HandoverMiddleware:
    """Answer requests from what is stored, so that no page is fetched twice.

    A request whose meta names a stored response or an archived page is answered by that; any other one by the response that
    `MenuSubdigraphMiddleware` has loaded, or is loading, for the same fingerprint. Each is handed over once; what nobody asked for
    is counted in ``pagelets/probe/unclaimed``.
    """

    def __init__(self, crawler: Crawler) -> None:
        self.state = state_of(crawler)
        self.crawler = crawler
        self._reader = Reader()
        self._reading = Lock()
        crawler.signals.connect(self.spider_closed, signals.spider_closed)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    async def process_request(self, request: Request) -> Response | None:
        if PROBE in request.meta:
            return None
        if ARCHIVED in request.meta:
            return await asyncio.to_thread(self._read, *request.meta[ARCHIVED])
        if STORED in request.meta:
            return self._stored(request.meta[STORED])
        fingerprint = fingerprint_of(self.crawler, request)
        loading = self.state.probes.pop(fingerprint, None)
        if loading is not None:
            await asyncio.wait({loading})
        response = self.state.spool.take(fingerprint)
        if response is not None:
            self.state.count("probe/handed_over")
        return response

    def _stored(self, token: str) -> Response:
        response = self.state.spool.take(token)
        if response is None:
            raise IgnoreRequest("the stored page is gone: was the job directory changed?")
        return response

    def _read(self, source: str, offset: int, base: str) -> Response:
        try:
            with self._reading:
                record = self._reader.read(source, offset, base)
        except ArchiveError as error:
            raise IgnoreRequest(str(error)) from None
        return HtmlResponse(record.url, headers=record.headers, body=record.body)

    def spider_closed(self) -> None:
        self._reader.close()
        if self.state.probes:
            self.state.count("probe/unclaimed", len(self.state.probes))
        for task in self.state.probes.values():
            task.cancel()
        self.state.spool.close()


def stored(callback: Callback, url: str, token: str, time: str) -> Request:
    """Request that is answered by a stored response.

    Parameters
    ----------
    time : when the response was made
    """
    return _local(url, {STORED: token, "pagelets_fetched_at": time}, callback)


def archived(record: Record, base: str) -> Request:
    """Request that is answered by a page of an archive.

    Raises
    ------
    ValueError : if the URL is none that Scrapy takes
    """
    meta = {ARCHIVED: (record.source, record.offset, base), "pagelets_fetched_at": record.fetched_at}
    return _local(record.url, meta, None)


def _local(url: str, meta: dict[str, Any], callback: Callback | None) -> Request:
    # No middleware shall send it out into the world, whatever the page says.
    home = {"dont_redirect": True, "dont_retry": True, "dont_cache": True, "dont_merge_cookies": True}
    return Request(url, callback, dont_filter=True, priority=10, meta=meta | home)


def fingerprint_of(crawler: Crawler, request: Request) -> str:
    """Fingerprint of a request as text."""
    assert crawler.request_fingerprinter is not None
    return crawler.request_fingerprinter.fingerprint(request).hex()
