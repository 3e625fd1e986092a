"""The requests of the spider: which are on their way, which were answered."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from typing import Final, NamedTuple

from scrapy import Request, signals
from scrapy.crawler import Crawler

from scrapy_pagelets.middlewares.handover import fingerprint_of
from scrapy_pagelets.session.answered import AnsweredRequests

#: Where a page links to, as keys of pages.
Targets = frozenset[int]
NOWHERE: Final[Targets] = frozenset()
#: Pages whose links are remembered: those that wait for a template are among the last.
_MAX_HERE: Final = 500


class Arrived(NamedTuple):
    """A page that the spider got: its URL after redirects, and where it links to."""

    url: str
    targets: Targets


class Traffic:
    """What the spider asks for need not be loaded for a template: it comes, it came, or it will not come."""

    def __init__(self, crawler: Crawler, memory: AnsweredRequests) -> None:
        self.crawler = crawler
        self.memory = memory
        self._coming: dict[str, asyncio.Future[Targets]] = {}
        self._here: OrderedDict[str, Targets] = OrderedDict()
        self._moved: OrderedDict[str, str] = OrderedDict()  # fingerprint -> the URL that it redirects to
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

    def request_scheduled(self, request: Request) -> None:
        """The new request of a redirect, be it of HTTP or of the page, names the old ones."""
        for url in request.meta.get("redirect_urls", ()):
            self._moved[fingerprint_of(self.crawler, Request(url))] = request.url
            self.arrived(Request(url))
        while len(self._moved) > _MAX_HERE:
            self._moved.popitem(last=False)

    async def targets(self, url: str, patience: float) -> Arrived | None:
        """A page that the spider has asked for, without links if it does not come in time; None if it has not asked."""
        visited = {url}
        while True:
            fingerprint = fingerprint_of(self.crawler, Request(url))
            if (coming := self._coming.get(fingerprint)) is not None:
                await asyncio.wait({coming}, timeout=patience)
            moved = self._moved.get(fingerprint, url)
            if moved in visited:
                break
            visited.add(moved)
            url = moved
        if coming is not None:
            return Arrived(url, coming.result() if coming.done() else NOWHERE)
        known = self._here.get(fingerprint, NOWHERE if self.memory.is_answered(fingerprint) else None)
        return None if known is None else Arrived(url, known)
