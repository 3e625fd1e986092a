"""The extension that writes a report when a crawl has ended."""

from __future__ import annotations

import logging
import os
from collections import defaultdict
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from scrapy import signals
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured

from scrapy_pagelets.crawler.feed_export import location
from scrapy_pagelets.session.crawl_session import Component, abort_crawl
from scrapy_pagelets.session.scrapy_hooks import mark_failed
from scrapy_pagelets.session.threads import computed, in_thread

logger = logging.getLogger(__name__)

#: Formats of feeds that a report can be made from.
_FORMATS: Final = ("jsonlines", "jsonl", "jl", "parquet")
#: What classes and functions do that compute, in words for the reader of a report.
_STEPS: Final = {
    "prepare": "loading models and libraries",
    "ArchiveSpider": "reading and learning the archive",
    "_next_batch": "reading and learning the archive",
    "MenuSubdigraphMiddleware": "parsing and learning pages",
    "SettlingPages": "parsing and learning pages",
    "SiteSpider": "parsing and learning pages",
    "CrawlSession": "parsing and learning pages",
    "MenuSearch": "loading pages for templates",
    "Prober": "loading pages for templates",
    "SegmentPipeline": "cutting pages into pagelets",
    "StripPipeline": "deciding what is template, and writing the content",
    "DuplicatesPipeline": "looking for near-duplicates",
    "RecrawlPipeline": "comparing pages with the earlier crawl",
    "TemplatesPipeline": "writing the templates",
    "PriorityMiddleware": "weighing links",
    "RenderingMiddleware": "rendering pages",
}
#: Seconds that a step takes at least to be named.
_LEAST: Final = 0.05


class CrawlReport(Component):
    """Write a report on the feed to the file ``PAGELETS_REPORT`` when the crawl has ended.

    It is the report of ``pagelets report FEED --html FILE``, and tells more: how long the crawl took, what it
    loaded, the subdigraphs, and what each rule did.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        if not self.session.config.report:
            raise NotConfigured
        self._path = Path(self.session.config.report)
        self._feed = _readable_feed(crawler)
        self._computed_before = dict(computed)
        if problem := self._obstacle():
            abort_crawl(crawler, f"PAGELETS_REPORT cannot be used: {problem}")
        crawler.signals.connect(self.engine_stopped, signals.engine_stopped)

    def _obstacle(self) -> str:
        """Why no report can be written, and what to do; "" if nothing is in the way."""
        if not self._feed:
            return "it is made from a feed in one local file, JSON lines or Parquet: name one with -o FILE.jsonl"
        if find_spec("matplotlib") is None:
            return "it needs matplotlib: pip install 'scrapy-pagelets[report]'"
        if not os.access(self._path if self._path.exists() else self._path.absolute().parent, os.W_OK):
            return f"{self._path} cannot be written: name a file in a folder that exists and can be written to"
        return ""

    async def engine_stopped(self) -> None:
        """Write the report; the feed is closed by now."""
        if self._feed not in self.session.progress.feeds:
            logger.info("no report is written: the feed has no items")
            return
        try:
            await in_thread(self._write)
        except Exception as error:
            logger.error("the report %s could not be written: %s", self._path, error)
            mark_failed(self.crawler)
            return
        logger.info("report: %s", self._path)

    def _write(self) -> None:
        from scrapy_pagelets.crawler.commands.report import feed_of
        from scrapy_pagelets.report.html_report import CrawlFacts, html_file
        from scrapy_pagelets.report.summary import summary_of

        rules, progress = self.session.rules, self.session.progress
        facts = CrawlFacts(
            dict(self.session.stats.get_stats()),
            loaded=progress.loaded,
            computed=_by_step(self._computed_before),
            subdigraphs=progress.subdigraphs,
            idle_rules=[*rules.without_page(), *rules.without_element()],
        )
        summary = summary_of(feed_of(self._feed))
        self._path.write_text(html_file(summary, self._feed, facts), encoding="utf-8")


def _by_step(before: Mapping[str, float]) -> dict[str, float]:
    """Seconds of CPU time since the crawl began, by what they were spent on."""
    seconds: defaultdict[str, float] = defaultdict(float)
    for name, value in computed.items():
        seconds[_STEPS.get(name, name.strip("_"))] += value - before.get(name, 0.0)
    return {step: spent for step, spent in seconds.items() if spent >= _LEAST}


def _readable_feed(crawler: Crawler) -> str:
    """The first feed of a crawl that a report can be made from, "" if there is none."""
    for uri, options in crawler.settings.getdict("FEEDS").items():
        path = location(str(uri))
        if "%(" not in path and "://" not in path and options.get("format") in _FORMATS:
            return path
    return ""
