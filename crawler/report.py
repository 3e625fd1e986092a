"""Deprecated alias of `scrapy_pagelets.crawler.extensions`, kept for old imports."""

from __future__ import annotations

from scrapy_pagelets.crawler.extensions import SiteReport

__all__ = ["SiteReport"]
