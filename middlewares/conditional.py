"""The downloader middleware that asks for pages only if they have been modified since an earlier crawl."""

import sqlite3
from typing import Final

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.http import Response

from scrapy_pagelets.page.urls import key
from scrapy_pagelets.recrawl.version_store import Validators
from scrapy_pagelets.session.config import ONLY
from scrapy_pagelets.session.crawl_session import Component
from scrapy_pagelets.session.requests import CONDITIONAL, FOLLOWED, UNMODIFIED
from scrapy_pagelets.session.threads import in_thread

_ADDED: Final = "_pagelets_added_headers"  # request meta: the headers that we have added
_HEADERS: Final = ("If-None-Match", "If-Modified-Since")


class ConditionalMiddleware(Component):
    """With ``PAGELETS_CHANGED=only``, ask only for what has been modified of the pages that an earlier crawl has seen.

    Requests with the meta ``pagelets_conditional``, as those of the spider `site`, get ``If-None-Match`` and
    ``If-Modified-Since``; 304 says that a page is the same. Scrapy's HTTP cache asks itself, and scripts of rendered
    pages may load something else: then nothing is added.
    """

    for_single_pages = False

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        config = self.session.config
        if config.changed != ONLY or config.render or crawler.settings.getbool("HTTPCACHE_ENABLED"):
            raise NotConfigured

    async def process_request(self, request: Request) -> None:
        for name in request.meta.pop(_ADDED, ()):  # a redirected request has those of another page
            request.headers.pop(name, None)
        if not request.meta.get(CONDITIONAL) or any(name in request.headers for name in _HEADERS):
            return
        if (found := await in_thread(self._validators, request)) is not None:
            added = {name: value for name, value in zip(_HEADERS, found[:2], strict=True) if value is not None}
            request.headers.update(added)
            request.meta[_ADDED] = [*added]

    async def process_response(self, request: Request, response: Response) -> Response | Request:
        if response.status != 304 or not request.meta.get(CONDITIONAL):
            return response
        if not request.meta.get(_ADDED):  # the spider gets the response as an error
            sentence = "%s is lost: its server says that it is not modified, though nobody has asked that"
            self.session.warn("recrawl/unasked", sentence, request.url)
            remedy = "look at what the server sends, or crawl without PAGELETS_CHANGED"
            self.session.record_loss("pages were not sent, their servers answered 304 unasked", remedy)
            return response
        if (found := await in_thread(self._validators, request, confirm=True)) is None:
            return request.replace(meta={**request.meta, CONDITIONAL: False}, dont_filter=True)
        self.session.count("recrawl/not_modified")
        request.meta[UNMODIFIED] = list(found.links)
        if FOLLOWED in request.meta:  # the spider `site` follows these links; others do not expect such a response
            request.meta["handle_httpstatus_list"] = [304]
        return response

    def _validators(self, request: Request, *, confirm: bool = False) -> Validators | None:
        """The validators of a page, None if they are gone; to confirm them keeps its version for the next crawl."""
        found, store = None, self.session.versions
        try:
            if store is not None and (found := store.validators(key(request.url))) is not None and confirm:
                store.confirm(key(request.url))
        except (sqlite3.Error, ValueError) as error:
            sentence = "%s is not kept for the next crawl: %s" if found else "%s is loaded in any case: %s"
            self.session.warn("recrawl/failed", sentence, request.url, error)
        return found
