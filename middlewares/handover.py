"""Responses that are here already: loaded for a template, or held back by a spider."""

from __future__ import annotations

import asyncio
from typing import Final, Self

from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.http import Response

from scrapy_pagelets.middlewares.state import state_of

#: Request meta: token of the stored response that answers the request.
STORED: Final = "_pagelets_stored"
#: Request meta: the request loads a page for a template.
PROBE: Final = "_pagelets_probe"


class HandoverMiddleware:
    """Answer requests from what is stored, so that no page is fetched twice.

    A request whose meta has ``_pagelets_stored`` is answered by that response; any other one by the response that
    `MenuSubdigraphMiddleware` has loaded, or is loading, for the same fingerprint. Each is handed over once; what nobody asked for
    is counted in ``pagelets/probe/unclaimed``.
    """

    def __init__(self, crawler: Crawler) -> None:
        self.state = state_of(crawler)
        self.crawler = crawler
        crawler.signals.connect(self.spider_closed, signals.spider_closed)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    async def process_request(self, request: Request) -> Response | None:
        if PROBE in request.meta:
            return None
        token = request.meta.get(STORED)
        if token is not None:
            return self.state.spool.take(token)
        fingerprint = fingerprint_of(self.crawler, request)
        loading = self.state.probes.pop(fingerprint, None)
        if loading is not None:
            await asyncio.wait({loading})
        response = self.state.spool.take(fingerprint)
        if response is not None:
            self.state.count("probe/handed_over")
        return response

    def spider_closed(self) -> None:
        if self.state.probes:
            self.state.count("probe/unclaimed", len(self.state.probes))
        for task in self.state.probes.values():
            task.cancel()
        self.state.spool.close()


def fingerprint_of(crawler: Crawler, request: Request) -> str:
    """Fingerprint of a request as text."""
    assert crawler.request_fingerprinter is not None
    return crawler.request_fingerprinter.fingerprint(request).hex()
