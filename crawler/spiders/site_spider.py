"""The spider ``site``, which crawls one or several sites."""

import asyncio
import logging
import shutil
from collections.abc import AsyncIterator, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final, Self
from urllib.parse import urljoin, urlsplit

from scrapy import Request, Spider, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import DontCloseSpider, IgnoreRequest
from scrapy.http import HtmlResponse, Response
from scrapy.settings import BaseSettings
from scrapy.utils.job import job_dir
from twisted.python.failure import Failure

from scrapy_pagelets.archives.unpacking import other_type
from scrapy_pagelets.base.caches import RecentKeys
from scrapy_pagelets.base.characters import visible
from scrapy_pagelets.base.errors import ConfigError
from scrapy_pagelets.crawler.spiders import start_pages
from scrapy_pagelets.crawler.spiders.request_journal import FORMER_JOB, SITE_JOURNAL, RequestJournal
from scrapy_pagelets.crawler.spiders.settling import NUMBER, SettlingPages
from scrapy_pagelets.page.urls import host_of, is_page, key
from scrapy_pagelets.session.config import ONLY
from scrapy_pagelets.session.crawl_session import abort_crawl, session_of
from scrapy_pagelets.session.requests import CONDITIONAL, FOLLOWED, UNMODIFIED, fingerprint_of, links_of, requested_url
from scrapy_pagelets.session.response_store import is_html
from scrapy_pagelets.session.scrapy_hooks import before_scraper_closes, mark_failed
from scrapy_pagelets.session.threads import in_waiting_thread

logger = logging.getLogger(__name__)

_FIRST_PAGES: Final = 100  # default of PAGELETS_FIRST_PAGES: more than for other spiders, since pages wait on disk
_SPARE: Final = 10_000  # with a limited number of pages: URLs in reserve, to replace pages that fail
_NOT_SHARED: Final = "-a pages cannot be combined with PAGELETS_REDIS: each process would count its own pages"
_MAX_LISTED: Final = 100_000  # pages of sitemaps whose keys are kept: probes prefer them
_MAX_LINKS: Final = 1 << 31  # links of a crawl that are remembered: as many as a table can hold
_NO_SITEMAP: Final = "listed and since are for the pages of sitemaps: add -a sitemap=1, or the URL of a sitemap"


