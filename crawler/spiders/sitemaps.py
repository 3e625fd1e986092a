"""Sitemaps, as far as a crawl needs them."""

from __future__ import annotations

import re
from typing import Final, NamedTuple
from urllib.parse import urljoin

from lxml import etree
from scrapy.http import Response
from scrapy.utils.gz import gunzip, gzip_magic_number

_NAMED: Final = re.compile(r"^\s*sitemap\s*:\s*(\S+)", re.IGNORECASE | re.MULTILINE)


class Entry(NamedTuple):
    """A URL in a sitemap, of a page or of another sitemap."""

    url: str
    is_sitemap: bool


def sitemaps_of(robots: Response) -> list[str]:
    """The sitemaps that robots.txt names, or the usual place."""
    named = _NAMED.findall(robots.body.decode("utf-8", "replace")) if robots.status == 200 else []
    return [urljoin(robots.url, url) for url in named] or [urljoin(robots.url, "/sitemap.xml")]


def entries(response: Response) -> list[Entry]:
    """What a sitemap or an index of sitemaps lists.

    Raises
    ------
    ValueError : if it is neither
    """
    parser = etree.XMLParser(recover=True, resolve_entities=False, no_network=True, huge_tree=True)
    try:
        body = gunzip(response.body) if gzip_magic_number(response) else response.body
        root = etree.fromstring(body, parser)
    except (etree.LxmlError, OSError, EOFError) as error:
        raise ValueError(f"{response.url} is not a sitemap: {error}") from None
    kind = "nothing" if root is None else etree.QName(root).localname
    if kind not in ("urlset", "sitemapindex"):
        raise ValueError(f"{response.url} is not a sitemap: it begins with {kind}")
    found = root.xpath("*[local-name() = 'url' or local-name() = 'sitemap']/*[local-name() = 'loc']")
    return [Entry(urljoin(response.url, (loc.text or "").strip()), kind == "sitemapindex") for loc in found]
