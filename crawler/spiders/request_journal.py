"""The requests of a job of the spider `site` and their outcomes: an SQLite file in the job directory."""

import logging
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

from scrapy import Request, Spider

from scrapy_pagelets.base.errors import ConfigError
from scrapy_pagelets.base.transactions import set_aside
from scrapy_pagelets.session.requests import from_json, to_json

logger = logging.getLogger(__name__)

SITE_JOURNAL: Final = "pagelets-journal.sqlite"  # in the job directory: the requests of the spider `site`
ARCHIVE_JOURNAL: Final = "pagelets-archive.sqlite"  # and the pages of the spider `archive`
_VERSION: Final = 2
_FORMER: Final = 1  # its requests were pickles: reading them could run code
FORMER_JOB: Final = (
    "the job in {} cannot be continued: an earlier version began it, whose files could run code when they are read. "
    "Crawl again with a new JOBDIR"
)
_ASKED, _HELD, _PAGE, _NO_PAGE = range(4)  # states: pending, settling, its item is made, led to no page
_SET_STATE: Final = "UPDATE requests SET state = ? WHERE number = ?"
_MADE: Final = {SITE_JOURNAL: f"SELECT 1 FROM requests WHERE state = {_PAGE}", ARCHIVE_JOURNAL: "SELECT 1 FROM pages"}
#: ``held`` are settling pages, ``spare`` URLs in reserve. ``fingerprints`` has an additional row for each redirect.
#: ``names`` are the hosts of the crawl and the sites that have settled.
_SCHEMA: Final = f"""
BEGIN;
CREATE TABLE requests (number INTEGER PRIMARY KEY, state INTEGER NOT NULL, request BLOB);
CREATE INDEX by_state ON requests (state, number);
CREATE TABLE fingerprints (fingerprint TEXT PRIMARY KEY, number INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE held (number INTEGER PRIMARY KEY, site TEXT NOT NULL, token TEXT NOT NULL, time TEXT NOT NULL);
CREATE TABLE spare (number INTEGER PRIMARY KEY, url TEXT NOT NULL, depth INTEGER NOT NULL);
CREATE TABLE names (kind TEXT NOT NULL, name TEXT NOT NULL, UNIQUE (kind, name));
PRAGMA user_version = {_VERSION};
COMMIT;
"""


class Held(NamedTuple):
    """A settling page."""

    number: int | None  # number of its request in the journal; None for a page that the journal does not know
    site: str
    key: str  # key of its response in the response store
    time: str  # when it was fetched


