"""A page that a browser visits: who answers what it asks for, and the walk through it."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import urljoin

from scrapy_pagelets.rendering.snapshot import WALK, Frame

if TYPE_CHECKING:
    import playwright.async_api as playwright

#: From a URL to the ``Content-Type``, "" for none, and the body that an archive has there; None for nothing.
Answer = Callable[[str], Awaitable[tuple[str, bytes] | None]]
#: Whether the network may be asked for a URL.
Permit = Callable[[str], Awaitable[bool]]

_REDIRECTS: Final = frozenset((301, 302, 303, 307, 308))
_MAX_REDIRECTS: Final = 10
#: Frames of other origins that are walked through, of one page.
_MAX_FRAMES: Final = 20
#: Documents of the file system are shown as those of this host: a browser may read no files.
_FILES: Final = "http://files.invalid"
#: What is taken for granted where an archive does not know.
_TYPES: Final = {"stylesheet": "text/css", "script": "text/javascript", "document": "text/html"}
#: What the pages of a site have in common, and how many bytes of it are kept: in all, of one.
_COMMON: Final = frozenset(("stylesheet", "script", "font", "image"))
_MAX_SHARED: Final = 64 << 20
_MAX_ONE: Final = 2 << 20
#: Headers that a browser needs to use what it gets a second time.
_HEADERS: Final = frozenset(("content-type", "access-control-allow-origin", "cross-origin-resource-policy"))


class PageLoad:
    """A page that is to be rendered, and what it may ask for.

    Parameters
    ----------
    document : HTML of the page; None if the network has it
    answer : of everything else; None if the network has it
    permit : whether the network may be asked for a URL; None if for any of the web
    shared : what other pages have got from the network
    """

    def __init__(
        self,
        url: str,
        document: str | None,
        answer: Answer | None,
        shared: SharedResources,
        permit: Permit | None = None,
    ) -> None:
        self.url = _FILES + url.removeprefix("file://") if url.startswith("file://") else url
        self.document = document
        self.answer = answer
        self.permit = permit
        self.shared = shared
        self.has_scripts = document is None or "<script" in document.lower()
        self._entered = False

    async def enter(self, context: playwright.BrowserContext, page: playwright.Page) -> None:
        """Go to the page."""
        await context.route("**/*", self._route)
        if self.answer is None:
            context.on("requestfinished", self.shared.keep)
        await context.route_web_socket("**/*", lambda _: None)  # routed, it leads nowhere
        await page.goto(self.url, wait_until="commit")

    async def _route(self, route: playwright.Route) -> None:
        from playwright.async_api import Error

        with suppress(Error):  # the page is gone already
            request = route.request
            if request.is_navigation_request() and request.frame.parent_frame is None:
                await self._navigate(route)
            elif self.answer is not None:
                await self._answer(route, self.answer)
            elif (known := self.shared.get(request)) is not None:
                await route.fulfill(status=200, headers=known.headers, body=known.body)
            else:
                await self._load(route)

    async def _load(self, route: playwright.Route) -> None:
        """Ask the network, one redirect at a time: the browser would follow them to wherever they lead."""
        url = route.request.url
        for _ in range(_MAX_REDIRECTS):
            if route.request.resource_type == "media" or not await self._permitted(url):
                break
            found = await route.fetch(url=url, max_redirects=0)
            if found.status not in _REDIRECTS or "location" not in found.headers:
                await route.fulfill(response=found)
                return
            url = urljoin(url, found.headers["location"])
        await route.abort()

    async def _permitted(self, url: str) -> bool:
        return url.startswith(("http://", "https://")) and (self.permit is None or await self.permit(url))

    async def _navigate(self, route: playwright.Route) -> None:
        """Show the document; wherever the page or a popup then wants to go, they stay where they are."""
        if self._entered:
            await route.fulfill(status=204)  # to abort would show an error page
            return
        self._entered = True
        if self.document is None:
            await route.continue_()
            return
        body = self.document.encode("utf-8", "replace")
        await route.fulfill(status=200, content_type="text/html; charset=utf-8", body=body)

    async def _answer(self, route: playwright.Route, answer: Answer) -> None:
        url = route.request.url
        found = await answer("file://" + url.removeprefix(_FILES) if url.startswith(_FILES) else url)
        if found is None:
            await route.abort()
            return
        kind, body = found
        headers = {"Access-Control-Allow-Origin": "*"}
        if kind := kind or _TYPES.get(route.request.resource_type, ""):
            headers["Content-Type"] = kind
        await route.fulfill(status=200, headers=headers, body=body)


class _Kept(NamedTuple):
    headers: dict[str, str]
    body: bytes


class SharedResources:
    """Style sheets, scripts, fonts and pictures, so that a site is asked for them once and not for each page.

    A browser forgets what it has loaded as soon as somebody looks at its requests.
    """

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[str, str | None], _Kept] = OrderedDict()
        self._size = 0

    def get(self, request: playwright.Request) -> _Kept | None:
        """What an earlier page has got for the same request."""
        return self._kept.get(_key(request)) if request.method == "GET" else None

    async def keep(self, request: playwright.Request) -> None:
        """Keep what a request has got, if others may want it."""
        from playwright.async_api import Error

        key = _key(request)
        if request.resource_type not in _COMMON or request.method != "GET" or key in self._kept:
            return
        with suppress(Error):  # the page is gone already
            response = await request.response()
            if response is None or response.status != 200 or "no-store" in response.headers.get("cache-control", ""):
                return
            body = await response.body()
            if len(body) <= _MAX_ONE and key not in self._kept:
                headers = {name: value for name, value in response.headers.items() if name in _HEADERS}
                self._kept[key] = _Kept(headers, body)
                self._size += len(body)
        while self._size > _MAX_SHARED:
            self._size -= len(self._kept.popitem(last=False)[1].body)


def _key(request: playwright.Request) -> tuple[str, str | None]:
    return request.url, request.headers.get("origin")


async def walk(page: playwright.Page) -> list[Frame]:
    """Walk through a page, and apart through the frames in it that have another origin."""
    todo: list[tuple[playwright.Frame, int, int]] = [(page.main_frame, -1, 0)]
    found: list[Frame] = []
    for frame, parent, number in todo:
        handle = await frame.evaluate_handle(WALK)
        # Each question is a way to the browser and back: most pages have no frames to be asked for.
        walked, frames = await handle.evaluate("({walked, frames}) => [walked, frames.length]")
        for index, inside in enumerate(await _documents(handle) if frames else ()):
            if inside is not None and len(todo) <= _MAX_FRAMES and not inside.url.startswith("chrome-error:"):
                todo.append((inside, len(found), index))
        found.append(Frame(parent, number, walked))
    return found


async def _documents(handle: playwright.JSHandle) -> list[playwright.Frame | None]:
    """What is in the frames that a walk has met, None where that is no document."""
    others = await (await handle.get_property("frames")).get_properties()
    elements = [other.as_element() for other in others.values()]
    return [await element.content_frame() if element else None for element in elements]
