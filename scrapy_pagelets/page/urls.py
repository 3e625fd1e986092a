"""Normalise URLs as link targets: one spelling for each page, however a link spells it."""

from __future__ import annotations

import re
from functools import cache
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import TYPE_CHECKING, Final
from urllib.parse import SplitResult, urljoin, urlsplit

from xxhash import xxh3_64_intdigest

from scrapy_pagelets.base.caches import cached
from scrapy_pagelets.base.characters import lazily, quoted
from scrapy_pagelets.core import give
from scrapy_pagelets.core.urls import absolute as absolute
from scrapy_pagelets.core.urls import files_among as files_among
from scrapy_pagelets.core.urls import pages_of_host as pages_of_host
from scrapy_pagelets.core.urls import targets_of as targets_of
from scrapy_pagelets.core.urls import written_addresses as written_addresses

if TYPE_CHECKING:
    import tldextract

# Parameters that campaigns and sessions add to a link without changing the page behind it.
_TRACKING: Final = (
    "utm_source utm_medium utm_campaign utm_term utm_content utm_id gclid dclid fbclid msclkid yclid mc_cid mc_eid "
    "PHPSESSID jsessionid"
).split()
_SESSION_ID: Final = lazily(r";jsessionid=[^/;]*", re.IGNORECASE)
_INDEX: Final = lazily(r"/(?:index|default)\.(?:x?html?|php|aspx?)$", re.IGNORECASE)
_PLAIN_PATH: Final = lazily(r"(?:/[A-Za-z0-9_~-][A-Za-z0-9_.~-]*)*/?")
_PLAIN_QUERY: Final = lazily(r"[A-Za-z0-9_=&.-]*")
_ABSOLUTE: Final = lazily(r"https?://[^/?#]", re.IGNORECASE)
#: Addresses of pictures that keep the place of another.
PLACEHOLDER: Final = lazily(
    r"(?:^|/)(?:(?:blank|spacer|placeholder|transparent|loading|lazy|1x1|pixel)[\w-]*\.(?:gif|png|svg)|"
    r"(?:clear|trans|empty|dot|shim|gr[ae]y|nothing|1)\d*\.gif)(?:$|[?#])",
    re.IGNORECASE,
)
_CONTROL: Final = "".join(map(chr, range(33)))
LONGEST: Final = 2083  # longer URLs are data, and no crawler follows them
#: Characters that the addresses of all links of a page may have: a short link below a long base is an address as long.
ROOM: Final = 5_000_000
COST: Final = 20  # what a parameter costs of it, and each character of a host name that is not ASCII
_HOST: Final = lazily(r"[\s\0-\x20]*(?:https?:)?//([^/?#]*)", re.IGNORECASE)
_LONGEST_HOST: Final = 253  # characters of a name that the DNS can have (RFC 1035, 2.3.4)
_NOT_A_PAGE: Final = lazily(
    r"\.(?:css|js|mjs|json|xml|rss|atom|rdf|pdf|zip|t?gz|t?bz2|tbz|t?xz|zst|7z|rar|tar|jar|war|whl|gem|exe|msi|apk|dmg|deb|rpm|"
    r"iso|bin|png|jpe?g|gif|svgz?|webp|avif|heic|ico|bmp|tiff?|psd|mp[234]|mpe?g|m4[av]|ogg|og[av]|opus|flac|wav|wm[av]|avi|"
    r"mov|mkv|webm|flv|swf|docx?|xlsx?|pptx?|rtf|od[tsp]|epub|mobi|txt|csv|tsv|ics|vcf|bib|sql|patch|diff|asc|sig|md5|sha\d+|"
    r"torrent|ps|woff2?|ttf|otf|eot|map|wasm)$",
    re.IGNORECASE,
)
#: Parsers disagree about backslashes and control characters, and a user name can look like a host.
_AMBIGUOUS: Final = lazily(r"[\\\x00-\x1f\x7f-\x9f]|^[^/?]*//[^/?]*@")
_WEB: Final = ("http://", "https://")
_SCHEMES: Final = (*_WEB, "file://")
_LINK: Final = lazily(r"""<([^<>]*)>((?:\s*;(?:[^,;"]|"[^"]*")*)*)""")  # a link of an HTTP header with its parameters
_PARAMETER: Final = lazily(r""";\s*([\w*-]+)\s*=\s*(?:"([^"]*)"|([^;"]*))""")  # one of these


