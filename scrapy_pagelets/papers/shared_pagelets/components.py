"""Connected components of a graph that grows during a crawl."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar

T = TypeVar("T", bound=Hashable)


class Components(Generic[T]):
    """Connected components of a graph that grows edge by edge: union-find, in nearly constant time for each edge.

    Source: Tarjan & van Leeuwen 1984, union by size with path halving.

    Examples
    --------
    >>> graph = Components[str]()
    >>> graph.union("a", "b"), graph.union("c", "d"), graph.union("b", "a")
    (True, True, False)
    >>> graph.find("a") == graph.find("d"), graph.union("b", "c"), graph.find("a") == graph.find("d")
    (False, True, True)
    >>> len(graph), graph.groups()
    (1, [['a', 'b', 'c', 'd']])
    """

    def __init__(self) -> None:
        self._parent: dict[T, T] = {}
        self._size: dict[T, int] = {}

    def __len__(self) -> int:
        """Return the number of components."""
        return len(self._size)

    def add(self, item: T) -> None:
        """Add a vertex without edges, if it is new."""
        if item not in self._parent:
            self._parent[item] = item
            self._size[item] = 1

    def find(self, item: T) -> T:
        """Return the representative of the component of a vertex.

        Raises
        ------
        KeyError : if the vertex was never added
        """
        parent = self._parent
        while parent[item] != item:
            parent[item] = item = parent[parent[item]]
        return item

    def size(self, item: T) -> int:
        """Number of vertices in the component of a vertex; 1 if the vertex was never added."""
        return self._size[self.find(item)] if item in self._parent else 1

    def union(self, one: T, other: T) -> bool:
        """Add an edge, and its ends if they are new; returns whether it joined two components."""
        self.add(one)
        self.add(other)
        one, other = self.find(one), self.find(other)
        if one == other:
            return False
        if self._size[one] < self._size[other]:
            one, other = other, one
        self._parent[other] = one
        self._size[one] += self._size.pop(other)
        return True

    def groups(self) -> list[list[T]]:
        """Return the vertices of each component, in the order in which they were added."""
        groups: dict[T, list[T]] = {}
        for item in self._parent:
            groups.setdefault(self.find(item), []).append(item)
        return list(groups.values())
