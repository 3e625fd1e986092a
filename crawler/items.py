"""The items that the spiders yield."""

from __future__ import annotations

from typing import Any

from scrapy_pagelets.session.config import Config


def page_item(url: str, config: Config) -> dict[str, Any]:
    """Return an item with the fields of the feed, version 1; the pipelines fill the blank ones."""
    line: dict[str, Any] = {
        "url": url,
        "title": None,
        "language": None,
        "fetched_at": None,
        "text": None,
        "pagelets": [],
        "template": None,
        "near_duplicate_of": None,
        "similarity": None,
        "sketch": None,
    }
    names = {name: config.field_name(name) for name in line}
    return {field: line[name] for name, field in names.items() if field is not None}
