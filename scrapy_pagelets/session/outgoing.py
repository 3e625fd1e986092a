"""Requests for links in pages: what Scrapy will request, and whether it may, even if a name is bound anew meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple
from urllib.parse import urldefrag, urljoin

from scrapy import Request
from scrapy.exceptions import IgnoreRequest
from scrapy.utils.datatypes import LocalCache
from scrapy.utils.defer import maybe_deferred_to_future
from scrapy.utils.reactor import is_reactor_installed
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IHostnameResolver, IHostResolution, IResolutionReceiver
from zope.interface import implementer

from scrapy_pagelets.page.page import Page
from scrapy_pagelets.page.urls import is_page, is_private, is_web

#: Request meta: one of our components found the URL on a page; neither the user nor a spider of the project chose it.
FOLLOWED: Final = "_pagelets_followed"
#: Request meta: the page may be left out if it is not modified since an earlier crawl.
CONDITIONAL: Final = "pagelets_conditional"
#: Request meta of a page that is not modified: the links that it had in the earlier crawl.
UNMODIFIED: Final = "_pagelets_unmodified"


class Obstacle(NamedTuple):
    """Why no pages can be loaded for a key page.

    ``name``: for the stat ``pagelets/templates/not_probed/<name>``. ``why``: the end of a sentence that begins with
    "because".
    """

    name: str
    why: str


class Sent(NamedTuple):
    """How a request is sent."""

    identity: str  # hash of headers and routes, equal for requests that are sent in the same way
    routes: dict[str, Any]  # the request meta that decides how it is sent, before a handler has changed it
    #: why no other page may be loaded in this way, nor a loaded one answer the request; None if nothing does
    obstacle: Obstacle | None = None


def requested_url(url: str) -> str:
    """Return the URL that Scrapy will actually request; "" if it is not a web URL or is ambiguous.

    >>> requested_url("http://example.com/a b"), requested_url("file:///etc/passwd"), requested_url("http://h:65536/")
    ('http://example.com/a%20b', '', '')
    """
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
    """True if a host is a private address or, if ``resolve`` is set, a name that resolves to one.

    A name that is not forbidden leads to no private address later, whatever its server answers then.
    """
    private = is_private(name)
    if private is None and resolve:
        private = any(map(is_private, await addresses(name)))
        if not private:
            keep_public(name)
    return bool(private)


#: Names that lead to public addresses only, as many as Scrapy caches.
_PUBLIC: Final[LocalCache[str, bool]] = LocalCache(10000)


def keep_public(name: str) -> None:
    """Let a name lead to public addresses only from now on."""
    _PUBLIC[name.lower()] = True


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
    """False for a private address of a name that is known to be public; it is so once all its addresses are."""
    if not any(map(is_private, found)):
        keep_public(name)
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
    """Collect addresses for a function."""

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
