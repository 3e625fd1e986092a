"""Requests that we make for links in pages: what Scrapy will request, and whether it may."""

from __future__ import annotations

import asyncio
from typing import Any, Final, NamedTuple

from scrapy import Request
from scrapy.exceptions import IgnoreRequest
from scrapy.utils.defer import maybe_deferred_to_future
from scrapy.utils.reactor import is_reactor_installed

from scrapy_pagelets.ip_addresses import is_private
from scrapy_pagelets.urls import is_web

#: Request meta: one of our components found the URL on a page; neither the user nor a spider of the project chose it.
FOLLOWED: Final = "_pagelets_followed"


class Obstacle(NamedTuple):
    """Why no pages can be loaded for a key page.

    Attributes
    ----------
    name : for the stat ``pagelets/templates/not_probed/<name>``
    why : the end of a sentence that begins with "because"
    """

    name: str
    why: str


class Sent(NamedTuple):
    """How a request is sent.

    Attributes
    ----------
    identity : hash of headers and routes, equal for requests that are sent in the same way
    routes : the request meta that decides how it is sent, before a handler has changed it
    obstacle : why no other page may be loaded in this way, nor a loaded one answer the request; None if nothing does
    """

    identity: str
    routes: dict[str, Any]
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


class ForbiddenAddress(IgnoreRequest):
    """Raised for a link that leads to a private address; the message says how to permit it."""


async def is_forbidden(name: str, *, resolve: bool = True) -> bool:
    """True if a host is a private address or, if ``resolve`` is set, a name that resolves to one."""
    private = is_private(name)
    if private is None and resolve:
        return any(map(is_private, await _addresses(name)))
    return bool(private)


async def _addresses(name: str) -> list[str]:
    """The addresses of a name, from the resolver and cache that the download uses; none if the lookup fails."""
    try:
        if is_reactor_installed():
            return await maybe_deferred_to_future(_resolved(name))
        results = await asyncio.get_running_loop().getaddrinfo(name, None)
        return [str(address[0]) for *_, address in results]
    except Exception:  # the download will fail with the same error
        return []


def _resolved(name: str) -> Any:
    from twisted.internet import reactor
    from twisted.internet.defer import Deferred
    from twisted.internet.interfaces import IResolutionReceiver
    from zope.interface import implementer

    addresses: list[str] = []
    done: Deferred[list[str]] = Deferred()

    @implementer(IResolutionReceiver)
    class Receiver:
        def resolutionBegan(self, resolution: Any) -> None:
            pass

        def addressResolved(self, address: Any) -> None:
            addresses.append(address.host)

        def resolutionComplete(self) -> None:
            done.callback(addresses)

    resolver: Any = reactor
    resolver.nameResolver.resolveHostName(Receiver(), name)
    return done
