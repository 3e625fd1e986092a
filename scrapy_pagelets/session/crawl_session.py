"""The state that the components of one crawl share."""

import asyncio
import errno
import logging
import sys
import time
import traceback
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any, Final, NoReturn, ParamSpec, Self, TypeVar
from weakref import WeakKeyDictionary

from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.http import Response, TextResponse
from scrapy.utils.job import job_dir

from scrapy_pagelets.archives.resources import Resources
from scrapy_pagelets.base.caches import RecentKeys
from scrapy_pagelets.base.characters import lazily, visible
from scrapy_pagelets.base.errors import ConfigError
from scrapy_pagelets.decision.model import load
from scrapy_pagelets.page.data_text import is_shell, with_data
from scrapy_pagelets.page.limits import TooLarge, memory_shortage
from scrapy_pagelets.page.page import MAX_DEPTH, Page, decode, parse
from scrapy_pagelets.papers import page_level
from scrapy_pagelets.papers.graph_cuts.segment_weights import load as load_weights
from scrapy_pagelets.papers.methods import CLASSIFIER
from scrapy_pagelets.recrawl.version_store import VersionStore
from scrapy_pagelets.rendering.snapshot import page_of
from scrapy_pagelets.rules.host_rules import Rules
from scrapy_pagelets.rules.host_rules import read as read_rules
from scrapy_pagelets.rules.robots import OBEY, marked
from scrapy_pagelets.session.config import Config, unknown
from scrapy_pagelets.session.requests import AnsweredRequests, Sent, key_of
from scrapy_pagelets.session.response_store import CutBodies, RenderedResponse, ResponseStore
from scrapy_pagelets.session.scrapy_hooks import is_for_single_pages, mark_failed, without_selector
from scrapy_pagelets.session.shared_crawl import Leases, SharedCrawl
from scrapy_pagelets.session.threads import in_thread, in_thread_if_long, let_go, until_free
from scrapy_pagelets.sites.site_cache import SiteCache
from scrapy_pagelets.sites.site_store import SiteStore, meaning

_WINDOW: Final = 60.0  # seconds over which the rate is taken
_REMEMBERED: Final = 1000  # subdigraphs, and sites with pages that were loaded, that are remembered
_TELLING: Final = 0.02  # part of a step that must be done before the time left is told


@dataclass(frozen=True)
class Step:
    """A step of a crawl, such as a pass over an archive."""

    name: str  # what is done: ``reading``, ``learning`` or ``cleaning`` an archive
    started: float  # when it began, by the clock of `Progress`
    pages: int  # number of pages that are done
    share: float | None  # the part of it that is done, 0 to 1; None if that cannot be known


@dataclass
class Progress:
    """What the components of a crawl tell of their work, for the log and the terminal."""

    waiting: dict[str, Callable[[], int]] = field(default_factory=dict)  # by reason, counts the pages that wait
    step: Step | None = None  # the running step, if the crawl goes by steps
    feeds: Counter[str] = field(default_factory=Counter)  # by path or URI of a feed, the number of items
    #: the site and the URLs of each complete subdigraph that was found, at most 1,000
    subdigraphs: list[tuple[str, list[str]]] = field(default_factory=list)
    loaded: Counter[str] = field(default_factory=Counter)  # by site, pages loaded for templates; 1,000 sites
    warnings: dict[str, str] = field(default_factory=dict)  # by the name of their stat, the first warning of each kind
    clock: Callable[[], float] = time.monotonic
    _seen: deque[tuple[float, int]] = field(default_factory=deque)

    def advance(self, name: str, pages: int, share: float | None) -> None:
        """Tell how much of a step is done; a new name begins a step."""
        started = self.step.started if self.step is not None and self.step.name == name else self.clock()
        self.step = Step(name, started, pages, None if share is None else min(1.0, share))

    def seconds_left(self) -> float | None:
        """Seconds until the running step ends, at its pace so far; None while that cannot be known."""
        if self.step is None or self.step.share is None or self.step.share < _TELLING:
            return None
        return (self.clock() - self.step.started) * (1 - self.step.share) / self.step.share

    def rate(self, done: int) -> float:
        """Number of pages a second over the last minute, by the number of those that are done now."""
        now = self.clock()
        self._seen.append((now, done))
        while len(self._seen) > 2 and now - self._seen[1][0] >= _WINDOW:
            self._seen.popleft()
        first, before = self._seen[0]
        return (done - before) / (now - first) if now > first else 0.0

    def found(self, site: str, urls: list[str]) -> None:
        """Remember a complete subdigraph."""
        if len(self.subdigraphs) < _REMEMBERED:
            self.subdigraphs.append((site, urls))

    def has_loaded(self, site: str) -> None:
        """Count a page that was loaded for a template."""
        if site in self.loaded or len(self.loaded) < _REMEMBERED:
            self.loaded[site] += 1


