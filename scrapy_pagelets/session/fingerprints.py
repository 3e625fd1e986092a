"""Fingerprints of requests."""

from __future__ import annotations

from scrapy import Request
from scrapy.crawler import Crawler

from scrapy_pagelets.session.crawl_session import session_of


def fingerprint_of(crawler: Crawler, request: Request) -> str:
    """Return the fingerprint of a request in hexadecimal digits."""
    assert crawler.request_fingerprinter is not None
    return crawler.request_fingerprinter.fingerprint(request).hex()


def known_fingerprint(crawler: Crawler, request: Request) -> str | None:
    """Return the fingerprint of a request, None if there is none: that of a project may need meta of its spiders."""
    try:
        return fingerprint_of(crawler, request)
    except Exception as error:
        sentence = "no page is loaded for a template where the request fingerprinter of the project fails (%s): %r"
        session_of(crawler).warn("probe/failed/fingerprint", sentence, request.url, error)
        return None
