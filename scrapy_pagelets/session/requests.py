"""Requests: their fingerprints, those that were answered, requests as JSON, and what may be requested of links.

JSON runs no code when it is read. A resolver guards against names that are bound anew to private addresses.
"""

import asyncio
import json
import sys
from collections import deque
from collections.abc import Callable, Iterator
from hashlib import blake2b
from typing import Any, Final, NamedTuple
from urllib.parse import urldefrag, urljoin
from weakref import WeakKeyDictionary

from scrapy import Request, Spider
from scrapy.crawler import Crawler
from scrapy.exceptions import IgnoreRequest
from scrapy.utils.datatypes import LocalCache
from scrapy.utils.defer import maybe_deferred_to_future
from scrapy.utils.reactor import is_reactor_installed
from scrapy.utils.request import request_from_dict
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IHostnameResolver, IHostResolution, IResolutionReceiver
from xxhash import xxh3_64_intdigest
from zope.interface import implementer

from scrapy_pagelets.base.caches import RecentKeys
from scrapy_pagelets.page.page import Page
from scrapy_pagelets.page.urls import is_page, is_private, is_web, normalised
from scrapy_pagelets.sites.site_store import MAX_ANSWERED, SiteStore


def fingerprint_of(crawler: Crawler, request: Request) -> str:
    """Return the fingerprint of a request in hexadecimal digits."""
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
    """Serialise a request of plain values, and lists, tuples and dicts of them.

    Raises TypeError for other values, ValueError if a callback is no method of the spider.
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

    A redirect from one form to the other is an exception: its target gets a fingerprint of its own.
    """

    def __init__(self) -> None:
        # Dupefilter, caches and our own components ask for the fingerprint of a request twenty times.
        self._known: WeakKeyDictionary[Request, tuple[int, bytes]] = WeakKeyDictionary()

    def fingerprint(self, request: Request) -> bytes:
        """Return the fingerprint of a request, 20 bytes."""
        redirects = len(request.meta.get("redirect_urls", ()))
        before, fingerprint = self._known.get(request, (-1, b""))
        if before != redirects:
            url = normalised(request.url)
            hops = sum(normalised(old) == url for old in request.meta.get("redirect_urls", ()))
            parts = (request.method.encode(), url.encode(), request.body, b"%d" % hops)
            fingerprint = blake2b(b"\0".join(parts), digest_size=20).digest()
            self._known[request] = redirects, fingerprint
        return fingerprint


#: Request meta: one of our components found the URL on a page; neither the user nor a spider of the project chose it.
FOLLOWED: Final = "_pagelets_followed"
CONDITIONAL: Final = "pagelets_conditional"  # request meta: the page may be left out if it is not modified
UNMODIFIED: Final = "_pagelets_unmodified"  # request meta: the former links of a page that is not modified


class Obstacle(NamedTuple):
    """Why no pages can be loaded for a key page."""

    name: str  # for the stat ``pagelets/templates/not_probed/<name>``
    why: str  # the end of a sentence that begins with "because"


class Sent(NamedTuple):
    """How a request is sent."""

    identity: str  # hash of headers and routes, equal for requests that are sent in the same way
    routes: dict[str, Any]  # the request meta that decides how it is sent, before a handler has changed it
    #: why no other page may be loaded in this way, nor a loaded one answer the request; None if nothing does
    obstacle: Obstacle | None = None


def requested_url(url: str) -> str:
    """Return the URL that Scrapy will actually request; "" if it is not a web URL or is ambiguous."""
    if not is_web(url):
        return ""
    try:
        requested = Request(url).url
    except ValueError:
        return ""
    return requested if is_web(requested) else ""


def links_of(page: Page, wanted: Callable[[int], bool] = bool) -> Iterator[str]:
    """Yield the links of a page that Scrapy can request and no rule ignores, if their key is wanted."""
    links, ignored = page.nodes.links, page.marks.ignored_links
    for i, (key, href, target) in enumerate(zip(links.key.tolist(), links.href, links.target, strict=True)):
        if key and i not in ignored and wanted(key) and is_page(target):
            url = requested_url(urldefrag(urljoin(page.base, href.strip())).url)
            if url:
                yield url


class ForbiddenAddress(IgnoreRequest):
    """Raised for a link that leads to a private address; the message says how to permit it."""


async def is_forbidden(name: str, *, resolve: bool = True) -> bool:
    """Return True for a private address and for a name that resolves to one; remember all other names as public."""
    private = is_private(name)
    if private is None and resolve:
        private = any(map(is_private, await addresses(name)))
        if not private:
            _PUBLIC[name.lower()] = True
    return bool(private)


_PUBLIC: Final[LocalCache[str, bool]] = LocalCache(10000)  # names that lead to public addresses only from now on


async def addresses(name: str) -> list[str]:
    """The addresses of a name, from the resolver that the download uses; none if the lookup fails."""
    try:
        if is_reactor_installed():
            done: Deferred[list[Any]] = Deferred()
            install().resolveHostName(_Receiver(done.callback), name)
            return [address.host for address in await maybe_deferred_to_future(done)]
        results = await asyncio.get_running_loop().getaddrinfo(name, None)
    except Exception:  # the download will fail with the same error
        return []
    found = list(dict.fromkeys(str(address[0]) for *_, address in results))
    return [address for address in found if _is_permitted(name, address, found)]


def install() -> Any:
    """Let Twisted resolve all names in this way, and return the resolver; the reactor must run."""
    from twisted.internet import reactor

    resolving: Any = reactor
    if not isinstance(resolving.nameResolver, _Resolver):
        resolving.installNameResolver(_Resolver(resolving.nameResolver))
    return resolving.nameResolver


def _is_permitted(name: str, address: str, found: list[str]) -> bool:
    """Refuse a private address of a public name. Remember a name as public when all its addresses are public."""
    if not any(map(is_private, found)):
        _PUBLIC[name.lower()] = True
    return name.lower() not in _PUBLIC or not is_private(address)


@implementer(IHostnameResolver)
class _Resolver:
    """Pass on what another resolver finds, without the addresses that are not permitted."""

    def __init__(self, resolver: Any) -> None:
        self._resolver = resolver

    def resolveHostName(self, receiver: Any, hostName: str, *arguments: Any, **named: Any) -> Any:
        def complete(found: list[Any]) -> None:
            hosts = [address.host for address in found]
            for address in found:
                if _is_permitted(hostName, address.host, hosts):
                    receiver.addressResolved(address)
            receiver.resolutionComplete()

        return self._resolver.resolveHostName(_Receiver(complete, receiver), hostName, *arguments, **named)


@implementer(IResolutionReceiver)
class _Receiver:
    def __init__(self, complete: Any, receiver: Any = None) -> None:
        self._complete = complete
        self._receiver = receiver
        self._found: list[Any] = []

    def resolutionBegan(self, resolution: IHostResolution) -> None:
        if self._receiver is not None:
            self._receiver.resolutionBegan(resolution)

    def addressResolved(self, address: Any) -> None:
        self._found.append(address)

    def resolutionComplete(self) -> None:
        self._complete(self._found)
