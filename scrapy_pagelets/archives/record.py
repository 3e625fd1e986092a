"""One page of an archive."""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass
from typing import BinaryIO

from scrapy_pagelets.archives.http_message import Headers
from scrapy_pagelets.base.errors import PageletsError

#: Bytes of the body of a page. Only compression bombs are larger.
MAX_BODY = 64 << 20


class ArchiveError(PageletsError, ValueError):
    """Raised if an archive cannot be read; the message says what to do."""


class SkipRecord(Exception):
    """Raised for a record that is not a page; its only argument is the reason under which it is counted."""


@dataclass(frozen=True, slots=True)
class Record:
    """One page of an archive.

    Attributes
    ----------
    url : URL from which the page was fetched
    headers : by name in title case (``Content-Type``), without those that describe the encoding of the body
    status : always 200; other responses are skipped
    body : the page, neither chunked nor compressed
    fetched_at : ISO 8601 in UTC, to the second; None if the archive does not record it
    source, offset : opaque; `reader.read` needs them to find the page again
    """

    url: str
    headers: Headers
    status: int
    body: bytes
    fetched_at: str | None
    source: str
    offset: int


def opened(path: str) -> BinaryIO:
    """Open a regular file for reading; reading from a pipe or a device could block forever.

    Raises
    ------
    OSError : if it cannot be opened, or is neither a regular file nor a symbolic link to one
    """
    if not os.path.isfile(path) and os.path.exists(path):
        raise OSError(errno.EINVAL, "it is not a regular file", path)
    return open(path, "rb", opener=_non_blocking)


def _non_blocking(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def checked(body: bytes) -> bytes:
    """Return the body if it can be a page.

    Raises
    ------
    SkipRecord : if it is empty or too large
    """
    if not body.strip():
        raise SkipRecord("empty")
    if len(body) > MAX_BODY:
        raise SkipRecord("too_large")
    return body
