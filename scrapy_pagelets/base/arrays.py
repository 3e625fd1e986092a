"""Columns of numbers: their types, hashes, sums of their first values, and their alignment."""

from bisect import bisect_left
from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]


def mix(x: Ints) -> Ints:
    """Scramble 64-bit integers bijectively (the finaliser of splitmix64)."""
    z = x.astype(np.uint64)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return (z ^ (z >> np.uint64(31))).astype(np.int64)


def band_hashes(sketches: NDArray[Any], bands: int, rows: int, start: Ints) -> Ints:
    """(n, bands) hash of each band of some sketches; the values beyond the last band do not count.

    Source: Leskovec, Rajaraman & Ullman, *Mining of Massive Datasets*, Section 3.4. ``sketches``: (n, values) at least
    ``bands * rows`` each. ``start``: (n, bands) or (1, bands) what the hashes begin with, different for each band, so
    that only bands with the same number agree.

    >>> sketches = np.array([[1, 2, 3, 4], [1, 2, 4, 3]])
    >>> one, other = band_hashes(sketches, 2, 2, np.arange(2)[None, :])
    >>> (one == other).tolist()
    [True, False]
    """
    parts = sketches[:, : bands * rows].reshape(len(sketches), bands, rows).astype(np.int64, copy=False)
    hashes = start
    for row in range(rows):
        hashes = mix(hashes * 31 + parts[:, :, row])
    return hashes


def up_to(column: Ints | Bools) -> Ints:
    """(m + 1,) the sums of the first values of a column, (m,), from none to all of them."""
    sums = np.zeros(len(column) + 1, np.int64)
    column.cumsum(out=sums[1:])
    return sums


def align_values(ours: Ints, theirs: Ints) -> Ints:
    """Align two sequences of hashes that have most of their values in common, by the "patience diff" of Bram Cohen.

    A common prefix and suffix are aligned first. Values that occur once in each sequence, in the same order, split the
    rest into ranges, which are aligned likewise. Return (len(ours),) ascending indices into ``theirs``, -1 for values
    without a counterpart.

    >>> align_values(np.array([1, 2, 9, 3, 4]), np.array([1, 2, 3, 8, 4])).tolist()
    [0, 1, -1, 2, 4]
    """
    a, b = ours.tolist(), theirs.tolist()
    aligned = [-1] * len(a)
    ranges = [(0, 0, len(a), len(b))]
    while ranges:
        i, j, i_end, j_end = ranges.pop()
        while i < i_end and j < j_end and a[i] == b[j]:
            aligned[i] = j
            i, j = i + 1, j + 1
        while i < i_end and j < j_end and a[i_end - 1] == b[j_end - 1]:
            i_end, j_end = i_end - 1, j_end - 1
            aligned[i_end] = j_end
        anchors = _anchors(a[i:i_end], b[j:j_end])
        starts = [(i, j), *((i + k, j + m) for k, m in anchors)]
        ends = [*starts[1:], (i_end, j_end)]
        if anchors:
            ranges += [(*pair, *end) for pair, end in zip(starts, ends, strict=True)]
    return np.array(aligned, np.int64)


def _anchors(a: list[int], b: list[int]) -> list[tuple[int, int]]:
    """Longest sequence of index pairs, ascending in both, of the values that occur once in each sequence."""
    counts, others = Counter(a), Counter(b)
    places = {value: place for place, value in enumerate(b) if others[value] == 1}
    pairs = [(i, places[value]) for i, value in enumerate(a) if counts[value] == 1 and value in places]
    # Patience sorting: the top card of each pile, and the card below each card.
    tops: list[int] = []
    cards: list[int] = []
    below: list[int] = []
    for card, (_, j) in enumerate(pairs):
        pile = bisect_left(tops, j)
        below.append(cards[pile - 1] if pile else -1)
        tops[pile : pile + 1] = [j]
        cards[pile : pile + 1] = [card]
    chain = []
    card = cards[-1] if cards else -1
    while card >= 0:
        chain.append(pairs[card])
        card = below[card]
    return chain[::-1]
