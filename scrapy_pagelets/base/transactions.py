"""Write all or nothing: into SQLite databases that several processes share, and into files."""

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
    """Write all or nothing; no other process writes meanwhile."""
    base.execute("BEGIN IMMEDIATE")
    try:
        yield
        base.execute("COMMIT")
    except BaseException:
        if base.in_transaction:  # SQLite itself rolls back when the disk is full
            base.execute("ROLLBACK")
        raise


def write_ahead(base: sqlite3.Connection, patience: float) -> None:
    """Let writers not wait for readers, by SQLite's write-ahead log.

    SQLite refuses that while another connection writes: try again for ``patience`` seconds, then raise its error.
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


def open_shared(name: Path | str, patience: float, schema: str = "") -> sqlite3.Connection:
    """Open a database of several threads and processes, created if it does not exist; "" is a temporary file.

    Writers do not wait for readers. A power failure may lose the last seconds, but never damages the file.
    """
    base = sqlite3.connect(name, timeout=patience, isolation_level=None, check_same_thread=False)
    try:
        write_ahead(base, patience)
        base.execute("PRAGMA synchronous = NORMAL")
        base.executescript(schema)
    except BaseException:
        base.close()
        raise
    return base


def set_aside(path: Path) -> Path:
    """Rename a database, and the files beside it, to ``*.broken``; return the new path."""
    for end in ("-wal", "-shm", ""):
        if (part := path.with_name(path.name + end)).exists():
            part = part.replace(part.with_name(f"{part.name}.broken"))
    return part


def append_whole(file: int, data: bytes) -> None:
    """Append all or nothing to a file, by its descriptor: a full disk may take a part only, which is removed again."""
    size, rest = os.fstat(file).st_size, memoryview(data)
    try:
        while rest:
            rest = rest[os.write(file, rest) :]
    except OSError:
        os.ftruncate(file, size)
        raise


def why_not_writable(name: str | Path) -> str:
    """Why a file cannot be written, found out before there is much work for it; "" if it can."""
    path = Path(name).absolute()
    if path.is_dir():
        return "it is a folder"
    if not path.parent.is_dir():
        return f"there is no folder {path.parent}"
    is_new = not path.exists()
    if not is_new and not path.is_file():
        return ""  # to open a pipe or a device may do something
    try:
        path.open("ab").close()
        if is_new:
            path.unlink()
    except OSError as error:
        return error.strerror or str(error)
    return ""


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
