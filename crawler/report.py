"""The former module of the extension `SiteReport`, for projects whose settings name it."""

from __future__ import annotations

from scrapy_pagelets.crawler.extensions import SiteReport

__all__ = ["SiteReport"]
