"""Transactions of SQLite that write."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def writing(base: sqlite3.Connection) -> Iterator[None]:
    """Write all or nothing; no other process writes meanwhile.

    >>> base = sqlite3.connect(":memory:", isolation_level=None)
    >>> with writing(base):
    ...     _ = base.execute("CREATE TABLE pages (url)")
    >>> base.in_transaction
    False
    """
    base.execute("BEGIN IMMEDIATE")
    try:
        yield
        base.execute("COMMIT")
    except BaseException:
        if base.in_transaction:  # SQLite itself rolls back when the disk is full
            base.execute("ROLLBACK")
        raise
