"""Jobs of the spider `archive`, and their journal: they go on after the last line that was written."""

import json
import logging
import os
import shutil
import sqlite3
from pathlib import Path
from typing import Any, Final

from scrapy import signals
from scrapy.crawler import Crawler
from scrapy.http import Response
from scrapy.utils.job import job_dir
from xxhash import xxh3_128

from scrapy_pagelets.archives.reader import Record
from scrapy_pagelets.base.display import counted
from scrapy_pagelets.base.errors import ConfigError
from scrapy_pagelets.base.transactions import writing
from scrapy_pagelets.crawler.feed_export import Feeds, location, not_line_by_line
from scrapy_pagelets.crawler.spiders.request_journal import ARCHIVE_JOURNAL, open_journal
from scrapy_pagelets.session.crawl_session import session_of

logger = logging.getLogger(__name__)

NUMBER: Final = "_pagelets_page_number"  # request meta: the place of a page among those of the archive
_APPENDED: Final = (
    "%s already has lines, which stay. If an earlier run has written them from the same archive, each page will stand "
    "there twice: replace the feed (-O), or use JOBDIR, with which a run goes on where the last one was killed"
)
_ANEW: Final = "or start again with a new JOBDIR"
_SIZE: Final = "INSERT OR REPLACE INTO sizes VALUES (?, ?)"
_VERSION: Final = 1
#: ``about``: digest of the archive, names of the feeds; ``sizes``: bytes of each feed that belong to finished pages.
_SCHEMA: Final = f"""
BEGIN;
CREATE TABLE pages (number INTEGER PRIMARY KEY);
CREATE TABLE sizes (path TEXT PRIMARY KEY, size INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE about (digest TEXT NOT NULL, feeds TEXT NOT NULL);
PRAGMA user_version = {_VERSION};
COMMIT;
"""


class ArchiveJob:
    """The pages that this run has to write, and the journal of those that earlier runs have written.

    A page and the lengths of the feeds after it are recorded in one transaction. The next run cuts off what a killed
    process wrote behind these lengths, and writes those pages again. Without ``JOBDIR``, a warning names the feeds that
    have lines. Raises ConfigError if the job cannot be continued, or could not be after a kill.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._digest = xxh3_128()
        self._base: sqlite3.Connection | None = None
        self._moved: list[str] = []
        self._done = 0  # number of pages that earlier runs have written
        job, feeds = job_dir(crawler.settings), crawler.settings.getdict("FEEDS")
        self._names = sorted(map(_path, feeds))
        crawler.signals.connect(self.spider_opened, signals.spider_opened)
        if job is None:
            return
        for uri, options in feeds.items():
            if problem := not_line_by_line(str(uri), options):
                raise ConfigError(f"{_path(uri)} cannot be written by a job of the spider archive: {problem}")
        path = Path(job, ARCHIVE_JOURNAL)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._base = open_journal(path, _SCHEMA, _VERSION)
        except (OSError, sqlite3.Error) as error:
            raise ConfigError(f"{path} cannot be used: {error}. Make room on the disk, {_ANEW}") from error
        crawler.signals.connect(self.spider_closed, signals.spider_closed)
        try:
            (self._done,) = self._base.execute("SELECT count(*) FROM pages").fetchone()
            if not any(options.get("overwrite") for options in feeds.values()):
                self._moved = self._restore(self._base)
            elif self._done:
                raise ConfigError(f"the job in {job} goes on, so its feed cannot be replaced: use -o, or a new JOBDIR")
        except BaseException:
            self._base.close()
            raise
        shutil.rmtree(Path(job, "requests.queue"), ignore_errors=True)  # the archive is the queue

    def _restore(self, base: sqlite3.Connection) -> list[str]:
        """Cut off what feeds have behind the lines of finished pages; return sentences about lines that were moved."""
        if (about := base.execute("SELECT feeds FROM about").fetchone()) is None:
            return []
        if self._done and json.loads(about[0]) != self._names:
            names = ", ".join(json.loads(about[0])) or "no feed"
            raise ConfigError(f"the job writes to {names}: name the same, {_ANEW}")
        sizes = base.execute("SELECT path, size FROM sizes ORDER BY path").fetchall()
        for path, size in sizes:
            if size > (os.path.getsize(path) if os.path.exists(path) else 0):
                raise ConfigError(f"{path} has lost lines that the job has written: put them back, {_ANEW}")
        try:
            return [sentence for path, size in sizes if os.path.exists(path) and (sentence := _cut(path, size))]
        except OSError as error:
            raise ConfigError(f"the job cannot be continued, its feeds cannot be written: {error}") from error

    def spider_opened(self) -> None:
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
        """Begin to write, or go on, now that all pages were read; ConfigError if they are not those of earlier runs."""
        digest = self._digest.hexdigest()
        if self._base is not None and self._done:
            if self._base.execute("SELECT digest FROM about").fetchone() != (digest,):
                raise ConfigError(f"the archive has other pages than when the job began: give the same, {_ANEW}")
            logger.info("%s were written by earlier runs of the job", counted(self._done, "page"))
            return
        if self._base is not None:
            try:
                with writing(self._base):
                    self._base.execute("DELETE FROM about")
                    self._base.execute("DELETE FROM sizes")
                    self._base.execute("INSERT INTO about VALUES (?, ?)", (digest, json.dumps(self._names)))
                    self._base.executemany(_SIZE, self._sizes.items())
            except sqlite3.Error as error:
                raise ConfigError(f"the job cannot be recorded: {error}. Make room on the disk, {_ANEW}") from error
        for path in (path for path, size in self._sizes.items() if size):
            self._session.warn("feeds/appended", _APPENDED, path)

    def has(self, start: int, number: int = 1) -> bool:
        """True if so many pages are done, from one on."""
        if self._base is None:
            return False
        query = "SELECT count(*) FROM pages WHERE number >= ? AND number < ?"
        return bool(self._base.execute(query, (start, start + number)).fetchone() == (number,))

    def item_made(self, response: Response | None) -> None:
        """Record the page of an item that has left the pipelines, was dropped or has failed."""
        if self._base is None or response is None or response.request is None:
            return
        if self._feeds is not None and not self._feeds.is_whole:
            return  # the next run begins with the first page that a feed has not got
        try:
            with writing(self._base):
                self._base.execute("INSERT OR IGNORE INTO pages VALUES (?)", (response.request.meta[NUMBER],))
                self._base.executemany(_SIZE, self._sizes.items())
        except sqlite3.Error as error:
            self._session.warn("journal/failed", "the next run of the job will write some pages again: %s", error)

    def spider_closed(self) -> None:
        if self._base is not None:
            self._base.close()
            self._base = None


def _path(uri: Any) -> str:
    return os.path.abspath(location(str(uri)))


def _cut(path: str, size: int) -> str:
    """Cut off the end of a feed; return a sentence if it was more than a line of ours, which is kept in a file."""
    with open(path, "rb+") as file:
        file.seek(size)
        file.readline()
        kept = f"{path}.cut" if file.read(1) else ""
        if kept:
            file.seek(size)
            with open(kept, "ab") as rest:
                shutil.copyfileobj(file, rest)
        file.truncate(size)
    return f"lines of {path} that the job has not recorded were moved to {kept}" if kept else ""
