"""The interface of all indexes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Sequence
from typing import Final, NamedTuple, Self

from scrapy_pagelets.base.errors import PageletsError
from scrapy_pagelets.index.documents import IndexedPage

#: Version of the schema. An index of another version is refused.
VERSION: Final = 1
#: Maximal number of terms in a query; further ones are ignored.
QUERY_TERMS: Final = 1024


class IndexUnusable(PageletsError, ValueError):
    """Raised for an index that can never be used; the message is a sentence that says what to do."""


class IndexAway(PageletsError, ConnectionError):
    """Raised when an index is unavailable or locked: the same call may succeed later."""


class PageRefused(PageletsError, ValueError):
    """Raised when an index can never accept a page."""


class Match(NamedTuple):
    """A pagelet that matches a query."""

    url: str
    title: str
    near_duplicate_of: str | None
    number: int
    role: str
    text: str
    score: float


class Hit(NamedTuple):
    """A page that matches a query.

    Attributes
    ----------
    score : score of its best pagelet
    pagelets : the matching pagelets, the best first
    """

    url: str
    title: str
    score: float
    pagelets: tuple[Match, ...]


class Index(ABC):
    """An index of pages and pagelets, open from its creation on; also a context manager.

    Raises
    ------
    IndexUnusable : for an index of another version, a file that is not an index, or a missing library
    IndexAway : if the index is unavailable; all methods raise it
    """

    @abstractmethod
    def upsert(self, pages: Sequence[IndexedPage]) -> None:
        """Write pages, all or none; each replaces the page with its URL, unless that page was seen later.

        Raises
        ------
        PageRefused : if the index does not accept one of them
        """

    @abstractmethod
    def purge(self, before: str, sites: Collection[str]) -> int:
        """Delete the pages of some sites that were last seen before a time (see `now`); return their number."""

    @abstractmethod
    def search(self, query: str, limit: int = 10) -> list[Hit]:
        """Return the pages with terms of a query, the best first; of a group of near-duplicates only the best page."""

    @abstractmethod
    def close(self) -> None:
        """Close the index."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def check_version(name: str, version: object) -> None:
    """Refuse an index of another version.

    Raises
    ------
    IndexUnusable : if the version is another one
    """
    if version != str(VERSION):
        raise IndexUnusable(
            f"{name} is an index of version {version}, not {VERSION}: create a new one, under another name."
        )


def latest(pages: Iterable[IndexedPage]) -> list[IndexedPage]:
    """Return pages sorted by URL, with only the latest page for each URL."""
    by_url: dict[str, IndexedPage] = {}
    for page in pages:
        if page.url not in by_url or page.crawled >= by_url[page.url].crawled:
            by_url[page.url] = page
    return [by_url[url] for url in sorted(by_url)]


def hits_of(matches: Iterable[Match], limit: int) -> list[Hit]:
    """Group pagelets by page, in the order of their best pagelets; of near-duplicates only the first page stays.

    Parameters
    ----------
    matches : the best first
    """
    groups: dict[str, list[Match]] = {}
    for match in matches:
        groups.setdefault(match.url, []).append(match)
    first: dict[str, Hit] = {}
    for url, pagelets in groups.items():
        hit = Hit(url, pagelets[0].title, pagelets[0].score, tuple(pagelets))
        first.setdefault(pagelets[0].near_duplicate_of or url, hit)
    return list(first.values())[:limit]


def shown(target: str) -> str:
    """Return the name of an index without user and password, for logs.

    >>> shown("postgresql://me:secret@localhost/search?sslmode=require")
    'postgresql://localhost/search'
    """
    if "://" not in target:
        return target
    scheme, _, rest = target.partition("://")
    return f"{scheme}://{rest.rpartition('@')[2].partition('?')[0]}"
