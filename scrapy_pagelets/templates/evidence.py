"""What a site says of a page: how many of its pages share each text, node, fragment and link.

Sources: Bar-Yossef & Rajagopalan 2002, Definition 4 (fragments shared by pages of one authority); Alarte et al. 2014, Definition 3.3
(nodes shared by the pages of a template); Chakrabarti, Kumar, Punera 2007 (page fragments counted by distinct page).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Final

import numpy as np

from scrapy_pagelets.nodes import TEXT, Floats, Ints, NodeTable, mix
from scrapy_pagelets.page import Page

#: A counter that grows beyond this forgets what stands on the fewest pages.
CAPACITY: Final = 60_000


@dataclass(frozen=True, kw_only=True)
class Keys:
    """The fragments of a page as 64-bit hashes, each a column.

    Attributes
    ----------
    text : (m,) run of text, wherever it stands
    placed : (m,) run of text at its path
    path : (n,) node with the path above it
    shape : (n,) the same without ranks among siblings
    exact : (n,) all text below the node
    links : (n,) the set of link targets below the node, without links to the page itself; 0 for fewer than two
    target : (links,) link target
    """

    text: Ints
    placed: Ints
    path: Ints
    shape: Ints
    exact: Ints
    links: Ints
    target: Ints


def keys_of(page: Page) -> Keys:
    """The fragments of a page."""
    nodes = page.nodes
    exact = nodes.total(nodes.spread(mix(nodes.text)))
    targets = np.where(nodes.links.key == page.key, 0, nodes.links.key)
    return Keys(
        text=nodes.text,
        placed=mix(nodes.path[nodes.leaves] * 31 + nodes.text),
        path=nodes.path,
        shape=nodes.shape,
        exact=exact,
        links=_link_sets(nodes, targets),
        target=targets,
    )


def _link_sets(nodes: NodeTable, targets: Ints) -> Ints:
    """(n,) order-free hash of the link targets below each row: the sum of their scrambled keys."""
    column, count = np.zeros(len(nodes), np.int64), np.zeros(len(nodes), np.int64)
    real = targets != 0
    column[nodes.links.row[real]] = mix(targets[real])
    count[nodes.links.row[real]] = 1
    return np.where(nodes.total(count) >= 2, nodes.total(column), 0)


class Counts:
    """Fragments counted by distinct page.

    Attributes
    ----------
    pages : number of pages counted
    """

    FAMILIES: Final = ("text", "placed", "path", "shape", "exact", "links", "target")

    def __init__(self) -> None:
        self.pages = 0
        self._counters: dict[str, Counter[int]] = {name: Counter() for name in self.FAMILIES}
        self._variants: Counter[int] = Counter()
        self._linked: Counter[int] = Counter()

    def learn(self, nodes: NodeTable, keys: Keys) -> None:
        """Count a page."""
        self.pages += 1
        placed = self._counters["placed"]
        places = nodes.path[nodes.leaves].tolist()
        self._variants.update({place for place, key in zip(places, keys.placed.tolist(), strict=True) if key not in placed})
        for name, counter in self._counters.items():
            counter.update(set(getattr(keys, name).tolist()))
        self._linked.update(set(nodes.path[mostly_links(nodes)].tolist()))
        for counter in (*self._counters.values(), self._variants, self._linked):
            forget_rare(counter)

    def share(self, name: str, column: Ints, known: bool) -> Floats:
        """Share of the other pages that have each fragment of a family; 0 if there is no other page.

        Parameters
        ----------
        known : the page itself has been counted
        """
        others = self.pages - known
        if others < 1:
            return np.zeros(len(column))
        return np.maximum(look_up(self._counters[name], column) - known, 0) / others

    def variants(self, nodes: NodeTable) -> Floats:
        """(m,) different texts at the place of each leaf, over the pages that have the place."""
        places = nodes.path[nodes.leaves]
        return look_up(self._variants, places) / np.maximum(1, look_up(self._counters["path"], places))

    def linked(self, nodes: NodeTable) -> Floats:
        """(n,) share of the pages with the node on which it holds links and little else."""
        return look_up(self._linked, nodes.path) / np.maximum(1, look_up(self._counters["path"], nodes.path))


def mostly_links(nodes: NodeTable) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """(n,) rows three quarters of whose words are link text."""
    words = nodes.total(nodes.spread(nodes.words))
    return nodes.total(nodes.spread(nodes.words * nodes.anchor[nodes.leaves])) > 0.75 * words


def look_up(counter: Counter[int], keys: Ints) -> Ints:
    """Counts of the keys, in their shape."""
    return np.fromiter(map(counter.__getitem__, keys.tolist()), np.int64, len(keys))


def forget_rare(counter: Counter[int]) -> None:
    """Bound a counter: beyond its capacity it loses the keys with the smallest counts (lossy counting, Manku & Motwani 2002)."""
    least = 1
    while len(counter) > CAPACITY:
        for key in [key for key, count in counter.items() if count <= least]:
            del counter[key]
        least *= 2
