"""The pages and pagelets of an index, made from lines of the feed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any, Final

from xxhash import xxh3_128_hexdigest

from scrapy_pagelets.index.terms import terms
from scrapy_pagelets.page.urls import site_of

#: Role and number of the pagelet that holds the title of a page.
TITLE: Final = "title"
TITLE_NUMBER: Final = -1
#: Roles of pagelets that are stored but not searched.
UNSEARCHED: Final = ("navigation", "template")
#: NUL and lone surrogates, which databases do not accept.
_UNSTORABLE: Final = re.compile("[\0\ud800-\udfff]")


@dataclass(frozen=True)
class IndexedPagelet:
    """A pagelet; ``docs/feed.md`` explains the fields. ``number`` is the feed's ``id``."""

    number: int
    role: str
    templateness: float
    text: str
    words: int
    xpaths: tuple[str, ...] = ()
    links: tuple[Mapping[str, str], ...] = ()


@dataclass(frozen=True)
class IndexedPage:
    """A page and its pagelets; ``docs/feed.md`` explains the fields.

    Attributes
    ----------
    crawled : when the page was last seen, in the format of `now`; old pages can be purged
    words : number of words in all its pagelets
    pagelets : in document order; the title, if there is one, comes first, with the role ``title`` and the number -1
    """

    url: str
    site: str
    title: str
    language: str | None
    fetched_at: str | None
    crawled: str
    near_duplicate_of: str | None
    words: int
    pagelets: tuple[IndexedPagelet, ...]


def now() -> str:
    """Return the current time like ``2026-11-20T10:00:00.123Z``; later strings are greater."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def page_of(line: Mapping[str, Any], crawled: str | None = None) -> IndexedPage:
    r"""Make a page from a line of the feed.

    Parameters
    ----------
    line : has at least ``url`` and ``pagelets``
    crawled : when the page was seen, see `now`; None to take it from the line

    Raises
    ------
    ValueError : if the line is not a page of the feed; the message says why

    Examples
    --------
    >>> pagelet = {"id": 3, "role": "content", "templateness": 0.1, "text": "NUL: \0", "words": 1}
    >>> page = page_of({"url": "http://example.com/", "title": "A title", "pagelets": [pagelet]}, now())
    >>> [(p.number, p.role, p.text) for p in page.pagelets], page.site, page.words
    ([(-1, 'title', 'A title'), (3, 'content', 'NUL: \ufffd')], 'example.com', 1)
    """
    try:
        url, title = storable(line["url"]), storable(line.get("title") or "")
        pagelets = tuple(_pagelet_of(pagelet) for pagelet in line.get("pagelets") or ())
        head = (IndexedPagelet(TITLE_NUMBER, TITLE, 0.0, title, len(terms(title))),) if title else ()
        return IndexedPage(
            url=url,
            site=site_of(url),
            title=title,
            language=_optional(line.get("language")),
            fetched_at=_optional(line.get("fetched_at")),
            crawled=crawled or line["crawled"],
            near_duplicate_of=_optional(line.get("near_duplicate_of")),
            words=sum(pagelet.words for pagelet in pagelets),
            pagelets=head + pagelets,
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ValueError(f"it is not a page of the feed ({type(error).__name__}: {error})") from error


def _pagelet_of(line: Mapping[str, Any]) -> IndexedPagelet:
    return IndexedPagelet(
        int(line["id"]),
        storable(line["role"]),
        float(line["templateness"]),
        storable(line["text"]),
        int(line["words"]),
        tuple(map(storable, line.get("xpaths") or ())),
        tuple({key: storable(value) for key, value in link.items()} for link in line.get("links") or ()),
    )


def line_of(page: IndexedPage) -> dict[str, Any]:
    """Return a page as a line, from which `page_of` makes the same page."""
    line = asdict(page)
    line["pagelets"] = [
        {"id": pagelet.pop("number"), **pagelet} for pagelet in line["pagelets"] if pagelet["role"] != TITLE
    ]
    return line


def key_of(url: str) -> str:
    """Return an identifier of limited length for a page: a 128-bit hash of its URL in hexadecimal digits."""
    return xxh3_128_hexdigest(url.encode())


def storable(text: str) -> str:
    """Replace NUL and lone surrogates, which databases do not accept, by U+FFFD."""
    return _UNSTORABLE.sub("\ufffd", text)


def _optional(text: str | None) -> str | None:
    return None if text is None else storable(text)
