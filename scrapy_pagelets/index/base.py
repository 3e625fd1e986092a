"""What all indexes have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Sequence
from typing import Final, NamedTuple, Self

from scrapy_pagelets.errors import PageletsError
from scrapy_pagelets.index.documents import IndexedPage

#: Of the schema; an index of another version is not touched.
VERSION: Final = 1
#: Terms that a query may have; further ones are left out.
QUERY_TERMS: Final = 1024


class IndexUnusable(PageletsError, ValueError):
    """Raised for an index that cannot be used, now or later; the message is a sentence that says what to do."""


class IndexAway(PageletsError, ConnectionError):
    """Raised when an index cannot be reached or is locked: the same call may succeed later."""


class PageRefused(PageletsError, ValueError):
    """Raised when an index takes a page neither now nor later."""


class Match(NamedTuple):
    """A pagelet that a query has found."""

    url: str
    title: str
    near_duplicate_of: str | None
    number: int
    role: str
    text: str
    score: float


class Hit(NamedTuple):
    """A page that a query has found.

    Attributes
    ----------
    score : of its best pagelet
    pagelets : those that the query has found, the best first
    """

    url: str
    title: str
    score: float
    pagelets: tuple[Match, ...]


class Index(ABC):
    """Pages and pagelets in an index, which is opened when this is made; a context manager.

    Raises
    ------
    IndexUnusable : for an index of another version, a file that is none, a library that is missing
    IndexAway : if it cannot be reached; of all methods
    """

    @abstractmethod
    def upsert(self, pages: Sequence[IndexedPage]) -> None:
        """Write pages, all or none; each replaces the page of its URL with all pagelets, unless that was seen later.

        Raises
        ------
        PageRefused : if the index does not take one of them
        """

    @abstractmethod
    def purge(self, before: str, sites: Collection[str]) -> int:
        """Delete the pages of some sites that were last seen before a moment (see `now`); returns their number."""

    @abstractmethod
    def search(self, query: str, limit: int = 10) -> list[Hit]:
        """The pages whose pagelets have terms of a query, the best first; of near-duplicates the best one."""

    @abstractmethod
    def close(self) -> None:
        """Let go of the index."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def check_version(name: str, version: object) -> None:
    """Refuse an index of another version.

    Raises
    ------
    IndexUnusable : if it is one
    """
    if version != str(VERSION):
        raise IndexUnusable(
            f"{name} is an index of version {version}, not {VERSION}: fill a new one, under another name."
        )


def latest(pages: Iterable[IndexedPage]) -> list[IndexedPage]:
    """Pages by their URL, of each the one that was seen last."""
    found: dict[str, IndexedPage] = {}
    for page in pages:
        if page.url not in found or page.crawled >= found[page.url].crawled:
            found[page.url] = page
    return [found[url] for url in sorted(found)]


def hits_of(matches: Iterable[Match], limit: int) -> list[Hit]:
    """Pages of pagelets, in the order of their best one; of pages that are near-duplicates only the first.

    Parameters
    ----------
    matches : the best first
    """
    groups: dict[str, list[Match]] = {}
    for match in matches:
        groups.setdefault(match.url, []).append(match)
    first: dict[str, Hit] = {}
    for url, found in groups.items():
        hit = Hit(url, found[0].title, found[0].score, tuple(found))
        first.setdefault(found[0].near_duplicate_of or url, hit)
    return list(first.values())[:limit]
