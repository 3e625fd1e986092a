"""Near-duplicates by the method of the GCuts paper, for comparison only; `content_store` has the better method.

Source: Chakrabarti, Kumar & Punera 2008, *A Graph-Theoretic Approach to Webpage Segmentation*, Section 5.2: "all text
was converted to lowercase and all non-alphanumeric characters were removed. The window size used for shingling was 6
words, and 8 shingles with the minimum hash values were used as the signature ... tagged as duplicates if their
signatures shared at least 4 out of the 8 shingles." The text is that of the largest segment of the page; that the
largest one has the most words is our reading. See ``docs/algorithms/gcuts-2008.md``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from xxhash import xxh3_64_intdigest

from scrapy_pagelets.feed.pagelet import Pagelet

WINDOW: Final = 6
MINIMA: Final = 8
SHARED: Final = 4
_NON_ALPHANUMERIC: Final = re.compile(r"[^\w\s]|_")


def signature(text: str) -> frozenset[int]:
    """Return the 8 least hashes of the windows of 6 words; fewer for a short text, none for less than 6 words."""
    words = _NON_ALPHANUMERIC.sub("", text.lower()).split()
    windows = (" ".join(words[i : i + WINDOW]) for i in range(len(words) - WINDOW + 1))
    return frozenset(sorted({xxh3_64_intdigest(w.encode("utf-8", "replace")) for w in windows})[:MINIMA])


def near(one: frozenset[int], other: frozenset[int]) -> bool:
    """True if two signatures have at least four hashes in common."""
    return len(one & other) >= SHARED


def largest(pagelets: Sequence[Pagelet]) -> str:
    """Return the text of the segment with the most words, the first one among equals; "" without a segment."""
    return max(pagelets, key=lambda pagelet: pagelet.words).text if pagelets else ""
