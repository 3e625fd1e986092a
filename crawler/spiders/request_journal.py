"""What a job of the spider `site` has asked for, and what came of it: SQLite in the job directory."""

from __future__ import annotations

import logging
import pickle
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

from scrapy import Request, Spider
from scrapy.utils.request import request_from_dict

logger = logging.getLogger(__name__)

_VERSION: Final = 1
#: What has become of a request: on its way, its page is held back, answered by a page, answered by something else.
_ASKED, _HELD, _PAGE, _NO_PAGE = range(4)
#: ``fingerprints`` has a row more for each redirect. ``names`` are hosts of the crawl, and sites that are settled.
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
    """A page that is held back.

    Attributes
    ----------
    number : of its request
    token : under which its response is kept
    time : when it was fetched
    """

    number: int | None
    site: str
    token: str
    time: str


class RequestJournal:
    """Requests of a job and their state, written as it changes: a process that is killed loses nothing of it.

    What cannot be written is told to ``failed``, and the crawl goes on.

    Parameters
    ----------
    path : the file, made if it is not there; None if there is no job: nothing is kept then

    Attributes
    ----------
    goes_on : True if the file has what an earlier run has asked for
    complaint : why an earlier file cannot be used; "" if it can, or if there is none
    complete : False if something could not be written
    failed : is called with a sentence if something cannot be written
    """

    def __init__(self, path: Path | None) -> None:
        self.failed: Callable[[str], None] = logger.warning
        self.complaint = ""
        self.complete = True
        self._base = self._open(path) if path is not None else None
        self.goes_on = self._base is not None and bool(self._all("SELECT 1 FROM requests LIMIT 1"))

    def _open(self, path: Path) -> sqlite3.Connection | None:
        try:
            return _connect(path)
        except sqlite3.OperationalError as error:
            self.complaint = f"{path} cannot be used, a run that continues this job will know nothing of it: {error}"
            self.complete = False
            return None
        except sqlite3.DatabaseError as error:
            broken = path.with_name(path.name + ".broken")
            self.complaint = f"{path} cannot be read, it is renamed to {broken.name}: {error}"
            path.replace(broken)
            for end in ("-wal", "-shm"):
                path.with_name(path.name + end).unlink(missing_ok=True)
            return self._open(path)

    @property
    def is_open(self) -> bool:
        """True if requests can be written down."""
        return self._base is not None

    def number_of(self, fingerprint: str) -> int | None:
        """The number of the request with a fingerprint, None if there is none."""
        found = self._all("SELECT number FROM fingerprints WHERE fingerprint = ?", fingerprint)
        return found[0][0] if found else None

    def ask(self, fingerprint: str, request: Request, spider: Spider) -> int | None:
        """Write a request down; returns its number, None if it cannot be written."""
        try:
            kept = pickle.dumps(request.to_dict(spider=spider), pickle.HIGHEST_PROTOCOL)
        except (pickle.PicklingError, AttributeError, TypeError, ValueError):  # Scrapy's queue could not keep it either
            return None
        number = self._write("INSERT INTO requests (state, request) VALUES (?, ?)", _ASKED, kept)
        if number is not None:
            self.name(fingerprint, number)
        return number

    def name(self, fingerprint: str, number: int) -> None:
        """Let a request be known by a fingerprint; a redirect has several."""
        self._write("INSERT OR REPLACE INTO fingerprints VALUES (?, ?)", fingerprint, number)

    def hold(self, held: Held) -> None:
        """A page is here, and held back."""
        if held.number is not None:
            self._write("INSERT OR REPLACE INTO held VALUES (?, ?, ?, ?)", *held)
            self._become(_HELD, held.number)

    def ask_again(self, number: int) -> None:
        """The page that was held back is gone."""
        self._become(_ASKED, number)

    def settle(self, number: int | None, *, page: bool = True) -> None:
        """A request is done with: its item is made, or there is none to be had."""
        if number is not None:
            self._write("DELETE FROM held WHERE number = ?", number)
            state = _PAGE if page else _NO_PAGE
            self._write("UPDATE requests SET state = ?, request = NULL WHERE number = ?", state, number)

    def _become(self, state: int, number: int) -> None:
        self._write("UPDATE requests SET state = ? WHERE number = ?", state, number)

    def held(self) -> list[Held]:
        """The pages that are held back, as they came."""
        found = self._all("SELECT held.* FROM held JOIN requests USING (number) WHERE state = ? ORDER BY number", _HELD)
        return [Held(*row) for row in found]

    def asked(self, spider: Spider) -> Iterator[tuple[int, Request]]:
        """The requests without an answer, as they were made."""
        last = -1
        query = "SELECT number, request FROM requests WHERE state = ? AND number > ? ORDER BY number LIMIT 1000"
        while rows := self._all(query, _ASKED, last):
            for last, kept in rows:
                yield last, request_from_dict(pickle.loads(kept), spider=spider)

    @property
    def pages(self) -> int:
        """Number of requests that were answered by a page."""
        found = self._all("SELECT count(*) FROM requests WHERE state IN (?, ?)", _HELD, _PAGE)
        return int(found[0][0]) if found else 0

    @property
    def requests(self) -> int:
        """Number of requests."""
        found = self._all("SELECT count(*) FROM requests")
        return int(found[0][0]) if found else 0

    def spare(self) -> list[tuple[str, int]]:
        """URLs in reserve, and their depths."""
        return [(url, depth) for url, depth in self._all("SELECT url, depth FROM spare ORDER BY number")]

    def add_spare(self, url: str, depth: int) -> None:
        """Put a URL into the reserve."""
        self._write("INSERT INTO spare (url, depth) VALUES (?, ?)", url, depth)

    def drop_spare(self, count: int) -> None:
        """Take the first URLs out of the reserve."""
        self._write("DELETE FROM spare WHERE number IN (SELECT number FROM spare ORDER BY number LIMIT ?)", count)

    def names(self, kind: str) -> set[str]:
        """The names of a kind."""
        return {name for (name,) in self._all("SELECT name FROM names WHERE kind = ?", kind)}

    def add_names(self, kind: str, names: Iterable[str]) -> None:
        """Add names of a kind."""
        for name in names:
            self._write("INSERT OR IGNORE INTO names VALUES (?, ?)", kind, name)

    def close(self) -> None:
        """Close the file."""
        if self._base is not None:
            self._base.close()
            self._base = None

    def _all(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        if self._base is None:
            return []
        try:
            return self._base.execute(query, values).fetchall()
        except sqlite3.Error as error:
            self._fault(error)
            return []

    def _write(self, statement: str, *values: object) -> int | None:
        """Change something; returns the number of a row that was inserted, None if nothing could be changed."""
        if self._base is None:
            return None
        try:
            return self._base.execute(statement, values).lastrowid
        except sqlite3.Error as error:
            self._fault(error)
            return None

    def _fault(self, error: sqlite3.Error) -> None:
        self.complete = False
        self.failed(f"the journal of the job cannot be written, a run that continues it may miss pages: {error}")


def _connect(path: Path) -> sqlite3.Connection:
    base = sqlite3.connect(path, isolation_level=None)
    try:
        # What was written survives the process in any case; it need not reach the disk before the crawl goes on.
        base.execute("PRAGMA journal_mode = WAL")
        base.execute("PRAGMA synchronous = OFF")
        (version,) = base.execute("PRAGMA user_version").fetchone()
        if not version and not base.execute("SELECT 1 FROM sqlite_master").fetchone():
            base.executescript(_SCHEMA)
        elif version != _VERSION:
            raise sqlite3.DatabaseError("it is a file of something else, or of another version")
        if (found := base.execute("PRAGMA quick_check(1)").fetchone()) != ("ok",):
            raise sqlite3.DatabaseError(str(found[0]))
    except BaseException:
        base.close()
        raise
    return base
