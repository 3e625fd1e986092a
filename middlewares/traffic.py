"""The requests of the spider: which are on their way, which were answered."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from typing import Final

from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.http import Response

from scrapy_pagelets.middlewares.handover import fingerprint_of
from scrapy_pagelets.middlewares.memory import Memory

#: Where a page links to, as keys of pages.
Targets = frozenset[int]
NOWHERE: Final[Targets] = frozenset()
#: Pages whose links are remembered: those that wait for a template are among the last.
_MAX_HERE: Final = 500


class Traffic:
    """What the spider asks for need not be loaded for a template: it comes, it came, or it will not come."""

    def __init__(self, crawler: Crawler, memory: Memory) -> None:
        self.crawler = crawler
        self.memory = memory
        self._coming: dict[str, asyncio.Future[Targets]] = {}
        self._here: OrderedDict[str, Targets] = OrderedDict()
        crawler.signals.connect(self.response_downloaded, signals.response_downloaded)
        crawler.signals.connect(self.request_scheduled, signals.request_scheduled)

    def expect(self, request: Request) -> None:
        """A request is on its way."""
        self._coming.setdefault(fingerprint_of(self.crawler, request), asyncio.get_running_loop().create_future())

    def arrived(self, request: Request, targets: Targets = NOWHERE) -> None:
        """A request was answered, by a page with these links or by something else."""
        fingerprint = fingerprint_of(self.crawler, request)
        self.memory.add_answered(fingerprint)
        self._here[fingerprint] = targets
        if len(self._here) > _MAX_HERE:
            self._here.popitem(last=False)
        coming = self._coming.pop(fingerprint, None)
        if coming is not None and not coming.done():
            coming.set_result(targets)

    def response_downloaded(self, request: Request, response: Response) -> None:
        """A redirect never comes to the middlewares that are nearer to the engine."""
        if 300 <= response.status < 400:
            self.arrived(request)

    def request_scheduled(self, request: Request) -> None:
        """The new request of a redirect, be it of HTTP or of the page, names the old ones."""
        for url in request.meta.get("redirect_urls", ()):
            self.arrived(Request(url))

    async def targets(self, url: str, patience: float) -> Targets | None:
        """Links of a page that the spider has asked for, none if it does not come in time; None if it has not asked."""
        fingerprint = fingerprint_of(self.crawler, Request(url))
        if (coming := self._coming.get(fingerprint)) is not None:
            await asyncio.wait({coming}, timeout=patience)
            return coming.result() if coming.done() else NOWHERE
        return self._here.get(fingerprint, NOWHERE if self.memory.is_answered(fingerprint) else None)
