"""Good hubs of a crawl that is going on, and the unvisited pages that they link to.

Source: the distiller of FOCUS (Chakrabarti, van den Berg & Dom 1999), with pagelets as hubs as in Bar-Yossef &
Rajagopalan 2002, Section 4, case 2.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from threading import Lock
from typing import Final

import numpy as np

from scrapy_pagelets.links.hits import hits

#: Best hubs whose links are followed, and pagelets and pages that are remembered.
_HUBS: Final = 10
_MOST: Final = 2000
_VISITED: Final = 20_000


class Distiller:
    """The pagelets of a site with links, and the relevance of the pages that were visited. Thread-safe.

    Parameters
    ----------
    most : number of pagelets that are remembered; the oldest are forgotten first

    Attributes
    ----------
    added : number of pages that were added

    Examples
    --------
    >>> distiller = Distiller()
    >>> distiller.add(0, 0.0, [[1, 2, 3], [4, 5]])
    >>> distiller.add(1, 0.6, [])
    >>> distiller.add(2, 0.3, [])
    >>> distiller.add(4, 0.0, [])
    >>> distiller.expected()
    {3: 0.3}
    """

    def __init__(self, most: int = _MOST) -> None:
        self.added = 0
        self._relevance: dict[int, float] = {}
        self._lists: deque[Sequence[int]] = deque(maxlen=most)
        self._lock = Lock()

    def add(self, page: int, relevance: float, lists: Iterable[Sequence[int]]) -> None:
        """Add a page that was visited.

        Parameters
        ----------
        page : key of the page
        relevance : relevance of its content, 0 to 1
        lists : for each pagelet that is no template, the keys of the pages that it links to
        """
        with self._lock:
            self.added += 1
            self._relevance[page] = relevance
            if len(self._relevance) > _VISITED:
                del self._relevance[next(iter(self._relevance))]
            self._lists.extend(links for links in lists if len(links) > 1)

    def expected(self) -> dict[int, float]:
        """Relevance to expect of each unvisited page that one of the ten best hubs links to.

        Hubs are scored by HITS, where an edge counts for its hub as much as its page is relevant; pages that were not
        visited count nothing. A page is expected to be as relevant as those that the hub has led to, on average, with
        one page without relevance added, so that a single page proves little.
        """
        from scipy.sparse import csr_array

        with self._lock:
            relevances, lists = dict(self._relevance), list(self._lists)
        if not lists:
            return {}
        keys = np.fromiter((key for links in lists for key in links), np.int64)
        pages, target = np.unique(keys, return_inverse=True)
        ends = np.cumsum([0, *map(len, lists)])
        shape = len(lists), len(pages)
        visited = np.array([page in relevances for page in pages.tolist()])
        relevance = np.array([relevances.get(page, 0.0) for page in pages.tolist()])
        found = csr_array((relevance[target], target, ends), shape)
        hubs, _ = hits(csr_array((np.ones(len(target)), target, ends), shape), found)
        seen = csr_array((visited[target].astype(float), target, ends), shape).sum(axis=1)
        value = found.sum(axis=1) / (seen + 1)
        expected: dict[int, float] = {}
        for hub in np.argsort(-hubs, kind="stable")[:_HUBS].tolist():
            for place in target[ends[hub] : ends[hub + 1]].tolist() if hubs[hub] > 0 else ():
                if not visited[place]:
                    page = int(pages[place])
                    expected[page] = max(expected.get(page, 0.0), float(value[hub]))
        return expected
