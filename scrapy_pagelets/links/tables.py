"""The former module of the function `read`, for notebooks that import it."""

from __future__ import annotations

from scrapy_pagelets.links.link_tables import read

__all__ = ["read"]
