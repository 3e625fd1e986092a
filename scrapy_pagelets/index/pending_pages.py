"""Pages that wait on disk for an index that is unavailable."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from fcntl import LOCK_EX, LOCK_NB, flock
from itertools import count
from pathlib import Path
from typing import BinaryIO, Final

from xxhash import xxh3_64_hexdigest

from scrapy_pagelets.base.transactions import append_whole
from scrapy_pagelets.index.interface import IndexedPage, line_of, page_of

#: Limits of a batch, which is held in memory; a single page may exceed them.
BATCH_CHARACTERS: Final = 4_000_000
BATCH_PAGES: Final = 64


@dataclass
class _File:
    """A file that this process has locked, open at its end; ``taken`` are the lines of the last batch."""

    path: Path
    handle: BinaryIO
    waiting: int = 0  # lines that were not sent
    begin: int = 0  # offset of the first of them
    end: int = 0  # offset behind the taken ones
    taken: int = 0
    unreadable: int = 0  # of the taken ones
    damaged: bool = False  # whether earlier lines could not be read


class PendingPages:
    """A queue of pages that could not be written to an index, the oldest first; thread-safe.

    The pages are in files of a folder; each file belongs to the process that has locked it. Files that earlier runs
    have left there for the same index are taken over. Raises OSError if the folder or its files cannot be read or
    written; all methods raise it.
    """

    def __init__(self, folder: Path, target: str) -> None:
        self._folder, self._name = folder, f"pagelets-index-{xxh3_64_hexdigest(target.encode())}"
        self._lock = threading.Lock()
        self._files = [file for path in sorted(folder.glob(f"{self._name}-*.jsonl")) if (file := _claimed(path))]
        #: Number of lines that are not pages; their file is kept as ``*.damaged``.
        self.unreadable = 0

    @property
    def path(self) -> Path:
        """The file with the pages that have waited longest, or the folder."""
        return self._files[0].path if self._files else self._folder

    def __len__(self) -> int:
        return sum(file.waiting for file in self._files)

    def append(self, pages: Iterable[IndexedPage]) -> None:
        """Append pages, all or none."""
        lines = [json.dumps(line_of(page), ensure_ascii=False).encode() + b"\n" for page in pages]
        with self._lock:
            if not self._files:
                self._files.append(self._new())
            file = self._files[-1]
            append_whole(file.handle.fileno(), b"".join(lines))
            file.waiting += len(lines)

    def _new(self) -> _File:
        self._folder.mkdir(parents=True, exist_ok=True)
        names = (self._folder / f"{self._name}-{os.getpid()}-{number}.jsonl" for number in count())
        return next(file for path in names if not path.exists() and (file := _claimed(path)))

    def take(self) -> list[IndexedPage]:
        """Return a batch of the oldest pages; they stay here until `sent` is called."""
        with self._lock:
            if not self._files:
                return []
            file = self._files[0]
            lines = _lines(file)
            file.taken, file.end = len(lines), file.begin + sum(map(len, lines))
        pages = [page for line in lines if (page := _page_of(line)) is not None]
        file.unreadable = len(lines) - len(pages)
        return pages

    def sent(self) -> None:
        """Remove the batch that was taken last."""
        with self._lock:
            file = self._files[0]
            file.begin, file.waiting = file.end, file.waiting - file.taken
            file.damaged, self.unreadable = file.damaged or bool(file.unreadable), self.unreadable + file.unreadable
            if not file.waiting:
                _remove(self._files.pop(0))

    def close(self) -> None:
        """Close the files; pages that wait in them are left to the next run."""
        with self._lock:
            for file in self._files:
                file.handle.close() if file.waiting else _remove(file)
            self._files = []


def _lines(file: _File) -> list[bytes]:
    """The first waiting lines, one batch."""
    batch: list[bytes] = []
    size = 0
    with open(file.path, "rb") as lines:
        lines.seek(file.begin)
        while len(batch) < min(BATCH_PAGES, file.waiting) and size < BATCH_CHARACTERS:
            batch.append(lines.readline())
            size += len(batch[-1])
    return batch


def _claimed(path: Path) -> _File | None:
    """Lock a file, creating it if it does not exist; None if another process has locked it."""
    handle = open(path, "ab", buffering=0)  # noqa: SIM115
    try:
        flock(handle, LOCK_EX | LOCK_NB)
    except BlockingIOError:
        handle.close()
        return None
    if not os.fstat(handle.fileno()).st_nlink:  # another process has just sent and removed it
        handle.close()
        return None
    waiting = whole = 0
    with open(path, "rb") as lines:
        for line in lines:
            if line.endswith(b"\n"):
                waiting, whole = waiting + 1, whole + len(line)
    handle.truncate(whole)  # removes an unfinished line of a killed run
    return _File(path, handle, waiting)


def _remove(file: _File) -> None:
    """Remove a file; rename it if it has unreadable lines."""
    if file.damaged:
        file.path.rename(file.path.with_suffix(".damaged"))
    else:
        file.path.unlink(missing_ok=True)
    file.handle.close()


def _page_of(line: bytes) -> IndexedPage | None:
    try:
        return page_of(json.loads(line))
    except ValueError:
        return None
