"""Write all or nothing: into SQLite databases that several processes share, and into files."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

_PAUSE: Final = 0.01  # seconds between two attempts


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


def write_ahead(base: sqlite3.Connection, patience: float) -> None:
    """Let the writers of a database not wait for its readers (SQLite's write-ahead log).

    While another connection writes, SQLite refuses that at once, whatever the timeout of this one.

    ``patience``: seconds until the error is raised.
    """
    until = time.monotonic() + patience
    while True:
        try:
            base.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() >= until:
                raise
            time.sleep(_PAUSE)


def append_whole(file: int, data: bytes) -> None:
    """Append all or nothing to a file, by its descriptor: a full disk may take a part only, which is removed again."""
    size, rest = os.fstat(file).st_size, memoryview(data)
    try:
        while rest:
            rest = rest[os.write(file, rest) :]
    except OSError:
        os.ftruncate(file, size)
        raise


@contextmanager
def whole_file(path: Path, suffix: str = ".new") -> Iterator[Path]:
    """Give a path to write to; the file gets its name at the end, and is removed if an exception comes first.

    ``suffix``: of the name until then; if several processes write the file, each needs one of its own.
    """
    new = path.with_name(path.name + suffix)
    try:
        yield new
        new.replace(path)
    except BaseException:
        with suppress(OSError):
            new.unlink(missing_ok=True)
        raise
