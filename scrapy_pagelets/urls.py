"""URLs as link targets: one spelling for each page, whatever way a link writes it."""

from __future__ import annotations

import re
from functools import lru_cache
from urllib.parse import urljoin, urlsplit

import tldextract
from w3lib.url import canonicalize_url, url_query_cleaner
from xxhash import xxh3_64_intdigest

# What campaigns and sessions add to a link without changing the page behind it.
_TRACKING = ("utm_source", "utm_medium", "utm_campaign", "utm_term", "utm_content", "gclid", "fbclid", "PHPSESSID")
_INDEX = re.compile(r"/(?:index|default)\.(?:x?html?|php|aspx?)$", re.IGNORECASE)
_NOT_A_PAGE = re.compile(
    r"\.(?:css|js|json|xml|rss|atom|pdf|zip|gz|tgz|bz2|xz|7z|rar|tar|jar|exe|dmg|deb|rpm|iso|png|jpe?g|gif|svg|webp|ico|bmp|"
    r"tiff?|mp[34]|m4[av]|ogg|og[av]|wav|avi|mov|webm|flv|swf|docx?|xlsx?|pptx?|od[tsp]|epub|txt|csv|ps|woff2?|ttf|eot)$",
    re.IGNORECASE,
)
# GET requests that change something: a crawler that follows them for a template does harm.
_ACTION = re.compile(
    r"(?:^|[/?&=_.-])(?:log-?_?out|sign-?_?(?:out|off)|log-?_?off|delete|remove|unsubscribe|destroy|add[-_]to[-_]cart|"
    r"add|edit|vote|report|purge|revert|rollback|approve|trash|purchase|checkout)(?:$|[/?&=_.-])",
    re.IGNORECASE,
)
_suffixes = tldextract.TLDExtract(suffix_list_urls=(), cache_dir=None)


@lru_cache(65536)
def normalise(url: str) -> str:
    """One spelling of an absolute URL: no fragment, default port, index file, tracking or session parameter.

    Scheme ``https`` becomes ``http``: sites link to themselves both ways.

    >>> normalise("HTTPS://Example.com:443/a/index.html?utm_source=x#top")
    'http://example.com/a/'
    """
    parts = urlsplit(url)
    host = (parts.hostname or "").rstrip(".")
    try:
        port = parts.port
    except ValueError:  # "http://host:port/" written by hand
        port = None
    netloc = host if port in (None, 80, 443) else f"{host}:{port}"
    path = _INDEX.sub("/", parts.path) or "/"
    scheme = "http" if parts.scheme == "https" else parts.scheme
    query = parts.query
    if query:
        query = urlsplit(canonicalize_url(url_query_cleaner(f"http://h/?{query}", _TRACKING, remove=True))).query
    return f"{scheme}://{netloc}{path}" + (f"?{query}" if query else "")


@lru_cache(65536)
def _resolve(folder: str, href: str) -> tuple[int, str]:
    try:
        url = urljoin(folder, href.strip())
        if not url.startswith(("http://", "https://", "file://")):
            return 0, ""
        target = normalise(url)
    except ValueError:  # "http://[broken"
        return 0, ""
    return xxh3_64_intdigest(target.encode("utf-8", "replace")) >> 1, target


def resolve(base: str, href: str) -> tuple[int, str]:
    """Hash and normalised URL of a link; ``(0, "")`` for what is not a page (``mailto:``, ``javascript:``, broken)."""
    if not href or href[0] in "#?":
        return _resolve(base, href)
    # Pages of one folder share the answers: the template's links are resolved once.
    return _resolve(base[: base.rfind("/") + 1], href)


def key(url: str) -> int:
    """63-bit hash of the normalised URL."""
    return xxh3_64_intdigest(normalise(url).encode("utf-8", "replace")) >> 1


@lru_cache(16384)
def site_of(url: str) -> str:
    """The site of a URL: its registrable domain; host and port where there is none (IP addresses, intranets).

    >>> site_of("https://docs.example.co.uk/a"), site_of("http://127.0.0.1:8000/")
    ('example.co.uk', '127.0.0.1:8000')
    """
    parts = urlsplit(url)
    domain = _suffixes.extract_str(parts.hostname or "").top_domain_under_public_suffix
    return domain or parts.netloc


@lru_cache(65536)
def is_page(url: str) -> bool:
    """False for a URL whose path ends like a file that is no page (style sheet, image, archive, PDF ...)."""
    return not _NOT_A_PAGE.search(urlsplit(url).path)


@lru_cache(65536)
def acts(url: str) -> bool:
    """True for a URL that looks as if a visit logs out, deletes, votes or buys.

    >>> acts("http://a/?action=delete&id=4"), acts("http://a/user/logout"), acts("http://a/additions.html")
    (True, True, False)
    """
    parts = urlsplit(url)
    return bool(_ACTION.search(f"{parts.path}?{parts.query}"))