logger = logging.getLogger(__name__)

_FORMAT: Final = 2  # the format of what the processes of a shared crawl send each other
P = ParamSpec("P")
T = TypeVar("T")
_LARGE: Final = 10_000_000  # pages above this size in bytes take seconds and cause a warning
_REPORTED: Final = 10_000  # problems of pages that are remembered: a page may be parsed again
_SIGNALS: Final = ("spider_opened", "spider_closed", "scheduler_empty", "engine_stopped")  # that components get
_PRODUCT: Final = lazily(r"[\w-]+")
_CUT: Final = "%s ends early, its body breaks off: what there is of it is cleaned"
_SHELL: Final = "%s has hardly any text before its scripts run: PAGELETS_RENDER=auto renders such pages in a browser"


class CrawlSession:
    """The state of one crawl, which its components share: settings, sites, parsed pages and stored responses."""

    def __init__(self, crawler: Crawler) -> None:
        if problem := memory_shortage():
            raise ConfigError(problem)
        job = job_dir(crawler.settings)
        config = self.config = Config.from_settings(crawler.settings)
        # Load files now: a missing one ends the crawl before it starts.
        model = _loaded("PAGELETS_MODEL", load, config.model)
        if config.detection == CLASSIFIER:
            _loaded("PAGELETS_CLASSIFIER", page_level.load, config.classifier)
        if config.segmenter_weights:
            _loaded("PAGELETS_SEGMENTER_WEIGHTS", load_weights, config.segmenter_weights)
        self.rules = _loaded("PAGELETS_RULES", read_rules, config.rules) if config.rules else Rules()
        #: The name by which pages call this robot: in lower case, without version and comments, as in ``robots.txt``.
        agent = crawler.settings.get("ROBOTSTXT_USER_AGENT") or crawler.settings.get("USER_AGENT") or ""
        self.agent = match[0].lower() if (match := _PRODUCT.match(str(agent))) else ""
        self.stats = crawler.stats
        self.progress = Progress()
        for sentence in unknown(crawler.settings):
            self.count("settings/unknown")
            logger.warning("%s", sentence)
        #: What all processes of a shared crawl have in common: the model, all hashes, and how pages are compared.
        compared = ", ".join(
            f"{name} {value}" for name, value in vars(config).items() if name.startswith("duplicates_")
        )
        self.meaning = f"{_FORMAT} {meaning(model)} {compared}" if config.redis else ""
        is_shared = config.redis and not is_for_single_pages(crawler)
        #: The part of this process in a crawl that several processes share; None for a crawl by itself.
        self.shared = SharedCrawl(config, crawler, self.warn, self.record_loss) if is_shared else None
        self.leases = Leases()  # the requests of a shared crawl that this process works on
        try:
            Path(config.store).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            if error.errno != errno.ENOSPC:  # on a full disk, the crawl goes on with what is in memory
                problem = f"{config.store} cannot be a folder ({error.strerror}): name another one"
                raise ConfigError(f"PAGELETS_STORE cannot be used: {problem}") from None
        folder = config.store or job
        store_failed = partial(self.warn, "store/failed", "%s")
        self._store = SiteStore(Path(folder) if folder else None, model, store_failed)
        store = self._store if self.shared is None else self.shared.sites
        self.sites = SiteCache(
            store, config.model, detection=config.detection, strict=config.strict, classifier=config.classifier
        )
        self.answered = AnsweredRequests(self._store, job)
        self.responses = ResponseStore(Path(job, "pagelets-responses") if job else None, store_failed)
        #: Responses that were loaded for templates, until the spider requests their pages.
        self.handovers = self.responses if self.shared is None else self.shared.responses
        #: Tasks that load, or have loaded, pages for templates, by key; the spider has not requested these pages yet.
        self.menu_loads: dict[str, asyncio.Future[Any]] = {}
        #: How requests are sent, as `HandoverMiddleware` saw them.
        self.sent: WeakKeyDictionary[Request, Sent] = WeakKeyDictionary()
        self.versions: VersionStore | None = None  # versions of pages, of this crawl and earlier ones; None without
        self.in_sitemaps: set[int] = set()  # keys of the pages that sitemaps list
        self.start_hosts: set[str] = set()  # on which the crawl was started: they may have private addresses
        self.resources: Resources | None = None  # the resources of archived pages, for rendering
        #: Parsed pages, or the message of a `TooLarge`: the exception itself would keep the response alive.
        self._pages: WeakKeyDictionary[Response, Page | str] = WeakKeyDictionary()
        self._reported = RecentKeys(_REPORTED)
        self.cut_bodies = CutBodies(crawler, lambda url: self._warn_once(url, "truncated", _CUT))
        self.follows_items = False  # whether item pipelines know the pages of their items, see `follow_items`
        self._lost: Counter[tuple[str, str]] = Counter()
        self._losing = Lock()
        crawler.signals.connect(self.spider_closed, signals.spider_closed)
        crawler.signals.connect(self.engine_stopped, signals.engine_stopped)

    def page(self, response: TextResponse) -> Page:
        """Return the page of a response, which is parsed only once; `TooLarge` as `text` says. May run in a thread."""
        if (page := self._pages.get(response)) is None:
            try:
                page = self._parse(response)
            except TooLarge as error:
                page = str(error)
            self._pages[response] = page
        if isinstance(page, str):
            raise TooLarge(page)
        return page

    async def compute(self, response: Response, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call a function of the page of a response: in a thread, or here if it is short and never waits."""
        if response not in self._pages:
            await until_free()
        if self.sites.may_wait:
            return await in_thread(function, *args, **kwargs)
        return await in_thread_if_long(len(response.body), function, *args, **kwargs)

    def forget(self, response: TextResponse) -> None:
        """Let go of the page of a response, and of its selector."""
        let_go(self._pages.pop(response, None), without_selector(response))

    def _parse(self, response: TextResponse) -> Page:
        text = self.text(response)
        # Do not use the tree of `response.selector`: spiders change its nodes while threads read ours.
        page = Page.from_root(parse(text), response.url, b", ".join(response.headers.getlist("Link")).decode("latin-1"))
        self._warn_about(page, response, text)
        if isinstance(response, RenderedResponse):
            page = page_of(response.frames, response.url, page, self.config.limits)
        elif (found := with_data(page)) is not page:
            page = found
            if not self.config.render and self.is_new(page.url, "from_data"):
                self.count("pages/from_data")
        elif not self.config.render and is_shell(page):
            self._warn_once(page.url, "shells", _SHELL)
        asked = ", ".join(tag.decode("latin-1") for tag in response.headers.getlist("X-Robots-Tag"))
        page = marked(self.rules.mark(page), response.body, asked, self.agent, obey=self.config.robots == OBEY)
        for problem in page.marks.problems:
            if self.is_new(page.url, problem):
                self.warn("rules/failed", "%s", problem)
        return page

    def text(self, response: Response) -> str:
        """Return the text of a response, for the parser; `TooLarge` if it exceeds the limits of the settings."""
        self.config.limits.check_size(response.body)
        content_type = response.headers.get("Content-Type")
        text = decode(response.body, content_type.decode("latin-1") if content_type else None)
        self.config.limits.check(text)
        return text

    def _warn_about(self, page: Page, response: TextResponse, text: str) -> None:
        if not text.strip():
            self._warn_once(page.url, "blank", "%s is an empty page")
        if len(response.body) > _LARGE:
            self._warn_once(page.url, "large", "%s has %d MB: it takes a while", len(response.body) // 1_000_000)
        declared = response.text if not text.isascii() else ""  # decoded with the declared charset
        if (misfits := declared.count("\ufffd") - response.body.count(b"\xef\xbf\xbd")) > 0:
            self._warn_once(page.url, "wrong_charset", "%s has %d characters that its charset does not have", misfits)
        if beyond := page.nodes.links.beyond if page.base else len(page.nodes.links.href):
            self._warn_once(page.url, "many_links", "%s has too many and too long links: %d are left out", beyond)
        if page.has_open_title:
            self._warn_once(page.url, "open_title", "%s has no end tag of its title: browsers show nothing below it")
        if page.truncated:
            self._warn_once(page.url, "too_deep", "%s nests deeper than %d levels: deeper content is lost", MAX_DEPTH)

    def _warn_once(self, url: str, name: str, message: str, *arguments: object) -> None:
        if self.is_new(url, name):  # pages that were held back, or loaded for a template, are parsed again
            self.warn(f"pages/{name}", message, url, *arguments)

    def is_new(self, url: str, problem: str) -> bool:
        """Remember a problem of a page, or of something else that has a name; True if it was not known."""
        return self._reported.add(key_of(f"{url}\n{problem}"))

    def cancel_menu_loads(self) -> None:
        """Cancel the loading of pages for templates, except those that the spider has requested."""
        for loading in self.menu_loads.values():
            loading.cancel()

    def count(self, name: str, by: int = 1) -> None:
        """Add to the stat ``pagelets/<name>``."""
        self.stats.inc_value(f"pagelets/{name}", by)

    def stat(self, name: str) -> int:
        """Return the stat ``pagelets/<name>``, 0 if nothing was counted."""
        return int(self.stats.get_value(f"pagelets/{name}", 0))

    def warn(self, name: str, message: str, *arguments: object) -> None:
        """Count a problem in the stat ``pagelets/<name>``; log the first of each name as a warning, others at DEBUG."""
        self.count(name)
        # URLs in archives and messages of servers may contain control characters.
        shown = tuple(a if isinstance(a, int | float) else visible(str(a)) for a in arguments)
        level = logging.DEBUG if name in self.progress.warnings else logging.WARNING
        self.progress.warnings.setdefault(name, message % shown)
        logger.log(level, message, *shown)

    def record_loss(self, what: str, remedy: str, number: int = 1) -> None:
        """Record what is lost for good, a plural, and a remedy: the run ends with an ERROR line and exit code 1."""
        with self._losing:
            self.count("lost", number)
            self._lost[what, remedy] += number

    def failed(self, url: str) -> None:
        """Log the exception that is being handled, a bug of ours or a `TooLarge`; the page is not cleaned."""
        error = sys.exception()
        if isinstance(error, TooLarge):
            self._warn_once(url, "too_large", "%s is too large and is not cleaned: %s", error)
            return
        self.count("pages/failed")
        if isinstance(error, MemoryError):
            logger.error("%s is not cleaned, there is not enough memory", url)
            return
        sentence = "%s could not be cut into pagelets and is not cleaned: please report this\n%s"
        logger.error(sentence, url, traceback.format_exc())

    async def spider_closed(self) -> None:
        """Save the state in memory, and close the stores."""
        await in_thread(self._close)

    def engine_stopped(self, sender: Crawler) -> None:
        """Report the losses; feeds and indexes, which may still lose something when they close, are closed by now."""
        if self._lost:
            lost = "; ".join(f"{number} {what}" for (what, _), number in self._lost.items())
            remedies = "; ".join(dict.fromkeys(remedy for _, remedy in self._lost))
            logger.error("This run has lost something: %s. What to do: %s", lost, remedies)
            mark_failed(sender)

    def _close(self) -> None:
        self.sites.close()
        self.answered.save()
        self._store.close()
        self.responses.close()
        if self.shared is not None:
            self.shared.server.close()


def _loaded(setting: str, read: Callable[[str], T], name: str) -> T:
    try:
        return read(name)
    except ConfigError as error:
        raise ConfigError(f"{setting} cannot be used: {error}") from error


_sessions: WeakKeyDictionary[Crawler, CrawlSession] = WeakKeyDictionary()


def session_of(crawler: Crawler) -> CrawlSession:
    """Return the session of a crawler, created at the first call; a setting that cannot be used ends the crawl."""
    if crawler not in _sessions:
        try:
            _sessions[crawler] = CrawlSession(crawler)
        except ConfigError as error:
            abort_crawl(crawler, error)
    return _sessions[crawler]


class Component:
    """A middleware, extension or pipeline, made by Scrapy with the crawler; methods with names of signals get them."""

    for_single_pages = True  # whether it works in commands that show or check single pages as well

    def __init__(self, crawler: Crawler) -> None:
        if not self.for_single_pages and is_for_single_pages(crawler):
            raise NotConfigured
        self.crawler = crawler
        self.session = session_of(crawler)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Make it, as Scrapy does."""
        made = cls(crawler)
        for name in _SIGNALS:
            if (method := getattr(made, name, None)) is not None:
                crawler.signals.connect(method, getattr(signals, name))
        return made


def abort_crawl(crawler: Crawler, reason: object) -> NoReturn:
    """End a crawl before it begins, with one ERROR line, no traceback, and exit code 1."""
    logger.error("%s", reason)
    mark_failed(crawler)
    raise asyncio.CancelledError(str(reason))
