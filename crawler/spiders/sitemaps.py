"""Parsing of sitemaps."""

from __future__ import annotations

import re
from typing import Final, NamedTuple
from urllib.parse import urljoin

from lxml import etree
from scrapy.http import Response
from scrapy.utils.gz import gunzip, gzip_magic_number

#: Bytes of an unpacked sitemap: the protocol allows 50 MB, and a compressed one may be a bomb.
_MAX_SIZE: Final = 50 << 20
_SITEMAP_LINE: Final = re.compile(r"^[ \t]*sitemap[ \t]*:[ \t]*(\S+)", re.IGNORECASE | re.MULTILINE)
#: Bytes of robots.txt that are read (RFC 9309).
_MAX_ROBOTS: Final = 500 << 10


class Entry(NamedTuple):
    """The URL of a page or of another sitemap, as a sitemap lists it."""

    url: str
    is_sitemap: bool


def sitemaps_of(robots: Response) -> list[str]:
    """Return the URLs of the sitemaps in robots.txt; without one, ``/sitemap.xml``."""
    listed = _SITEMAP_LINE.findall(robots.body[:_MAX_ROBOTS].decode("utf-8", "replace")) if robots.status == 200 else []
    return [_joined(robots.url, url) for url in listed] or [urljoin(robots.url, "/sitemap.xml")]


def entries(response: Response) -> list[Entry]:
    """Return the entries of a sitemap or a sitemap index.

    Raises
    ------
    ValueError : if the response is neither
    """
    parser = etree.XMLParser(recover=True, resolve_entities=False, no_network=True, huge_tree=True)
    try:
        body = gunzip(response.body, max_size=_MAX_SIZE) if gzip_magic_number(response) else response.body
        root = etree.fromstring(body, parser)
    except (etree.LxmlError, OSError, EOFError, ValueError) as error:
        raise ValueError(f"{response.url} is not a sitemap: {error}") from None
    kind = "nothing" if root is None else etree.QName(root).localname
    if kind not in ("urlset", "sitemapindex"):
        raise ValueError(f"{response.url} is not a sitemap: it begins with {kind}")
    locs = root.xpath("*[local-name() = 'url' or local-name() = 'sitemap']/*[local-name() = 'loc']")
    return [Entry(_joined(response.url, (loc.text or "").strip()), kind == "sitemapindex") for loc in locs]


def _joined(base: str, url: str) -> str:
    """Return the absolute URL; "" for one that cannot be read, such as ``http://[half``."""
    try:
        return urljoin(base, url)
    except ValueError:
        return ""
