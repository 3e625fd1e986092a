"""Pages loaded for templates, one by one, as the spider would load them."""

from __future__ import annotations

import asyncio
import logging
from typing import Any, Final, NamedTuple

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.exceptions import IgnoreRequest
from scrapy.http import HtmlResponse, Response
from scrapy.http.request import NO_CALLBACK

from scrapy_pagelets.limits import TooLarge
from scrapy_pagelets.middlewares.handover import PROBE, token_of
from scrapy_pagelets.middlewares.state import State
from scrapy_pagelets.middlewares.threads import in_thread
from scrapy_pagelets.page import Page

logger = logging.getLogger(__name__)

#: Seconds that a template waits for a page. A slower one goes on loading, for the spider that may ask for it.
PATIENCE: Final = 10.0
#: What a probe takes over from the request of its key page, beside its headers.
_META: Final = ("cookiejar", "proxy", "http_user", "http_pass", "playwright", "pagelets_render")
#: Headers that are about one page.
_OWN_HEADERS: Final = ("Referer", "If-None-Match", "If-Modified-Since", "Range", "Content-Type", "Content-Length")
#: Errors that the spider would get as well; of others it is to judge itself.
_LASTING_ERRORS: Final = (404, 410)


class Loaded(NamedTuple):
    """The page behind a link, None if there is none to be had, and whether the site was asked for it."""

    page: Page | None
    asked: bool


class Prober:
    """Load pages through the crawler's own downloader, so that robots.txt, throttle, cookies, cache and retries apply.

    What is loaded stays with ``State.probes`` until the spider asks for it.
    """

    def __init__(self, crawler: Crawler, state: State) -> None:
        self.crawler = crawler
        self.state = state

    async def load(self, url: str, key: Request) -> Loaded:
        """Load a page on behalf of the request of a key page; why it cannot be had is counted."""
        meta: dict[str, Any] = {name: key.meta[name] for name in _META if name in key.meta}
        headers = {name: values for name, values in key.headers.items() if name.decode("latin-1") not in _OWN_HEADERS}
        probe = Request(url, callback=NO_CALLBACK, headers=headers, meta=meta | {PROBE: True, "dont_redirect": True})
        token = token_of(self.crawler, probe)
        if token in self.state.probes or self.state.spool.has(token):
            return Loaded(None, asked=False)  # loaded for another template, or before the crawl was interrupted
        task = self.state.probes[token] = asyncio.ensure_future(self._download(probe, token))
        await asyncio.wait({task}, timeout=self.patience(probe))
        if not task.done() or task.cancelled():
            self.state.count("probe/failed/slow")
            return Loaded(None, asked=True)
        response = task.result()
        if isinstance(response, Exception):
            self.state.probes.pop(token, None)
            return self._failed(probe, response)
        if response.status != 200 or not isinstance(response, HtmlResponse):
            self.state.count(f"probe/failed/{_reason(response)}")
            if response.status >= 400 and response.status not in _LASTING_ERRORS:
                self.state.probes.pop(token, None)
            return Loaded(None, asked=True)
        try:
            return Loaded(await in_thread(self.state.page, response), asked=True)
        except TooLarge:
            self.state.count("probe/failed/too_large")
            return Loaded(None, asked=True)

    async def _download(self, probe: Request, token: str) -> Response | Exception:
        assert self.crawler.engine is not None
        try:
            response = await self.crawler.engine.download_async(probe)
        except Exception as error:  # whatever a download can end with, the crawl goes on
            return error
        self.state.count("probe/loaded")
        if response.status < 400 or response.status in _LASTING_ERRORS:
            await in_thread(self.state.spool.put, token, response)
        return response

    def _failed(self, probe: Request, error: Exception) -> Loaded:
        forbidden = isinstance(error, IgnoreRequest)
        self.state.count(f"probe/failed/{'forbidden' if forbidden else 'broken'}")
        logger.debug("%s could not be loaded for a template: %r", probe.url, error)
        return Loaded(None, asked=not forbidden)

    def patience(self, request: Request) -> float:
        """How long to wait for a request: longer if many others are before it, or the site is not to be asked often."""
        assert self.crawler.engine is not None
        downloader = self.crawler.engine.downloader
        slot = downloader.slots.get(downloader.get_slot_key(request))
        return PATIENCE + (2 * slot.delay * (len(slot.queue) + 1) if slot else 0.0)


def _reason(response: Response) -> str:
    if response.status in range(300, 400):
        return "redirected"
    return "broken" if response.status != 200 else "not_html"
