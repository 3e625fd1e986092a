"""Clean text from whole sites: pagelets, template detection, and the search and crawl tools built on them."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scrapy_pagelets.crawler.addon import Addon
    from scrapy_pagelets.document.markdown import markdown
    from scrapy_pagelets.feed.cleaning import CleanPage, clean
    from scrapy_pagelets.feed.cleaning import LearntSite as Site
    from scrapy_pagelets.feed.pagelet import Pagelet, segment
    from scrapy_pagelets.page.page import Page

__all__ = ["Addon", "CleanPage", "Page", "Pagelet", "Site", "clean", "markdown", "segment"]
__version__ = "0.3.0"

# Scrapy imports this package whenever it starts, to find the command, so the names below are imported on first use.
_MODULES = {
    "Addon": ("scrapy_pagelets.crawler.addon", "Addon"),
    "CleanPage": ("scrapy_pagelets.feed.cleaning", "CleanPage"),
    "Page": ("scrapy_pagelets.page.page", "Page"),
    "Pagelet": ("scrapy_pagelets.feed.pagelet", "Pagelet"),
    "Site": ("scrapy_pagelets.feed.cleaning", "LearntSite"),
    "clean": ("scrapy_pagelets.feed.cleaning", "clean"),
    "markdown": ("scrapy_pagelets.document.markdown", "markdown"),
    "segment": ("scrapy_pagelets.feed.pagelet", "segment"),
}


def __dir__() -> list[str]:
    return sorted(globals() | _MODULES)


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, attribute = _MODULES[name]
    return getattr(import_module(module), attribute)
