"""Pages rendered by the real browser, and files opened in it, for tests."""

from __future__ import annotations

import asyncio
import atexit
import os
import signal
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

from scrapy_pagelets import Page
from scrapy_pagelets.rendering.browser import Browser, launch_options
from scrapy_pagelets.rendering.snapshot import Frame, page_of

if TYPE_CHECKING:
    import playwright.async_api as playwright

URL = "http://example.com/page"
#: A case for `rendered`: the document, and what stands at other URLs.
Site = Mapping[str, str]


#: Everything by which a page may reach an address without a request that a route sees. ``{at}`` is the address.
LEAKS = """<link rel=preconnect href="http://{at}"><link rel=dns-prefetch href="http://{at}"><link rel=prerender
href="http://{at}/1"><script type=speculationrules>{{"prefetch": [{{"source": "list", "urls": ["http://{at}/2"]}}],
"prerender": [{{"source": "list", "urls": ["http://{at}/3"]}}]}}</script><script>
const [host, port] = "{at}".split(":"), login = {{username: "a", credential: "b"}};
const frame = document.createElement("iframe"), servers = [{{urls: ["stun:{at}", "stun:localhost:" + port]}},
  {{urls: ["turn:{at}?transport=udp", "turn:{at}?transport=tcp", "turns:{at}?transport=tcp"], ...login}}];
const candidates = [`1 1 udp 2113937151 ${{host}} ${{port}} typ host`,
  `2 1 udp 2113937151 localhost ${{port}} typ host`,
  `3 1 tcp 2113937151 ${{host}} ${{port}} typ host tcptype passive`];
async function call(view) {{
  const one = new view.RTCPeerConnection({{iceServers: servers}}), other = new view.RTCPeerConnection();
  one.createDataChannel("x");
  await one.setLocalDescription();
  await other.setRemoteDescription(one.localDescription);
  await other.setLocalDescription();
  await one.setRemoteDescription(other.localDescription);
  for (const line of candidates)
    one.addIceCandidate({{candidate: "candidate:" + line, sdpMid: "0", sdpMLineIndex: 0}}).catch(() => 0);
}}
document.body.append(frame); call(window); call(frame.contentWindow);
const source = `new WebSocket("ws://{at}/4"); fetch("http://{at}/5", {{mode: "no-cors"}}).catch(() => 0);
  const way = new WebTransport("https://{at}/6"); way.ready.catch(() => 0); way.closed.catch(() => 0);`;
const code = URL.createObjectURL(new Blob([source]));
new Worker(code); new SharedWorker(code); new Function(source)(); navigator.sendBeacon("http://{at}/7");
navigator.serviceWorker?.register("/worker.js").catch(() => 0);
document.body.insertAdjacentHTML("beforeend", '<iframe srcdoc="<script>parent.call(window)</scr' + 'ipt>"></iframe>');
</script>"""


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


class _Chromium:
    """A browser that runs in a thread until the tests of this process end; one that a test has killed is replaced."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._driver: playwright.Playwright | None = None
        self._browser: playwright.Browser | None = None
        atexit.register(self.close)

    def run(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()

    async def browser(self) -> playwright.Browser:
        from playwright.async_api import async_playwright

        if self._driver is None:
            self._driver = await async_playwright().start()
        if self._browser is None or not self._browser.is_connected():
            self._browser = await self._driver.chromium.launch(**launch_options())
        return self._browser

    def close(self) -> None:
        self.run(self._stop())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _stop(self) -> None:
        if self._browser is not None:
            await self._browser.close()
        if self._driver is not None:
            await self._driver.stop()


_chromium = cache(_Chromium)


def in_tab(act: Callable[[playwright.Page], Awaitable[Any]], **options: Any) -> Any:
    """Run a coroutine that uses a new tab, which shares nothing with other tabs, and return its result."""

    async def run() -> Any:
        browser = await _chromium().browser()
        tab = await browser.new_page(**options)
        try:
            return await act(tab)
        finally:
            await tab.close()

    return _chromium().run(run())


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

    async def render() -> list[list[Frame]]:
        browser = Browser(_chromium().browser, **{"timeout": 120, **options})
        return await asyncio.gather(*(browser.render(URL, document, answering(site or {})) for document in documents))

    pages = []
    for document, frames in zip(documents, _chromium().run(render()), strict=True):
        received = Page.parse(document.encode(), URL, "text/html; charset=utf-8") if source else None
        pages.append(page_of(frames, URL, received))
    return pages
