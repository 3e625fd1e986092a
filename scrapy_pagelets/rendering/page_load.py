"""Load a page in a browser: decide how each of its requests is served, and walk through its documents."""

from __future__ import annotations

import asyncio
import socket
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Final
from urllib.parse import urljoin

from scrapy_pagelets.page.urls import is_private
from scrapy_pagelets.rendering.snapshot import WALK, Frame

if TYPE_CHECKING:
    import playwright.async_api as playwright

#: Looks up a URL in an archive: its ``Content-Type`` ("" for none) and body; None if the archive does not have it.
Lookup = Callable[[str], Awaitable[tuple[str, bytes] | None]]
Permit = Callable[[str], Awaitable[bool]]  # from a URL to whether it may be requested from the network
_REDIRECTS: Final = frozenset((301, 302, 303, 307, 308))
_MAX_REDIRECTS: Final = 10
_MAX_FRAMES: Final = 20  # frames of other origins that are walked through on one page
#: Local files are served to the browser under this host, because it must not read the file system.
_FILES: Final = "http://files.invalid"
#: Content types by resource type, if an archive has none.
_TYPES: Final = {"stylesheet": "text/css", "script": "text/javascript", "document": "text/html"}
#: Types of the resources that pages of a site share, which are cached.
_SHARED_TYPES: Final = frozenset(("stylesheet", "script", "font", "image"))
_MAX_CACHE_BYTES: Final = 64 << 20  # bytes in the cache
_MAX_CACHED_RESOURCE_BYTES: Final = 2 << 20  # bytes of one resource in it
#: Maximal number of declared bytes of one resource from the network, and of all of them on a page. Playwright loads a
#: response as a whole before it shows its headers: what declares no length is limited by time alone.
_MAX_RESOURCE_BYTES: Final = 16 << 20
_MAX_PAGE_BYTES: Final = 64 << 20
#: Headers that a browser needs to use a cached resource.
_HEADERS: Final = frozenset(("content-type", "access-control-allow-origin", "cross-origin-resource-policy"))


class PageLoad:
    """A page to render, with the rules for its requests; the parameters are those of `Browser` and its ``render``."""

    def __init__(
        self, url: str, document: str | None, lookup: Lookup | None, shared: SharedResources, permit: Permit | None
    ) -> None:
        self.url = _FILES + url.removeprefix("file://") if url.startswith("file://") else url
        self.document = document
        self.lookup = lookup
        self.permit = permit
        self.shared = shared
        self.has_scripts = document is None or "<script" in document.lower()
        self._fetched: playwright.APIResponse | None = None
        self._entered = False
        self._loaded_bytes = 0

    async def enter(self, context: playwright.BrowserContext, page: playwright.Page) -> playwright.Response | None:
        """Go to the page, and return the response that has its document."""
        if self.document is None:  # the browser itself has no network
            self._fetched = await context.request.get(self.url)
            self.url = self._fetched.url
        await context.route("**/*", self._route)
        if self.lookup is None:
            context.on("requestfinished", self.shared.keep)
        await context.route_web_socket("**/*", lambda _: None)  # accepted, but connected to nothing
        return await page.goto(self.url, wait_until="commit")

    async def _route(self, route: playwright.Route) -> None:
        from playwright.async_api import Error

        request = route.request
        try:
            if request.is_navigation_request() and request.frame.parent_frame is None:
                await self._serve_document(route)
            elif self.lookup is not None:
                await self._serve_archived(route, self.lookup)
            elif (cached := self.shared.get(request)) is not None:
                headers, body = cached
                await route.fulfill(status=200, headers=headers, body=body)
            else:
                await self._serve_from_network(route)
        except Error:
            with suppress(Error):  # the page is gone already
                await route.abort()

    async def _serve_from_network(self, route: playwright.Route) -> None:
        """Request from the network, checking each redirect; the browser would follow them without a check."""
        url = route.request.url
        for _ in range(_MAX_REDIRECTS):
            if self._loaded_bytes > _MAX_PAGE_BYTES or route.request.resource_type == "media":
                break
            if not url.startswith(("http://", "https://")) or (self.permit and not await self.permit(url)):
                break
            response = await route.fetch(url=url, max_redirects=0)
            try:
                if response.status not in _REDIRECTS or "location" not in response.headers:
                    if not self._fits(response):
                        break
                    await route.fulfill(response=response)
                    return
                url = urljoin(url, response.headers["location"])
            finally:
                await response.dispose()  # Playwright would keep the body as long as the page
        await route.abort()

    def _fits(self, response: playwright.APIResponse) -> bool:
        """Count the declared size of a response; False if the browser should not get that much."""
        declared = response.headers.get("content-length", "")
        size = int(declared) if declared.isascii() and declared.isdecimal() and len(declared) < 20 else 0
        self._loaded_bytes += size
        return size <= _MAX_RESOURCE_BYTES

    async def _serve_document(self, route: playwright.Route) -> None:
        """Serve the document once; any later navigation, of the page or of a popup, leads nowhere."""
        if self._entered:
            await route.fulfill(status=204)  # abort() would show an error page
            return
        self._entered = True
        if self._fetched is not None:
            await route.fulfill(response=self._fetched)
            return
        body = (self.document or "").encode("utf-8", "replace")
        await route.fulfill(status=200, content_type="text/html; charset=utf-8", body=body)

    async def _serve_archived(self, route: playwright.Route, lookup: Lookup) -> None:
        url = route.request.url
        resource = await lookup("file://" + url.removeprefix(_FILES) if url.startswith(_FILES) else url)
        if resource is None:
            await route.abort()
            return
        kind, body = resource
        headers = {"Access-Control-Allow-Origin": "*"}
        if kind := kind or _TYPES.get(route.request.resource_type, ""):
            headers["Content-Type"] = kind
        await route.fulfill(status=200, headers=headers, body=body)


