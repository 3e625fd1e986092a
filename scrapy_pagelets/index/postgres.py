"""An index in a PostgreSQL database, with its full text search; needs psycopg 3 (extra ``search``).

All tables are in the schema ``pagelets``. The score is ``ts_rank``, which ignores how many pagelets have a term.
"""

from __future__ import annotations

import json
import threading
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from scrapy_pagelets.index import interface
from scrapy_pagelets.index.interface import terms

if TYPE_CHECKING:
    import psycopg

#: Terms in a row of ``terms``, and positions of a term: a tsvector is limited to 1 MB, less than 256 positions of a
#: term, and positions up to 16,383.
_ROW: Final = 3000
_PLACES: Final = 255
#: Seconds without an answer after which the server counts as unavailable, for connections and for statements.
_CONNECT: Final = 10
_STATEMENT: Final = 120
_REFUSED: Final = ("22", "23", "54")  # SQLSTATE classes of errors that a page causes: data, constraints, program limits
#: Parts of messages of a server that refuses connections temporarily; other refusals are permanent.
_PASSING: Final = ("starting up", "shutting down", "recovery", "too many", "connection slots", "not yet accepting")
_LOCK: Final = 0x7061676C
_SCHEMA: Final = f"""
CREATE SCHEMA IF NOT EXISTS pagelets;
CREATE TABLE pagelets.meta (key text PRIMARY KEY, value text);
INSERT INTO pagelets.meta VALUES ('version', '{interface.VERSION}');
CREATE TABLE pagelets.pages (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, key uuid NOT NULL UNIQUE, url text NOT NULL, site text NOT NULL,
    title text NOT NULL, language text, fetched_at text, crawled timestamptz NOT NULL, near_duplicate_of text,
    words bigint NOT NULL);
CREATE INDEX ON pagelets.pages USING hash (site);
CREATE TABLE pagelets.pagelets (
    page bigint NOT NULL REFERENCES pagelets.pages ON DELETE CASCADE, number bigint NOT NULL, role text NOT NULL,
    templateness real, text text NOT NULL, words bigint, xpaths jsonb, links jsonb, PRIMARY KEY (page, number));
CREATE TABLE pagelets.terms (
    page bigint NOT NULL, number bigint NOT NULL, terms tsvector NOT NULL,
    FOREIGN KEY (page, number) REFERENCES pagelets.pagelets ON DELETE CASCADE);
CREATE INDEX ON pagelets.terms (page, number);
CREATE INDEX ON pagelets.terms USING gin (terms);
"""
_UPSERT: Final = """
INSERT INTO pagelets.pages AS old
    (key, url, site, title, language, fetched_at, crawled, near_duplicate_of, words)
VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s)
ON CONFLICT (key) DO UPDATE SET
    site = excluded.site, title = excluded.title, language = excluded.language, fetched_at = excluded.fetched_at,
    crawled = excluded.crawled, near_duplicate_of = excluded.near_duplicate_of, words = excluded.words
WHERE excluded.crawled >= old.crawled
RETURNING id
"""
_SEARCH: Final = """
WITH matched AS MATERIALIZED (
         SELECT page, number, max(ts_rank(terms, query, 1)) AS score
         FROM pagelets.terms, CAST(%s AS tsquery) AS query WHERE terms @@ query GROUP BY page, number),
     best AS (SELECT page, max(score) AS most FROM matched GROUP BY page),
     groups AS (SELECT coalesce(near_duplicate_of, url) AS name, max(most) AS most
                FROM best JOIN pagelets.pages ON id = page GROUP BY name ORDER BY most DESC, name LIMIT %s)
SELECT url, title, near_duplicate_of, matched.number, role, text, score
FROM groups JOIN pagelets.pages ON coalesce(near_duplicate_of, url) = name
JOIN best ON best.page = id JOIN matched ON matched.page = id
JOIN pagelets.pagelets AS found ON (found.page, found.number) = (matched.page, matched.number)
ORDER BY groups.most DESC, name, best.most DESC, url, score DESC, matched.number
"""


