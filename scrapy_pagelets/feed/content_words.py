"""The hash of a content and the counts of its words, by which contents of different crawls are compared."""

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from scrapy_pagelets.base.arrays import Floats
from scrapy_pagelets.base.characters import lazily, normalised
from scrapy_pagelets.core import give
from scrapy_pagelets.core.text import content_of as content_of
from scrapy_pagelets.core.text import visible_words as visible_words
from scrapy_pagelets.duplicates.shingles import word_hashes
from scrapy_pagelets.page.nodes import NodeTable
from scrapy_pagelets.page.roles import is_template

_BYTES: Final = 16  # bytes of a hash
#: Control characters other than white space, and invisible ones: joiners, soft hyphens, marks of direction, U+FEFF.
_INVISIBLE: Final = lazily(
    "[\0-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2069\ud800-\udfff\ufeff\ufffd-\uffff]+"
)
#: Punctuation between white space does not count: hyphens before items, bars between links, permalinks of headings.
_PUNCTUATION: Final = "|/\\·•:;,.-–—¶#§»«>…"
give("text", INVISIBLE=_INVISIBLE, MARKS=_PUNCTUATION, normalised=normalised)
MOST_WORDS: Final = 4096  # most different words of a content that are counted; of longer contents, a sample is counted
_DOUBTFUL: Final = 0.9  # what has at most this templateness is in doubt
_MOST_CUTS: Final = 32  # contents with it that are compared
Counts = NDArray[np.uint32]


def contents_with_doubtful(nodes: NodeTable, templateness: Floats) -> Iterator[str]:
    """Yield the content of the page under higher and higher thresholds. ``templateness``: (m,) of the leaves, 0 to 1.

    If the threshold has fallen a little since an earlier crawl, one of these is the content of then.
    """
    doubtful = np.unique(templateness[is_template(templateness) & (templateness <= _DOUBTFUL)])
    for highest in doubtful[:_MOST_CUTS]:
        yield content_of(nodes, templateness <= highest)


def content_hash(text: str) -> str | None:
    r"""Hash of the words of a content in their order, 32 hexadecimal digits; None if there are none.

    BLAKE2b, 16 bytes, of the text in composed form (NFC, UTF-8) without white space, invisible characters, and
    punctuation that stands alone, so that nothing depends on the layout of the text.

    >>> content_hash("A rose\n\n- is\ta rose") == content_hash("A rose is\x1b a\u200b rose"), content_hash(" \n")
    (True, None)
    >>> content_hash("A rose is a rose.") == content_hash("A rose is a rose")
    False
    """
    words = visible_words(text)
    return blake2b(words.encode(), digest_size=_BYTES).hexdigest() if words else None


@dataclass(frozen=True, eq=False)
class WordCounts:
    """How often each word stands in a content; with too many different words, those of a sample.

    The sample consists of the words whose hash ends in ``level`` zero bits. The same words are in the samples of all
    contents, so that samples can be compared.
    """

    level: int  # each further bit halves the sample
    hashes: Counts  # (d,) distinct hashes of words, ascending
    counts: Counts  # (d,) how often each stands in the content

    @classmethod
    def of(cls, text: str) -> Self:
        """Count the words of a content."""
        words, counts = np.unique((word_hashes(text) >> np.uint64(32)).astype(np.uint32), return_counts=True)
        whole = cls(0, words, counts.astype(np.uint32))
        while len(whole.hashes) > MOST_WORDS:
            whole = whole.sample(whole.level + 1)
        return whole

    def sample(self, level: int) -> Self:
        """The sample of a level from that of the counts on."""
        kept = self.hashes & np.uint32((1 << level) - 1) == 0
        return type(self)(level, self.hashes[kept], self.counts[kept])

    def to_bytes(self) -> bytes:
        """The counts as bytes, for `from_bytes`."""
        return bytes([self.level]) + self.hashes.astype("<u4").tobytes() + self.counts.astype("<u4").tobytes()

    @classmethod
    def from_bytes(cls, content: bytes) -> Self:
        """Restore the counts from the result of `to_bytes`. Raise ValueError if the bytes are damaged."""
        columns = np.frombuffer(content, "<u4", offset=1).astype(np.uint32).reshape(2, -1)
        return cls(content[0], columns[0], columns[1])


def changed_share(one: WordCounts, other: WordCounts) -> float:
    """Share of the words of two contents that have no counterpart in the other one, 0 to 1; 0 for two empty ones.

    They are compared as multisets: moved words, and upper and lower case, count as unchanged. Exact unless a content
    has more than 4,096 different words, of which a sample is taken then.
    """
    level = max(one.level, other.level)
    one, other = one.sample(level), other.sample(level)
    every = np.concatenate((one.hashes, other.hashes))
    signed = np.concatenate((one.counts.astype(np.int64), -other.counts.astype(np.int64)))
    _, place = np.unique(every, return_inverse=True)
    differing = float(np.abs(np.bincount(place, signed)).sum())
    total = int(np.abs(signed).sum())
    return differing / total if total else 0.0
