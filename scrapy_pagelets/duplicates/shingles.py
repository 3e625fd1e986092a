"""Shingles of a text: hashes of word n-grams, used both for sketches and for verification, and weights of its words.

Words are those of `scrapy_pagelets.base.characters`. In scripts without spaces each character is a word, and a shingle
is a character n-gram. Source: Broder et al. 1997, *Syntactic Clustering of the Web*, Section 3. The weights are ours:
they say how surely each word is content, so that leftovers of templates do not separate copies on two sites.
"""

import re
from functools import cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from scrapy_pagelets.base.arrays import Bools, Floats, mix
from scrapy_pagelets.base.characters import BY_CHARACTER, caseless
from scrapy_pagelets.core import give
from scrapy_pagelets.core.contents import runs_of_tokens as runs_of_tokens
from scrapy_pagelets.core.contents import shingles as shingles
from scrapy_pagelets.core.contents import weighted_shingles as weighted_shingles
from scrapy_pagelets.core.contents import word_hashes as word_hashes
from scrapy_pagelets.core.text import runs_of_words as runs_of_words
from scrapy_pagelets.page.nodes import NodeTable
from scrapy_pagelets.page.text import write_leaves

SIZE: Final = 5  # default number of words in a shingle
_CODE_POINTS: Final = 0x110000
_PLANES: Final = 0x40000  # end of the planes that have letters
_WHOLE_WEIGHT: Final = 255  # the largest weight of a shingle
#: Weights of the characters of a word by position. Longer strings, which are hardly words, use them cyclically.
_PLACES: Final = 64
_WEIGHTS: Final = mix(np.arange(1, _PLACES + 1)).view(np.uint64) | np.uint64(1)
Tokens = NDArray[np.uint64]
Hashes = NDArray[np.uint32]
Weights = NDArray[np.uint8]
_SURE: Final = 0.25  # this share of the words of a page is taken for surely content, and counts in full
_LEAST: Final = 0.001  # smaller templateness is not told apart


def jaccard(one: Hashes, other: Hashes) -> float:
    """Return the resemblance of two texts, by their distinct hashes, ascending; 0 for two empty texts."""
    common = len(np.intersect1d(one, other, assume_unique=True))
    every = len(one) + len(other) - common
    return common / every if every else 0.0


def resemblance(one: tuple[Hashes, Weights | None], other: tuple[Hashes, Weights | None], *, one_site: bool) -> float:
    """Return the resemblance of two texts, 0 to 1: by the weights of their shingles, unless the texts are of one site.

    What is left of the template in a content is the same on all pages of its site, and differs between sites. What both
    texts have counts by its larger weight; with equal weights this is `jaccard`. ``one`` and ``other``: distinct
    hashes, ascending, and their weights from 1 to 255; None if all are equal.
    """
    if one_site or (one[1] is None and other[1] is None):
        return jaccard(one[0], other[0])
    a, b = (np.full(len(text), _WHOLE_WEIGHT, np.uint8) if own is None else own for text, own in (one, other))
    _, in_one, in_other = np.intersect1d(one[0], other[0], assume_unique=True, return_indices=True)
    common = int(np.maximum(a[in_one], b[in_other]).sum(dtype=np.int64))
    less = int(np.minimum(a[in_one], b[in_other]).sum(dtype=np.int64))
    every = int(a.sum(dtype=np.int64) + b.sum(dtype=np.int64)) - less
    return common / every if every else 0.0


@cache
def _kinds() -> NDArray[np.uint8]:
    """(code points,) words in two of each: none, one that they make together, or each by itself, as `WORD` has them.

    From the fourth plane on none is a letter or a digit.
    """
    kinds = np.zeros(_CODE_POINTS, np.uint8)
    characters = np.arange(_PLANES, dtype="<u4").tobytes().decode("utf-32-le", "surrogatepass")
    for match in re.finditer(rf"([{BY_CHARACTER}]+)|[^\W{BY_CHARACTER}]+", characters):
        kinds[slice(*match.span())] = 2 if match[1] else 1
    return kinds


give("contents", kinds=_kinds, WEIGHTS=_WEIGHTS, caseless=caseless)


def word_weights(nodes: NodeTable, keep: Bools, templateness: Floats) -> Floats:
    """(w,) weights of the words of a page's text (`text.plain`), above 0 to 1: their odds of being content, relatively.

    The quarter with the highest odds have 1, as have all if nothing is known. A shift of the log odds of the whole page
    changes little, so pages of clear and unclear sites can be compared. ``keep``: (m,) a mask of the leaves of the
    content. ``templateness``: (m,) of each leaf.
    """
    nodes, leaves = write_leaves(nodes, keep)
    texts, template = runs_of_words(nodes, leaves, np.ascontiguousarray(templateness, np.float64))
    template = np.maximum(template, _LEAST)
    odds: Floats = ((1 - template) / template)[runs_of_tokens(texts)]
    place = int((1 - _SURE) * len(odds))
    return np.minimum(1, odds / np.partition(odds, place)[place]) if len(odds) else odds
