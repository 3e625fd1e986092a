"""Render many pages in one browser; needs Playwright (extra ``render``), which is imported on first use."""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

from scrapy_pagelets.base.errors import PageletsError
from scrapy_pagelets.rendering.page_load import Lookup, PageLoad, Permit, SharedResources, walk
from scrapy_pagelets.rendering.snapshot import Frame

if TYPE_CHECKING:
    import playwright.async_api as playwright

logger = logging.getLogger(__name__)

WIDTH, HEIGHT = 1366, 768  # size of the viewport in CSS pixels, wide enough for the desktop layout
#: Chromium has no network of its own: whatever a page may load, Playwright's driver requests. So prefetches, WebRTC and
#: sockets of workers, which no route sees, lead nowhere. WebRTC over UDP does not ask the resolver; newer versions of
#: Chromium know the last switch, older ones the one before.
_ARGUMENTS: Final = (
    *"--disable-gpu --no-first-run --disable-background-networking --disable-component-update --disable-sync".split(),
    *"--disable-dev-shm-usage --js-flags=--max-old-space-size=1024".split(),
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
)
#: The browser that has no window comes first: it starts in half the time.
_NAMES: Final = "chromium-headless-shell chromium chromium-browser google-chrome google-chrome-stable chrome".split()
#: Pages rendered at once; more do not increase the throughput.
_PAGES: Final = 4
#: Seconds that scripts have after the load event to fetch content, and that a page or a browser has to close.
_SETTLE: Final = 3.0
_CLOSE_TIMEOUT: Final = 5.0
_TRIAL_TIMEOUT: Final = 30.0
#: A proxy address where nothing listens, so that traffic that bypasses the routes, such as a preconnect, fails.
_DEAD_PROXY: Final = "http://127.0.0.1:9"
Launch = Callable[[], Awaitable["playwright.Browser"]]  # a function that starts a browser
#: What is called with a rendered page, and with the response that has its document.
Look = Callable[["playwright.Page"], Awaitable[None]] | None
Received = Callable[["playwright.Response"], Awaitable[None]] | None


class MissingBrowser(PageletsError, RuntimeError):
    """Raised if Chromium or Playwright is not installed; the message says how to install it."""


class RenderError(PageletsError):
    """Raised if a page cannot be rendered; ``reason`` is ``slow``, ``crashed`` or ``failed``."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


def launch_options(own: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Playwright's options to launch Chromium, the system's or its own; ``own`` ones hold. May raise MissingBrowser."""
    own = own or {}
    options: dict[str, Any] = {"args": [*_ARGUMENTS, *own.get("args", ())]}
    if "channel" not in own:
        path = own.get("executable_path") or _chromium()
        options |= {"executable_path": path, "chromium_sandbox": _has_sandbox(path)}
    return options | {name: value for name, value in own.items() if name != "args"}


def _chromium() -> str:
    path = next(filter(None, map(shutil.which, _NAMES)), None)
    if path is None:
        # Playwright's synchronous API refuses to run in a thread with an event loop.
        with ThreadPoolExecutor(1) as thread:
            path = thread.submit(_own_chromium).result()
    if not os.path.exists(path):
        advice = "install it with `apt-get install chromium` or `playwright install chromium`"
        raise MissingBrowser(f"rendering needs Chromium: {advice}")
    return path


@cache
def _has_sandbox(path: str) -> bool:
    """Whether Chromium can isolate the processes that run pages; if not, the log says so."""
    if sys.platform != "linux":
        return True
    if obstacle := "it runs as root" if os.geteuid() == 0 else _obstacle_to_sandbox(path):
        logger.info("Chromium renders pages without its sandbox, because %s", obstacle)
    return not obstacle


def _obstacle_to_sandbox(path: str) -> str:
    """Try it: the kernel, its security modules, the container and a helper of Chromium's all have a say."""
    with TemporaryDirectory() as profile:
        command = [path, "--headless", *_ARGUMENTS, f"--user-data-dir={profile}", "--dump-dom", "about:blank"]
        try:
            done = subprocess.run(command, capture_output=True, timeout=_TRIAL_TIMEOUT, errors="replace")
        except (OSError, subprocess.TimeoutExpired):
            return ""  # the launch will fail with the same error
    return "this machine has no user namespaces for it" if done.returncode and "sandbox" in done.stderr else ""


def _own_chromium() -> str:
    require_playwright()
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        return driver.chromium.executable_path


def require_playwright() -> None:
    """Raise `MissingBrowser` if Playwright is not installed."""
    try:
        import playwright.async_api  # noqa: F401
    except ImportError:
        raise MissingBrowser("rendering needs Playwright: pip install 'scrapy-pagelets[render]'") from None


