"""What a running crawl has done, and what it waits for."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

#: Seconds over which the rate is taken.
_WINDOW: Final = 60.0
#: Subdigraphs, and sites with pages that were loaded, that are remembered.
_REMEMBERED: Final = 1000
#: Part of a step that must be done before the time left is told.
_TELLING: Final = 0.02


@dataclass(frozen=True)
class Step:
    """A step of a crawl, such as a pass over an archive."""

    name: str  # what is done: ``reading``, ``learning`` or ``cleaning`` an archive
    started: float  # when it began, by the clock of `Progress`
    pages: int  # number of pages that are done
    share: float | None  # the part of it that is done, 0 to 1; None if that cannot be known


@dataclass
class Progress:
    """What the components of a crawl tell of their work, for the log and the terminal."""

    #: by the reason, a function that counts the pages that wait for it
    waiting: dict[str, Callable[[], int]] = field(default_factory=dict)
    step: Step | None = None  # the running step, if the crawl goes by steps
    #: paths or URIs of the feeds that are written, with the number of their items
    feeds: dict[str, int] = field(default_factory=dict)
    #: the site and the URLs of each complete subdigraph that was found, at most 1,000
    subdigraphs: list[tuple[str, list[str]]] = field(default_factory=list)
    #: number of pages that were loaded for templates, by site, of at most 1,000 sites
    loaded: Counter[str] = field(default_factory=Counter)
    warnings: dict[str, str] = field(default_factory=dict)  # by the name of their stat, the first warning of each kind
    clock: Callable[[], float] = time.monotonic
    _seen: deque[tuple[float, int]] = field(default_factory=deque)

    def advance(self, name: str, pages: int, share: float | None) -> None:
        """Tell how much of a step is done; a new name begins a step."""
        started = self.step.started if self.step is not None and self.step.name == name else self.clock()
        self.step = Step(name, started, pages, None if share is None else min(1.0, share))

    def seconds_left(self) -> float | None:
        """Seconds until the running step ends, at its pace so far; None while that cannot be known."""
        if self.step is None or self.step.share is None or self.step.share < _TELLING:
            return None
        return (self.clock() - self.step.started) * (1 - self.step.share) / self.step.share

    def rate(self, done: int) -> float:
        """Number of pages a second over the last minute, by the number of those that are done now."""
        now = self.clock()
        self._seen.append((now, done))
        while len(self._seen) > 2 and now - self._seen[1][0] >= _WINDOW:
            self._seen.popleft()
        first, before = self._seen[0]
        return (done - before) / (now - first) if now > first else 0.0

    def held(self) -> dict[str, int]:
        """By the reason, the number of pages that wait now."""
        return {why: number for why, count in self.waiting.items() if (number := count())}

    def found(self, site: str, urls: list[str]) -> None:
        """Remember a complete subdigraph."""
        if len(self.subdigraphs) < _REMEMBERED:
            self.subdigraphs.append((site, urls))

    def has_loaded(self, site: str) -> None:
        """Count a page that was loaded for a template."""
        if site in self.loaded or len(self.loaded) < _REMEMBERED:
            self.loaded[site] += 1
