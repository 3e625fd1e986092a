"""Settling pages, which wait until the crawl has seen enough of their site."""

from collections.abc import Callable
from typing import Final

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.http import HtmlResponse

from scrapy_pagelets.crawler.spiders.request_journal import Held, RequestJournal
from scrapy_pagelets.page.page import Page
from scrapy_pagelets.page.urls import site_of
from scrapy_pagelets.session.crawl_session import session_of
from scrapy_pagelets.session.page_context import fetched_at
from scrapy_pagelets.session.requests import fingerprint_of
from scrapy_pagelets.session.shared_crawl import LEASE, lease_of
from scrapy_pagelets.session.threads import in_thread

NUMBER: Final = "_pagelets_number"  # request meta: the number of the request in the journal
_COPIES: Final = ""  # in place of a site: the pages whose canonical links lead to others, which come after all others
_MAX_COPIES: Final = 1000  # number of such pages that are held back; then the wait is over for all of them
_PREFIX: Final = "held-"  # prefix of the keys of settling pages in the response store


class SettlingPages:
    """Hold back the first pages of each site on disk, so that the first item is as clean as the last.

    A page whose canonical link leads to another page of its site is held back until the crawl ends: it is the copy.
    ``ask`` returns the request of a URL whose settling page is lost.
    """

    def __init__(self, crawler: Crawler, ask: Callable[[str], Request], journal: RequestJournal) -> None:
        self.crawler = crawler
        self.session = session_of(crawler)
        self._ask = ask
        self._journal = journal
        self._waiting: dict[str, list[Held]] = {}
        self._leases: dict[str, str | None] = {}  # key of a settling page -> the lease of its request, if shared
        self._settled = journal.names("settled")
        waiting = self._waiting
        self.session.progress.waiting["until more of their site is known"] = lambda: sum(map(len, waiting.values()))

    async def resume(self) -> None:
        """Take over the settling pages of an earlier run; the journal marks unreadable ones to be requested again."""
        for held in self._journal.held():
            if await in_thread(self._learn_again, held.key) is not None:
                self._waiting.setdefault(held.site, []).append(held)
            elif held.number is not None:
                self._journal.ask_again(held.number)
        known = {held.key for waiting in self._waiting.values() for held in waiting}
        for key in self.session.responses.keys(_PREFIX):
            if not self._journal.goes_on:
                await self._adopt(key)
            elif key not in known:  # its page will be requested again
                self.session.responses.remove(key)

    async def _adopt(self, key: str) -> None:
        """Take over a stored page without a journal: that of the run that stored it was damaged."""
        response = await in_thread(self._learn_again, key)
        if response is None:
            self._lose()
            return
        assert self.crawler.spider is not None
        number = self._journal.ask(key.removeprefix(_PREFIX), self._ask(response.url), self.crawler.spider)
        held = Held(number, site_of(response.url), key, fetched_at(response))
        self._journal.hold(held)
        self._waiting.setdefault(held.site, []).append(held)

    def _learn_again(self, key: str) -> HtmlResponse | None:
        """Learn a page again, because a killed run may not have saved its counts; None if it cannot be read."""
        response = self.session.responses.read(key)
        if not isinstance(response, HtmlResponse):
            return None
        try:
            self.session.sites.learn(self.session.page(response))
        except Exception:  # it stays, and is yielded as it is
            self.session.failed(response.url)
        return response

    def _lose(self) -> None:
        self.session.count("pages/lost")
        self.session.record_loss("pages that were held back cannot be read from disk", "crawl them again")

    async def put(self, response: HtmlResponse, page: Page) -> None:
        """Hold back a page that must wait; release all pages of its site once there are ``PAGELETS_FIRST_PAGES``."""
        assert response.request is not None
        site = self._group(page)
        key = _PREFIX + fingerprint_of(self.crawler, response.request)
        await in_thread(self._learn_and_store, key, response, page)
        self._leases[key] = lease_of(response)
        self.session.leases.hold(self._leases[key])
        held = Held(response.meta.get(NUMBER), site, key, fetched_at(response))
        self._journal.hold(held)
        waiting = self._waiting.setdefault(site, [])
        waiting[:] = [*(other for other in waiting if other.key != key), held]  # replaces an adopted page
        enough = _MAX_COPIES if site == _COPIES else self.session.config.first_pages
        if site in self._settled or len(waiting) >= enough:
            self._settled.add(site)
            self._journal.add_names("settled", [site])
            await self._release(site)

    def must_wait(self, page: Page) -> bool:
        return self._group(page) not in self._settled

    def _group(self, page: Page) -> str:
        """The site of a page, or that of copies; the page that it names as canonical may come only on its own site."""
        if self.session.config.duplicates == "off" or _COPIES in self._settled or not page.is_declared_copy:
            return page.site
        return _COPIES if site_of(page.canonical_url) == page.site else page.site

    @property
    def any(self) -> bool:
        return any(self._waiting.values())

    async def release(self, *, lasting: bool = True) -> None:
        """Release all pages or, if ``lasting`` is False, leave those on disk to the next run of the job."""
        for site in sorted(self._waiting, key=lambda site: site == _COPIES):
            await self._release(site, lasting=lasting)

    def _learn_and_store(self, key: str, response: HtmlResponse, page: Page) -> None:
        self.session.sites.learn(page)
        self.session.responses.put(key, response)

    async def _release(self, site: str, *, lasting: bool = True) -> None:
        waiting, postponed = self._waiting.get(site, []), []
        while waiting:
            held = waiting.pop(0)
            if not lasting and held.number is not None and self.session.responses.lasts(held.key):
                postponed.append(held)
                continue
            response = await in_thread(self.session.responses.take, held.key)
            lease = self._leases.pop(held.key, None)
            if response is None:
                self._lose()
                self._journal.settle(held.number, page=False)
                self.session.leases.let_go(lease)
                continue
            assert isinstance(response, HtmlResponse)
            meta = {"pagelets_fetched_at": held.time, NUMBER: held.number, LEASE: lease}
            response.request = Request(response.url, meta=meta)
            item = self.session.config.blank_item(response.url)
            await self.crawler.engine.scraper.start_itemproc_async(item, response=response)
            self.session.leases.let_go(lease)
        waiting += postponed
        if not waiting and self._waiting.get(site) is waiting:  # no other page has begun to release them
            del self._waiting[site]
