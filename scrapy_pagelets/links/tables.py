"""Deprecated alias of `scrapy_pagelets.links.link_tables`, kept for old imports."""

from __future__ import annotations

from scrapy_pagelets.links.link_tables import read

__all__ = ["read"]
