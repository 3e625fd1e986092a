"""The spider ``site``: crawl a site, or some, into clean text."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any, Self
from urllib.parse import urldefrag, urljoin, urlsplit

from scrapy import Request, Spider, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import DontCloseSpider, IgnoreRequest
from scrapy.http import HtmlResponse, Response, TextResponse
from scrapy.spidermiddlewares.httperror import HttpError
from scrapy.utils.sitemap import Sitemap, sitemap_urls_from_robots
from twisted.python.failure import Failure

from scrapy_pagelets.crawler.items import page_item
from scrapy_pagelets.middlewares.handover import fingerprint_of, stored
from scrapy_pagelets.middlewares.state import state_of
from scrapy_pagelets.page import Page
from scrapy_pagelets.pipelines.segment import fetched_at
from scrapy_pagelets.urls import is_page

logger = logging.getLogger(__name__)


class SiteSpider(Spider):
    """Follow the links of a site and yield each page as an item for the pipelines.

    Arguments (``-a name=value``)
    -----------------------------
    url : start page; the crawl stays on its host
    urls : file with a start page a line
    depth : how many links away from the start pages at the most; 0, the default, is no limit
    pages : how many pages at the most; 0, the default, is no limit
    sitemap : ``1`` to start from the site's sitemaps as well

    The first ``PAGELETS_SETTLE`` pages of a site are held back on disk until so many are known or the crawl is idle: the first page
    is then as clean as the last.
    """

    name = "site"

    def __init__(self, url: str = "", urls: str = "", depth: str = "0", pages: str = "0", sitemap: str = "0", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.start_urls = _start_urls(url, urls)
        self.hosts = {_host(u) for u in self.start_urls}
        self.depth, self.pages = _number("depth", depth), _number("pages", pages)
        self.sitemap = sitemap not in ("", "0")
        self.state: dict[str, Any] = {}
        self._count = 0
        self._met: set[int] = set()

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Self:
        spider = super().from_crawler(crawler, *args, **kwargs)
        crawler.signals.connect(spider.spider_idle, signals.spider_idle)
        return spider

    async def start(self) -> AsyncIterator[Any]:
        self.shared = state_of(self.crawler)
        self.state.setdefault("held", {})
        self.state.setdefault("settled", set())
        for url in self.start_urls:
            yield Request(url, errback=self.start_failed, meta={"pagelets_start": True})
            if self.sitemap:
                yield Request(urljoin(url, "/robots.txt"), self.parse_robots, dont_filter=True)

    def parse(self, response: Response) -> Iterator[Any]:
        if not isinstance(response, HtmlResponse):
            self.shared.count("pages/not_html")
            if response.meta.get("pagelets_start"):
                logger.error("%s is not an HTML page (%s): give the address of a page", response.url, _type(response))
            return
        if self._full():
            return
        self._count += 1
        page = self.shared.page(response)
        yield from self._hold(response, page)
        if not self.depth or response.meta.get("depth", 0) < self.depth:
            yield from map(Request, self._links(page))

    def parse_stored(self, response: Response) -> Iterator[Any]:
        """A page that was held back."""
        yield page_item(response.url)

    def parse_robots(self, response: Response) -> Iterator[Request]:
        found = list(sitemap_urls_from_robots(response.body, base_url=response.url))
        for url in found or [urljoin(response.url, "/sitemap.xml")]:
            yield Request(url, self.parse_sitemap)

    def parse_sitemap(self, response: Response) -> Iterator[Request]:
        try:
            sitemap = Sitemap(response.body)
        except Exception as error:  # the parser raises whatever lxml does
            logger.warning("%s is not a sitemap: %s", response.url, error)
            return
        for entry in sitemap:
            if _host(entry["loc"]) in self.hosts:
                yield Request(entry["loc"], self.parse_sitemap if sitemap.type == "sitemapindex" else self.parse)

    def start_failed(self, failure: Failure) -> None:
        """Say in a sentence why there is nothing to crawl."""
        self.shared.count("start/failed")
        logger.error("%s", _why(failure))

    def spider_idle(self) -> None:
        """Hand out what is held back, once nothing more comes."""
        held = self.state.pop("held", {})
        self.state["held"] = {}
        self.state["settled"].update(held)
        for requests in held.values():
            for held_page in requests:
                self.crawler.engine.crawl(stored(self.parse_stored, *held_page))
        if held:
            raise DontCloseSpider

    def _full(self) -> bool:
        return bool(self.pages) and self._count >= self.pages

    def _hold(self, response: HtmlResponse, page: Page) -> Iterator[Any]:
        if page.site in self.state["settled"]:
            yield page_item(response.url)
            return
        token = "held-" + fingerprint_of(self.crawler, response.request)
        self.shared.spool.put(token, response)
        waiting = self.state["held"].setdefault(page.site, [])
        waiting.append((response.url, token, fetched_at(response)))
        if len(waiting) >= self.shared.config.settle:
            self.state["settled"].add(page.site)
            for held_page in self.state["held"].pop(page.site):
                yield stored(self.parse_stored, *held_page)

    def _links(self, page: Page) -> Iterator[str]:
        """Links to pages of the hosts that no earlier page had: menus would fill the dupefilter's ears."""
        links = page.nodes.links
        for key, href, target in zip(links.key.tolist(), links.href, links.target, strict=True):
            if key and key not in self._met:
                self._met.add(key)
                url = urldefrag(urljoin(page.base, href.strip())).url
                if is_page(target) and _host(url) in self.hosts:
                    yield url


def _start_urls(url: str, urls: str) -> list[str]:
    if bool(url) == bool(urls):
        raise ValueError("the spider site needs a start page: -a url=https://example.com/, or -a urls=FILE with one a line")
    if urls:
        try:
            lines = Path(urls).read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise ValueError(f"the file of start pages cannot be read: {error}") from error
    else:
        lines = [url]
    found = [line.strip() for line in lines if line.strip() and not line.startswith("#")]
    found = [line if "://" in line else f"https://{line}" for line in found]
    for line in found:
        if urlsplit(line).scheme not in ("http", "https") or not urlsplit(line).hostname:
            raise ValueError(f"{line!r} is not the address of a page: give one like https://example.com/")
    if not found:
        raise ValueError(f"{urls} has no start page: write one a line")
    return found


def _number(name: str, value: str) -> int:
    if not value.isdecimal():
        raise ValueError(f"{name} is {value!r}: give a whole number, 0 for no limit")
    return int(value)


def _host(url: str) -> str:
    return urlsplit(url).netloc.lower().removeprefix("www.")


def _type(response: Response) -> str:
    declared = response.headers.get("Content-Type")
    return declared.decode("latin-1") if declared else type(response).__name__


def _why(failure: Failure) -> str:
    error = failure.value
    url = failure.request.url  # type: ignore[attr-defined]
    if isinstance(error, HttpError):
        return f"{url} answers {error.response.status}: nothing to crawl; check the address"
    if isinstance(error, IgnoreRequest):
        reason = str(error)
        if "robots" in reason.lower():
            return f"robots.txt of {urlsplit(url).netloc} forbids {url}: nothing to crawl (ROBOTSTXT_OBEY)"
        return f"{url} leads nowhere: {reason or 'the request was refused'}"
    return f"{url} cannot be loaded: {str(error).strip() or type(error).__name__}; check the address and whether the site is up"
