"""What the components of one crawl share."""

from __future__ import annotations

import asyncio
from weakref import WeakKeyDictionary

from scrapy.crawler import Crawler
from scrapy.http import Response, TextResponse
from scrapy.utils.job import job_dir

from scrapy_pagelets.config import Config
from scrapy_pagelets.middlewares.spool import Spool
from scrapy_pagelets.page import Page, decode, parse
from scrapy_pagelets.templates.site import Sites


class State:
    """Settings, what is learnt of the sites, parsed pages and stored responses of one crawl."""

    def __init__(self, crawler: Crawler) -> None:
        self.config = Config.from_settings(crawler.settings)
        self.sites = Sites()
        self.spool = Spool(job_dir(crawler.settings))
        self.stats = crawler.stats
        #: Pages that are being or have been loaded for a template, by fingerprint of the request; nobody has asked for them yet.
        self.probes: dict[str, asyncio.Task[Response | None]] = {}
        self._pages: WeakKeyDictionary[Response, Page] = WeakKeyDictionary()

    def page(self, response: TextResponse) -> Page:
        """The page of a response, parsed once; runs in a thread as well."""
        if (page := self._pages.get(response)) is None:
            page = self._pages[response] = _parse(response)
            if page.truncated:
                self.count("pages/too_deep")
        return page

    def count(self, name: str, by: int = 1) -> None:
        """Add to the stat ``pagelets/<name>``."""
        if self.stats is not None:
            self.stats.inc_value(f"pagelets/{name}", by)


def _parse(response: TextResponse) -> Page:
    content_type = response.headers.get("Content-Type")
    text = decode(response.body, content_type.decode("latin-1") if content_type else None)
    # The spider's parse serves if it read the same characters; else (no declared charset) ours knows better.
    root = response.selector.root if text == response.text and text.strip() else parse(text)
    return Page.from_root(root, response.url)


_states: WeakKeyDictionary[Crawler, State] = WeakKeyDictionary()


def state_of(crawler: Crawler) -> State:
    """The shared state of a crawler, made at the first call.

    Raises
    ------
    ConfigError : if a setting cannot be used
    """
    if crawler not in _states:
        _states[crawler] = State(crawler)
    return _states[crawler]
