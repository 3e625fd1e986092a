"""Clean text from whole sites: pagelets, templates and what they are good for."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scrapy_pagelets.crawler.addon import Addon
    from scrapy_pagelets.page import Page
    from scrapy_pagelets.segmentation.pagelet import Pagelet, segment
    from scrapy_pagelets.templates.site import Site

__all__ = ["Addon", "Page", "Pagelet", "Site", "segment"]
__version__ = "0.1.0"

# Scrapy imports this package at each start, for its command: nothing is loaded before it is asked for.
_HOMES = {
    "Addon": "scrapy_pagelets.crawler.addon",
    "Page": "scrapy_pagelets.page",
    "Pagelet": "scrapy_pagelets.segmentation.pagelet",
    "Site": "scrapy_pagelets.templates.site",
    "segment": "scrapy_pagelets.segmentation.pagelet",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
