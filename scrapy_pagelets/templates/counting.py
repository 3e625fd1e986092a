"""Counting hashes by page, within bounds."""

from __future__ import annotations

from collections import Counter
from itertools import repeat
from typing import Final

import numpy as np

from scrapy_pagelets.nodes import Bools, Ints, NodeTable

#: A counter that grows beyond this forgets what stands on the fewest pages.
CAPACITY: Final = 60_000
_GIANT: Final = CAPACITY // 8


def look_up(counter: Counter[int], keys: Ints) -> Ints:
    """Counts of the keys, in their shape."""
    # `get` with a default, for what is missing: `Counter.__missing__` is a call into Python each time.
    return np.fromiter(map(counter.get, keys.tolist(), repeat(0)), np.int64, len(keys))


def forget_rare(counter: Counter[int], capacity: int = CAPACITY) -> None:
    """Bound a counter: beyond its capacity it loses the keys with the smallest counts.

    Source: Manku & Motwani 2002, *Approximate Frequency Counts over Data Streams* (lossy counting).
    """
    least = 1
    while len(counter) > capacity:
        for key in [key for key, count in counter.items() if count <= least]:
            del counter[key]
        least *= 2


def countable(nodes: NodeTable) -> Bools:
    """(n,) rows that may be counted: of a giant page its beginning and end, lest it drive out what is known."""
    return (np.arange(len(nodes)) < _GIANT) | (nodes.end > len(nodes) - _GIANT)
