"""The requests of the spider: which are pending and which were answered."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from typing import Final, NamedTuple

from scrapy import Request, signals
from scrapy.crawler import Crawler

from scrapy_pagelets.session.answered import AnsweredRequests
from scrapy_pagelets.session.fingerprints import known_fingerprint

#: Keys of the pages that a page links to.
Targets = frozenset[int]
NOWHERE: Final[Targets] = frozenset()
#: Number of recent pages whose links are remembered, and of recent redirects.
_MAX_REMEMBERED: Final = 500


class Arrived(NamedTuple):
    """A page that the spider received: its URL after redirects, and the pages it links to."""

    url: str
    targets: Targets


class Traffic:
    """Track the requests of the spider, because their pages need not be loaded for a template as well."""

    def __init__(self, crawler: Crawler, answered: AnsweredRequests) -> None:
        self.crawler = crawler
        self.answered = answered
        self._pending: dict[str, asyncio.Future[Targets]] = {}
        self._targets: OrderedDict[str, Targets] = OrderedDict()
        self._moved: OrderedDict[str, str] = OrderedDict()  # fingerprint -> the URL that it redirects to
        crawler.signals.connect(self.request_scheduled, signals.request_scheduled)

    def expect(self, request: Request) -> None:
        """Record that a request was sent."""
        if (fingerprint := known_fingerprint(self.crawler, request)) is not None:
            self._pending.setdefault(fingerprint, asyncio.get_running_loop().create_future())

    def arrived(self, request: Request, targets: Targets = NOWHERE) -> None:
        """Record that a request was answered, by a page with these links or by something else."""
        if (fingerprint := known_fingerprint(self.crawler, request)) is None:
            return
        self.answered.add_answered(fingerprint)
        self._targets[fingerprint] = targets
        if len(self._targets) > _MAX_REMEMBERED:
            self._targets.popitem(last=False)
        pending = self._pending.pop(fingerprint, None)
        if pending is not None and not pending.done():
            pending.set_result(targets)

    def request_scheduled(self, request: Request) -> None:
        """Record the redirects, by HTTP or by the page, that have led to a request."""
        for url in request.meta.get("redirect_urls", ()):
            if (fingerprint := known_fingerprint(self.crawler, Request(url))) is None:
                return
            self._moved[fingerprint] = request.url
            self.arrived(Request(url))
        while len(self._moved) > _MAX_REMEMBERED:
            self._moved.popitem(last=False)

    async def targets(self, url: str, patience: float) -> Arrived | None:
        """Return a page that the spider has requested, without links if it does not arrive in time; else None."""
        visited = {url}
        while True:
            if (fingerprint := known_fingerprint(self.crawler, Request(url))) is None:
                return None
            if (pending := self._pending.get(fingerprint)) is not None:
                await asyncio.wait({pending}, timeout=patience)
            moved = self._moved.get(fingerprint, url)
            if moved in visited:
                break
            visited.add(moved)
            url = moved
        if pending is not None:
            return Arrived(url, pending.result() if pending.done() else NOWHERE)
        known = self._targets.get(fingerprint, NOWHERE if self.answered.is_answered(fingerprint) else None)
        return None if known is None else Arrived(url, known)
