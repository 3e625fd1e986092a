"""Pages on disk that wait for an index to come back."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fcntl import LOCK_EX, LOCK_NB, flock
from itertools import count
from pathlib import Path
from typing import BinaryIO, Final

from xxhash import xxh3_64_hexdigest

from scrapy_pagelets.index.documents import IndexedPage, line_of, page_of

#: Characters of pages that are held in memory at once, or one page.
BATCH_CHARACTERS: Final = 4_000_000
BATCH_PAGES: Final = 64


@dataclass
class _File:
    """A file of ours: nobody else has its lock.

    Attributes
    ----------
    waiting : lines that were not sent
    begin, end : where these begin, and where those end that are being sent
    """

    path: Path
    lines: BinaryIO
    waiting: int = 0
    begin: int = 0
    end: int = 0
    taken: int = 0


class Spool:
    """Pages that could not be written to an index, the oldest first; safe for several threads.

    They are in files of a folder, of which each belongs to the process that has locked it. What earlier runs have left
    there for the same index is taken over.

    Parameters
    ----------
    folder : of the files
    target : name of the index

    Raises
    ------
    OSError : if the folder or the disk cannot take what is put there; of all methods
    """

    def __init__(self, folder: Path, target: str) -> None:
        self._folder, self._name = folder, f"pagelets-index-{xxh3_64_hexdigest(target.encode())}"
        self._lock = threading.Lock()
        self._files = [file for path in sorted(folder.glob(f"{self._name}-*.jsonl")) if (file := _claimed(path))]
        #: Lines that could not be read.
        self.unreadable = 0

    @property
    def path(self) -> Path:
        """The file with the pages that have waited longest, or the folder."""
        return self._files[0].path if self._files else self._folder

    def __len__(self) -> int:
        return sum(file.waiting for file in self._files)

    def append(self, pages: Iterable[IndexedPage]) -> None:
        """Keep pages, all or none."""
        lines = [json.dumps(line_of(page), ensure_ascii=False).encode() + b"\n" for page in pages]
        with self._lock:
            if not self._files:
                self._files.append(self._new())
            file = self._files[-1]
            _write(file.lines.fileno(), b"".join(lines))
            file.waiting += len(lines)

    def _new(self) -> _File:
        self._folder.mkdir(parents=True, exist_ok=True)
        names = (self._folder / f"{self._name}-{os.getpid()}-{number}.jsonl" for number in count())
        return next(file for path in names if not path.exists() and (file := _claimed(path)))

    def take(self) -> list[IndexedPage]:
        """Some of the oldest pages; they stay here until they are `sent`."""
        with self._lock:
            if not self._files:
                return []
            file = self._files[0]
            file.lines.seek(file.begin)
            pages, size, file.taken = [], 0, 0
            for line in _lines(file):
                file.taken, size = file.taken + 1, size + len(line)
                if (page := _page_of(line)) is not None:
                    pages.append(page)
                else:
                    self.unreadable += 1
                if file.taken == BATCH_PAGES or size > BATCH_CHARACTERS:
                    break
            file.end = file.lines.tell()
            return pages

    def sent(self) -> None:
        """Forget the pages that were taken last."""
        with self._lock:
            file = self._files[0]
            file.begin, file.waiting = file.end, file.waiting - file.taken
            if not file.waiting:
                self._files.pop(0)
                _removed(file)

    def close(self) -> None:
        """Let go of the files; what waits in them is there for the next run."""
        with self._lock:
            for file in self._files:
                file.lines.close() if file.waiting else _removed(file)
            self._files = []


def _lines(file: _File) -> Iterator[bytes]:
    for _ in range(file.waiting):
        yield file.lines.readline()


def _claimed(path: Path) -> _File | None:
    """A file, made if it is not there; None if another process has it."""
    lines = open(path, "ab+")  # noqa: SIM115
    try:
        flock(lines, LOCK_EX | LOCK_NB)
    except BlockingIOError:
        lines.close()
        return None
    if not os.fstat(lines.fileno()).st_nlink:  # the other process has sent it, and removed it
        lines.close()
        return None
    lines.seek(0)
    waiting = whole = 0
    for line in lines:
        if line.endswith(b"\n"):
            waiting, whole = waiting + 1, whole + len(line)
    lines.truncate(whole)  # a line of a run that was killed
    return _File(path, lines, waiting)


def _removed(file: _File) -> None:
    file.path.unlink(missing_ok=True)
    file.lines.close()


def _write(file: int, lines: bytes) -> None:
    """Append, all or nothing: a full disk takes the beginning."""
    size, rest = os.fstat(file).st_size, memoryview(lines)
    try:
        while rest:
            rest = rest[os.write(file, rest) :]
    except OSError:
        os.ftruncate(file, size)
        raise


def _page_of(line: bytes) -> IndexedPage | None:
    try:
        return page_of(json.loads(line))
    except ValueError:
        return None