_Resource = tuple[dict[str, str], bytes]  # headers and body of a response


class SharedResources:
    """Cache of what all pages of a site load: the browser uses none of its own while its requests are intercepted."""

    def __init__(self) -> None:
        self._cache: OrderedDict[tuple[str, str | None], _Resource] = OrderedDict()
        self._size = 0

    def get(self, request: playwright.Request) -> _Resource | None:
        """Return the response to the same request of an earlier page, None if there is none."""
        return self._cache.get(_key(request)) if request.method == "GET" else None

    async def keep(self, request: playwright.Request) -> None:
        """Cache the response to a finished request, if other pages may need it."""
        from playwright.async_api import Error

        key = _key(request)
        if request.resource_type not in _SHARED_TYPES or request.method != "GET" or key in self._cache:
            return
        with suppress(Error):  # the page is gone already
            response = await request.response()
            if response is None or response.status != 200 or "no-store" in response.headers.get("cache-control", ""):
                return
            body = await response.body()
            if len(body) <= _MAX_CACHED_RESOURCE_BYTES and key not in self._cache:
                headers = {name: value for name, value in response.headers.items() if name in _HEADERS}
                self._cache[key] = headers, body
                self._size += len(body)
        while self._size > _MAX_CACHE_BYTES:
            self._size -= len(self._cache.popitem(last=False)[1][1])


def _key(request: playwright.Request) -> tuple[str, str | None]:
    return request.url, request.headers.get("origin")


async def walk(page: playwright.Page) -> list[Frame]:
    """Walk through a page, and separately through each frame in it that has another origin."""
    todo: list[tuple[playwright.Frame, int, int]] = [(page.main_frame, -1, 0)]
    walks: list[Frame] = []
    for frame, parent, number in todo:
        handle = await frame.evaluate_handle(WALK)
        # Each evaluation is a round trip to the browser, and most pages have no such frames.
        walked, frames = await handle.evaluate("({walked, frames}) => [walked, frames.length]")
        for index, inside in enumerate(await _documents(handle) if frames else ()):
            if inside is not None and len(todo) <= _MAX_FRAMES and not inside.url.startswith("chrome-error:"):
                todo.append((inside, len(walks), index))
        walks.append(Frame(parent, number, walked))
    return walks


async def _documents(handle: playwright.JSHandle) -> list[playwright.Frame | None]:
    """The documents of the frames that a walk could not enter, None for a frame without one."""
    others = await (await handle.get_property("frames")).get_properties()
    elements = [other.as_element() for other in others.values()]
    return [await element.content_frame() if element else None for element in elements]


class ConnectProxy:
    """A proxy on loopback, at ``url``, that opens tunnels (HTTP ``CONNECT``) to the addresses that were checked.

    ``resolve``: from a host name to the addresses that it may be reached at.
    """

    def __init__(self, resolve: Callable[[str], Awaitable[list[str]]]) -> None:
        self._resolve = resolve
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._server: asyncio.Server | None = None
        self.url = "http://{}:{}".format(*self._socket.getsockname())

    async def start(self) -> None:
        """Accept connections."""
        self._server = await asyncio.start_server(self._tunnel, sock=self._socket)

    def close(self) -> None:
        """Accept no more connections."""
        if self._server is not None:
            self._server.close()
        self._socket.close()

    async def _tunnel(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            host, _, port = head.split()[1].decode("ascii").rpartition(":")
            there = await self._connected(host.strip("[]"), int(port))
        except (OSError, ValueError, IndexError, EOFError, asyncio.LimitOverrunError):
            writer.close()  # the driver reports that the connection has failed
            return
        writer.write(b"HTTP/1.1 200 Connected\r\n\r\n")
        await asyncio.gather(_pump(reader, there[1]), _pump(there[0], writer))

    async def _connected(self, host: str, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        error = OSError(f"{host} has no permitted address")
        for address in [host] if is_private(host) is not None else await self._resolve(host):
            try:
                return await asyncio.open_connection(address, port)
            except OSError as failed:
                error = failed
        raise error


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Pass on what one side sends until it ends; then nobody needs the other side any more."""
    try:
        while data := await reader.read(1 << 16):
            writer.write(data)
            await writer.drain()
    except OSError:
        pass  # a side has gone away
    finally:
        writer.close()