class SiteSpider(Spider):
    """Follow the links of a site and yield each page as an item for the pipelines.

    ``docs/settings.md`` explains the arguments (``-a name=value``). The first ``PAGELETS_FIRST_PAGES`` pages of a site
    are held back on disk, so that the first page is as clean as the last. With ``JOBDIR``, a journal records every
    request and its outcome immediately.
    """

    name = "site"
    yields_blanks = True  # the pipelines fill blank fields of its items
    #: Its pages wait on disk, see `SettlingPages`; those of other spiders wait in memory, see `FirstPages`.
    holds_first_pages = True

    def __init__(
        self,
        url: str = "",
        urls: str = "",
        depth: str = "0",
        pages: str = "0",
        sitemap: str = "0",
        listed: str = "0",
        since: str = "",
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.sitemap, self.sitemap_url = start_pages.sitemap(sitemap)
        self.listed, self.since = start_pages.flag("listed", listed), start_pages.moment("since", since)
        if (self.listed or self.since) and not self.sitemap:
            raise ValueError(_NO_SITEMAP)
        self.start_urls = start_pages.start_urls(url, urls) if url or urls or not self.sitemap_url else []
        self.depth, self.pages = start_pages.number("depth", depth), start_pages.number("pages", pages)
        start_pages.warn_of_unknown(kwargs, "url, urls, depth, pages, sitemap, listed and since")
        self.journal = RequestJournal(None)
        self._requested = self._received = self._lost_starts = 0
        self._conditional: dict[str, Any] = {}
        self._spare: list[tuple[str, int]] = []
        self._seen_links = RecentKeys(_MAX_LINKS)
        self._finished = False
        self._releasing: asyncio.Future[None] | None = None

    @classmethod
    def update_settings(cls, settings: BaseSettings) -> None:
        super().update_settings(settings)
        settings.setdefault("PAGELETS_FIRST_PAGES", _FIRST_PAGES)

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Self:
        try:
            spider = super().from_crawler(crawler, *args, **kwargs)
        except ValueError as error:
            abort_crawl(crawler, error)
        if spider.pages and crawler.settings.get("PAGELETS_REDIS"):
            abort_crawl(crawler, _NOT_SHARED)
        if job := job_dir(crawler.settings):
            seen = Path(job, "requests.seen")
            try:
                spider.journal = RequestJournal(Path(job, SITE_JOURNAL))
            except ConfigError as error:
                abort_crawl(crawler, error)
            if spider.journal.goes_on:  # Scrapy's queue is redundant, and damaged if that run was killed
                shutil.rmtree(Path(job, "requests.queue"), ignore_errors=True)
            elif not spider.journal.problem and seen.exists() and seen.stat().st_size:  # of a version without a journal
                abort_crawl(crawler, FORMER_JOB.format(job))
        for name in ("spider_opened", "spider_closed", "request_scheduled", "spider_idle"):
            crawler.signals.connect(getattr(spider, name), getattr(signals, name))
        crawler.signals.connect(spider.settle, signals.request_dropped)
        for name in ("robotstxt", "retry"):
            logging.getLogger(f"scrapy.downloadermiddlewares.{name}").addFilter(start_pages.muted)
        return spider

    async def start(self) -> AsyncIterator[Any]:
        self.session = session_of(self.crawler)
        given = [*self.start_urls, *filter(None, [self.sitemap_url])]
        self.session.start_hosts.update(map(host_of, given))
        if self.session.config.changed == ONLY:
            self._conditional = {CONDITIONAL: True}
        await self._resume(given)
        if not self.listed:
            meta = {"pagelets_start": True, FOLLOWED: True, **self._conditional}
            starts = (Request(url, errback=self.start_failed, meta=meta) for url in self.start_urls)
            for request in self._within_limit(starts):
                yield request
        if self.sitemap_url:
            yield self._sitemap(self.sitemap_url)
        elif self.sitemap:
            meta = {"pagelets_probe": False, "handle_httpstatus_all": True, FOLLOWED: True}
            for url in {urljoin(u, "/robots.txt") for u in self.start_urls}:
                yield Request(url, self.parse_robots, errback=self.failed, meta=meta, dont_filter=True)

    async def _resume(self, given: list[str]) -> None:
        """Continue where an earlier run of the job stopped or was killed."""
        self.journal.failed = lambda sentence: self.session.warn("journal/failed", "%s", sentence)
        if self.journal.problem:
            self.session.warn("journal/failed", "%s", self.journal.problem)
        self.hosts = self.journal.names("host") or set(map(_host, given))
        self.journal.add_names("host", self.hosts)
        self._spare = self.journal.spare()
        self.held = SettlingPages(self.crawler, partial(self._page, depth=0), self.journal)
        await self.held.resume()
        self._requested, self._received = self.journal.numbers
        for number, request in self.journal.asked(self):
            request.meta[NUMBER], request.dont_filter = number, True  # the dupefilter has seen it before
            self.crawler.engine.crawl(request)
        if self.journal.unreadable:
            what = "requests of the job could not be read"
            self.session.record_loss(what, "crawl again with a new job directory", self.journal.unreadable)

    async def parse(self, response: Response) -> AsyncIterator[Any]:
        if UNMODIFIED in response.meta:
            # Its server says that it has not been modified: follow the links that it had when it was loaded.
            self._received += 1
            self.journal.settle(response.meta.get(NUMBER))
            links = (url for url in response.meta[UNMODIFIED] if self._seen_links.add(key(url)))
            for request in self._followed(response, links):
                yield request
            return
        if not is_html(response):
            self.settle(response.request)
            kind = other_type(response.body) if isinstance(response, HtmlResponse) else ""
            if kind:
                self.session.warn("pages/not_html", "%s is labelled HTML, but it is %s", response.url, kind)
            else:
                self.session.count("pages/not_html")
            if response.meta.get("pagelets_start"):
                declared = (response.headers.get("Content-Type") or b"").decode("latin-1")
                kind = kind or visible(declared) or type(response).__name__
                self._lose_start("%s is not an HTML page (%s): give the URL of a page", response.url, kind)
            return
        self._received += 1
        try:
            page = await self.session.compute(response, self.session.page, response)
        except Exception:
            self.session.failed(response.url)
            yield self.session.config.blank_item(response.url)
            return
        # Only links that no earlier page had: the dupefilter need not see whole menus.
        for request in self._followed(response, links_of(page, self._seen_links.add)):
            yield request
        if self.held.must_wait(page):
            await self.held.put(response, page)
        else:
            yield self.session.config.blank_item(response.url)

    def _followed(self, response: Response, links: Iterable[str]) -> Iterator[Request]:
        # In a shared crawl, another process may have followed the start page to this host.
        if (response.meta.get("pagelets_start") or self.session.shared is not None) and not self._is_own(response.url):
            self.hosts.add(_host(response.url))
            self.journal.add_names("host", [_host(response.url)])
        depth = response.meta.get("depth", 0) + 1
        if not self.listed and (not self.depth or depth <= self.depth):
            yield from self._within_limit(self._page(url, depth) for url in links if self._is_own(url))

    def parse_robots(self, response: Response) -> Iterator[Request]:
        response.meta["depth"] = -1  # pages in a sitemap have depth 0, like start pages
        for url in filter(None, map(requested_url, start_pages.sitemaps_of(response))):
            yield self._sitemap(url)
        self.settle(response.request)

    def parse_sitemap(self, response: Response) -> Iterator[Request]:
        response.meta["depth"] = -1
        self.settle(response.request)
        try:
            entries = start_pages.entries(response)
        except ValueError as error:
            self._lose_sitemap("%s", error)
            return
        wanted = [entry for entry in entries if not entry.is_older(self.since)]
        if older := len(entries) - len(wanted):
            self.session.count("sitemaps/older", older)
        own = [(url, entry.is_sitemap) for entry in wanted if self._is_own(url := requested_url(entry.url))]
        yield from (self._sitemap(url) for url, is_sitemap in own if is_sitemap)
        pages = [url for url, is_sitemap in own if not is_sitemap and is_page(url)]
        self.session.in_sitemaps.update(map(key, pages[: max(0, _MAX_LISTED - len(self.session.in_sitemaps))]))
        yield from self._within_limit(self._page(url, 0) for url in pages)

    def start_failed(self, failure: Failure) -> None:
        self.settle(failure.request)  # type: ignore[attr-defined]
        self._lose_start("%s", start_pages.failed(failure)[1])

    def _lose_start(self, message: str, *arguments: str) -> None:
        """Report a start page that cannot be used; a crawl that has no other does not end with exit code 0."""
        logger.error(message, *arguments)
        self.session.count("start/failed")
        self._lost_starts += 1
        if self._lost_starts == len(self.start_urls):
            self.crawler.signals.connect(mark_failed, signals.engine_stopped)

    def failed(self, failure: Failure) -> Iterator[Request]:
        """Count a failed page. After a 404 of ``/page/`` try ``/page``: static hosts serve both, their mirrors one."""
        stat, _ = start_pages.failed(failure)
        self.session.count(f"pages/missing/{stat}")
        request: Request = failure.request  # type: ignore[attr-defined]
        self.settle(request)
        url = request.url
        if stat == "404" and url.endswith("/") and urlsplit(url).path != "/" and not urlsplit(url).query:
            yield self._page(url.rstrip("/"), request.meta.get("depth", 0))

    def sitemap_failed(self, failure: Failure) -> None:
        request: Request = failure.request  # type: ignore[attr-defined]
        self.settle(request)
        self._lose_sitemap("%s cannot be loaded (%s)", request.url, start_pages.failed(failure)[0])

    def _lose_sitemap(self, message: str, *arguments: object) -> None:
        """Report a sitemap that cannot be used; if the crawl needs it, it does not end with exit code 0."""
        self.session.warn("sitemaps/failed", message, *arguments)
        if self.listed or self.sitemap_url:
            what = "sitemaps could not be read, and their pages may be missing"
            self.session.record_loss(what, "check the address, or the server, and crawl again")

    def request_scheduled(self, request: Request) -> None:
        """Drop redirects to other sites, except those of start pages; write requests into the journal, once each."""
        if "redirect_urls" in request.meta and "pagelets_start" not in request.meta and not self._is_own(request.url):
            self.settle(request)
            self.session.count("pages/missing/offsite")
            raise IgnoreRequest("redirected to another site")
        if not self.journal.is_open:
            return
        number, fingerprint = request.meta.get(NUMBER), fingerprint_of(self.crawler, request)
        known = self.journal.number_of(fingerprint)
        if known not in (None, number) and not (request.dont_filter and number is None):
            self.settle(request)
            raise IgnoreRequest("requested before")
        if number is not None and known is None:
            self.journal.name(fingerprint, number)  # a redirect
        elif number is None and (number := self.journal.ask(fingerprint, request, self)) is not None:
            request.meta[NUMBER] = number

    def item_made(self, response: Response | None) -> None:
        """Settle the request of an item that has left the pipelines, was dropped or has failed."""
        if response is not None and response.request is not None:
            self.journal.settle(response.request.meta.get(NUMBER))

    def settle(self, request: Request | None) -> None:
        """Record that a request has led to no page; Scrapy calls this for those that its dupefilter drops."""
        if request is not None:
            self.journal.settle(request.meta.get(NUMBER), page=False)

    def spider_closed(self, reason: str) -> None:
        if reason != "finished" and job_dir(self.settings) and not self.journal.complete:
            what = "job cannot be continued: its requests could not be written down"
            remedy = "the first warning about the journal says why; crawl again, with a new job directory"
            session_of(self.crawler).record_loss(what, remedy)
        self.journal.close()

    def spider_opened(self) -> None:
        """Release the settling pages before the pipelines close, however the crawl ends."""
        # Connected after the feeds: a request is settled only when they have its item.
        for signal in (signals.item_scraped, signals.item_dropped, signals.item_error):
            self.crawler.signals.connect(self.item_made, signal)
        before_scraper_closes(self.crawler, self._release_last)

    async def _release_last(self) -> None:
        # Pages on disk stay for the next run of the job, if the journal tells it about them.
        postponed = not self._finished and job_dir(self.settings) and self.journal.complete
        await self.held.release(lasting=not postponed)

    def spider_idle(self) -> None:
        """Request spare pages instead of those that failed, if the number of pages is limited."""
        if self.session.shared is not None and self.held.any and self._releasing is None:
            self._releasing = asyncio.ensure_future(self._release_held())
        missing = max(0, self.pages - self._received)
        spare, self._spare = self._spare[:missing], self._spare[missing:]
        self.journal.drop_spare(len(spare))
        self._finished = not spare
        for url, depth in spare:
            self.crawler.engine.crawl(self._page(url, depth))
        if spare:
            raise DontCloseSpider
        explained = self.session.stat("sitemaps/failed") + self.session.stat("sitemaps/older")
        if not (self._requested or explained):
            logger.error("no sitemap lists a page of %s: nothing to crawl", ", ".join(sorted(self.hosts)))
            self.session.count("start/failed")
            self.crawler.signals.connect(mark_failed, signals.engine_stopped)

    async def _release_held(self) -> None:
        """Release the pages that are held back in a shared crawl, whose processes end when nothing is held back."""
        try:
            await in_waiting_thread(self.session.sites.exchange)
            await self.held.release()
        finally:
            self._releasing = None

    def _page(self, url: str, depth: int) -> Request:
        return Request(url, errback=self.failed, meta={"depth": depth, FOLLOWED: True, **self._conditional})

    def _sitemap(self, url: str) -> Request:
        return Request(url, self.parse_sitemap, errback=self.sitemap_failed, meta={FOLLOWED: True})

    def _within_limit(self, requests: Iterable[Request]) -> Iterator[Request]:
        """Yield requests up to the limit of pages; keep the others in reserve."""
        for request in requests:
            if not self.pages or self._requested < self.pages:
                self._requested += 1
                yield request
            elif len(self._spare) < _SPARE:
                self._spare.append((request.url, request.meta.get("depth", 0)))
                self.journal.add_spare(*self._spare[-1])

    def _is_own(self, url: str) -> bool:
        return bool(url) and _host(url) in self.hosts


def _host(url: str) -> str:
    return host_of(url).removeprefix("www.")
