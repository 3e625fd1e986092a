"""Groups of nearly equal pagelets by chains, whatever the order of the pages."""

from __future__ import annotations

from itertools import count

import numpy as np

from scrapy_pagelets.base.arrays import Ints, mix
from scrapy_pagelets.duplicates.groups import connected
from scrapy_pagelets.papers.shared_pagelets.pagelet_shingles import NEAR, resemblance, super_shingles


def group_near(near: Ints) -> Ints:
    """(p,) a shingle for each sketch, the same if a chain of nearly equal sketches connects them; 0 without words.

    Pairs are searched among the sketches that share a super-shingle, which misses none. The time is quadratic in the
    number of distinct sketches that share one.
    """
    whole = mix(super_shingles(near) * np.arange(1, 5)).sum(1)
    names, first, number = np.unique(whole, return_index=True, return_inverse=True)
    sketches = near[first]
    pairs: list[tuple[int, int]] = []
    for column in super_shingles(sketches).T:
        order = np.argsort(column, kind="stable")
        for step in count(1):
            one, other = order[:-step], order[step:]
            same = column[one] == column[other]
            if not same.any():
                break
            one, other = one[same], other[same]
            close = resemblance(sketches[one], sketches[other]) >= NEAR
            pairs += zip(one[close].tolist(), other[close].tolist(), strict=True)
    for group in connected(pairs):
        names[group] = names[group].min()
    return np.where(near.any(1), names[number], 0)
