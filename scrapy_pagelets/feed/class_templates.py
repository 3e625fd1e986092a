"""Templates of classes of pages, the lines of ``PAGELETS_TEMPLATES``: what a crawl strips from the pages of a class."""

import math
import threading
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Generic, NamedTuple, TypeVar

import numpy as np

from scrapy_pagelets.base.arrays import Bools, Ints
from scrapy_pagelets.page.nodes import CELL, GLUED, LINE, PARAGRAPH, SPACE, NodeTable
from scrapy_pagelets.page.text import text_of

SHARE: Final = 0.05  # share of a class's pages, two at least, from which an exported text or link is stripped
#: Most texts, or links, of a class, and most characters of all its texts or links; the rarest are dropped.
MOST: Final = 5_000
MOST_CHARACTERS: Final = 1_000_000
MOST_IN_ALL: Final = 1_000_000  # texts and links of all classes that are kept; with more, further classes are left out
_SEPARATORS: Final = {SPACE: " ", CELL: "\t", LINE: "\n", PARAGRAPH: "\n\n"}
Key = TypeVar("Key", bound=Hashable)


class Merged(Generic[Key]):
    """Merge sequences of keys to one sequence of distinct keys, and count the sequences that have each key.

    A key that is new comes after the one before it in its own sequence.

    >>> menus = Merged[str]()
    >>> for menu in (["Home", "Help"], ["Home", "News", "Help"], ["Start", "Home"]):
    ...     menus.add(menu)
    >>> list(menus)
    [('Start', 1), ('Home', 3), ('News', 1), ('Help', 2)]
    """

    def __init__(self, most: int = MOST, characters: int = MOST_CHARACTERS) -> None:
        self._most, self._characters = most, characters
        self._counts: Counter[Key] = Counter()
        #: The key after each key; None is the place before the first key and after the last key.
        self._next: dict[Key | None, Key | None] = {None: None}
        self._size = 0

    def __len__(self) -> int:
        return len(self._counts)

    def __iter__(self) -> Iterator[tuple[Key, int]]:
        key = self._next[None]
        while key is not None:
            yield key, self._counts[key]
            key = self._next[key]

    def add(self, keys: Iterable[Key]) -> None:
        """Merge a sequence."""
        last: Key | None = None
        for key in dict.fromkeys(keys):
            if key not in self._next:
                self._next[key], self._next[last] = self._next[last], key
                self._size += len(str(key))
            self._counts[key] += 1
            last = key
        if len(self._counts) > self._most or self._size > self._characters:
            self._drop_rare()

    def _drop_rare(self) -> None:
        """Drop the keys of the fewest sequences, old ones first, until a fifth of the room is free."""
        kept, self._size = set[Key](), 0
        newest_first = reversed(self._counts.items())
        for key, _ in sorted(newest_first, key=lambda one: -one[1])[: self._most * 4 // 5]:
            if self._size + len(str(key)) <= self._characters * 4 // 5:
                kept.add(key)
                self._size += len(str(key))
        order = [key for key, _ in self if key in kept]
        self._counts = Counter({key: count for key, count in self._counts.items() if key in kept})
        self._next = dict(zip((None, *order), (*order, None), strict=True))


class StrippedRun(NamedTuple):
    """A run of stripped text: its text, the gap before it, and how often the page has stripped the same before."""

    text: str
    gap: int
    repeated: int


@dataclass
class StrippedClass:
    """What was stripped from the pages of a class."""

    #: site, id: of the class
    site: str
    id: str
    pages: int = 0  # pages of the class that were known when its last page was cleaned
    cleaned: int = 0  # pages that were cleaned
    runs: Merged[StrippedRun] = field(default_factory=Merged)
    links: Merged[tuple[str, str]] = field(default_factory=Merged)

    def record(self) -> dict[str, Any]:
        """The line of the class."""
        least = max(2, math.ceil(SHARE * self.cleaned)) if self.cleaned > 1 else 1
        runs = [run for run, pages in self.runs if pages >= least]
        text = "".join(part for run in runs for part in (_SEPARATORS.get(run.gap, " "), run.text))
        often = ((*link, pages) for link, pages in self.links if pages >= least)
        links = [{"url": url, "anchor": anchor, "pages": pages} for url, anchor, pages in often]
        return {"id": self.id, "site": self.site, "pages": self.pages, "text": text.strip(), "links": links}


class StrippedTemplates:
    """What is stripped from the pages of each class of a crawl, in bounded memory. Thread-safe."""

    def __init__(self, most: int = MOST_IN_ALL) -> None:
        self._most = most
        self._classes: dict[str, StrippedClass] = {}
        self._total = 0
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._classes)

    def add(self, found: StrippedClass, runs: Sequence[StrippedRun], links: Sequence[tuple[str, str]]) -> bool:
        """Add what is stripped from a page of a class, in order; False if there is no room for more classes."""
        with self._lock:
            if found.id not in self._classes and self._total >= self._most:
                return False
            known = self._classes.setdefault(found.id, found)
            before = len(known.runs) + len(known.links)
            known.pages = max(known.pages, found.pages)
            known.cleaned += 1
            known.runs.add(runs)
            known.links.add(links)
            self._total += len(known.runs) + len(known.links) - before
            return True

    def records(self) -> Iterator[dict[str, Any]]:
        """Yield the lines of the classes, by site and number."""
        for one in sorted(self._classes.values(), key=lambda one: (one.site, len(one.id), one.id)):
            yield one.record()


def stripped_runs(nodes: NodeTable, keep: Bools) -> list[StrippedRun]:
    """The texts of the leaves that the (m,) mask ``keep`` leaves out; the parts of a word are one text."""
    seen: Counter[str] = Counter()
    found = []
    leaves: Ints = np.flatnonzero(~keep)
    apart = (nodes.gap[leaves] > GLUED) | (np.diff(leaves, prepend=-2) > 1)
    for part in np.split(leaves, np.flatnonzero(apart)[1:]):
        text = text_of(nodes, part).strip()
        if text:
            found.append(StrippedRun(text, max(int(nodes.gap[part[0]]), SPACE), seen[text]))
            seen[text] += 1
    return found
