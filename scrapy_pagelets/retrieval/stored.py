"""Open an SQLite index as a collection: a query reads only the rows that it needs."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from scrapy_pagelets.index.interface import IndexAway, IndexUnusable
from scrapy_pagelets.index.sqlite import SQLiteIndex, is_temporary
from scrapy_pagelets.retrieval.collection import StoredCollection


@contextmanager
def stored(path: str) -> Iterator[StoredCollection]:
    """Open an index to read a snapshot of it; IndexUnusable if it is none or damaged, IndexAway if it is locked."""
    with SQLiteIndex(path, create=False) as index:
        try:
            index.base.execute("BEGIN")
            yield StoredCollection(index.base)
        except sqlite3.Error as error:
            if is_temporary(error):
                raise IndexAway(f"{path} cannot be read now: {error}") from error
            raise IndexUnusable(f"{path} cannot be read ({error}): build the index again.") from error