class PostgresIndex(interface.Index):
    """An index in a database, created if it does not exist. Safe for several threads, and for several crawls at once.

    ``target``: ``postgresql://user:password@host:port/database``, with any parameters that libpq supports. Raises
    IndexUnusable for an index of another version, or if the server refuses the connection.
    """

    def __init__(self, target: str) -> None:
        import psycopg

        self._psycopg, self._name, self._lock = psycopg, interface.shown(target), threading.Lock()
        try:
            with ExitStack() as stack:
                self._base = psycopg.connect(target, connect_timeout=_CONNECT, tcp_user_timeout=_STATEMENT * 1000)
                stack.callback(self._base.close)
                self._prepare()
                stack.pop_all()
        except psycopg.Error as error:
            is_refused = "FATAL" in str(error) and not any(word in str(error) for word in _PASSING)
            if isinstance(error, psycopg.OperationalError) and not is_refused:
                raise self._away(error) from error
            problem = f"{self._name} cannot be used: {_sentence(error)}; check its address and permissions."
            raise interface.IndexUnusable(problem) from error

    def _away(self, error: Exception) -> interface.IndexAway:
        return interface.IndexAway(f"{self._name} cannot be used now: {_sentence(error)}")

    def _prepare(self) -> None:
        with self._base.transaction():
            self._base.execute("SELECT set_config('statement_timeout', %s, false)", (f"{_STATEMENT}s",))
            self._base.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
            query = "SELECT to_regclass('pagelets.meta') IS NULL, to_regclass('pagelets.pages') IS NULL"
            meta, pages = self._base.execute(query).fetchone() or (True, True)
            if meta and pages:
                for statement in _SCHEMA.split(";")[:-1]:
                    self._base.execute(statement.encode())
            elif meta or pages:
                problem = f"The schema pagelets of {self._name} is not an index"
                raise interface.IndexUnusable(f"{problem}: name another database.")
            about: dict[str, str] = dict(self._base.execute("SELECT key, value FROM pagelets.meta").fetchall())
        interface.check_version(self._name, about.get("version"))

    @contextmanager
    def _transaction(self) -> Iterator[psycopg.Cursor[Any]]:
        try:
            with self._lock, self._base.transaction(), self._base.cursor() as cursor:
                yield cursor
        except self._psycopg.Error as error:
            if (error.sqlstate or "").startswith(_REFUSED) or isinstance(error, self._psycopg.DataError):
                raise interface.PageRefused(_sentence(error)) from error
            raise self._away(error) from error

    def upsert(self, pages: Sequence[interface.IndexedPage]) -> None:
        newest = interface.latest(pages)  # in the same order in all crawls, which prevents deadlocks
        with self._transaction() as cursor:
            rows = [(UUID(interface.key_of(page.url)), *page.columns) for page in newest]
            cursor.executemany(_UPSERT, rows, returning=True)
            numbers = [result.fetchone() for result in cursor.results()]
            written = [(row[0], page) for row, page in zip(numbers, newest, strict=True) if row]
            cursor.execute("DELETE FROM pagelets.pagelets WHERE page = ANY(%s)", ([number for number, _ in written],))
            query = "INSERT INTO pagelets.pagelets VALUES (%s, %s, %s, %s, %s, %s, %s, %s)"
            cursor.executemany(query, [row for number, page in written for row in _pagelets(number, page)])
            query = "INSERT INTO pagelets.terms VALUES (%s, %s, %s::tsvector)"
            cursor.executemany(query, [row for number, page in written for row in _terms(number, page)])

    def purge(self, before: str, sites: Collection[str]) -> int:
        with self._transaction() as cursor:
            query = "DELETE FROM pagelets.pages WHERE crawled < %s AND site = ANY(%s)"
            return cursor.execute(query, (before, sorted(sites))).rowcount

    def find(self, wanted: Sequence[Sequence[str]], limit: int) -> list[interface.Match]:
        """Find pages by ``ts_rank``, divided by 1 + the logarithm of the length."""
        expression = " | ".join("(" + " <-> ".join(f"'{term}'" for term in phrase) + ")" for phrase in wanted)
        with self._transaction() as cursor:
            return [interface.Match(*row) for row in cursor.execute(_SEARCH, (expression, limit))]

    def close(self) -> None:
        with self._lock:
            self._base.close()


def _pagelets(number: int, page: interface.IndexedPage) -> Iterator[tuple[object, ...]]:
    for pagelet in page.pagelets:
        about = pagelet.number, pagelet.role, pagelet.templateness, pagelet.text, pagelet.words
        yield (number, *about, json.dumps(pagelet.xpaths), json.dumps(pagelet.links))


def _terms(number: int, page: interface.IndexedPage) -> Iterator[tuple[int, int, str]]:
    for pagelet in page.pagelets:
        if pagelet.role not in interface.UNSEARCHED:
            words = terms(pagelet.text)
            for start in range(0, len(words), _ROW):
                yield number, pagelet.number, _vector(words[start : start + _ROW])


def _vector(row: Sequence[str]) -> str:
    """Terms and their positions as a tsvector; terms contain neither quotes nor backslashes."""
    places: dict[str, list[int]] = defaultdict(list)
    for place, term in enumerate(row, 1):
        places[term].append(place)
    return " ".join(f"'{term}':{','.join(map(str, positions[:_PLACES]))}" for term, positions in places.items())


def _sentence(error: Exception) -> str:
    """The message of an error, without hints and line breaks."""
    return str(error).partition("\n")[0].rpartition("FATAL: ")[2].strip() or type(error).__name__
