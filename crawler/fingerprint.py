"""One fingerprint for one page, whatever way its URL is written."""

from __future__ import annotations

from hashlib import blake2b

from scrapy import Request

from scrapy_pagelets.urls import normalise


class PageFingerprinter:
    """Fingerprint of method, body and normalised URL: ``/`` and ``/index.html``, http and https are one page."""

    def fingerprint(self, request: Request) -> bytes:
        """Twenty bytes."""
        try:
            url = normalise(request.url)
        except ValueError:  # a host that no parser takes; the download will say so
            url = request.url
        return blake2b(b"\0".join((request.method.encode(), url.encode(), request.body)), digest_size=20).digest()
