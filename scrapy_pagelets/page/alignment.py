"""Align the runs of text of two trees."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter

import numpy as np

from scrapy_pagelets.base.arrays import Ints


def align(ours: Ints, theirs: Ints) -> Ints:
    """Align two sequences of hashes that have most of their values in common.

    This is the "patience diff" of Bram Cohen. A common prefix and a common suffix are aligned first. Values that occur
    once in each sequence, and in the same order, are anchors: they split the rest into ranges, which are aligned in the
    same way.

    Returns
    -------
    (len(ours),) ascending indices into ``theirs``, -1 for values without a counterpart

    Examples
    --------
    >>> align(np.array([1, 2, 9, 3, 4]), np.array([1, 2, 3, 8, 4])).tolist()
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
