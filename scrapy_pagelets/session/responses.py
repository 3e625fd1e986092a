"""Responses: which of them are pages, and which end early."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeGuard
from weakref import WeakKeyDictionary

from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.http import HtmlResponse, Response

from scrapy_pagelets.archives.sniffing import other_type

#: Bytes at the end of a gzip body, with the length of what is packed, modulo the number of such lengths (RFC 1952).
_LENGTH: Final = 4


def is_html(response: Response) -> TypeGuard[HtmlResponse]:
    """Return True for a response that is labelled HTML and is not something else by its first bytes."""
    return isinstance(response, HtmlResponse) and not other_type(response.body)


class CutBodies:
    """Reports pages of which a part is missing: those whose gzip ends early, which Scrapy unpacks as far as it goes.

    Parameters
    ----------
    report : called with the URL of each
    """

    def __init__(self, crawler: Crawler, report: Callable[[str], None]) -> None:
        self._report = report
        self._lengths: WeakKeyDictionary[Request, int] = WeakKeyDictionary()
        crawler.signals.connect(self.response_received, signals.response_received)

    def arrived(self, request: Request, response: Response) -> None:
        """Remember the length that the page of a packed response should have."""
        if (response.headers.get("Content-Encoding") or b"").strip().lower() in (b"gzip", b"x-gzip"):
            self._lengths[request] = int.from_bytes(response.body[-_LENGTH:], "little")

    def response_received(self, response: Response, request: Request) -> None:
        """Compare the length that it has."""
        length = self._lengths.pop(request, None)
        is_cut = length is not None and length != len(response.body) % (1 << 8 * _LENGTH)
        if is_html(response) and (is_cut or "dataloss" in response.flags):
            self._report(response.url)
