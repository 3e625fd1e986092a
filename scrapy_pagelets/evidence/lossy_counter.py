"""Count hashes by page in bounded memory."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from scrapy_pagelets.base.arrays import Ints
from scrapy_pagelets.core import give
from scrapy_pagelets.core.counter import LossyCounter as LossyCounter

Sums = NDArray[np.float32]
#: A table with more keys than this drops those on the fewest pages.
CAPACITY: Final = 60_000
#: Rows at the beginning and at the end of a giant page that are counted.
_GIANT: Final = CAPACITY // 8


def restored(width: int, capacity: int, keys: Ints, sums: Sums) -> LossyCounter:
    """Restore a pickled table."""
    table = LossyCounter(width, capacity)
    table.add(keys, sums)
    return table


give("counter", CAPACITY=CAPACITY, GIANT=_GIANT, restored=restored)
