"""The words and shingles of a text, with NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from scrapy_pagelets.base.arrays import Bools, Floats, Ints, mix
from scrapy_pagelets.base.characters import caseless
from scrapy_pagelets.duplicates.shingles import _PLACES, _WEIGHTS, _WHOLE_WEIGHT, SIZE, Hashes, Tokens, Weights, _kinds
from scrapy_pagelets.page.nodes import GLUED, NodeTable
from scrapy_pagelets.page.text import without_invisible

#: Kinds of code points: not part of a word, part of a word, a word by itself.
_NONE, _PART, _WHOLE = range(3)
#: A character of no word, which is in no page: it ends a run of text.
_END: Final = "\0"
_MULTIPLIER: Final = np.uint64(0x9E3779B97F4A7C15)


def word_hashes(text: str) -> Tokens:
    """See `core.contents.word_hashes`."""
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


def runs_of_tokens(runs: Sequence[str]) -> Ints:
    """See `core.contents.runs_of_tokens`."""
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


def shingles(token: Tokens, size: int = SIZE) -> Hashes:
    """See `core.contents.shingles`."""
    column = _windows(token, size).astype(np.uint32)
    column.sort()  # np.unique takes ten times as long
    return column[_first(column)]


def weighted_shingles(token: Tokens, weight: Floats, size: int = SIZE) -> tuple[Hashes, Weights]:
    """See `core.contents.weighted_shingles`."""
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


def runs_of_words(nodes: NodeTable, leaves: Ints, templateness: Floats) -> tuple[list[str], Floats]:
    """See `core.text.runs_of_words`."""
    if not len(leaves):
        return [], np.zeros(0)
    starts = _starts(nodes, leaves)
    strings = list(map(nodes.strings.__getitem__, leaves.tolist()))
    texts = [without_invisible("".join(strings[i:k])) for i, k in pairwise((*starts.tolist(), len(strings)))]
    return texts, np.maximum.reduceat(templateness[leaves], starts)


def _starts(nodes: NodeTable, leaves: Ints) -> Ints:
    """Numbers of the leaves before which a word cannot go on."""
    apart = (nodes.gap[leaves] > GLUED) | (np.diff(leaves, prepend=-2) > 1)
    if nodes.spaces:
        apart |= np.isin(leaves, [leaf for leaf, white in nodes.spaces.items() if white])
    return np.flatnonzero(apart)
