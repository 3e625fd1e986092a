"""An index in a file: SQLite with FTS5, whose tables ``vocabulary`` and ``postings`` count and place the terms."""

import json
import os
import re
import sqlite3
import threading
from collections.abc import Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

from scrapy_pagelets.base.transactions import write_ahead, writing
from scrapy_pagelets.index import interface
from scrapy_pagelets.index.interface import is_plain, terms

#: Temporary errors: another process is writing, or the disk is full or unavailable.
_PASSING: Final = ("SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_FULL", "SQLITE_IOERR", "SQLITE_NOMEM", "SQLITE_PROTOCOL")
_PATIENCE: Final = 60.0  # seconds to wait for another process that is writing
_TOKENIZER: Final = "unicode61 remove_diacritics 2 categories 'L* M* N* Co'"
_UNSEARCHED: Final = ", ".join(f"'{role}'" for role in interface.UNSEARCHED)
#: ``pagelets.length`` is the number of terms; ``pagelets.terms`` has the terms of a text that the tokenizer would split
#: differently. ``search`` indexes the rows of the view ``indexed``; the triggers keep both in step.
_SCHEMA: Final = f"""
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT);
INSERT INTO meta VALUES ('version', '{interface.VERSION}'), ('tokenizer', '{_TOKENIZER.replace("'", "''")}');
CREATE TABLE pages (id INTEGER PRIMARY KEY, url TEXT NOT NULL UNIQUE, site TEXT NOT NULL, title TEXT NOT NULL,
                    language TEXT, fetched_at TEXT, crawled TEXT NOT NULL, near_duplicate_of TEXT, words INTEGER);
CREATE INDEX by_site ON pages (site, crawled);
CREATE TABLE pagelets (id INTEGER PRIMARY KEY, page INTEGER NOT NULL REFERENCES pages ON DELETE CASCADE,
                       number INTEGER NOT NULL, role TEXT NOT NULL, templateness REAL, text TEXT NOT NULL,
                       words INTEGER, length INTEGER, xpaths TEXT, links TEXT, terms TEXT);
CREATE UNIQUE INDEX by_page ON pagelets (page, number);
CREATE VIEW indexed AS SELECT id, coalesce(terms, text) AS text FROM pagelets WHERE role NOT IN ({_UNSEARCHED});
CREATE VIRTUAL TABLE search USING fts5(text, content='indexed', content_rowid='id', tokenize="{_TOKENIZER}");
CREATE VIRTUAL TABLE vocabulary USING fts5vocab(search, 'row');
CREATE VIRTUAL TABLE postings USING fts5vocab(search, 'instance');
CREATE TRIGGER pagelet_in AFTER INSERT ON pagelets WHEN new.role NOT IN ({_UNSEARCHED}) BEGIN
    INSERT INTO search (rowid, text) VALUES (new.id, coalesce(new.terms, new.text));
END;
CREATE TRIGGER pagelet_out AFTER DELETE ON pagelets WHEN old.role NOT IN ({_UNSEARCHED}) BEGIN
    INSERT INTO search (search, rowid, text) VALUES ('delete', old.id, coalesce(old.terms, old.text));
END;
"""
_UPSERT: Final = """
INSERT INTO pages (url, site, title, language, fetched_at, crawled, near_duplicate_of, words)
VALUES (?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (url) DO UPDATE SET
    site = excluded.site, title = excluded.title, language = excluded.language, fetched_at = excluded.fetched_at,
    crawled = excluded.crawled, near_duplicate_of = excluded.near_duplicate_of, words = excluded.words
WHERE excluded.crawled >= crawled
RETURNING id
"""
_PAGE: Final = """
SELECT id, url, site, title, language, fetched_at, crawled, near_duplicate_of, words FROM pages WHERE url = ?
"""
_PAGELETS: Final = """
SELECT number, role, templateness, text, words, xpaths, links FROM pagelets WHERE page = ? ORDER BY number
"""
_PAGELET: Final = """
INSERT INTO pagelets (page, number, role, templateness, text, words, length, xpaths, links, terms)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
#: The pagelets of the best pages. LIMIT -1 makes SQLite evaluate bm25() only once per pagelet.
_SEARCH: Final = """
WITH found AS (SELECT rowid AS id, -bm25(search) AS score FROM search WHERE search MATCH ? LIMIT -1),
     matched AS MATERIALIZED (SELECT pagelets.id, page, number, score FROM found JOIN pagelets USING (id)),
     best AS (SELECT page, max(score) AS most FROM matched GROUP BY page),
     groups AS (SELECT coalesce(near_duplicate_of, url) AS name, max(most) AS most
                FROM best JOIN pages ON pages.id = page GROUP BY name ORDER BY most DESC, name LIMIT ?)
