"""Requests that we make for links in pages: what Scrapy will request, and whether it may."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from scrapy import Request
from scrapy.exceptions import IgnoreRequest

from scrapy_pagelets.base.ip_addresses import is_private
from scrapy_pagelets.page.urls import is_web
from scrapy_pagelets.session.name_resolver import addresses, keep_public

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
    """True if a host is a private address or, if ``resolve`` is set, a name that resolves to one.

    A name that is not forbidden leads to no private address later, whatever its server answers then.
    """
    private = is_private(name)
    if private is None and resolve:
        private = any(map(is_private, await addresses(name)))
        if not private:
            keep_public(name)
    return bool(private)
