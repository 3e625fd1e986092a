"""Files of gzip members, as WARC files are, unpacked with a budget: a kilobyte of them can be a megabyte."""

from __future__ import annotations

import re
import zlib
from typing import BinaryIO, Final

#: What a member begins with: its magic number, and deflate, the only method there is.
MAGIC: Final = b"\x1f\x8b\x08"
_WINDOW: Final = 31
_CHUNK: Final = 1 << 16
_SCANNED: Final = 1 << 20
#: A member that unpacks to more than this, and to so many times its size, is a bomb.
_UNPACKED: Final = 256 << 20
_RATIO: Final = 200
#: So is one with so much white space in a row: FastWARC passes over a megabyte of empty lines in a tenth of a second.
_BLANK: Final = 4 << 20


class Bomb(Exception):
    """Raised for a member that unpacks to far more than it is worth.

    Attributes
    ----------
    offset : where the member begins
    """

    def __init__(self, offset: int) -> None:
        super().__init__(f"a compression bomb at offset {offset}")
        self.offset = offset


class Unpacked:
    """What the members of a file hold, from where the file stands, as a stream.

    Attributes
    ----------
    starts : offsets in the file of the members that have been begun, by their offset in the stream
    """

    def __init__(self, file: BinaryIO) -> None:
        self.starts: dict[int, int] = {}
        self._file = file
        self._offset = file.tell()
        self._packed = b""
        self._inflate: zlib._Decompress | None = None
        self._told = self._begun = self._blank = 0
        self._member = self._offset

    def tell(self) -> int:
        """How much has been read."""
        return self._told

    def read(self, size: int = _CHUNK) -> bytes:
        """Read on, no further than to the end of a member.

        Raises
        ------
        Bomb : if the member is one; from then on, always
        OSError : if the file is damaged
        """
        if self._is_bomb():
            raise Bomb(self._member)
        data = b""
        while not data and (self._packed or self._fill()):
            if self._inflate is None:
                self._begin()
            data = self._inflated(size)
        self._told += len(data)
        self._blank = self._blank + len(data) if data.isspace() else 0
        return data

    def _fill(self) -> bool:
        self._packed = self._file.read(_CHUNK)
        return bool(self._packed)

    def _begin(self) -> None:
        self._member, self._begun = self._offset, self._told
        self.starts[self._told] = self._member
        self._inflate = zlib.decompressobj(_WINDOW)

    def _inflated(self, size: int) -> bytes:
        assert self._inflate is not None
        before = len(self._packed)
        try:
            data = self._inflate.decompress(self._packed, size)
        except zlib.error as error:
            raise OSError(f"damaged gzip: {error}") from None
        if self._inflate.eof:
            self._packed, self._inflate = self._inflate.unused_data, None
        else:
            self._packed = self._inflate.unconsumed_tail
        self._offset += before - len(self._packed)
        return data

    def _is_bomb(self) -> bool:
        unpacked = self._told - self._begun
        return self._blank > _BLANK or (unpacked > _UNPACKED and unpacked > _RATIO * (self._offset - self._member))


def seek_next(file: BinaryIO, after: int) -> bool:
    """Let a file stand at the next member that begins with a WARC record; False if there is none."""
    file.seek(after + 1)
    kept = b""
    while chunk := file.read(_SCANNED):
        scanned = kept + chunk
        begin = file.tell() - len(scanned)
        for found in re.finditer(re.escape(MAGIC), scanned):
            if _is_warc(file, begin + found.start()):
                return True
        file.seek(begin + len(scanned))
        kept = scanned[1 - len(MAGIC) :]
    return False


def _is_warc(file: BinaryIO, offset: int) -> bool:
    """True, and the file stands there, if a member with a WARC record begins at an offset."""
    file.seek(offset)
    try:
        start = zlib.decompressobj(_WINDOW).decompress(file.read(_CHUNK), len(b"WARC/"))
    except zlib.error:
        return False
    file.seek(offset)
    return start == b"WARC/"
