"""Jobs of the spider `archive`: they go on after the last line that was written."""

from __future__ import annotations

import logging
import os
import shutil
import sqlite3
from pathlib import Path
from typing import Final

from scrapy import signals
from scrapy.crawler import Crawler
from scrapy.http import Response
from scrapy.utils.job import job_dir
from xxhash import xxh3_128

from scrapy_pagelets.archives.reader import Record
from scrapy_pagelets.base.display import counted
from scrapy_pagelets.crawler.feed_export import Feeds, location, not_line_by_line
from scrapy_pagelets.crawler.spiders.archive_journal import ArchiveJournal, JobError
from scrapy_pagelets.session.crawl_session import session_of

logger = logging.getLogger(__name__)

#: Request meta: the place of a page among those of the archive.
NUMBER: Final = "_pagelets_page_number"
#: In the job directory: our journal of pages, and Scrapy's request queue.
_JOURNAL: Final = "pagelets-archive.sqlite"
_QUEUE: Final = "requests.queue"
_APPENDED: Final = (
    "%s already has lines, which stay. If an earlier run has written them from the same archive, each page will stand "
    "there twice: replace the feed (-O), or use JOBDIR, with which a run goes on where the last one was killed"
)


class ArchiveJob:
    """The pages that this run has to write, and those that earlier runs have written.

    Without ``JOBDIR``, nothing is recorded, and a warning names the feeds that already have lines.

    Raises
    ------
    JobError : if the job cannot be continued, or could not be after a kill
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._digest = xxh3_128()
        job, feeds = job_dir(crawler.settings), crawler.settings.getdict("FEEDS")
        self._names = [os.path.abspath(location(str(uri))) for uri in feeds]
        self._moved: list[str] = []
        self.journal = ArchiveJournal(None)
        crawler.signals.connect(self.spider_opened, signals.spider_opened)
        crawler.signals.connect(self.spider_closed, signals.spider_closed)
        if job is None:
            return
        for name, (uri, options) in zip(self._names, feeds.items(), strict=True):
            if problem := not_line_by_line(str(uri), options):
                raise JobError(f"{name} cannot be written by a job of the spider archive: {problem}")
        self.journal = ArchiveJournal(Path(job, _JOURNAL))
        replaces = any(options.get("overwrite") for options in feeds.values())
        if replaces and self.journal.pages:
            raise JobError(f"the job in {job} goes on, so its feed cannot be replaced: use -o, or a new JOBDIR")
        if not replaces:
            self._moved = self.journal.restore(self._names)
        shutil.rmtree(Path(job, _QUEUE), ignore_errors=True)  # the archive is the queue

    def spider_opened(self) -> None:
        """Record the pages of the items from now on."""
        self._session = session_of(self._crawler)
        self._feeds = self._crawler.get_extension(Feeds)
        for sentence in self._moved:
            self._session.warn("feeds/moved", "%s", sentence)
        # Connected after the feeds: a page is done only when they have its item.
        for signal in (signals.item_scraped, signals.item_dropped, signals.item_error):
            self._crawler.signals.connect(self.item_made, signal)

    @property
    def _sizes(self) -> dict[str, int]:
        return {} if self._feeds is None else self._feeds.sizes

    def read(self, record: Record) -> None:
        """Take note of a page of the archive, in order."""
        self._digest.update(f"{record.url}\n{len(record.body)}\n".encode("utf-8", "surrogatepass"))
        self._digest.update(record.body)

    def begin(self) -> None:
        """Begin to write, or go on, now that all pages were read.

        Raises
        ------
        JobError : if they are not those of the earlier runs
        """
        self.journal.begin(self._digest.hexdigest(), self._names, self._sizes)
        if self.journal.pages:
            logger.info("%s were written by earlier runs of the job", counted(self.journal.pages, "page"))
            return
        for path in (path for path, size in self._sizes.items() if size):
            self._session.warn("feeds/appended", _APPENDED, path)

    def item_made(self, response: Response | None) -> None:
        """Record the page of an item that has left the pipelines, was dropped or has failed."""
        if response is None or response.request is None or (self._feeds is not None and not self._feeds.is_whole):
            return  # the next run begins with the first page that a feed has not got
        try:
            self.journal.finish(response.request.meta[NUMBER], self._sizes)
        except sqlite3.Error as error:
            self._session.warn("journal/failed", "the next run of the job will write some pages again: %s", error)

    def spider_closed(self) -> None:
        """Close the journal."""
        self.journal.close()
