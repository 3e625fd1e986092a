"""Where the spiders begin: their arguments, sitemaps, and why a start page failed."""

import logging
import re
from contextlib import suppress
from datetime import UTC, datetime, time
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import urljoin, urlsplit

from lxml import etree
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Response
from scrapy.spidermiddlewares.httperror import HttpError
from scrapy.utils.gz import gunzip, gzip_magic_number
from twisted.python.failure import Failure

from scrapy_pagelets.base.characters import lazily
from scrapy_pagelets.session.requests import ForbiddenAddress

logger = logging.getLogger(__name__)

_START: Final = "the spider site needs a start page: -a url=https://example.com/, or -a urls=FILE with one per line"
#: Servers of this machine, which rarely have a certificate.
_OF_THIS_MACHINE: Final = lazily(r"(localhost|127(\.\d+){3}|\[::1\])(?![\w.-])", re.IGNORECASE)


def start_urls(url: str, urls: str) -> list[str]:
    """Return the start pages: the argument ``url``, or the lines of the file ``urls``; ValueError says what to give."""
    if bool(url) == bool(urls):
        raise ValueError(f"{_START}, not both" if url else _START)
    try:
        lines = Path(urls).read_text(encoding="utf-8-sig").splitlines() if urls else [url]
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"the file of start pages cannot be read: {error}") from error
    pages = [line.strip() for line in lines if line.strip() and not line.strip().startswith("#")]
    if not pages:
        raise ValueError(f"{urls} has no start page: write one per line")
    return [_absolute(page) for page in pages]


def _absolute(url: str) -> str:
    absolute = url if "://" in url else f"{'http' if _OF_THIS_MACHINE.match(url) else 'https'}://{url}"
    try:
        parts = urlsplit(absolute)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable or " " in absolute:
        raise ValueError(f"{url!r} is not the URL of a page: give one like https://example.com/")
    return absolute


def number(name: str, value: str | int) -> int:
    """Return the value of an argument that takes a whole number; a script gives it as one."""
    if not (str(value).isascii() and str(value).isdecimal()):
        raise ValueError(f"{name} is {value!r}: give a whole number, 0 for no limit")
    return int(value)


def moment(name: str, value: str) -> datetime | None:
    """Return the value of an argument that takes a day, or a time; None for none."""
    try:
        found = datetime.fromisoformat(value) if value else None
    except ValueError:
        raise ValueError(f"{name} is {value!r}: give a day like 2026-11-20, or a time") from None
    return found if found is None or found.tzinfo else found.replace(tzinfo=UTC)


def sitemap(value: str) -> tuple[bool, str]:
    """Return whether the argument ``sitemap`` asks for sitemaps, and the URL of one if it names that."""
    if value in ("", "0", "1"):
        return value == "1", ""
    try:
        return True, _absolute(value if "." in value else "")
    except ValueError:
        raise ValueError(f"sitemap is {value!r}: give 1 for yes, 0 for no, or the URL of a sitemap") from None


def beginning(name: str, value: str) -> str:
    """Return the value of an argument that takes a URL prefix, "" for none."""
    if value and not value.lower().startswith(("http://", "https://", "file://")):
        raise ValueError(f"{name} is {value!r}: give the beginning of a URL, like https://example.com/")
    return value


def flag(name: str, value: str) -> bool:
    """Return the value of an argument that takes 0 or 1."""
    if value not in ("", "0", "1"):
        raise ValueError(f"{name} is {value!r}: give 1 for yes or 0 for no")
    return value == "1"


def warn_of_unknown(names: dict[str, object], known: str) -> None:
    """Log a warning about unknown arguments, if there are any; tools like scrapyd pass some like ``_job``."""
    if unknown := ", ".join(name for name in names if not name.startswith("_")):
        logger.warning("unknown argument %s: the spider takes %s", unknown, known)


