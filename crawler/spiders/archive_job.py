"""Jobs of the spider `archive`, and their journal: they go on after the last line that was written."""

from __future__ import annotations

import json
import logging
import os
import shutil
import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from scrapy import signals
from scrapy.crawler import Crawler
from scrapy.http import Response
from scrapy.utils.job import job_dir
from xxhash import xxh3_128

from scrapy_pagelets.archives.reader import Record
from scrapy_pagelets.base.display import counted
from scrapy_pagelets.base.errors import PageletsError
from scrapy_pagelets.crawler.feed_export import Feeds, location, not_line_by_line
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

    Without ``JOBDIR``, nothing is recorded, and a warning names the feeds that already have lines. A `JobError` is
    raised if the job cannot be continued, or could not be after a kill.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._digest = xxh3_128()
        job, feeds = job_dir(crawler.settings), crawler.settings.getdict("FEEDS")
        self._names = [os.path.abspath(location(str(uri))) for uri in feeds]
        self._moved: list[str] = []
        self.journal = ArchiveJournal(None)
        crawler.signals.connect(self.spider_opened, signals.spider_opened)
        if job is None:
            return
        for name, (uri, options) in zip(self._names, feeds.items(), strict=True):
            if problem := not_line_by_line(str(uri), options):
                raise JobError(f"{name} cannot be written by a job of the spider archive: {problem}")
        self.journal = ArchiveJournal(Path(job, _JOURNAL))
        crawler.signals.connect(self.journal.close, signals.spider_closed)
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
        """Begin to write, or go on, now that all pages were read; JobError if they are not those of earlier runs."""
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


_VERSION: Final = 1
#: ``about`` has the digest of the archive and the names of the feeds; ``sizes`` has the bytes of each feed that belong
#: to the pages that are done.
_SCHEMA: Final = f"""
BEGIN;
CREATE TABLE pages (number INTEGER PRIMARY KEY);
CREATE TABLE sizes (path TEXT PRIMARY KEY, size INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE about (digest TEXT NOT NULL, feeds TEXT NOT NULL);
PRAGMA user_version = {_VERSION};
COMMIT;
"""

_ANEW: Final = "or start again with a new JOBDIR"


class JobError(PageletsError, ValueError):
    """Raised if a job cannot be continued; the message says why, and what to do."""


class ArchiveJournal:
    """The pages of a job that are done, and how long the feeds were after each.

    Both are written in one transaction, after the feeds have the line of the page. What a killed process wrote behind
    the recorded lengths is cut off by the next run, which writes these pages again: so each page has one line.

    ``path``: the file, created if it does not exist; None without a job: nothing is written then.
    """

    def __init__(self, path: Path | None) -> None:
        self._base = None if path is None else _connect(path)
        self.pages = self._count(0, 1 << 62)  # number of pages that earlier runs have finished

    def has(self, number: int) -> bool:
        """True if a page is done."""
        return self.has_all(number, 1)

    def has_all(self, start: int, number: int) -> bool:
        """True if so many pages are done, from one on."""
        return self._base is not None and self._count(start, start + number) == number

    def _count(self, start: int, end: int) -> int:
        if self._base is None:
            return 0
        query = "SELECT count(*) FROM pages WHERE number >= ? AND number < ?"
        return int(self._base.execute(query, (start, end)).fetchone()[0])

    def restore(self, feeds: Sequence[str]) -> list[str]:
        """Cut off what feeds have behind the lines of finished pages; return sentences about lines that were moved.

        A JobError is raised if the feeds of this run are others than those of earlier runs, or have lost lines.
        """
        if self._base is None or (about := self._base.execute("SELECT feeds FROM about").fetchone()) is None:
            return []
        if self.pages and json.loads(about[0]) != sorted(feeds):
            names = ", ".join(json.loads(about[0])) or "no feed"
            raise JobError(f"the job writes to {names}: name the same, {_ANEW}")
        sizes = self._base.execute("SELECT path, size FROM sizes ORDER BY path").fetchall()
        for path, size in sizes:
            if size > (os.path.getsize(path) if os.path.exists(path) else 0):
                raise JobError(f"{path} has lost lines that the job has written: put them back, {_ANEW}")
        try:
            return [sentence for path, size in sizes if os.path.exists(path) and (sentence := _cut(path, size))]
        except OSError as error:
            raise JobError(f"the job cannot be continued, its feeds cannot be written: {error}") from error

    def begin(self, digest: str, feeds: Sequence[str], sizes: Mapping[str, int]) -> None:
        """Record the digest of all pages of the archive, the names of the feeds, and the bytes that are in them.

        A JobError is raised if earlier runs had other pages, or if nothing can be recorded.
        """
        if self._base is None:
            return
        if self.pages:
            if self._base.execute("SELECT digest FROM about").fetchone() != (digest,):
                raise JobError(f"the archive has other pages than when the job began: give the same, {_ANEW}")
            return
        try:
            with self._base:
                self._base.execute("DELETE FROM about")
                self._base.execute("DELETE FROM sizes")
                self._base.execute("INSERT INTO about VALUES (?, ?)", (digest, json.dumps(sorted(feeds))))
                self._record(sizes)
        except sqlite3.Error as error:
            raise JobError(f"the job cannot be recorded: {error}. Make room on the disk, {_ANEW}") from error

    def finish(self, number: int, sizes: Mapping[str, int]) -> None:
        """Record that a page is done, and the bytes of the feeds that have its line."""
        if self._base is None:
            return
        with self._base:
            self._base.execute("INSERT OR IGNORE INTO pages VALUES (?)", (number,))
            self._record(sizes)

    def _record(self, sizes: Mapping[str, int]) -> None:
        assert self._base is not None
        self._base.executemany("INSERT OR REPLACE INTO sizes VALUES (?, ?)", sizes.items())

    def close(self) -> None:
        if self._base is not None:
            self._base.close()
            self._base = None


def _connect(path: Path) -> sqlite3.Connection:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        base = sqlite3.connect(path)
        # Written data survives the process, though perhaps not a crash of the system: no need to wait for the disk.
        base.execute("PRAGMA journal_mode = WAL")
        base.execute("PRAGMA synchronous = OFF")
        if not base.execute("SELECT 1 FROM sqlite_master").fetchone():
            base.executescript(_SCHEMA)
        if base.execute("PRAGMA user_version").fetchone() != (_VERSION,):
            raise sqlite3.DatabaseError("it is of another version")
    except (OSError, sqlite3.Error) as error:
        raise JobError(f"{path} cannot be used: {error}. Make room on the disk, {_ANEW}") from error
    return base


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
