"""Pages for indexes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from scrapy_pagelets.index.interface import IndexedPage, page_of

_START = datetime(2026, 1, 1, tzinfo=UTC)


def at(minutes: int) -> str:
    """A moment; later ones are greater."""
    return (_START + timedelta(minutes=minutes)).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def line(url: str, *texts: str, **about: Any) -> dict[str, Any]:
    """A line of a feed whose pagelets have these texts; a pair is text and role."""
    pagelets = [
        {
            "id": 2 * number,
            "role": role,
            "templateness": 0.25,
            "text": text,
            "words": len(text.split()),
            "xpaths": [f"/html/body/p[{number}]"],
            "links": [{"url": "http://example.com/linked", "anchor": "more"}],
        }
        for number, (text, role) in enumerate(one if isinstance(one, tuple) else (one, "content") for one in texts)
    ]
    return {"url": url, "title": "", "language": "en", "fetched_at": None, "near_duplicate_of": None} | {
        "pagelets": pagelets,
        **about,
    }


def indexed(url: str, *texts: Any, minute: int = 0, **about: Any) -> IndexedPage:
    return page_of(line(url, *texts, **about), at(minute))