@cached
def normalise(url: str) -> str:
    """Normalise an absolute URL: no fragment, user, default port, index file, tracking or session parameter.

    The scheme ``https`` becomes ``http``, because sites link to their own pages with both.

    Raise ValueError if the URL cannot be parsed, as ``http://[half``.

    >>> normalise("HTTPS://Example.com:443/a/./index.html?utm_source=x#top")
    'http://example.com/a/'
    """
    parts = urlsplit(url)
    scheme = "http" if parts.scheme == "https" else parts.scheme
    query = _query(parts.query) if parts.query else ""
    return f"{scheme}://{_netloc(parts)}{_path(parts.path)}" + (f"?{query}" if query else "")


def _netloc(parts: SplitResult) -> str:
    try:
        port = parts.port
    except ValueError:  # "http://host:port/" written by hand
        port = None
    host = (parts.hostname or "").rstrip(".")
    if ":" in host:
        host = f"[{host}]"
    elif not host.isascii() and len(host) <= _LONGEST_HOST:
        host = _encoded(host)
    return host if port in (None, 80, 443) else f"{host}:{port}"


def _query(query: str) -> str:
    if _PLAIN_QUERY.fullmatch(query):  # the same as w3lib, in a tenth of the time
        pairs = (pair.partition("=") for pair in query.split("&") if pair)
        return "&".join(f"{name}={value}" for name, _, value in sorted(pairs) if name not in _TRACKING)
    # Imported where it is used: it loads HTTP and TLS, which the start of the command `clean` would wait for.
    from w3lib.url import canonicalize_url, url_query_cleaner

    cleaned = url_query_cleaner(f"http://h/?{query}", _TRACKING, remove=True, unique=False)
    return urlsplit(canonicalize_url(cleaned)).query


@cached
def _encoded(name: str) -> str:
    try:
        return name.encode("idna").decode()
    except UnicodeError:  # such a host cannot exist, but pages link to it
        return name


def _path(path: str) -> str:
    if not _PLAIN_PATH.fullmatch(path):
        from w3lib.url import canonicalize_url

        path = urlsplit(canonicalize_url("http://h" + _SESSION_ID.sub("", path).replace("?", "%3F"))).path
        if "/." in path and not path.startswith("//"):
            # Remove the segments `.` and `..` (RFC 3986, Section 5.2.4).
            path = urljoin("http://h/", path).removeprefix("http://h")
    return _INDEX.sub("/", path) or "/"


def resolve(base: str, href: str) -> tuple[int, str]:
    """Hash and normalised URL of a link; ``(0, "")`` if it is broken or no page (``mailto:``, ``javascript:``)."""
    href = href.strip().strip(_CONTROL)
    if len(href) > LONGEST:
        return 0, ""
    return _resolve(_relevant_base(base, href), href)


def cost_of(href: str) -> int:
    """What a link costs of the `ROOM` before it is resolved: what takes longer than all else."""
    host = None if href.isascii() else _HOST.match(href)
    return COST * (href.count("&") + (0 if host is None or host[1].isascii() else len(host[1])))


def links_of_header(header: str) -> list[tuple[str, str]]:
    """Return relation and address of each link of an HTTP header ``Link`` (RFC 8288), but for links of other pages."""
    found = []
    for address, text in _LINK.findall(header[:8192]):
        parameters = {name.lower(): quoted_value or value for name, quoted_value, value in _PARAMETER.findall(text)}
        if "anchor" not in parameters:
            found.append((parameters.get("rel", "").strip(), address))
    return found


def schemes_from(base: str) -> tuple[str, ...]:
    """Prefixes of the URLs that a page may link to: only a page of the file system may link to files."""
    return _SCHEMES if base[:7].lower() == "file://" else _WEB


def is_ambiguous(url: str) -> bool:
    """Return True if parsers may disagree on the host of a URL: it has a user, a backslash or a control character."""
    return bool(_AMBIGUOUS.search(url.partition("#")[0]))


@cached
def is_web(url: str) -> bool:
    """Return True for an absolute HTTP or HTTPS URL with a host and a valid port, on which all parsers agree."""
    if not url[:8].lower().startswith(_WEB) or is_ambiguous(url):
        return False
    try:
        parts = urlsplit(url)
        return bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port beyond 65535, half an IPv6 address
        return False


