"""The extension that tells what a running crawl has done and waits for, and what came out of it at its end."""

from __future__ import annotations

import logging
import sys
from collections.abc import Sized
from typing import Final, Self

from scrapy import signals
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.utils.asyncio import create_looping_call

from scrapy_pagelets.base.characters import visible
from scrapy_pagelets.crawler.live_line import LiveLine
from scrapy_pagelets.crawler.notebook_line import NotebookLine
from scrapy_pagelets.crawler.progress_text import closing_lines, progress_line, progress_sentence
from scrapy_pagelets.session.commands import is_for_single_pages
from scrapy_pagelets.session.crawl_session import session_of

logger = logging.getLogger(__name__)

#: Seconds between two forms of the live line.
_REFRESH: Final = 0.5


class ProgressLog:
    """Log each ``LOGSTATS_INTERVAL`` what is cleaned, held back and why; at the end, what came out and where.

    If the standard error is a terminal, its last line tells the same all the time; in a notebook, an output of the cell
    does, and at last tells what came out.
    """

    def __init__(self, crawler: Crawler) -> None:
        if is_for_single_pages(crawler):
            raise NotConfigured
        self.crawler = crawler
        self.session = session_of(crawler)
        self._interval = crawler.settings.getfloat("LOGSTATS_INTERVAL")
        self._logging = create_looping_call(self._log)
        self._drawing = create_looping_call(self._draw)
        self._line = LiveLine.of(sys.stderr)
        self._output = NotebookLine.here()
        crawler.signals.connect(self.spider_opened, signals.spider_opened)
        crawler.signals.connect(self.spider_closed, signals.spider_closed)
        crawler.signals.connect(self.engine_stopped, signals.engine_stopped)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    def spider_opened(self) -> None:
        if self._interval:
            self._logging.start(self._interval, now=False)
        if self._line is not None:
            self._line.begin()
        if self._line is not None or self._output is not None:
            self._drawing.start(_REFRESH)

    def spider_closed(self) -> None:
        for call in (self._logging, self._drawing):
            if call.running:
                call.stop()
        if self._line is not None:
            self._line.end()

    def engine_stopped(self) -> None:
        """Tell what came out; feeds are closed by now."""
        sentences = [visible(sentence) for sentence in closing_lines(self.session)]
        for sentence in sentences:
            logger.info("%s", sentence)
        if self._output is not None:
            self._output.show("\n".join(sentences))

    def _log(self) -> None:
        logger.info("%s", progress_sentence(self.session, self._waiting_requests()))

    def _draw(self) -> None:
        line = progress_line(self.session, self._waiting_requests())
        if self._line is not None:
            self._line.show(line)
        if self._output is not None:
            self._output.show(line)

    def _waiting_requests(self) -> int:
        engine = self.crawler.engine
        scheduler = getattr(getattr(engine, "_slot", None), "scheduler", None)
        return len(scheduler) if isinstance(scheduler, Sized) else 0
