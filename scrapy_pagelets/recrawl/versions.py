"""Versions of the content of a page, and what has changed from one to the next."""

from __future__ import annotations

from typing import Final, NamedTuple, Self

from scrapy_pagelets.feed.content_words import WordCounts, changed_share, content_hash
from scrapy_pagelets.feed.feed_reader import Line, content_text

NEW, SAME, CHANGED = "new", "same", "changed"
#: Fields of a feed that say what the content of a page was; one of the first two is needed.
COLUMNS: Final = ("content_hash", "text", "pagelets")
NEEDED: Final = COLUMNS[:2]


class PageVersion(NamedTuple):
    """The content of a page at the time of a crawl.

    Attributes
    ----------
    hash : see `content_hash`; None for an empty content
    words : how often it has each word; None if a feed has the hash only
    """

    hash: str | None
    words: WordCounts | None

    @classmethod
    def of(cls, text: str) -> Self:
        """The version with a content."""
        return cls(content_hash(text), WordCounts.of(text))

    @classmethod
    def of_line(cls, line: Line) -> Self:
        """The version in a line of a feed; feeds of earlier versions have no hash, so that it comes from the text."""
        known = any(line.get(name) is not None for name in COLUMNS[1:])
        text = content_text(line)
        return cls(line.get("content_hash") or content_hash(text), WordCounts.of(text) if known else None)


class Change(NamedTuple):
    """What has become of a page.

    Attributes
    ----------
    kind : ``new``, ``same`` or ``changed``
    share : share of the words that differ, see `changed_share`; None if there is nothing to compare with
    """

    kind: str
    share: float | None


def change(earlier: PageVersion | None, now: PageVersion) -> Change:
    """Compare the content of a page with its earlier version, None if there is none.

    >>> change(PageVersion.of("Open from nine"), PageVersion.of("Open from ten"))
    Change(kind='changed', share=0.3333333333333333)
    >>> change(None, PageVersion.of("Open from ten"))
    Change(kind='new', share=None)
    """
    if earlier is None:
        return Change(NEW, None)
    if earlier.hash == now.hash:
        return Change(SAME, 0.0)
    if earlier.words is None or now.words is None:
        return Change(CHANGED, None)
    return Change(CHANGED, changed_share(earlier.words, now.words))
