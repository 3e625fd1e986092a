"""Requests: their fingerprints, those that were answered, and requests as JSON, which runs no code when it is read."""

from __future__ import annotations

import json
import sys
from collections import deque
from hashlib import blake2b
from typing import Any
from weakref import WeakKeyDictionary

from scrapy import Request, Spider
from scrapy.crawler import Crawler
from scrapy.utils.request import request_from_dict
from xxhash import xxh3_64_intdigest

from scrapy_pagelets.base.caches import RecentKeys
from scrapy_pagelets.page.urls import normalise
from scrapy_pagelets.sites.site_store import MAX_ANSWERED, SiteStore


def fingerprint_of(crawler: Crawler, request: Request) -> str:
    """Return the fingerprint of a request in hexadecimal digits."""
    assert crawler.request_fingerprinter is not None
    return crawler.request_fingerprinter.fingerprint(request).hex()


class AnsweredRequests:
    """The fingerprints of the last requests of the spider that were answered; saved for a job, if there is one."""

    def __init__(self, store: SiteStore, job: str | None) -> None:
        self._store = store
        self._job = job
        self._answered = RecentKeys(MAX_ANSWERED)
        for fingerprint in store.answered(job) if job else ():
            self._answered.add(key_of(fingerprint))
        self._new: deque[str] = deque()

    def add_answered(self, fingerprint: str) -> None:
        """Remember that a request was answered, by any response or error."""
        self._answered.add(key_of(fingerprint))
        if self._job:
            self._new.append(fingerprint)

    def is_answered(self, fingerprint: str) -> bool:
        """True if the request is among the last that were answered."""
        return key_of(fingerprint) in self._answered

    def save(self, least: int = 1) -> None:
        """Save the new fingerprints if there are at least ``least``; runs in a thread."""
        if self._job and len(self._new) >= least:
            self._store.add_answered(self._job, [self._new.popleft() for _ in range(len(self._new))])


def key_of(name: str) -> int:
    """Return a hash of a fingerprint or another name for `RecentKeys`, 63 bits."""
    return xxh3_64_intdigest(name.encode("utf-8", "surrogatepass")) >> 1


_PLAIN = (str, int, float, bool, type(None))


def to_json(request: Request, spider: Spider | None) -> bytes:
    """Serialise a request, whose values must be strings, bytes, numbers, None, and lists, tuples and dicts of them.

    Raise TypeError if another value is in it; ValueError if a callback is no method of the spider.

    >>> request = Request("http://a/", method="POST", body=b"x", meta={"key": (1, b"2")}, cb_kwargs={"n": {3: None}})
    >>> again = from_json(to_json(request, None), None)
    >>> again.body, again.meta, again.cb_kwargs
    (b'x', {'key': (1, b'2')}, {'n': {3: None}})
    """
    return json.dumps(_to_plain(request.to_dict(spider=spider))).encode()


def from_json(content: bytes, spider: Spider | None) -> Request:
    """Restore a request from the result of ``to_json``; anything else raises some exception."""
    values = _from_plain(json.loads(content))
    if (name := values.get("_class")) is not None:
        module, _, kind = name.rpartition(".")
        found = getattr(sys.modules.get(module), kind, None)  # nothing is imported
        if not (isinstance(found, type) and issubclass(found, Request)):
            raise ValueError(f"{name} is no class of requests")
    return request_from_dict(values, spider=spider)


def _to_plain(value: Any) -> Any:
    """Write what JSON does not have as an object with the name of its type."""
    kind = type(value)
    if kind in _PLAIN:
        return value
    if kind is list:
        return [_to_plain(one) for one in value]
    if kind is tuple:
        return {"tuple": [_to_plain(one) for one in value]}
    if kind is dict:
        return {"dict": [[_to_plain(key), _to_plain(one)] for key, one in value.items()]}
    if kind is bytes:
        return {"bytes": value.decode("latin-1")}
    raise TypeError(f"{value!r:.100} is not JSON")


def _from_plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_from_plain(one) for one in value]
    if not isinstance(value, dict):
        return value
    [(kind, content)] = value.items()
    if kind == "tuple":
        return tuple(map(_from_plain, content))
    if kind == "dict":
        return {_from_plain(key): _from_plain(one) for key, one in content}
    if kind == "bytes":
        return content.encode("latin-1")
    raise ValueError(f"{kind} is no type of a request")


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