SELECT url, title, near_duplicate_of, matched.number, role, text, score
FROM groups JOIN pages ON coalesce(near_duplicate_of, url) = name
JOIN best ON best.page = pages.id JOIN matched ON matched.page = pages.id JOIN pagelets ON pagelets.id = matched.id
ORDER BY groups.most DESC, name, best.most DESC, url, score DESC, matched.number
"""


class SQLiteIndex(interface.Index):
    """An index in an SQLite file. Safe for several threads and crawls.

    ``create``: make a file that is missing. Raises IndexUnusable without one, or for a file that is no such index.
    """

    def __init__(self, path: str | Path, *, create: bool = True) -> None:
        self._path, self._lock = path, threading.RLock()
        address, file = str(path), Path(path).absolute()
        if not create and not file.is_file():
            advice = "create an index with PAGELETS_INDEX or `pagelets index`"
            raise interface.IndexUnusable(f"{path} does not exist: {advice}.")
        if not create:  # read in a folder where SQLite cannot write its log, it has to be declared immutable
            is_fixed = not os.access(file.parent, os.W_OK) and not file.with_name(f"{file.name}-wal").exists()
            address = f"{file.as_uri()}{'?immutable=1' if is_fixed else ''}"
        with ExitStack() as stack, self._errors():
            self.base = sqlite3.connect(
                address, timeout=_PATIENCE, isolation_level=None, check_same_thread=False, uri=not create
            )
            stack.callback(self.base.close)
            self._prepare()
            stack.pop_all()

    def _prepare(self) -> None:
        self.base.execute("PRAGMA foreign_keys = ON")
        if not self._tables():
            write_ahead(self.base, _PATIENCE)
            with self._lock, writing(self.base):
                if not self._tables():  # another crawl may have created them
                    for statement in re.split(r"\n(?=CREATE|INSERT)", _SCHEMA.strip()):
                        self.base.execute(statement)  # executescript() would commit the transaction
        self.base.execute("PRAGMA synchronous = NORMAL")
        if not {"meta", "pages", "pagelets"} <= self._tables():
            raise interface.IndexUnusable(f"{self._path} is a database but not an index: name another file.")
        interface.check_version(str(self._path), dict(self.base.execute("SELECT key, value FROM meta")).get("version"))

    def _tables(self) -> set[str]:
        return {name for (name,) in self.base.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            if is_temporary(error):
                raise interface.IndexAway(f"{self._path} cannot be used now: {error}") from error
            raise interface.IndexUnusable(f"{self._path} cannot be used ({error}): name another file.") from error

    def upsert(self, pages: Sequence[interface.IndexedPage]) -> None:
        rows = [(page, [_row(pagelet) for pagelet in page.pagelets]) for page in pages]
        with self._errors(), self._lock, writing(self.base):
            for page, pagelets in rows:
                written = self.base.execute(_UPSERT, page.columns).fetchall()
                for (number,) in written:  # no row if the index has a later version of the page
                    self.base.execute("DELETE FROM pagelets WHERE page = ?", (number,))
                    self.base.executemany(_PAGELET, [(number, *row) for row in pagelets])

    def purge(self, before: str, sites: Collection[str]) -> int:
        with self._errors(), self._lock, writing(self.base):
            query = "DELETE FROM pages WHERE crawled < ? AND site IN (SELECT value FROM json_each(?))"
            return self.base.execute(query, (before, json.dumps(sorted(sites)))).rowcount

    def find(self, wanted: Sequence[Sequence[str]], limit: int) -> list[interface.Match]:
        """Find pages by BM25 (k1 = 1.2, b = 0.75)."""
        expression = " OR ".join(f'"{" ".join(phrase)}"' for phrase in wanted)
        with self._errors(), self._lock:
            return [interface.Match(*row) for row in self.base.execute(_SEARCH, (expression, limit))]

    def page(self, url: str) -> interface.IndexedPage | None:
        """Return a page with its pagelets, None if the index has no page with this URL."""
        with self._errors(), self._lock:
            found = self.base.execute(_PAGE, (interface.storable(url),)).fetchone()
            if found is None:
                return None
            rows = self.base.execute(_PAGELETS, (found[0],)).fetchall()
        read = ((*row[:-2], *(tuple(json.loads(value)) for value in row[-2:])) for row in rows)
        about = (*found[1:], tuple(interface.IndexedPagelet(*row) for row in read))
        return interface.IndexedPage(*about)

    def close(self) -> None:
        with self._lock:
            self.base.close()


def is_temporary(error: sqlite3.Error) -> bool:
    """True if an operation that failed with this error may succeed later."""
    return getattr(error, "sqlite_errorname", "SQLITE_CLOSED").startswith(_PASSING)


def _row(pagelet: interface.IndexedPagelet) -> tuple[object, ...]:
    """The columns of a pagelet that follow its page."""
    words = terms(pagelet.text)
    about = pagelet.number, pagelet.role, pagelet.templateness, pagelet.text, pagelet.words, len(words)
    split = None if is_plain(pagelet.text) else " ".join(words)
    return *about, interface.to_json(pagelet.xpaths), interface.to_json(pagelet.links), split