@dataclass(eq=False)
class Browser:
    """One browser for many pages, each in a context of its own; launched on first use, and again after it has crashed.

    ``timeout``: seconds for one page. ``permit``: from the URL of a page, makes the check whether its resources may be
    requested; None permits all. ``proxy``: address of a proxy through which resources are requested; "" for none.
    """

    launch: Launch
    scripts: bool = True
    timeout: float = 30.0
    permit: Callable[[str], Permit] | None = None
    proxy: str = ""

    def __post_init__(self) -> None:
        self._browser: playwright.Browser | None = None
        self._in_use: Counter[playwright.Browser] = Counter()
        self._launching = asyncio.Lock()
        self._free = asyncio.Semaphore(_PAGES)
        self._shared = SharedResources()
        self.launched = 0

    async def render(
        self,
        url: str,
        document: str | None,
        lookup: Lookup | None = None,
        *,
        user_agent: str | None = None,
        look: Look = None,
        received: Received = None,
    ) -> list[Frame]:
        """Render a document at a URL and walk through it, for `snapshot.page_of`; RenderError if late or impossible.

        The HTML and the lookup of resources may be None: then they are requested from the network. ``look`` is called
        with the rendered page, for example to take a screenshot; ``received`` with the response that has the document.
        """
        from playwright.async_api import Error

        async with self._free:
            permit = self.permit(url) if self.permit is not None else None
            for again in (True, False):
                browser = await self._running()
                self._in_use[browser] += 1
                try:
                    async with asyncio.timeout(self.timeout):
                        visit = PageLoad(url, document, lookup, self._shared, permit)
                        return await self._rendered(browser, visit, user_agent, look, received)
                except TimeoutError:
                    raise RenderError("slow", f"not rendered in {self.timeout:g} seconds") from None
                except Error as error:
                    # Another page may have crashed the browser.
                    if browser.is_connected() or not again:
                        raise _render_error(error) from None
                finally:
                    self._in_use[browser] -= 1
                    if not self._in_use[browser] and browser is not self._browser:
                        del self._in_use[browser]
                        await _close(browser.close())
        raise AssertionError

    async def _rendered(
        self, browser: playwright.Browser, visit: PageLoad, user_agent: str | None, look: Look, received: Received
    ) -> list[Frame]:
        proxy = self.proxy if visit.lookup is None else _DEAD_PROXY
        context = await browser.new_context(
            viewport={"width": WIDTH, "height": HEIGHT},
            java_script_enabled=self.scripts,
            user_agent=user_agent,
            service_workers="block",
            accept_downloads=False,
            ignore_https_errors=True,
            proxy={"server": proxy} if proxy else None,
        )
        try:
            page = await context.new_page()
            context.on("page", _close_popup)
            response = await visit.enter(context, page)
            if received is not None and response is not None:
                await received(response)
            await self._settle(page, self.scripts and visit.has_scripts)
            frames = await walk(page)
            if look is not None:
                await look(page)
            return frames
        finally:
            if not await _close(context.close()) and browser is self._browser:
                self._browser = None  # the other pages of this one end first, see `render`

    async def _settle(self, page: playwright.Page, scripts: bool) -> None:
        """Wait until the page has loaded, for a third of the timeout at most: a picture may never arrive."""
        from playwright.async_api import TimeoutError as PageTimeoutError

        with suppress(PageTimeoutError):
            await page.wait_for_load_state("load", timeout=self.timeout * 1000 / 3)
            if scripts:
                await page.wait_for_load_state("networkidle", timeout=_SETTLE * 1000)

    async def _running(self) -> playwright.Browser:
        from playwright.async_api import Error

        async with self._launching:
            if self._browser is None or not self._browser.is_connected():
                try:
                    self._browser = await self.launch()
                except Error as error:
                    raise _render_error(error) from None
                self.launched += 1
            return self._browser

    async def close(self) -> None:
        """Close the browser, if there is one."""
        if self._browser is not None:
            await _close(self._browser.close())
            self._browser = None


async def _close_popup(popup: playwright.Page) -> None:
    await _close(popup.close())


async def _close(closing: Awaitable[None]) -> bool:
    """Wait for a page or browser to close; returns False if it does not close in time."""
    from playwright.async_api import Error

    try:
        async with asyncio.timeout(_CLOSE_TIMEOUT):
            with suppress(Error):
                await closing
    except TimeoutError:
        return False
    return True


def _render_error(error: Exception) -> RenderError:
    first = str(error).partition("\n")[0]
    return RenderError("crashed" if "crash" in first.lower() or "closed" in first else "failed", first)
