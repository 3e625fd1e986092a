"""Request fingerprints that do not depend on how the URL of a page is written."""

from __future__ import annotations

from hashlib import blake2b
from weakref import WeakKeyDictionary

from scrapy import Request

from scrapy_pagelets.page.urls import normalise


class PageFingerprinter:
    """Fingerprint requests by method, body and normalised URL: ``/`` and ``/index.html``, http and https are one page.

    A redirect of the site from one form to the other is an exception: its target gets a fingerprint of its own.
    """

    def __init__(self) -> None:
        # Dupefilter, caches and our own components ask for the fingerprint of a request twenty times.
        self._known: WeakKeyDictionary[Request, tuple[int, bytes]] = WeakKeyDictionary()

    def fingerprint(self, request: Request) -> bytes:
        """Return the fingerprint of a request, 20 bytes."""
        redirects = len(request.meta.get("redirect_urls", ()))
        before, fingerprint = self._known.get(request, (-1, b""))
        if before != redirects:
            fingerprint = self._fingerprint(request)
            self._known[request] = redirects, fingerprint
        return fingerprint

    def _fingerprint(self, request: Request) -> bytes:
        url = _normalised(request.url)
        hops = sum(_normalised(old) == url for old in request.meta.get("redirect_urls", ()))
        parts = (request.method.encode(), url.encode(), request.body, b"%d" % hops)
        return blake2b(b"\0".join(parts), digest_size=20).digest()


def _normalised(url: str) -> str:
    try:
        return normalise(url)
    except ValueError:  # a malformed host: the download will fail with an error message
        return url
