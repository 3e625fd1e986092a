"""The extensions that log a summary of each site, prepare the process, write stats for Prometheus, and a report."""

import gc
import logging
from datetime import datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import numpy as np
from scrapy import Spider, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.utils.asyncio import create_looping_call

from scrapy_pagelets.base.characters import visible
from scrapy_pagelets.base.display import counted
from scrapy_pagelets.base.transactions import why_not_writable
from scrapy_pagelets.crawler.feed_export import location
from scrapy_pagelets.decision.decision import decided
from scrapy_pagelets.decision.site import Site
from scrapy_pagelets.duplicates.shingles import word_weights
from scrapy_pagelets.feed.pagelet import pagelets_of
from scrapy_pagelets.page.page import Page
from scrapy_pagelets.papers.methods import labels_of
from scrapy_pagelets.papers.shared_pagelets.incremental import RepeatedPagelets
from scrapy_pagelets.session.config import Config
from scrapy_pagelets.session.crawl_session import Component, abort_crawl
from scrapy_pagelets.session.scrapy_hooks import is_for_single_pages, mark_failed
from scrapy_pagelets.session.threads import in_thread

logger = logging.getLogger(__name__)

_FORMATS: Final = ("jsonlines", "jsonl", "jl", "parquet")  # formats of feeds that a report can be made from


class SiteReport(Component):
    """Log a summary of each site when the spider closes."""

    def spider_closed(self) -> None:
        sites = self.session.sites.summary()
        for site, pages, page_classes in sites:
            name = site or "files without a site"
            logger.info("%s: %s, %s", name, counted(pages, "page"), counted(page_classes, "template"))
            if pages == 1:
                sentence = "%s: a single page does not reveal its template; what was stripped is a guess"
                self.session.warn("sites/of_one_page", sentence, name)
        self.session.count("sites", len(sites))
        self.session.count("templates", sum(page_classes for _, _, page_classes in sites))
        if self.session.sites.repeated is not None:
            self._report_shared(self.session.sites.repeated)
        if is_for_single_pages(self.crawler):
            return
        rules, name = self.session.rules, self.session.config.rules
        for stat, sentence, without in (
            ("rules/no_page", "no page came from the hosts of these rules of %s: %s", rules.without_page()),
            ("rules/no_element", "these selectors of %s matched nothing on any page: %s", rules.without_element()),
        ):
            if without:
                self.session.count(stat, len(without))
                logger.warning(sentence, visible(name), visible(", ".join(without)))

    def _report_shared(self, shared: RepeatedPagelets) -> None:
        for shares in shared.shares():
            logger.info("%s: of %d pagelets, %d repeat on the site and %d on pages that link each other", *shares[:4])
            for name in ("pagelets", "local", "linked", "near"):
                self.session.count(f"detection/{name}", getattr(shares, name))
        for sisters in shared.sisters():
            logger.info("%s and %s link each other and have %d templates in common", *sisters)
            self.session.count("detection/sisters")
        if shared.full:
            sentence = "there are more pagelets than can be counted: the last pages were not counted"
            self.session.warn("detection/full", sentence)


class Preparation(Component):
    """Call `prepare` before the first page, and let the `GarbageCollector` work as long as the crawl runs."""

    for_single_pages = False

    async def spider_opened(self) -> None:
        await in_thread(prepare, self.session.config)
        COLLECTOR.begin()
        self.crawler.signals.connect(COLLECTOR.end, signals.engine_stopped)


_PAGE: Final = """<html lang=en><title>Page {0}</title><body>
<ul id=menu><li><a href=/a>Page a</a><li><a href=/b>Page b</a></ul>
<main><h1>Page {0}</h1><p>All there is to say of {0}: one word, another word, a third word – and é.</main></html>"""


def prepare(config: Config) -> None:
    """Clean two pages of no site, which loads what cleaning needs but for SciPy, see `MenuSearch.run`."""
    other, page = (Page.parse(_PAGE.format(name).encode(), f"http://www.example.com/{name}") for name in "ab")
    site = Site(page.site, config.model)
    site.learn(other)
    site.learn(page)
    templateness = decided(page, site).templateness
    labels = labels_of(page, config.segmenter, templateness, **config.segmenter_options)
    for pagelet in pagelets_of(page, labels, templateness):
        pagelet.record()
    if config.duplicates != "off":
        word_weights(page.nodes, np.ones(len(page.nodes.leaves), np.bool_), templateness)


#: Allocations, and collections of the generation before, after which a generation is collected. A callback of Scrapy
#: makes thousands of short-lived objects: with Python's 700, most collections scan objects that are still in use.
_THRESHOLDS: Final = (10_000, 10, 10)


