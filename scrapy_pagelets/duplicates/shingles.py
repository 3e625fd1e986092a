"""Shingles of a text: hashes of word n-grams, used both for sketches and for verification.

Words are those of `scrapy_pagelets.words`. In scripts without spaces each character is a word, and a shingle is a
character n-gram. Source: Broder et al. 1997, *Syntactic Clustering of the Web*, Section 3.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from scrapy_pagelets.hashing import mix
from scrapy_pagelets.words import WORD, caseless

#: Default number of words in a shingle.
SIZE: Final = 5
#: Kinds of code points: not part of a word, part of a word, a word by itself.
_NONE, _PART, _WHOLE = range(3)
_CODE_POINTS: Final = 0x110000
_BMP: Final = 0x10000
#: Weights of the characters of a word by position. Longer strings, which are hardly words, use them cyclically.
_PLACES: Final = 64
_WEIGHTS: Final = mix(np.arange(1, _PLACES + 1)).view(np.uint64) | np.uint64(1)
_MULTIPLIER: Final = np.uint64(0x9E3779B97F4A7C15)

Tokens = NDArray[np.uint64]
Hashes = NDArray[np.uint32]


def tokens(text: str) -> Tokens:
    """(w,) hashes of the words of a text, case folded and in compatibility form (NFKC).

    Vectorised multilinear hashing: the sum of the characters of a word, weighted by position, is mixed.

    Examples
    --------
    >>> one, other = tokens("Café n° 5"), tokens("CAFE\u0301, No. 5")
    >>> (one == other).tolist(), len(tokens("東京タワー"))
    ([True, False, True], 5)
    """
    kinds, codes = _characters(text)
    begins = kinds != _NONE
    inside = np.flatnonzero(begins)
    begins[1:] &= (kinds[1:] == _WHOLE) | (kinds[:-1] != _PART)
    starts = np.flatnonzero(begins[inside])
    if not len(starts):
        return np.zeros(0, np.uint64)
    place = np.arange(len(inside))
    place -= np.repeat(starts, np.diff(starts, append=len(place)))
    values = _WEIGHTS[place & (_PLACES - 1)]
    values *= codes[inside]
    return mix(np.add.reduceat(values, starts).view(np.int64)).view(np.uint64)


def _characters(text: str) -> tuple[NDArray[np.uint8], NDArray[np.unsignedinteger[Any]]]:
    """(c,) kind and (c,) code point of each character of the case-folded text."""
    codes: NDArray[np.unsignedinteger[Any]]
    if text.isascii():
        codes = np.frombuffer(text.lower().encode(), np.uint8)
    else:
        codes = np.frombuffer(caseless(text).encode("utf-32-le", "surrogatepass"), "<u4")
    return _kinds()[codes], codes


def shingles(token: Tokens, size: int = SIZE) -> Hashes:
    """(s,) distinct hashes of the n-grams of ``size`` words, ascending; none if there are fewer words.

    Parameters
    ----------
    token : (w,) hashes of words, see `tokens`

    Examples
    --------
    >>> one, other = tokens("a rose is a rose is a rose"), tokens("A rose is a rose!")
    >>> len(shingles(one, 4)), np.isin(shingles(other, 4), shingles(one, 4)).all()
    (3, np.True_)
    """
    n = len(token) - size + 1
    if n < 1:
        return np.zeros(0, np.uint32)
    hashes = token[:n].copy()
    for step in range(1, size):
        hashes *= _MULTIPLIER
        hashes += token[step : step + n]
    column = (mix(hashes.view(np.int64)).view(np.uint64) >> np.uint64(32)).astype(np.uint32)
    column.sort()  # np.unique takes ten times as long
    return column[np.concatenate(([True], column[1:] != column[:-1]))]


def jaccard(one: Hashes, other: Hashes) -> float:
    """Return the resemblance of two texts, the size of the intersection over that of the union; 0 for two empty texts.

    Parameters
    ----------
    one, other : distinct hashes, ascending

    Examples
    --------
    >>> jaccard(np.array([1, 2, 3], np.uint32), np.array([2, 3, 4], np.uint32))
    0.5
    """
    every = np.concatenate((one, other))
    every.sort()
    common = int(np.count_nonzero(every[1:] == every[:-1]))
    return common / (len(every) - common) if len(every) else 0.0


@cache
def _kinds() -> NDArray[np.uint8]:
    """(code points,) kind of each, by the regular expression that defines words; takes a tenth of a second once.

    Beyond the basic multilingual plane no character is a word by itself.
    """
    kinds = np.zeros(_CODE_POINTS, np.uint8)
    for code in range(_BMP):
        kinds[code] = len(WORD.findall(chr(code) * 2))
    astral = map(str.isalnum, map(chr, range(_BMP, _CODE_POINTS)))
    kinds[_BMP:] = np.fromiter(astral, np.bool_, _CODE_POINTS - _BMP)
    return kinds
