"""What the components of one crawl share."""

from __future__ import annotations

import asyncio
import logging
import sys
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from threading import Lock
from typing import Final, NoReturn, TypeVar
from weakref import WeakKeyDictionary

from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.http import Response, TextResponse
from scrapy.utils.job import job_dir

from scrapy_pagelets.archives.resources import Resources
from scrapy_pagelets.characters import visible
from scrapy_pagelets.errors import ConfigError
from scrapy_pagelets.limits import TooLarge, scarcity
from scrapy_pagelets.nodes import Floats
from scrapy_pagelets.page import MAX_DEPTH, Page, decode, parse
from scrapy_pagelets.rendering.snapshot import page_of
from scrapy_pagelets.segmentation.segment_weights import load as load_weights
from scrapy_pagelets.session.answered import AnsweredRequests
from scrapy_pagelets.session.config import Config, unknown
from scrapy_pagelets.session.rendered_response import RenderedResponse
from scrapy_pagelets.session.response_store import ResponseStore
from scrapy_pagelets.session.threads import in_thread
from scrapy_pagelets.templates.detection.incremental import FORMS, RepeatedPagelets
from scrapy_pagelets.templates.model import load
from scrapy_pagelets.templates.site_cache import SiteCache
from scrapy_pagelets.templates.site_store import SiteStore

logger = logging.getLogger(__name__)

T = TypeVar("T")
#: A page of so many bytes is told of: it takes seconds.
_LARGE: Final = 10_000_000


