"""The items that the spiders yield."""

from __future__ import annotations

from typing import Any

from scrapy_pagelets.feed.feed_schema import FEED
from scrapy_pagelets.session.config import Config


def page_item(url: str, config: Config) -> dict[str, Any]:
    """Return an item with the fields of the feed; the pipelines fill the blank ones."""
    blanks: dict[str, Any] = {field.name: [] if field.listed else None for field in FEED if not field.optional}
    line = blanks | {"url": url}
    return {field: value for name, value in line.items() if (field := config.field_name(name)) is not None}
