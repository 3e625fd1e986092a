"""Complete subdigraphs: choose the pages to load so that they link to each other, as the pages of a menu do.

Source: Alarte, Insa, Silva, Tamarit 2014, *Web Template Extraction Based on Hyperlink Analysis*, Section 4.1,
Algorithm 1. ``menu_links`` has the links to choose from.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final

#: Fewer links than any page has, for candidates that come last.
_LAST: Final = -(1 << 30)


class Subdigraph:
    """The largest set of mutually linked pages among those loaded so far, extended one page at a time.

    A page counts as linking to itself, because menus omit the link to the current page. Taken literally, Algorithm 1
    both requires such links and ignores them, so it would find no set at all.

    Parameters
    ----------
    candidates : keys of the pages that the key page links to (``reachableLinks``), best first
    size : n, the number of pages that must link to each other
    key_page : key of the key page, if it may be one of them; Algorithm 1 searches only among those that it links to
    last : keys of candidates to load only if no other is left

    Examples
    --------
    >>> graph = Subdigraph([1, 2, 3], size=2)
    >>> graph.next(), graph.add(1, [2, 3]), graph.done
    (1, {1}, False)
    >>> graph.next(), graph.add(2, [1]), graph.done
    (2, {1, 2}, True)
    >>> graph = Subdigraph([1, 2, 3], size=2, key_page=0)
    >>> graph.next(), graph.add(1, [0, 2]), graph.done
    (1, {0, 1}, True)
    """

    def __init__(
        self, candidates: Iterable[int], size: int, key_page: int | None = None, last: Collection[int] = ()
    ) -> None:
        candidates = list(candidates)
        self.size = size
        self.best: set[int] = set()
        #: From candidate to number of loaded pages that link to it.
        self._waiting = {candidate: _LAST if candidate in last else 0 for candidate in candidates}
        self._links: dict[int, set[int]] = {}
        self._names: dict[int, set[int]] = {}
        if key_page is not None:
            self.best, self._links[key_page], self._names[key_page] = {key_page}, set(candidates), {key_page}

    @property
    def done(self) -> bool:
        """True once ``size`` pages link to each other."""
        return len(self.best) >= self.size

    def next(self) -> int | None:
        """Remove and return the candidate to load next, None if there is none left.

        It is the one to which most of the loaded pages link, because what all pages link to is in their menu. Of
        several such candidates it is the first.
        """
        if not self._waiting:
            return None
        candidate = max(self._waiting, key=self._waiting.__getitem__)  # max returns the first of equals
        del self._waiting[candidate]
        return candidate

    def add(self, page: int, links: Iterable[int], names: Iterable[int] = ()) -> set[int]:
        """Add a loaded page and its links; returns the largest complete subdigraph that contains the page.

        Parameters
        ----------
        links : keys of the pages that it links to
        names : other keys of the page: of URLs that redirect to it, or to which it redirects
        """
        targets = set(links)
        self._names[page] = {page, *names}
        for name in self._names[page]:
            self._waiting.pop(name, None)
        for target in targets & self._waiting.keys():
            self._waiting[target] += 1
        self._links[page] = targets
        clique = {page} | self._clique([other for other in self._links if other != page and self._mutual(page, other)])
        if len(clique) > len(self.best):
            self.best = clique
        return clique

    def _mutual(self, page: int, other: int) -> bool:
        return not (
            self._names[other].isdisjoint(self._links[page]) or self._names[page].isdisjoint(self._links[other])
        )

    def _clique(self, pages: list[int]) -> set[int]:
        """Largest set of mutually linked pages: branch and bound over an explicit stack, exact."""
        best: set[int] = set()
        stack: list[tuple[set[int], list[int]]] = [(set(), pages)]
        while stack:
            chosen, rest = stack.pop()
            if len(chosen) > len(best):
                best = chosen
            for i, page in enumerate(rest):
                if len(chosen) + len(rest) - i <= len(best):
                    break
                near = [p for p in rest[i + 1 :] if self._mutual(page, p)]
                stack.append((chosen | {page}, near))
        return best
