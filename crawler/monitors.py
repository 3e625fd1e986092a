"""Monitors for Spidermon (extra ``monitor``): whether a crawl was cleaned as it should be.

``SPIDERMON_SPIDER_CLOSE_MONITORS = ["scrapy_pagelets.crawler.monitors.PageletsMonitorSuite"]`` switches them on.
"""

from typing import Final

from spidermon import MonitorSuite
from spidermon.contrib.scrapy.monitors import BaseScrapyMonitor

_MOST_EMPTY: Final = ("SPIDERMON_PAGELETS_MOST_EMPTY", 0.05)  # setting: most pages that may be empty, and its default
_TROUBLE: Final = {  # stats of what must not happen -> what it is
    "lost": "things were lost for good",
    "pages/failed": "pages could not be cleaned",
    "start/failed": "start pages could not be used",
}


class _PageletsMonitor(BaseScrapyMonitor):  # type: ignore[misc]
    def stat(self, name: str) -> int:
        return int(self.stats.get(f"pagelets/{name}", 0))


class ContentMonitor(_PageletsMonitor):
    """Something is left of the pages."""

    def test_pages_were_cleaned(self) -> None:
        """A crawl whose pages were all the same, and left out, is as it should be."""
        if not self.stat("pages/cleaned") + self.stat("recrawl/not_modified"):
            self.fail("no page was cleaned")

    def test_something_is_left(self) -> None:
        """Few pages are empty."""
        pages, empty = self.stat("pages/cleaned"), self.stat("pages/empty")
        if empty > self.crawler.settings.getfloat(*_MOST_EMPTY) * pages:
            self.fail(f"nothing is left of {empty} of {pages} pages: pagelets report FEED shows which")


class TemplateMonitor(_PageletsMonitor):
    """A template was found."""

    def test_something_was_stripped(self) -> None:
        """Pages of a site without any template are rare."""
        if self.stat("pages/cleaned") and not self.stat("words/template"):
            self.fail("no template was found: nothing was stripped")


class TroubleMonitor(_PageletsMonitor):
    """Nothing was lost, and nothing has failed."""

    def test_no_trouble(self) -> None:
        """The log says more."""
        if found := [f"{number} {what}" for name, what in _TROUBLE.items() if (number := self.stat(name))]:
            self.fail("; ".join(found))


class PageletsMonitorSuite(MonitorSuite):  # type: ignore[misc]
    """All of them."""

    monitors: Final = [ContentMonitor, TemplateMonitor, TroubleMonitor]
