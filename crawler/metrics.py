"""The extension that writes the stats of a crawl to a file, in the text format of Prometheus."""

from __future__ import annotations

import logging
import os
from datetime import datetime
from importlib.util import find_spec
from pathlib import Path

from scrapy import Spider, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.utils.asyncio import create_looping_call

from scrapy_pagelets.session.crawl_session import Component, abort_crawl
from scrapy_pagelets.session.scrapy_hooks import mark_failed

logger = logging.getLogger(__name__)


class MetricsFile(Component):
    """Write all stats that are numbers or times to the file ``PAGELETS_METRICS``, each ``LOGSTATS_INTERVAL`` and last.

    They are samples of one metric, ``scrapy_stat``, with the labels ``spider`` and ``stat``: names of stats have
    characters that names of metrics cannot have. The file is replaced as a whole.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        if not self.session.config.metrics:
            raise NotConfigured
        self._path = Path(self.session.config.metrics)
        self._interval = crawler.settings.getfloat("LOGSTATS_INTERVAL")
        self._writing = create_looping_call(self._write)
        self._spider = ""
        if problem := self._obstacle():
            abort_crawl(crawler, f"PAGELETS_METRICS cannot be used: {problem}")
        crawler.signals.connect(self.spider_opened, signals.spider_opened)
        crawler.signals.connect(self.engine_stopped, signals.engine_stopped)

    def _obstacle(self) -> str:
        """Why no file can be written, and what to do; "" if nothing is in the way."""
        if find_spec("prometheus_client") is None:
            return "it needs prometheus_client: pip install 'scrapy-pagelets[monitor]'"
        if self._path.is_dir() or not os.access(self._path.absolute().parent, os.W_OK):
            return f"{self._path} cannot be written: name a file in a folder that exists and can be written to"
        return ""

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
        stats = {} if self.crawler.stats is None else self.crawler.stats.get_stats()
        for name, value in stats.items():
            number = value.timestamp() if isinstance(value, datetime) else value
            if isinstance(number, int | float):
                gauge.labels(self._spider, name).set(number)
        try:
            write_to_textfile(str(self._path), registry)
        except OSError as error:
            self.session.warn("metrics/failed", "%s cannot be written: %s", self._path, error)
            return False
        return True
