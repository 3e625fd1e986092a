"""Shingles of a text: hashes of word n-grams, used both for sketches and for verification, and weights of its words.

Words are those of `scrapy_pagelets.base.characters`. In scripts without spaces each character is a word, and a shingle
is a character n-gram. Source: Broder et al. 1997, *Syntactic Clustering of the Web*, Section 3. The weights are ours:
they say how surely each word is content, so that leftovers of templates do not separate copies on two sites.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from scrapy_pagelets.base.arrays import Bools, Floats, Ints, mix
from scrapy_pagelets.base.characters import WORD, caseless
from scrapy_pagelets.core import compiled, give
from scrapy_pagelets.page.nodes import GLUED, NodeTable
from scrapy_pagelets.page.text import without_invisible, write_leaves

#: Default number of words in a shingle.
SIZE: Final = 5
#: Kinds of code points: not part of a word, part of a word, a word by itself.
_NONE, _PART, _WHOLE = range(3)
_CODE_POINTS: Final = 0x110000
_BMP: Final = 0x10000
#: End of the planes that have letters.
_PLANES: Final = 0x40000
#: A character of no word, which is in no page: it ends a run of text.
_END: Final = "\0"
#: The largest weight of a shingle.
_WHOLE_WEIGHT: Final = 255
#: Weights of the characters of a word by position. Longer strings, which are hardly words, use them cyclically.
_PLACES: Final = 64
_WEIGHTS: Final = mix(np.arange(1, _PLACES + 1)).view(np.uint64) | np.uint64(1)
_MULTIPLIER: Final = np.uint64(0x9E3779B97F4A7C15)
Tokens = NDArray[np.uint64]
Hashes = NDArray[np.uint32]
Weights = NDArray[np.uint8]
#: This share of the words of a page is taken for surely content, and counts in full.
_SURE: Final = 0.25
#: Smaller templateness is not told apart.
_LEAST: Final = 0.001


@compiled("contents")
def word_hashes(text: str) -> Tokens:
    """(w,) hashes of the words of a text, case folded and in compatibility form (NFKC).

    Vectorised multilinear hashing: the sum of the characters of a word, weighted by position, is mixed.

    Examples
    --------
    >>> one, other = word_hashes("Café n° 5"), word_hashes("CAFE\u0301, No. 5")
    >>> (one == other).tolist(), len(word_hashes("東京タワー"))
    ([True, False, True], 5)
    """
    kinds, codes = _characters(text)
    begins = _begins(kinds)
    inside = np.flatnonzero(kinds != _NONE)
    starts = np.flatnonzero(begins[inside])
    if not len(starts):
        return np.zeros(0, np.uint64)
    place = np.arange(len(inside))
    place -= np.repeat(starts, np.diff(starts, append=len(place)))
    values = _WEIGHTS[place & (_PLACES - 1)]
    values *= codes[inside]
    return mix(np.add.reduceat(values, starts).view(np.int64)).view(np.uint64)


@compiled("contents")
def runs_of_tokens(runs: Sequence[str]) -> Ints:
    """(w,) for each word of some runs of text, the number of its run.

    Parameters
    ----------
    runs : texts that have no word in common with the next one

    Examples
    --------
    >>> runs_of_tokens(["two words", "", "3"]).tolist()
    [0, 0, 2]
    """
    text = _END.join(runs)
    if text.count(_END) >= len(runs):
        text = _END.join(run.replace(_END, " ") for run in runs)
    kinds, codes = _characters(text)
    return np.cumsum(codes == ord(_END))[_begins(kinds)]


def _begins(kinds: NDArray[np.uint8]) -> Bools:
    """(c,) whether a word begins at each character."""
    begins: Bools = kinds != _NONE
    begins[1:] &= (kinds[1:] == _WHOLE) | (kinds[:-1] != _PART)
    return begins


def _characters(text: str) -> tuple[NDArray[np.uint8], NDArray[np.unsignedinteger[Any]]]:
    """(c,) kind and (c,) code point of each character of the case-folded text."""
    codes: NDArray[np.unsignedinteger[Any]]
    if text.isascii():
        codes = np.frombuffer(text.lower().encode(), np.uint8)
    else:
        codes = np.frombuffer(caseless(text).encode("utf-32-le", "surrogatepass"), "<u4")
    return _kinds()[codes], codes


@compiled("contents")
def shingles(token: Tokens, size: int = SIZE) -> Hashes:
    """(s,) distinct hashes of the n-grams of ``size`` words, ascending; none if there are fewer words.

    Parameters
    ----------
    token : (w,) hashes of words, see `word_hashes`

    Examples
    --------
    >>> one, other = word_hashes("a rose is a rose is a rose"), word_hashes("A rose is a rose!")
    >>> len(shingles(one, 4)), np.isin(shingles(other, 4), shingles(one, 4)).all()
    (3, np.True_)
    """
    column = _windows(token, size).astype(np.uint32)
    column.sort()  # np.unique takes ten times as long
    return column[_first(column)]


@compiled("contents")
def weighted_shingles(token: Tokens, weight: Floats, size: int = SIZE) -> tuple[Hashes, Weights]:
    """(s,) the same hashes as `shingles`, and (s,) their weights from 1 to 255: that of the least of their words.

    A shingle that occurs several times has its largest weight.

    Parameters
    ----------
    token : (w,) hashes of words, see `word_hashes`
    weight : (w,) weights of the words, 0 to 1

    Examples
    --------
    >>> weighted_shingles(word_hashes("a b c a b"), np.array([1, 1, 0.5, 0, 1]), 2)[1].tolist()
    [1, 255, 128]
    """
    column = _windows(token, size)
    if not len(column):
        return np.zeros(0, np.uint32), np.zeros(0, np.uint8)
    least = np.lib.stride_tricks.sliding_window_view(weight, size).min(1)
    level = np.maximum(np.rint(least * _WHOLE_WEIGHT), 1).astype(np.uint64)
    # Sorting combined values is ten times as fast as argsort; of equal hashes, the largest weight comes first.
    both = column << np.uint64(8) | np.uint64(_WHOLE_WEIGHT) - level
    both.sort()
    both = both[_first(both >> np.uint64(8))]
    return (both >> np.uint64(8)).astype(np.uint32), ~both.astype(np.uint8)


def _windows(token: Tokens, size: int) -> NDArray[np.uint64]:
    """Hashes of 32 bits of the n-grams, in the order of the text."""
    n = max(0, len(token) - size + 1)
    hashes = token[:n].copy()
    for step in range(1, size):
        hashes *= _MULTIPLIER
        hashes += token[step : step + n]
    return mix(hashes.view(np.int64)).view(np.uint64) >> np.uint64(32)


def _first(column: NDArray[Any]) -> Bools:
    """Whether each of some ascending values differs from the one before."""
    first = np.ones(len(column), np.bool_)
    first[1:] = column[1:] != column[:-1]
    return first


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


def weighted_jaccard(one: Hashes, one_weights: Weights, other: Hashes, other_weights: Weights) -> float:
    """Return the resemblance of two texts by the weights of their shingles, 0 to 1; 0 for two empty texts.

    What both texts have counts by the larger of its two weights, the rest by its weight in the text that has it. With
    equal weights this is `jaccard`.

    Parameters
    ----------
    one, other : distinct hashes, ascending
    one_weights, other_weights : from 1 to 255, for each hash

    Examples
    --------
    >>> some = np.array([1, 2, 3], np.uint32), np.array([200, 200, 100], np.uint8)
    >>> weighted_jaccard(*some, np.array([1, 2], np.uint32), np.array([100, 200], np.uint8))
    0.8
    """
    _, a, b = np.intersect1d(one, other, assume_unique=True, return_indices=True)
    common = int(np.maximum(one_weights[a], other_weights[b]).sum(dtype=np.int64))
    less = int(np.minimum(one_weights[a], other_weights[b]).sum(dtype=np.int64))
    every = int(one_weights.sum(dtype=np.int64) + other_weights.sum(dtype=np.int64)) - less
    return common / every if every else 0.0


def resemblance(one: tuple[Hashes, Weights | None], other: tuple[Hashes, Weights | None], *, one_site: bool) -> float:
    """Return the resemblance of two texts: by the weights of their shingles, unless the texts are of one site.

    What is left of the template in a content is the same on all pages of its site, and differs between sites.

    Parameters
    ----------
    one, other : distinct hashes, ascending, and their weights; None if all are equal
    """
    if one_site or (one[1] is None and other[1] is None):
        return jaccard(one[0], other[0])
    weights = (np.full(len(text), _WHOLE_WEIGHT, np.uint8) if own is None else own for text, own in (one, other))
    return weighted_jaccard(one[0], next(weights), other[0], next(weights))


@cache
def _kinds() -> NDArray[np.uint8]:
    """(code points,) kind of each, by the regular expression that defines words. Beyond the basic multilingual plane no
    character is a word by itself, and from the fourth plane on none is a letter or a digit."""
    kinds = np.zeros(_CODE_POINTS, np.uint8)
    doubled = "\n".join(chr(code) * 2 for code in range(_BMP))
    found = np.fromiter((match.start() for match in WORD.finditer(doubled)), np.int64)
    kinds[:_BMP] = np.bincount(found // 3, minlength=_BMP)
    kinds[_BMP:_PLANES] = np.fromiter(map(str.isalnum, map(chr, range(_BMP, _PLANES))), np.bool_, _PLANES - _BMP)
    return kinds


give("contents", kinds=_kinds, WEIGHTS=_WEIGHTS, caseless=caseless)


def word_weights(nodes: NodeTable, keep: Bools, templateness: Floats) -> Floats:
    """(w,) weights of the words of a page's text (`text.plain`), above 0 to 1: their odds of being content, relatively.

    The quarter of the words with the highest odds have 1, and so have all words if nothing is known. A shift of the log
    odds of the whole page changes little, so pages of clear and unclear sites can be compared.

    Parameters
    ----------
    keep : (m,) a mask of the leaves of the content
    templateness : (m,) of each leaf

    Examples
    --------
    >>> from scrapy_pagelets.page.page import Page
    >>> nodes = Page.parse(b"<h1>Of cats</h1><p>Cats sleep. <i>About us</i>", "http://a/").nodes
    >>> word_weights(nodes, np.ones(3, np.bool_), np.array([0.2, 0.2, 0.4])).round(3).tolist()
    [1.0, 1.0, 1.0, 1.0, 0.375, 0.375]
    """
    nodes, leaves = write_leaves(nodes, keep)
    texts, template = runs_of_words(nodes, leaves, np.ascontiguousarray(templateness, np.float64))
    template = np.maximum(template, _LEAST)
    odds: Floats = ((1 - template) / template)[runs_of_tokens(texts)]
    return np.minimum(1, odds / _quantile(odds, 1 - _SURE)) if len(odds) else odds


@compiled("text")
def runs_of_words(nodes: NodeTable, leaves: Ints, templateness: Floats) -> tuple[list[str], Floats]:
    """The texts of the runs of some leaves that share no word with another run, and (runs,) their largest templateness.

    Characters that no reader sees are left out.

    Parameters
    ----------
    leaves : (k,) indices of the leaves, ascending
    templateness : (m,) of each leaf
    """
    if not len(leaves):
        return [], np.zeros(0)
    starts = _starts(nodes, leaves)
    strings = list(map(nodes.strings.__getitem__, leaves.tolist()))
    texts = [without_invisible("".join(strings[i:k])) for i, k in pairwise((*starts.tolist(), len(strings)))]
    return texts, np.maximum.reduceat(templateness[leaves], starts)


def _quantile(values: Floats, share: float) -> float:
    """Interpolate linearly, as `np.quantile`, which takes many times as long."""
    place = share * (len(values) - 1)
    lower, upper = int(place), min(int(place) + 1, len(values) - 1)
    parted = np.partition(values, (lower, upper))
    return float(parted[lower] + (place - lower) * (parted[upper] - parted[lower]))


def _starts(nodes: NodeTable, leaves: Ints) -> Ints:
    """Numbers of the leaves before which a word cannot go on."""
    apart = (nodes.gap[leaves] > GLUED) | (np.diff(leaves, prepend=-2) > 1)
    if nodes.spaces:
        apart |= np.isin(leaves, [leaf for leaf, white in nodes.spaces.items() if white])
    return np.flatnonzero(apart)
