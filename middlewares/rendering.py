"""The downloader middleware that renders pages in a browser."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.http import HtmlResponse, Response
from scrapy.settings import BaseSettings
from scrapy.utils.asyncio import is_asyncio_available
from scrapy.utils.misc import load_object
from scrapy.utils.spider import DefaultSpider

from scrapy_pagelets.page.data_text import is_shell
from scrapy_pagelets.page.urls import host_of
from scrapy_pagelets.rendering.browser import Browser, MissingBrowser, RenderError, launch_options, require_playwright
from scrapy_pagelets.rendering.page_load import ConnectProxy, Permit
from scrapy_pagelets.session.config import AUTO
from scrapy_pagelets.session.crawl_session import Component, abort_crawl
from scrapy_pagelets.session.requests import addresses, is_forbidden
from scrapy_pagelets.session.response_store import FRAMES, RenderedResponse, is_html
from scrapy_pagelets.session.threads import in_thread, in_waiting_thread

if TYPE_CHECKING:
    import playwright.async_api as playwright
    from scrapy_playwright.provider import BrowserProvider

RENDER = "pagelets_render"  # request meta: whether to render the page, whatever the setting says


class RenderingMiddleware(Component):
    """Render pages, so that their tree is that of the browser and every node has a layout.

    ``PAGELETS_RENDER`` renders all pages, or with ``auto`` the shells of scripts; request meta ``pagelets_render``
    single ones. No page is downloaded twice: the browser loads the response, and requests only the resources, from the
    network or an archive. Body and selectors stay as received. scrapy-playwright starts the browser.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        if isinstance(crawler.spider, DefaultSpider):
            raise NotConfigured  # `scrapy fetch`, `view` and `shell` show the page as it is
        self.settings = crawler.settings
        self._browser: Browser | None = None
        self._provider: BrowserProvider | None = None
        self._proxy: ConnectProxy | None = None
        self._missing = False
        if self.session.config.render:
            try:
                self._require_browser()
            except MissingBrowser as error:
                abort_crawl(crawler, f"PAGELETS_RENDER is on, but {error}")

    async def process_response(self, request: Request, response: Response) -> Response:
        frames = request.meta.pop(FRAMES, ())
        if not is_html(response) or isinstance(response, RenderedResponse):
            return response
        wanted = request.meta.get(RENDER, self.session.config.render)
        if not (wanted and 200 <= response.status < 300):
            return response
        if frames:
            return response.replace(cls=RenderedResponse, frames=frames)
        try:
            read = self.session.page
            if wanted == AUTO and not await self.session.compute(response, lambda: is_shell(read(response))):
                return response
            return await self._rendered(request, response)
        except MissingBrowser as error:
            self._missing = True
            self.session.warn("render/failed/no_browser", "%s is not rendered: %s", response.url, error)
        except RenderError as error:
            self.session.warn(f"render/failed/{error.reason}", "%s is cleaned without layout: %s", response.url, error)
        except Exception:
            self.session.failed(response.url)
        return response

    async def _rendered(self, request: Request, response: HtmlResponse) -> RenderedResponse:
        if self._missing:
            raise MissingBrowser("no browser is available")
        if self._browser is None:
            used = self.settings.getdict("PLAYWRIGHT_LAUNCH_OPTIONS").get("proxy") or _is_elsewhere(self.settings)
            # It resolves names as they were checked.
            self._proxy = None if used or self.session.config.private_addresses else ConnectProxy(addresses)
            self._browser = Browser(
                self._launch,
                scripts=self.session.config.render_scripts,
                timeout=self.session.config.render_timeout,
                permit=None if self.session.config.private_addresses else self._permit,
                proxy="" if self._proxy is None else self._proxy.url,
            )
        document = await in_thread(self.session.text, response)
        agent = (request.headers.get("User-Agent") or b"").decode("latin-1") or None
        resources = self.session.resources
        lookup = None if resources is None else lambda url: in_waiting_thread(resources.get, url)
        frames = await self._browser.render(response.url, document, lookup, user_agent=agent)
        self.session.count("render/pages")
        return response.replace(cls=RenderedResponse, frames=frames)

    def _permit(self, page: str) -> Permit:
        """Return a check of the URLs that a page may load: none at private addresses, except those of its own host."""
        hosts = {host_of(page), *self.session.start_hosts}

        async def permit(url: str) -> bool:
            if host_of(url) in hosts or not await is_forbidden(urlsplit(url).hostname or ""):
                return True
            self.session.warn("render/private", "%s is not loaded for %s: it is at a private address", url, page)
            return False

        return permit

    def _require_browser(self) -> dict[str, Any]:
        if obstacle := self.session.config.obstacle_to_rendering:
            raise MissingBrowser(obstacle)
        require_playwright()
        if not is_asyncio_available():
            raise MissingBrowser("rendering needs the asyncio reactor: leave TWISTED_REACTOR at Scrapy's default")
        own = self.settings.getdict("PLAYWRIGHT_LAUNCH_OPTIONS")
        return own if _is_elsewhere(self.settings) else launch_options(own)

    async def _launch(self) -> playwright.Browser:
        options = await in_waiting_thread(self._require_browser)
        if self._provider is None:
            from scrapy_playwright.handler import DEFAULT_BROWSER_PROVIDER, Config

            config = Config.from_settings(self.settings)
            config.launch_options = options
            provider = self.settings.get("PLAYWRIGHT_BROWSER_PROVIDER") or DEFAULT_BROWSER_PROVIDER
            self._provider = load_object(provider)(config)
            await self._provider.start()
            if self._proxy is not None:
                await self._proxy.start()
        browser: playwright.Browser = await self._provider.launch_browser()
        return browser

    async def spider_closed(self) -> None:
        if self._browser is not None:
            self.session.count("render/browsers", self._browser.launched)
            await self._browser.close()
        if self._proxy is not None:
            self._proxy.close()
        if self._provider is not None:
            await self._provider.close()


def _is_elsewhere(settings: BaseSettings) -> bool:
    """True if the project configures a browser other than a local Chromium."""
    names = ("PLAYWRIGHT_CDP_URL", "PLAYWRIGHT_CONNECT_URL", "PLAYWRIGHT_BROWSER_PROVIDER")
    kind = settings.get("PLAYWRIGHT_BROWSER_TYPE", "chromium")
    return kind != "chromium" or any(settings.get(name) for name in names)
