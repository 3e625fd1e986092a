"""The extension that writes a report when a crawl has ended."""

import logging
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from scrapy import signals
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured

from scrapy_pagelets.base.transactions import why_not_writable
from scrapy_pagelets.crawler.feed_export import location
from scrapy_pagelets.session.crawl_session import Component, abort_crawl
from scrapy_pagelets.session.scrapy_hooks import mark_failed
from scrapy_pagelets.session.threads import in_thread

logger = logging.getLogger(__name__)

_FORMATS: Final = ("jsonlines", "jsonl", "jl", "parquet")  # formats of feeds that a report can be made from


class CrawlReport(Component):
    """Write the report on the feed, and on the crawl, to the file ``PAGELETS_REPORT`` when the crawl has ended."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        if not self.session.config.report:
            raise NotConfigured
        self._path = Path(self.session.config.report)
        self._feed = _readable_feed(crawler)
        if problem := self._obstacle():
            abort_crawl(crawler, f"PAGELETS_REPORT cannot be used: {problem}")
        crawler.signals.connect(self.engine_stopped, signals.engine_stopped)

    def _obstacle(self) -> str:
        """Why no report can be written, and what to do; "" if nothing is in the way."""
        if not self._feed:
            return "it is made from a feed in one local file, JSON lines or Parquet: name one with -o FILE.jsonl"
        if find_spec("matplotlib") is None:
            return "it needs matplotlib: pip install 'scrapy-pagelets[report]'"
        problem = why_not_writable(self._path)
        return f"{self._path} cannot be written: {problem}; name another file" if problem else ""

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
        idle, stats = [*rules.without_page(), *rules.without_element()], dict(self.session.stats.get_stats())
        facts = CrawlFacts(stats, progress.loaded, progress.subdigraphs, idle)
        summary = summary_of(feed_of(self._feed))
        self._path.write_text(html_file(summary, self._feed, facts), encoding="utf-8")


def _readable_feed(crawler: Crawler) -> str:
    """The first feed of a crawl that a report can be made from, "" if there is none."""
    for uri, options in crawler.settings.getdict("FEEDS").items():
        path = location(str(uri))
        if "%(" not in path and "://" not in path and options.get("format") in _FORMATS:
            return path
    return ""