_MAX_SIZE: Final = 50 << 20  # bytes of an unpacked sitemap: the protocol allows 50 MB; a compressed one may be a bomb
_SITEMAP_LINE: Final = lazily(r"^[ \t]*sitemap[ \t]*:[ \t]*(\S+)", re.IGNORECASE | re.MULTILINE)
_MAX_ROBOTS: Final = 500 << 10  # bytes of robots.txt that are read (RFC 9309)


def sitemaps_of(robots: Response) -> list[str]:
    """Return the URLs of the sitemaps in robots.txt; without one, ``/sitemap.xml``."""
    listed = _SITEMAP_LINE.findall(robots.body[:_MAX_ROBOTS].decode("utf-8", "replace")) if robots.status == 200 else []
    return [_joined(robots.url, url) for url in listed] or [urljoin(robots.url, "/sitemap.xml")]


class SitemapEntry(NamedTuple):
    """What a sitemap lists: a page, or another sitemap, and the text that says when it was last modified."""

    url: str
    is_sitemap: bool
    modified: str

    def is_older(self, moment: datetime | None) -> bool:
        """True if it was certainly last modified before a moment; a day lasts until its end."""
        with suppress(ValueError, OverflowError):
            found = datetime.fromisoformat(self.modified)
            if len(self.modified) == len("2026-11-20"):
                found = datetime.combine(found, time.max)
            return moment is not None and (found if found.tzinfo else found.replace(tzinfo=UTC)) < moment
        return False


def entries(response: Response) -> list[SitemapEntry]:
    """Return what a sitemap, or an index of sitemaps, lists; ValueError if it is neither."""
    parser = etree.XMLParser(recover=True, resolve_entities=False, no_network=True, huge_tree=True)
    try:
        body = gunzip(response.body, max_size=_MAX_SIZE) if gzip_magic_number(response) else response.body
        root = etree.fromstring(body, parser)
    except (etree.LxmlError, OSError, EOFError, ValueError) as error:
        raise ValueError(f"{response.url} is not a sitemap: {error}") from None
    kind = "nothing" if root is None else etree.QName(root).localname
    if kind not in ("urlset", "sitemapindex"):
        raise ValueError(f"{response.url} is not a sitemap: it begins with {kind}")
    found = []
    for loc in root.xpath("*[local-name() = 'url' or local-name() = 'sitemap']/*[local-name() = 'loc']"):
        modified = loc.xpath("string(../*[local-name() = 'lastmod'])").strip()
        found.append(SitemapEntry(_joined(response.url, (loc.text or "").strip()), kind == "sitemapindex", modified))
    return found


def _joined(base: str, url: str) -> str:
    """Return the absolute URL; "" for one that cannot be read, such as ``http://[half``."""
    try:
        return urljoin(base, url)
    except ValueError:
        return ""


def failed(failure: Failure) -> tuple[str, str]:
    """Return the last part of the stat that counts a failure, and a sentence on it, for a start page."""
    error, url = failure.value, failure.request.url  # type: ignore[attr-defined]
    if isinstance(error, HttpError):
        status = error.response.status
        return str(status), f"{url} returned status {status}: nothing to crawl; check the URL"
    if isinstance(error, ForbiddenAddress):
        return "private", str(error)
    if not isinstance(error, IgnoreRequest):
        why = str(error).strip().rstrip(".") or type(error).__name__
        return type(error).__name__, f"{url} cannot be loaded: {why}; check the URL and whether the site is up"
    message = str(error).lower()
    if "robots.txt" in message:
        sentence = f"robots.txt of {urlsplit(url).netloc} forbids {url}: nothing to crawl (ROBOTSTXT_OBEY)"
        return "forbidden", sentence
    if "redirection" in message:
        return "ignored", f"{url} redirects in a loop: nothing to crawl; check the URL"
    return "ignored", f"{url} was not loaded: {message or 'the request was refused'}"


def muted(record: logging.LogRecord) -> bool:
    """Let an error of another logger be logged at INFO level without traceback: the spider reports failed pages."""
    record.exc_info = None
    if record.levelno > logging.INFO:
        record.levelno, record.levelname = logging.INFO, "INFO"
    return True
