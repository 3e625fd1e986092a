"""One fingerprint for one page, whatever way its URL is written."""

from __future__ import annotations

from scrapy import Request
from scrapy.utils.request import RequestFingerprinter

from scrapy_pagelets.urls import normalise


class PageFingerprinter(RequestFingerprinter):
    """Fingerprint of the normalised URL: ``/`` and ``/index.html``, http and https, tracking parameters are one page."""

    def fingerprint(self, request: Request) -> bytes:
        try:
            return super().fingerprint(request.replace(url=normalise(request.url)))
        except ValueError:  # a host that no parser takes; the download will say so
            return super().fingerprint(request)
