"""One page of an archive."""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass
from typing import BinaryIO

from scrapy_pagelets.archives.http_message import Headers
from scrapy_pagelets.errors import PageletsError

#: No page is larger; a compression bomb is.
MAX_BODY = 64 << 20


class ArchiveError(PageletsError, ValueError):
    """Raised when an archive cannot be read as it was asked for; the message says what to do."""


class SkipRecord(Exception):
    """A record that is no page; its only argument is the reason under which it is counted."""


@dataclass(frozen=True, slots=True)
class Record:
    """One page of an archive.

    Attributes
    ----------
    url : where the page was fetched from
    headers : names in title case (``Content-Type``), without those that told how the body was packed; it is unpacked
    status : always 200; other responses are no pages
    body : the page, neither chunked nor compressed
    fetched_at : ISO 8601 in UTC, to the second, None where the archive does not tell
    source, offset : opaque; what `archives.read` needs to find the page again
    """

    url: str
    headers: Headers
    status: int
    body: bytes
    fetched_at: str | None
    source: str
    offset: int


def opened(path: str) -> BinaryIO:
    """Open a file for reading, if it is one: what is written into a pipe or a device may never come.

    Raises
    ------
    OSError : if it cannot be opened, or is no regular file, nor a symbolic link to one
    """
    if not os.path.isfile(path) and os.path.exists(path):
        raise OSError(errno.EINVAL, "it is not a regular file", path)
    return open(path, "rb", opener=_without_waiting)


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def checked(body: bytes) -> bytes:
    """The body, if it is one.

    Raises
    ------
    SkipRecord : if it is empty or too large
    """
    if not body.strip():
        raise SkipRecord("empty")
    if len(body) > MAX_BODY:
        raise SkipRecord("too_large")
    return body