def _relevant_base(base: str, href: str) -> str:
    """Return the part of the base that the link depends on: results are cached for all pages, or for each folder."""
    if _ABSOLUTE.match(href):
        return ""
    if href[:1] == "/":
        return base if href[1:2] == "/" else _folder(base)
    return _folder(base) if href and href[0] not in "#?" and ":" not in href else base


def _folder(base: str) -> str:
    end = base.rfind("/") + 1
    return base[:end] if end > base.find("//") + 2 else base


@cached
def _resolve(base: str, href: str) -> tuple[int, str]:
    try:
        url = urljoin(base, href) if base else href
        may_lead = len(url) <= LONGEST and url[:8].lower().startswith(schemes_from(base))
        target = "" if not may_lead or is_ambiguous(url) or is_ambiguous(href) else normalise(url)
    except ValueError:  # "http://[broken"
        target = ""
    return (_hash(target), target) if target and not target.startswith("http:///") else (0, "")


def _hash(target: str) -> int:
    return xxh3_64_intdigest(target.encode("utf-8", "replace")) >> 1


def normalised(url: str) -> str:
    """The normalised URL; a broken one as it is."""
    try:
        return normalise(url)
    except ValueError:  # "http://[broken"
        return url


def key(url: str) -> int:
    """63-bit hash of the normalised URL; a broken URL is hashed as it is."""
    return _hash(normalised(url))


@cached
def host_of(url: str) -> str:
    """Host, and port where it is not the default one; "" for a broken URL."""
    try:
        return _netloc(urlsplit(url))
    except ValueError:
        return ""


def same_host(url: str, other: str) -> bool:
    """Return True if two URLs have the same host and port, ignoring ``www.``; False for broken URLs."""
    host = host_of(url).removeprefix("www.")
    return bool(host) and host == host_of(other).removeprefix("www.")


def is_page_of_host(url: str, host: str) -> bool:
    """Return True if a URL leads to a page of a host, as `host_of` returns it, without ``www.``."""
    return bool(host) and host_of(url).removeprefix("www.") == host and is_page(url)


@cached
def site_of(url: str) -> str:
    """The site of a URL: its registrable domain, or host and port if it has none (IP addresses, intranets).

    A domain that a provider shares among customers (``github.io``) is not a site; a customer's domain below it is.
    """
    host = host_of(url)
    return _suffixes().extract_str(host).top_domain_under_public_suffix or host


@cache
def _suffixes() -> tldextract.TLDExtract:
    """The public suffixes; a page by itself needs none of them, and they take as long to import as NumPy."""
    import tldextract

    return tldextract.TLDExtract(suffix_list_urls=(), cache_dir=None, include_psl_private_domains=True)


def is_page(url: str) -> bool:
    """Return False for a URL whose path ends like a file that is not a page (style sheet, image, archive, PDF ...)."""
    name = url.partition("#")[0].partition("?")[0].rpartition("/")[2]
    return "." not in name or _is_page(url)  # as most do


@cached
def _is_page(url: str) -> bool:
    try:
        return not _NOT_A_PAGE.search(urlsplit(url).path)
    except ValueError:  # "http://[half"
        return True


def _make_absolute(base: str, href: str) -> str:
    """A link made absolute, as `absolute`, which asks for those that are not plain."""
    href = href.strip()
    if _ABSOLUTE.match(href):
        return href
    join = _join if len(href) <= LONGEST else urljoin  # a cache of longer ones would take megabytes
    return join(_relevant_base(base, href), href)


_join = cached(urljoin)

give(
    "urls", joined=_make_absolute,
    TRACKING=_TRACKING, LONGEST=LONGEST, ROOM=ROOM, COST=COST, cost_of=cost_of, resolve=resolve, quoted=quoted,
    host_of=host_of, is_page=is_page, is_page_of_host=is_page_of_host,
)  # fmt: skip

_TRANSLATED: Final = ip_network("64:ff9b::/96")  # addresses that carry an IPv4 address in their last 32 bits (RFC 6052)


def is_private(host: str) -> bool | None:
    """Return True for a loopback, link-local, private or multicast address, and None for a host name."""
    try:
        address = ip_address(host.strip("[]").partition("%")[0])
    except ValueError:
        return None
    inner = _embedded(address) if isinstance(address, IPv6Address) else None
    return not (inner or address).is_global or (inner or address).is_multicast


def _embedded(address: IPv6Address) -> IPv4Address | None:
    if address in _TRANSLATED:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour or (address.teredo[1] if address.teredo else None)
