"""Visual separators: strips across a pool of blocks that cross none of the blocks.

Source: Cai, Yu, Wen, Ma 2003, *VIPS: a Vision-based Page Segmentation Algorithm* (MSR-TR-2003-79), section 4.2; Yu,
Cai, Wen, Ma 2003, section 2.2, step 2; see ``docs/algorithms/vips-feedback-2003.md``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from scrapy_pagelets.base.arrays import Bools, Floats, Ints


class Strips(NamedTuple):
    """The separators of one direction, from left to right or from top to bottom.

    Attributes
    ----------
    side : (k,) number of separators before each block
    start, end : (s,) where each separator begins and ends; if blocks overlap by less than the tolerance, it ends before
        it begins
    """

    side: Ints
    start: Floats
    end: Floats


def separators(start: Floats, end: Floats, tolerance: float = 0.0) -> Strips:
    """Separators of blocks whose projections are ``start`` to ``end``, without those at the border of the pool.

    The blocks are swept in the order of their starts. A block that starts after the end of all blocks before it has a
    separator in front. The
    report of 2003 splits, shrinks and removes separators block by block, which gives the same in quadratic time.

    Parameters
    ----------
    start, end : (k,) projections of the blocks, ``start <= end``
    tolerance : how far separated blocks may overlap, so that a pixel of border or rounding does not join them; no block
        is shorter. With 0, blocks that touch have no separator between them; with more, they have one of no width

    Examples
    --------
    >>> separators(np.array([0.0, 50, 10]), np.array([20.0, 60, 40]))
    Strips(side=array([0, 1, 0]), start=array([40.]), end=array([50.]))
    """
    order = np.argsort(start, kind="stable")
    reached = np.maximum.accumulate(end[order])[:-1]
    begins = start[order][1:]
    free = begins - reached > -tolerance
    side = np.empty(len(start), np.int64)
    side[order] = np.append(0, np.cumsum(free))
    return Strips(side, reached[free], begins[free])


def crossed(strips: Strips, chosen: Bools) -> Ints:
    """(k,) Number of chosen separators before each block.

    Parameters
    ----------
    chosen : (s,) which separators are counted
    """
    return np.append(0, np.cumsum(chosen))[strips.side]
