"""What an index holds: a page and its pagelets, as the feed has them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any, Final

from xxhash import xxh3_128_hexdigest

from scrapy_pagelets.index.terms import terms
from scrapy_pagelets.urls import site_of

#: Role of the pagelet that is made of a page's title, and its number.
TITLE: Final = "title"
TITLE_NUMBER: Final = -1
#: Roles of pagelets that are kept but not searched.
UNSEARCHED: Final = ("navigation", "template")
#: NUL and lone surrogates: no database takes them.
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
    crawled : when the page was last seen, as `now` gives it; what was not seen for long can be purged
    words : of all its pagelets
    pagelets : in document order; if the page has a title, it is the first, of the role ``title`` and the number -1
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
    """The time, ``2026-11-20T10:00:00.123Z``: later is greater."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def page_of(line: Mapping[str, Any], crawled: str | None = None) -> IndexedPage:
    r"""The page of a line of the feed.

    Parameters
    ----------
    line : with ``url`` and ``pagelets`` at the least
    crawled : when the page was seen, see `now`; if it is not given, the line has it

    Raises
    ------
    ValueError : for a line that is no page; the message says why

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
        raise ValueError(f"it is no page of the feed ({type(error).__name__}: {error})") from error


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
    """A page as a line from which `page_of` makes it again."""
    line = asdict(page)
    line["pagelets"] = [
        {"id": pagelet.pop("number"), **pagelet} for pagelet in line["pagelets"] if pagelet["role"] != TITLE
    ]
    return line


def key_of(url: str) -> str:
    """Identity of a page in indexes whose keys have a limit: 128 bits of its URL, in hexadecimal digits."""
    return xxh3_128_hexdigest(url.encode())


def storable(text: str) -> str:
    """A text with U+FFFD in the place of what no database takes: NUL and lone surrogates."""
    return _UNSTORABLE.sub("\ufffd", text)


def _optional(text: str | None) -> str | None:
    return None if text is None else storable(text)
