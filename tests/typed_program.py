"""A small program as users write it: mypy, which the tests run, says what its parts are."""

from pathlib import Path
from typing import assert_type

from scrapy_pagelets import CleanPage, Site, clean


def texts(folder: Path) -> list[str]:
    """Clean the pages of a folder as those of one site."""
    pages = [(path.read_bytes(), f"https://example.com/{path.name}") for path in folder.glob("*.html")]
    site = assert_type(Site.of(pages), Site)
    cleaned = assert_type([site.clean(html, url) for html, url in pages], list[CleanPage])
    headline = assert_type(clean("<p>a", "https://example.com/").headline, str | None)
    return [page.markdown for page in cleaned] + [headline or ""]