class GarbageCollector:
    """Freeze what is loaded, and collect less often while crawls run; a project that does so anyhow is left alone."""

    def __init__(self) -> None:
        self._crawls = 0
        self._before = gc.get_threshold()

    def begin(self) -> None:
        self._crawls += 1
        if self._crawls == 1:
            gc.freeze()
            self._before = gc.get_threshold()
            if 0 < self._before[0] < _THRESHOLDS[0]:
                gc.set_threshold(*_THRESHOLDS)

    def end(self) -> None:
        self._crawls -= 1
        if not self._crawls:
            gc.unfreeze()
            if gc.get_threshold() == _THRESHOLDS:
                gc.set_threshold(*self._before)


COLLECTOR: Final = GarbageCollector()


class MetricsFile(Component):
    """Write stats that are numbers or times, as one metric, to ``PAGELETS_METRICS``, each ``LOGSTATS_INTERVAL``."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        if not self.session.config.metrics:
            raise NotConfigured
        self._path = Path(self.session.config.metrics)
        self._interval = crawler.settings.getfloat("LOGSTATS_INTERVAL")
        self._writing = create_looping_call(self._write)
        self._spider = ""
        _require(crawler, "PAGELETS_METRICS", self._path, "prometheus_client", "monitor")

    def spider_opened(self, spider: Spider) -> None:
        self._spider = spider.name
        if self._interval:
            self._writing.start(self._interval)

    def engine_stopped(self) -> None:
        """Write the last values; the other components have counted by now."""
        if self._writing.running:
            self._writing.stop()
        if not self._write():
            logger.error("the last values of the stats are not in %s: make room on its disk", self._path)
            mark_failed(self.crawler)

    def _write(self) -> bool:
        from prometheus_client import CollectorRegistry, Gauge, write_to_textfile

        registry = CollectorRegistry()
        gauge = Gauge("scrapy_stat", "Value of a stat of Scrapy", ["spider", "stat"], registry=registry)
        for name, value in self.session.stats.get_stats().items():
            number = value.timestamp() if isinstance(value, datetime) else value
            if isinstance(number, int | float):
                gauge.labels(self._spider, name).set(number)
        try:
            write_to_textfile(str(self._path), registry)
        except OSError as error:
            self.session.warn("metrics/failed", "%s cannot be written: %s", self._path, error)
            return False
        return True


class CrawlReport(Component):
    """Write the report on the feed, and on the crawl, to the file ``PAGELETS_REPORT`` when the crawl has ended."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        if not self.session.config.report:
            raise NotConfigured
        self._path = Path(self.session.config.report)
        feeds = crawler.settings.getdict("FEEDS").items()
        paths = (location(str(uri)) for uri, options in feeds if options.get("format") in _FORMATS)
        self._feed = next((path for path in paths if "%(" not in path and "://" not in path), "")
        if not self._feed:
            advice = "it is made from a feed in one local file, JSON lines or Parquet: name one with -o FILE.jsonl"
            abort_crawl(crawler, f"PAGELETS_REPORT cannot be used: {advice}")
        _require(crawler, "PAGELETS_REPORT", self._path, "matplotlib", "report")

    async def engine_stopped(self) -> None:
        """Write the report; the feed is closed by now."""
        if self._feed not in self.session.progress.feeds:
            logger.info("no report is written: the feed has no items")
            return
        try:
            await in_thread(self._write)
            logger.info("report: %s", self._path)
        except Exception as error:
            logger.error("the report %s could not be written: %s", self._path, error)
            mark_failed(self.crawler)

    def _write(self) -> None:
        from scrapy_pagelets.crawler.commands.report import feed_of
        from scrapy_pagelets.report.html_report import CrawlFacts, html_file
        from scrapy_pagelets.report.summary import summary_of

        rules, progress = self.session.rules, self.session.progress
        idle, stats = [*rules.without_page(), *rules.without_element()], dict(self.session.stats.get_stats())
        facts = CrawlFacts(stats, progress.loaded, progress.subdigraphs, idle)
        summary = summary_of(feed_of(self._feed))
        self._path.write_text(html_file(summary, self._feed, facts), encoding="utf-8")


def _require(crawler: Crawler, setting: str, path: Path, library: str, extra: str) -> None:
    """End a crawl whose file could not be written."""
    problem = why_not_writable(path) or why_not_writable(f"{path}.new")  # some are written beside their name
    if find_spec(library) is None:
        abort_crawl(crawler, f"{setting} cannot be used: it needs {library}: pip install 'scrapy-pagelets[{extra}]'")
    if problem:
        abort_crawl(crawler, f"{setting} cannot be used: {path} cannot be written: {problem}; name another file")
