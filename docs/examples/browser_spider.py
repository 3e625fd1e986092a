"""A spider whose pages are downloaded by a browser, with scrapy-playwright."""

import shutil

import scrapy

#: The browser of the system; None is the one that Playwright has installed.
CHROMIUM = shutil.which("chromium-headless-shell") or shutil.which("chromium")


class Rendered(scrapy.Spider):
    """Load a few pages as a browser shows them."""

    name = "rendered"
    custom_settings = {
        "ADDONS": {"scrapy_pagelets.Addon": 500},
        "PLAYWRIGHT_LAUNCH_OPTIONS": {"executable_path": CHROMIUM},
        "DOWNLOAD_HANDLERS": {"http": "scrapy_playwright.handler.ScrapyPlaywrightDownloadHandler"},
    }

    async def start(self):
        """Request the start page; `playwright` in the meta chooses the browser."""
        yield scrapy.Request(self.url, meta={"playwright": True})

    def parse(self, response):
        """Yield the page and five pages of its menu."""
        yield {"url": response.url}
        links = response.css("nav a[href$='.html']:not([href^='http'])")[1:6]
        yield from response.follow_all(links, meta={"playwright": True})
