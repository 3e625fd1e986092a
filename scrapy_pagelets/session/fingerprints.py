"""Fingerprints of requests."""

from __future__ import annotations

from scrapy import Request
from scrapy.crawler import Crawler


def fingerprint_of(crawler: Crawler, request: Request) -> str:
    """Return the fingerprint of a request in hexadecimal digits."""
    assert crawler.request_fingerprinter is not None
    return crawler.request_fingerprinter.fingerprint(request).hex()
