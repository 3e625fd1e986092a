"""Python's collection of garbage during crawls."""

from __future__ import annotations

import gc
from typing import Final

#: Allocations, and collections of the generation before, after which a generation is collected. A callback of Scrapy
#: makes thousands of short-lived objects: with Python's 700, most collections scan objects that are still in use.
_THRESHOLDS: Final = (10_000, 10, 10)


class GarbageCollector:
    """Freeze what the process has loaded, and collect less often, as long as crawls run.

    What lives as long as the process need not be scanned again and again.

    The first of several crawls in a process begins this, the last one ends it and restores what was before. A project
    that collects less often anyhow, or not at all, keeps its thresholds.
    """

    def __init__(self) -> None:
        self._crawls = 0
        self._before = gc.get_threshold()

    def begin(self) -> None:
        """Begin a crawl."""
        self._crawls += 1
        if self._crawls > 1:
            return
        gc.freeze()
        self._before = gc.get_threshold()
        if 0 < self._before[0] < _THRESHOLDS[0]:
            gc.set_threshold(*_THRESHOLDS)

    def end(self) -> None:
        """End a crawl."""
        self._crawls -= 1
        if self._crawls:
            return
        gc.unfreeze()
        if gc.get_threshold() == _THRESHOLDS:
            gc.set_threshold(*self._before)


#: The collector of this process.
COLLECTOR: Final = GarbageCollector()