class RequestJournal:
    """The requests of a job and their states, written at every change, so that a killed process loses nothing.

    If something cannot be written, the crawl goes on. Without a path, nothing is. Raises ConfigError for a file of an
    earlier version, whose files could run code.
    """

    def __init__(self, path: Path | None) -> None:
        self.failed: Callable[[str], None] = logger.warning  # called with a sentence on what cannot be written or read
        self.problem = ""  # why an earlier file cannot be used; "" if it can, or if there is none
        self.complete = True  # False if something could not be written
        self.unreadable = 0  # number of requests of an earlier run that cannot be read
        self._base = self._open(path) if path is not None else None
        #: True if the file has requests of an earlier run
        self.goes_on = self._base is not None and bool(self._run("SELECT 1 FROM requests LIMIT 1"))

    def _open(self, path: Path) -> sqlite3.Connection | None:
        try:
            return open_journal(path, _SCHEMA, _VERSION)
        except sqlite3.OperationalError as error:
            self.problem = f"{path} cannot be used, the job cannot be continued: {error}"
            self.complete = False
            return None
        except sqlite3.DatabaseError as error:
            self.problem = f"{path} cannot be read and was renamed to {set_aside(path).name}: {error}"
            return self._open(path)

    @property
    def is_open(self) -> bool:
        return self._base is not None

    def number_of(self, fingerprint: str) -> int | None:
        rows = self._run("SELECT number FROM fingerprints WHERE fingerprint = ?", fingerprint)
        return rows[0][0] if rows else None

    def ask(self, fingerprint: str, request: Request, spider: Spider) -> int | None:
        """Write a request; return its number, None if it cannot be written."""
        try:
            content = to_json(request, spider)
        except (TypeError, ValueError, RecursionError) as error:
            self.complete = False
            self.failed(f"{request.url} cannot be requested again if this run is interrupted: {error}")
            return None
        insert = "INSERT INTO requests (state, request) VALUES (?, ?) RETURNING number"
        for (number,) in self._run(insert, _ASKED, content):
            self.name(fingerprint, number)
            return int(number)
        return None

    def name(self, fingerprint: str, number: int) -> None:
        """Add a fingerprint to a request; one that was redirected has several."""
        self._run("INSERT OR REPLACE INTO fingerprints VALUES (?, ?)", fingerprint, number)

    def hold(self, held: Held) -> None:
        if held.number is not None:
            self._run("INSERT OR REPLACE INTO held VALUES (?, ?, ?, ?)", *held)
            self._run(_SET_STATE, _HELD, held.number)

    def ask_again(self, number: int) -> None:
        """Record that a settling page is lost, and that its request has to be sent again."""
        self._run(_SET_STATE, _ASKED, number)

    def settle(self, number: int | None, *, page: bool = True) -> None:
        """Record that a request is done: its item is made or, if ``page`` is False, it has led to no page."""
        if number is not None:
            self._run("DELETE FROM held WHERE number = ?", number)
            state = _PAGE if page else _NO_PAGE
            self._run("UPDATE requests SET state = ?, request = NULL WHERE number = ?", state, number)

    def held(self) -> list[Held]:
        rows = self._run("SELECT held.* FROM held JOIN requests USING (number) WHERE state = ? ORDER BY number", _HELD)
        return [Held(*row) for row in rows]

    def asked(self, spider: Spider) -> Iterator[tuple[int, Request]]:
        """Yield the requests without a response and their numbers, in order; those that cannot be read are counted."""
        last = -1
        query = "SELECT number, request FROM requests WHERE state = ? AND number > ? ORDER BY number LIMIT 1000"
        while rows := self._run(query, _ASKED, last):
            for last, content in rows:
                try:
                    request = from_json(content, spider)
                except Exception as error:  # damaged, or of another version: what is made of it can raise anything
                    self.unreadable += 1
                    self.failed(f"request {last} of the job cannot be read and is left out: {error!r}")
                    self.settle(last, page=False)
                else:
                    yield last, request

    @property
    def numbers(self) -> tuple[int, int]:
        """The numbers of requests, and of those that have led to a page."""
        query = "SELECT count(*), count(*) FILTER (WHERE state IN (?, ?)) FROM requests"
        [(requests, pages)] = self._run(query, _HELD, _PAGE) or [(0, 0)]
        return requests, pages

    def spare(self) -> list[tuple[str, int]]:
        return self._run("SELECT url, depth FROM spare ORDER BY number")

    def add_spare(self, url: str, depth: int) -> None:
        self._run("INSERT INTO spare (url, depth) VALUES (?, ?)", url, depth)

    def drop_spare(self, count: int) -> None:
        self._run("DELETE FROM spare WHERE number IN (SELECT number FROM spare ORDER BY number LIMIT ?)", count)

    def names(self, kind: str) -> set[str]:
        """Return the names of a kind, ``host`` or ``settled``."""
        return {name for (name,) in self._run("SELECT name FROM names WHERE kind = ?", kind)}

    def add_names(self, kind: str, names: Iterable[str]) -> None:
        for name in names:
            self._run("INSERT OR IGNORE INTO names VALUES (?, ?)", kind, name)

    def close(self) -> None:
        if self._base is not None:
            self._base.close()
            self._base = None

    def _run(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        """Execute a statement, if there is a file, and return its rows; none if it fails."""
        if self._base is None:
            return []
        try:
            return self._base.execute(statement, values).fetchall()
        except sqlite3.Error as error:
            self.complete = False
            self.failed(f"the journal of the job cannot be written, the next run of the job may miss pages: {error}")
            return []


def has_made_pages(job: str | None) -> bool:
    """Whether earlier runs of a job, if there is one, have made items of pages: those stand in its feed."""
    for name, query in _MADE.items():
        if job and (path := Path(job, name)).is_file():
            with suppress(sqlite3.Error), closing(sqlite3.connect(path)) as base:
                return base.execute(query).fetchone() is not None
    return False


def open_journal(path: Path, schema: str, version: int) -> sqlite3.Connection:
    """Open an SQLite file of a job, made by a schema; sqlite3.DatabaseError if it is damaged, or of another version."""
    base = sqlite3.connect(path, isolation_level=None)
    try:
        # Written data survives the process, though perhaps not a crash of the system: no need to wait for the disk.
        base.execute("PRAGMA journal_mode = WAL")
        base.execute("PRAGMA synchronous = OFF")
        if not base.execute("SELECT 1 FROM sqlite_master").fetchone():
            base.executescript(schema)
        (found,) = base.execute("PRAGMA user_version").fetchone()
        if found == _FORMER != version:
            raise ConfigError(FORMER_JOB.format(path.parent))
        if found != version:
            raise sqlite3.DatabaseError("it is not a journal, or one of another version")
        if (result := base.execute("PRAGMA quick_check(1)").fetchone()) != ("ok",):
            raise sqlite3.DatabaseError(str(result[0]))
    except BaseException:
        base.close()
        raise
    return base
