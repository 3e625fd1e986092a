"""One page of an archive, and the archived HTTP response that it is read from, which is parsed leniently.

FastWARC's parser knows neither bare line feeds nor chunk extensions, and many archives decode bodies but not headers.
"""

from __future__ import annotations

import errno
import io
import os
import re
import zlib
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, BinaryIO, Final

from scrapy_pagelets.archives.unpacking import looks_like_html, other_type
from scrapy_pagelets.base.errors import PageletsError

if TYPE_CHECKING:
    from fastwarc.stream_io import BrotliReader, ZstdReader

#: Bytes of the body of a page. Only compression bombs are larger.
MAX_BODY = 64 << 20


class ArchiveError(PageletsError, ValueError):
    """Raised if an archive cannot be read; the message says what to do."""


class SkipRecord(Exception):
    """Raised for a record that is not a page; its only argument is the reason under which it is counted."""


@dataclass(frozen=True, slots=True)
class Record:
    """One page of an archive."""

    url: str  # URL from which the page was fetched
    headers: Headers  # by name in title case (``Content-Type``), without those that describe the encoding of the body
    body: bytes  # the page, neither chunked nor compressed
    fetched_at: str | None  # ISO 8601 in UTC, to the second; None if the archive does not record it
    #: source, offset: opaque; `Reader.read` needs them to find the page again
    source: str
    offset: int
    cut: bool = False  # True if the body ends before the page does: its coding breaks off, or the record says so


def opened(path: str) -> BinaryIO:
    """Open a file for reading; OSError for what is not a regular file: a pipe or a device could block forever."""
    if not os.path.isfile(path) and os.path.exists(path):
        raise OSError(errno.EINVAL, "it is not a regular file", path)
    return open(path, "rb", opener=lambda name, flags: os.open(name, flags | getattr(os, "O_NONBLOCK", 0)))


def checked_page(body: bytes) -> bytes:
    """Return the decoded body; SkipRecord if it is empty, too large, or something else by its first bytes."""
    if other_type(body):
        raise SkipRecord("not_html")
    if not body.strip():
        raise SkipRecord("empty")
    if len(body) > MAX_BODY:
        raise SkipRecord("too_large")
    return body


#: Headers that describe the encoding of a body; they do not apply to the decoded body.
PACKING: Final = frozenset({"Content-Encoding", "Transfer-Encoding", "Content-Length"})
_BLANK: Final = re.compile(rb"\r?\n\r?\n")
_MAX_HEADERS: Final = 1 << 18  # bytes of all headers; servers and browsers accept a fraction of that
_PART: Final = 1 << 14  # bytes of a compressed body that are read at once
#: Content encodings of one body. One is normal, two happen by mistake.
_MAX_ENCODINGS: Final = 8
_CHUNK: Final = re.compile(rb"(?:\r?\n)?([0-9a-fA-F]{1,8})[ \t]*(?:;[^\r\n]*)?\r?\n")
Headers = dict[str, list[str]]


def parse(block: bytes) -> tuple[int, Headers, bytes]:
    """Split a response into status, 0 for none, headers in title case, and body; ValueError for too long headers."""
    blank = _BLANK.search(block, 0, _MAX_HEADERS)
    if blank is None and len(block) > _MAX_HEADERS:
        raise ValueError("the headers are too long")
    head, body = (block[: blank.start()], block[blank.end() :]) if blank else (block, b"")
    status = re.match(rb"\S+[ \t]+(\d{3})(?!\d)", head)
    headers: Headers = {}
    for line in re.sub(rb"\r?\n[ \t]+", b" ", head).splitlines()[1:]:
        name, colon, value = line.partition(b":")
        if colon:
            headers.setdefault(text(name.strip()).title(), []).append(text(value.strip()))
    return int(status[1]) if status else 0, headers, body


def text(value: bytes) -> str:
    """Decode the value of a header as UTF-8, or as Latin-1 if that fails."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.decode("latin-1")


def timestamp(moment: str | datetime) -> str | None:
    """Return a moment in UTC, to the second, as ISO 8601; None for another string. Without a zone it is in UTC."""
    try:
        moment = datetime.fromisoformat(moment) if isinstance(moment, str) else moment
    except ValueError:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def date_of(header: str) -> str | None:
    """Return the moment of a header ``Date``, likewise; None if it has none."""
    try:
        return timestamp(parsedate_to_datetime(header))
    except (ValueError, OverflowError):
        return None


def media_type(declared: str) -> str:
    """Return a ``Content-Type`` without its parameters."""
    return declared.partition(";")[0].strip().lower()


def unpacked(headers: Headers, packed: bytes, most: int) -> tuple[bytes, bool]:
    """Unchunk and decompress a body, to a byte beyond ``most``; tell whether it breaks off. May raise ValueError."""
    body, cut = packed, False
    if "chunked" in ",".join(headers.get("Transfer-Encoding", [])).lower():
        body, cut = _dechunked(body)
    encodings = ",".join(headers.get("Content-Encoding", [])).lower().split(",")
    if len(encodings) > _MAX_ENCODINGS:
        raise ValueError(f"{len(encodings)} content encodings")
    for encoding in reversed(encodings):
        if looks_like_html(body):
            break
        try:
            body, breaks_off = _decoded(encoding.strip(), body, most + 1)
        except (zlib.error, OSError) as error:
            raise ValueError(f"not {encoding}: {error}") from None
        cut = cut or breaks_off
    return body, cut


def _dechunked(body: bytes) -> tuple[bytes, bool]:
    """Join the chunks of a body, if it has any, and tell whether the last one is missing."""
    joined = bytearray()
    at = 0
    while head := _CHUNK.match(body, at):
        size = int(head[1], 16)
        at = head.end() + size
        joined += body[head.end() : at]
        if not size:
            return bytes(joined), False
    return (bytes(joined), True) if at and at >= len(body.rstrip()) else (body, False)


def _decoded(encoding: str, body: bytes, size: int) -> tuple[bytes, bool]:
    from fastwarc.stream_io import BrotliReader, ZstdReader

    if encoding in ("", "identity", "none"):
        return body, False
    if encoding in ("gzip", "x-gzip", "deflate"):
        try:
            return _inflated(body, 47, size)
        except zlib.error:
            return _inflated(body, -15, size)  # servers disagree on whether deflate has a zlib header
    if encoding not in ("br", "zstd"):
        raise ValueError(f"unknown content encoding {encoding}")
    stream = io.BytesIO(body)
    return _read(BrotliReader(stream) if encoding == "br" else ZstdReader(stream), size)


def _inflated(body: bytes, window: int, size: int) -> tuple[bytes, bool]:
    stream = zlib.decompressobj(window)
    inflated = stream.decompress(body, size)
    if not inflated:
        raise ValueError("the compressed body is empty")
    return inflated, not stream.eof and len(inflated) < size


def _read(stream: BrotliReader | ZstdReader, size: int) -> tuple[bytes, bool]:
    read = bytearray()
    try:
        while len(read) < size and (part := stream.read(min(_PART, size - len(read)))):
            read += part
    except OSError:
        if not read:
            raise
        return bytes(read), True
    return bytes(read), False
