"""Pages rendered in a browser, many by one.

Needs Playwright (extra ``render``), which is imported where it is used.
"""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from scrapy_pagelets.errors import PageletsError
from scrapy_pagelets.rendering.page_load import Answer, PageLoad, Permit, SharedResources, walk
from scrapy_pagelets.rendering.snapshot import Frame

if TYPE_CHECKING:
    import playwright.async_api as playwright

#: Of the viewport, in CSS pixels: wide enough for the layout that desktops get.
WIDTH, HEIGHT = 1366, 768
#: Without sandbox, because root has none; and without what a browser does of its own accord.
ARGUMENTS: Final = (
    "--no-sandbox --disable-gpu --no-first-run --disable-background-networking --disable-component-update "
    "--disable-sync --disable-dev-shm-usage --js-flags=--max-old-space-size=1024"
).split()
_NAMES: Final = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
#: More pages at once make none of them faster.
_PAGES: Final = 4
#: Seconds after the load for scripts to fetch what they show; for a page or a browser to go.
_SETTLE: Final = 3.0
_FAREWELL: Final = 5.0
#: A proxy that nobody is: what gets around the routes, such as a preconnect, ends here.
_NO_PROXY: Final = {"server": "http://127.0.0.1:9"}

#: Starts a browser.
Launch = Callable[[], Awaitable["playwright.Browser"]]


class MissingBrowser(PageletsError, RuntimeError):
    """There is no browser, or what drives it; the message says how to get it."""


class RenderError(PageletsError):
    """A page could not be rendered; ``reason`` is ``slow``, ``crashed`` or ``failed``."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


def launch_options() -> dict[str, Any]:
    """What Playwright needs to launch Chromium: that of the system, else its own.

    Raises
    ------
    MissingBrowser : if there is none
    """
    found = next(filter(None, map(shutil.which, _NAMES)), None)
    if found is None:
        # Its synchronous form refuses to run beside an event loop.
        with ThreadPoolExecutor(1) as thread:
            found = thread.submit(_own_chromium).result()
    if not os.path.exists(found):
        raise MissingBrowser(
            "rendering needs Chromium: install it with `apt-get install chromium` or `playwright install chromium`"
        )
    return {"executable_path": found, "args": list(ARGUMENTS)}


def _own_chromium() -> str:
    require_playwright()
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        return driver.chromium.executable_path


def require_playwright() -> None:
    """Make sure that Playwright is installed.

    Raises
    ------
    MissingBrowser : if it is not
    """
    try:
        import playwright.async_api  # noqa: F401
    except ImportError:
        raise MissingBrowser("rendering needs Playwright: pip install 'scrapy-pagelets[render]'") from None


class Browser:
    """One browser for many pages, each in a context of its own; started when needed, and again if it is gone.

    Parameters
    ----------
    launch : starts one
    scripts : whether pages may run theirs
    timeout : seconds for one page
    permit : from the URL of a page, whether the network may be asked for what is on it; None if for anything
    """

    def __init__(
        self,
        launch: Launch,
        *,
        scripts: bool = True,
        timeout: float = 30.0,
        permit: Callable[[str], Permit] | None = None,
    ) -> None:
        self._launch = launch
        self._scripts = scripts
        self._timeout = timeout
        self._permit = permit
        self._browser: playwright.Browser | None = None
        self._launching = asyncio.Lock()
        self._free = asyncio.Semaphore(_PAGES)
        self._shared = SharedResources()
        self.launched = 0

    async def render(
        self,
        url: str,
        document: str | None,
        answer: Answer | None = None,
        *,
        user_agent: str | None = None,
        look: Callable[[playwright.Page], Awaitable[None]] | None = None,
    ) -> list[Frame]:
        """Render a document as that of a URL and walk through it, for `rendered.page_of`.

        Parameters
        ----------
        document : its HTML; None if the network has it
        answer : of what is on the page; without it the network answers
        user_agent : the browser's own if None
        look : called with the page when it is rendered, for a picture of it

        Raises
        ------
        RenderError : it takes too long, or the page or the browser breaks
        """
        from playwright.async_api import Error

        async with self._free:
            permit = self._permit(url) if self._permit is not None else None
            for again in (True, False):
                browser = await self._ensured()
                try:
                    async with asyncio.timeout(self._timeout):
                        visit = PageLoad(url, document, answer, self._shared, permit)
                        return await self._rendered(browser, visit, user_agent, look)
                except TimeoutError:
                    raise RenderError("slow", f"not rendered in {self._timeout:g} seconds") from None
                except Error as error:
                    # The page of a neighbour may have taken the browser with it.
                    if browser.is_connected() or not again:
                        raise _explained(error) from None
        raise AssertionError

    async def _rendered(
        self,
        browser: playwright.Browser,
        visit: PageLoad,
        user_agent: str | None,
        look: Callable[[playwright.Page], Awaitable[None]] | None,
    ) -> list[Frame]:
        context = await browser.new_context(
            viewport={"width": WIDTH, "height": HEIGHT},
            java_script_enabled=self._scripts,
            user_agent=user_agent,
            service_workers="block",
            accept_downloads=False,
            ignore_https_errors=True,
            **({} if visit.answer is None else {"proxy": _NO_PROXY}),  # type: ignore[arg-type]
        )
        try:
            page = await context.new_page()
            context.on("page", _close_popup)
            await visit.enter(context, page)
            await self._settled(page, self._scripts and visit.has_scripts)
            frames = await walk(page)
            if look is not None:
                await look(page)
            return frames
        finally:
            if not await _closed(context.close()):
                await _closed(browser.close())
                self._browser = None

    async def _settled(self, page: playwright.Page, scripts: bool) -> None:
        """Wait for what the page loads, a third of the time at the most: a picture may never come."""
        from playwright.async_api import TimeoutError as Late

        with suppress(Late):
            await page.wait_for_load_state("load", timeout=self._timeout * 1000 / 3)
            if scripts:
                await page.wait_for_load_state("networkidle", timeout=_SETTLE * 1000)

    async def _ensured(self) -> playwright.Browser:
        from playwright.async_api import Error

        async with self._launching:
            if self._browser is None or not self._browser.is_connected():
                try:
                    self._browser = await self._launch()
                except Error as error:
                    raise _explained(error) from None
                self.launched += 1
            return self._browser

    async def close(self) -> None:
        """Close the browser, if there is one."""
        if self._browser is not None:
            await _closed(self._browser.close())
            self._browser = None


async def _close_popup(popup: playwright.Page) -> None:
    await _closed(popup.close())


async def _closed(closing: Awaitable[None]) -> bool:
    """True if something has closed, or was closed already; False if it does not."""
    from playwright.async_api import Error

    try:
        async with asyncio.timeout(_FAREWELL):
            await closing
    except TimeoutError:
        return False
    except Error:
        return True
    return True


def _explained(error: Exception) -> RenderError:
    first = str(error).partition("\n")[0]
    return RenderError("crashed" if "crash" in first.lower() or "closed" in first else "failed", first)
