"""Find the heading that names a page, to know where its byline stands."""

from __future__ import annotations

from typing import Final

import numpy as np

from scrapy_pagelets.nodes import TAG
from scrapy_pagelets.page import Page

_HEADINGS: Final = [TAG[name] for name in "h1 h2 h3 h4 h5 h6".split()]
_OWN: Final = [TAG[name] for name in "h1 h2 h3".split()]
#: Headings that are compared with the title, and characters of each.
_MOST: Final = 200
_LONGEST: Final = 300
_MOST_LEAVES: Final = 20
#: Marks between the parts of a title.
_MARKS: Final = ("|", " - ", " – ", " — ", " · ", ": ")


def headings_of(page: Page) -> list[tuple[int, int]]:
    """Return the first and last (exclusive) leaf of each heading with text, in document order."""
    rows = np.flatnonzero(np.isin(page.nodes.tag, _HEADINGS))
    return _spans(page, rows)


def own_heading(page: Page) -> tuple[int, int] | None:
    """Return the first and last (exclusive) leaf of the heading that names the page; None without one.

    It is the longest heading that the title repeats, else the ``h1`` that repeats most of the title, else the only
    ``h1``.
    """
    title = _folded(page.title)
    headings = _spans(page, np.flatnonzero(np.isin(page.nodes.tag, _OWN))[:_MOST])
    whole = [(len(text), span) for span in headings if len(text := _text(page, span)) > 1 and text in title]
    if whole:
        return max(whole, key=lambda each: each[0])[1]
    tops = _spans(page, np.flatnonzero(page.nodes.tag == TAG["h1"])[:_MOST])
    shared = [(_shared(_text(page, span), title), span) for span in tops]
    best = max(shared, key=lambda each: each[0], default=(0, None))
    return best[1] if best[0] or len(tops) == 1 else None


def _spans(page: Page, rows: np.ndarray[tuple[int], np.dtype[np.int64]]) -> list[tuple[int, int]]:
    nodes = page.nodes
    spans = zip(nodes.first_leaf[rows].tolist(), nodes.last_leaf[rows].tolist(), strict=True)
    return [(first, last) for first, last in spans if last > first]


def _shared(text: str, title: str) -> int:
    """Characters of the longest part of the title that a text has."""
    parts = (part.strip() for mark in _MARKS for part in title.split(mark))
    return max((len(part) for part in parts if len(part) > 3 and part in text), default=0)


def _text(page: Page, span: tuple[int, int]) -> str:
    return _folded(" ".join(page.nodes.strings[span[0] : min(span[1], span[0] + _MOST_LEAVES)]))


def _folded(text: str) -> str:
    return " ".join(text[:_LONGEST].casefold().split())
