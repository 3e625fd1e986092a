"""What the spiders yield."""

from __future__ import annotations

from typing import Any


def page_item(url: str) -> dict[str, Any]:
    """A line of the feed, version 1, before the pipelines have filled it."""
    return {
        "url": url,
        "title": None,
        "language": None,
        "fetched_at": None,
        "text": "",
        "pagelets": [],
        "template": None,
        "near_duplicate_of": None,
        "similarity": None,
        "sketch": None,
    }
