"""One page of an archive."""

from __future__ import annotations

from dataclasses import dataclass

from scrapy_pagelets.http_message import Headers

#: No page is larger; a compression bomb is.
MAX_BODY = 64 << 20


class ArchiveError(ValueError):
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
