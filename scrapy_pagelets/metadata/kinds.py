"""The types of schema.org that describe what a page is about, in JSON-LD and in microdata."""

from __future__ import annotations

from typing import Final

_WORKS: Final = frozenset(
    "Article Report Question Recipe HowTo CreativeWork Course Event Book Movie Dataset SoftwareApplication "
    "MobileApplication WebApplication SoftwareSourceCode VideoGame PodcastEpisode Guide Product JobPosting".split()
)
_ENDINGS: Final = ("Article", "Posting")


def is_work(kind: str) -> bool:
    """Return True for a type of works, which have an author or a date of their own.

    >>> is_work("NewsArticle"), is_work("Comment"), is_work("WebPage")
    (True, False, False)
    """
    return kind in _WORKS or kind.endswith(_ENDINGS)


def is_page(kind: str) -> bool:
    """Return True for the types of pages.

    >>> is_page("WebPage"), is_page("AboutPage"), is_page("QAPage"), is_page("WebSite")
    (True, True, True, False)
    """
    return kind.endswith("Page") and not is_work(kind)
