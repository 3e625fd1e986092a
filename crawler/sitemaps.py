"""Sitemaps, as far as a crawl needs them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple
from urllib.parse import urljoin

from lxml.etree import LxmlError
from scrapy.http import Response
from scrapy.utils.gz import gunzip, gzip_magic_number
from scrapy.utils.sitemap import Sitemap, sitemap_urls_from_robots


class Entry(NamedTuple):
    """A URL in a sitemap, of a page or of another sitemap."""

    url: str
    is_sitemap: bool


def sitemaps_of(robots: Response) -> list[str]:
    """The sitemaps that robots.txt names, or the usual place."""
    found = list(sitemap_urls_from_robots(robots.body, base_url=robots.url)) if robots.status == 200 else []
    return found or [urljoin(robots.url, "/sitemap.xml")]


def entries(response: Response) -> Iterator[Entry]:
    """What a sitemap or an index of sitemaps lists.

    Raises
    ------
    ValueError : if it is neither
    """
    try:
        body = gunzip(response.body) if gzip_magic_number(response) else response.body
        sitemap = Sitemap(body)
    except (LxmlError, OSError, EOFError, StopIteration) as error:
        raise ValueError(f"{response.url} is not a sitemap: {error or 'it is empty'}") from None
    if sitemap.type not in ("urlset", "sitemapindex"):
        raise ValueError(f"{response.url} is not a sitemap: it begins with <{sitemap.type}>")
    for entry in sitemap:
        yield Entry(str(entry.get("loc") or "").strip(), sitemap.type == "sitemapindex")