class CrawlSession:
    """Settings, what is learnt of the sites, parsed pages and stored responses of one crawl."""

    def __init__(self, crawler: Crawler) -> None:
        if complaint := scarcity():
            raise ConfigError(complaint)
        job = job_dir(crawler.settings)
        self.config = Config.from_settings(crawler.settings)
        # What is missing is told of before the crawl begins.
        model = _loaded("PAGELETS_MODEL", load, self.config.model)
        if self.config.segmenter_weights:
            _loaded("PAGELETS_SEGMENTER_WEIGHTS", load_weights, self.config.segmenter_weights)
        self.stats = crawler.stats
        self._told: set[str] = set()
        for sentence in unknown(crawler.settings):
            self.count("settings/unknown")
            logger.warning("%s", sentence)
        folder = self.config.store or job
        self._store = SiteStore(Path(folder) if folder else None, model, self._store_failed)
        #: The pagelets that pages share, if they are counted (PAGELETS_DETECTION).
        self.shared = None if self.config.detection == "off" else RepeatedPagelets()
        self.sites = SiteCache(self._store, self.config.model, shared=self.shared)
        self.memory = AnsweredRequests(self._store, job)
        self.spool = ResponseStore(Path(job, "pagelets-responses") if job else None, self._store_failed)
        #: Pages that are being or have been loaded for a template, by token; nobody has asked for them yet.
        self.probes: dict[str, asyncio.Task[Response | Exception]] = {}
        #: As whom requests were sent, of those without a session (`identity.Identities`).
        self.identities: WeakKeyDictionary[Request, str] = WeakKeyDictionary()
        #: Keys of the pages that sitemaps list.
        self.listed: set[int] = set()
        #: The hosts that the crawl was started on, see `urls.host_of`: they may have private addresses.
        self.hosts: set[str] = set()
        #: What archived pages are shown with.
        self.resources: Resources | None = None
        #: Why a page is too large, in its stead: an exception would hold the response that is its key.
        self._pages: WeakKeyDictionary[Response, Page | str] = WeakKeyDictionary()
        self._odd: set[tuple[str, str]] = set()
        self._lost: Counter[tuple[str, str]] = Counter()
        self._losing = Lock()
        crawler.signals.connect(self.spider_closed, signals.spider_closed)
        crawler.signals.connect(self.engine_stopped, signals.engine_stopped)

    def page(self, response: TextResponse) -> Page:
        """The page of a response, parsed once; runs in a thread as well.

        Raises
        ------
        TooLarge : if the page is beyond the limits of the settings; see `failed`
        """
        if (page := self._pages.get(response)) is None:
            try:
                page = self._parse(response)
            except TooLarge as error:
                page = str(error)
            self._pages[response] = page
        if isinstance(page, str):
            raise TooLarge(page)
        return page

    def templateness(self, page: Page) -> Floats:
        """(m,) of each leaf, by what weighs it (PAGELETS_DETECTION); runs in a thread as well."""
        form = next((form for form in FORMS if form == self.config.detection), None)
        if self.shared is not None and form is not None:
            return self.shared.templateness(page, form)
        return self.sites.of(page).templateness(page)

    def _parse(self, response: TextResponse) -> Page:
        text = self.text(response)
        # Never the tree of `response.selector`: spiders drop and change its nodes, and threads read ours.
        page = Page.from_root(parse(text), response.url)
        self._look_at(page, response, text)
        if isinstance(response, RenderedResponse):
            return page_of(response.frames, response.url, page, self.config.limits)
        return page

    def text(self, response: Response) -> str:
        """The text of a response that is to be parsed.

        Raises
        ------
        TooLarge : if the page is beyond the limits of the settings; see `failed`
        """
        self.config.limits.check_size(response.body)
        text = decoded(response)
        self.config.limits.check(text)
        return text

    def _look_at(self, page: Page, response: TextResponse, text: str) -> None:
        if not text.strip():
            self._tell_of(page.url, "blank", "%s is an empty page")
        if len(response.body) > _LARGE:
            self._tell_of(page.url, "large", "%s has %d MB: it takes a while", len(response.body) // 1_000_000)
        if not text.isascii() and (misfits := _misfits(response)):
            self._tell_of(page.url, "wrong_charset", "%s has %d characters that its charset does not have", misfits)
        if page.truncated:
            self._tell_of(page.url, "too_deep", "%s nests deeper than %d levels: what is below is lost", MAX_DEPTH)

    def _tell_of(self, url: str, name: str, message: str, *arguments: object) -> None:
        # A page that was held back, or loaded for a template, is parsed again.
        if (url, name) not in self._odd:
            self._odd.add((url, name))
            self.tell(f"pages/{name}", message, url, *arguments)

    def cancel_probes(self) -> None:
        """Give up what is being loaded for templates and nobody has asked for."""
        for loading in self.probes.values():
            loading.cancel()

    def count(self, name: str, by: int = 1) -> None:
        """Add to the stat ``pagelets/<name>``."""
        if self.stats is not None:
            self.stats.inc_value(f"pagelets/{name}", by)

    def tell(self, name: str, message: str, *arguments: object) -> None:
        """Count what is not as it should be; the first case of its kind is a warning, further ones are debug lines."""
        self.count(name)
        level = logging.DEBUG if name in self._told else logging.WARNING
        self._told.add(name)
        # Addresses in archives and what servers say of themselves may hold anything.
        logger.log(level, message, *(a if isinstance(a, int | float) else visible(str(a)) for a in arguments))

    def lose(self, what: str, remedy: str, number: int = 1) -> None:
        """Note that this run has lost something for good: it ends with an ERROR line and the exit code 1.

        Parameters
        ----------
        what : what was lost, in the plural, after its number
        remedy : what to do about it, in the imperative
        """
        with self._losing:
            self.count("lost", number)
            self._lost[what, remedy] += number

    def failed(self, url: str) -> None:
        """Log the exception that is being handled: an error of ours, or `TooLarge`. The page goes on as it is."""
        error = sys.exception()
        if isinstance(error, TooLarge):
            self._tell_of(url, "too_large", "%s is too large and goes on as it is: %s", error)
            return
        self.count("pages/failed")
        if isinstance(error, MemoryError):
            logger.error("%s goes on as it is, there is not enough memory to clean it", url)
            return
        logger.error(
            "%s could not be cut into pagelets and goes on as it is: please report this\n%s",
            url,
            traceback.format_exc(),
        )

    def _store_failed(self, sentence: str) -> None:
        self.tell("store/failed", "%s", sentence)

    async def spider_closed(self) -> None:
        """Write what is in memory, and close what is open."""
        await in_thread(self._close)

    def engine_stopped(self, sender: Crawler) -> None:
        """Say what was lost when feeds and indexes, which may lose something at their very end, are closed."""
        if self._lost:
            lost = "; ".join(f"{number} {what}" for (what, _), number in self._lost.items())
            remedies = "; ".join(dict.fromkeys(remedy for _, remedy in self._lost))
            logger.error("This run has lost something: %s. What to do: %s", lost, remedies)
            mark_failed(sender)

    def _close(self) -> None:
        self.sites.close()
        self.memory.save()
        self._store.close()
        self.spool.close()


def _loaded(setting: str, read: Callable[[str], T], name: str) -> T:
    """What a setting names; an error names the setting."""
    try:
        return read(name)
    except ConfigError as error:
        raise ConfigError(f"{setting} cannot be used: {error}") from error


def decoded(response: Response) -> str:
    """The text of a response, as our own parse reads it."""
    content_type = response.headers.get("Content-Type")
    return decode(response.body, content_type.decode("latin-1") if content_type else None)


def _misfits(response: TextResponse) -> int:
    """Number of replacement characters that the declared charset leads to, and that the page itself has not."""
    return max(0, response.text.count("\ufffd") - response.body.count(b"\xef\xbf\xbd"))


_states: WeakKeyDictionary[Crawler, CrawlSession] = WeakKeyDictionary()


def session_of(crawler: Crawler) -> CrawlSession:
    """The shared state of a crawler, made at the first call. A setting that cannot be used calls the crawl off."""
    if crawler not in _states:
        try:
            _states[crawler] = CrawlSession(crawler)
        except ConfigError as error:
            call_off(crawler, error)
    return _states[crawler]


def call_off(crawler: Crawler, why: object) -> NoReturn:
    """End a crawl that has not begun: one ERROR line, no traceback, exit code 1."""
    logger.error("%s", why)
    mark_failed(crawler)
    raise asyncio.CancelledError(str(why))


def mark_failed(crawler: Crawler) -> None:
    """Let `scrapy crawl` and `scrapy runspider` end with exit code 1: they give it to a crawler without a spider."""
    crawler.spider = None
