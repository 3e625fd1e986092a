"""One fingerprint for one page, whatever way its URL is written."""

from __future__ import annotations

from hashlib import blake2b

from scrapy import Request

from scrapy_pagelets.urls import normalise


class PageFingerprinter:
    """Fingerprint of method, body and normalised URL: ``/`` and ``/index.html``, http and https are one page.

    Unless the site itself redirects from one to the other: then the second one is not the first one again.
    """

    def fingerprint(self, request: Request) -> bytes:
        """Twenty bytes."""
        url = _normalised(request.url)
        hops = sum(_normalised(old) == url for old in request.meta.get("redirect_urls", ()))
        parts = (request.method.encode(), url.encode(), request.body, b"%d" % hops)
        return blake2b(b"\0".join(parts), digest_size=20).digest()


def _normalised(url: str) -> str:
    try:
        return normalise(url)
    except ValueError:  # a host that no parser takes; the download will say so
        return url
