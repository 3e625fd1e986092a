"""Pages rendered by the real browser, for tests."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from scrapy_pagelets import Page
from scrapy_pagelets.rendering.browser import Browser, launch_options
from scrapy_pagelets.rendering.snapshot import Frame, page_of

URL = "http://example.com/page"
#: A case for `rendered`: the document, and what stands at other URLs.
Site = Mapping[str, str]


def with_browser(use: Callable[[Browser], Awaitable[Any]], **options: Any) -> Any:
    """Run a coroutine that uses a browser, and return its result."""

    async def run() -> Any:
        from playwright.async_api import async_playwright

        async with async_playwright() as driver:
            browser = Browser(lambda: driver.chromium.launch(**launch_options()), **options)
            try:
                return await use(browser)
            finally:
                await browser.close()

    return asyncio.run(run())


def kill_browser() -> None:
    """Kill the browsers that this process has started, without a clean shutdown."""
    parents = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
    for pid in parents:
        above = pid
        while above in parents and above != os.getpid():
            above = parents[above]
        with suppress(OSError):
            command = Path(f"/proc/{pid}/cmdline").read_text()
            if above == os.getpid() and "--remote-debugging-pipe" in command and "--type=" not in command:
                os.kill(pid, signal.SIGKILL)


def answering(site: Site) -> Callable[[str], Awaitable[tuple[str, bytes] | None]]:
    async def lookup(url: str) -> tuple[str, bytes] | None:
        return ("", site[url].encode()) if url in site else None

    return lookup


def rendered(*documents: str, site: Site | None = None, source: bool = False, **options: Any) -> list[Any]:
    """Render documents without access to the network."""

    async def use(browser: Browser) -> list[list[Frame]]:
        return await asyncio.gather(*(browser.render(URL, document, answering(site or {})) for document in documents))

    pages = []
    for document, frames in zip(documents, with_browser(use, **options), strict=True):
        received = Page.parse(document.encode(), URL, "text/html; charset=utf-8") if source else None
        pages.append(page_of(frames, URL, received))
    return pages
