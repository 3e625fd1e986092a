"""Visual separators: strips across a pool of blocks that touch none of them.

Source: Cai, Yu, Wen, Ma 2003, *VIPS: a Vision-based Page Segmentation Algorithm* (MSR-TR-2003-79), section 4.2; Yu,
Cai, Wen, Ma 2003, section 2.2, step 2; see ``docs/algorithms/vips-feedback-2003.md``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from scrapy_pagelets.nodes import Bools, Floats, Ints


class Strips(NamedTuple):
    """The separators of one direction, from the left or from the top.

    Attributes
    ----------
    side : (k,) how many of the separators stand before each block
    start, end : (s,) where each separator begins and ends; blocks may overlap by less than the tolerance, and then it
        ends before it begins
    """

    side: Ints
    start: Floats
    end: Floats


def separators(start: Floats, end: Floats, tolerance: float = 0.0) -> Strips:
    """Separators of blocks whose projections are ``start`` to ``end``, those at the border of the pool left out.

    The blocks are swept by their start. Wherever one starts behind the end of all before it, there is a separator. The
    report of 2003 splits, shrinks and removes separators block by block, which gives the same in quadratic time.

    Parameters
    ----------
    start, end : (k,) projections of the blocks, ``start <= end``
    tolerance : how far blocks may overlap, so that one pixel of a border or of rounding joins nothing; no block is
        shorter. With 0, blocks that touch have no separator between them; with more, they have one of no width

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
    """(k,) how many of the chosen separators stand before each block.

    Parameters
    ----------
    chosen : (s,) which of the separators count
    """
    return np.append(0, np.cumsum(chosen))[strips.side]
