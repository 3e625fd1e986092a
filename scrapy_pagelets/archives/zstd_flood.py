"""Look ahead in zstd files for floods of empty lines: FastWARC takes long to skip the megabytes of a kilobyte."""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO, Final

from scrapy_pagelets.archives.gzip_members import BLANK

if TYPE_CHECKING:
    from fastwarc.stream_io import WarcReader

_CHUNK: Final = 1 << 16


class LookAhead:
    """A second reader of a zstd file, which is ahead of the one that reads the records.

    FastWARC finds the records of its own readers only, so that a reader of ours cannot take their place.

    Parameters
    ----------
    file : the file, at the position where the records begin; it is used by nobody else
    reader : the reader that reads the records
    """

    def __init__(self, file: BinaryIO, reader: WarcReader) -> None:
        from fastwarc.stream_io import ZstdReader

        self._ahead = ZstdReader(file)
        self._reader = reader
        self._position = self._blank = 0

    def check(self) -> None:
        """Check that the next record follows after a few empty lines at most.

        Raises
        ------
        ValueError : if there is a flood of empty lines
        """
        while self._blank <= BLANK and (self._blank or self._position <= self._reader.tell()):
            try:
                data = self._ahead.read(_CHUNK)
            except (OSError, EOFError, ValueError):  # the reader of the records will report it
                return
            if not data:
                return
            content = len(data.rstrip())
            self._blank = len(data) - content if content else self._blank + len(data)
            self._position += len(data)
        if self._blank > BLANK and self._position - self._blank <= self._reader.tell():
            raise ValueError("a flood of empty lines")
