"""What a site says of a page: which fragments its pages share, and how the classifier judges the same place on them.

Sources: Bar-Yossef & Rajagopalan 2002, Definition 4 (fragments shared by pages of one authority); Alarte et al. 2014,
Definition 3.3 (nodes shared by the pages of a template); Chakrabarti, Kumar, Punera 2007 (page fragments counted by
distinct page).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass
from itertools import repeat
from types import MappingProxyType
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from scrapy_pagelets.nodes import Bools, Floats, Ints, NodeTable, mix
from scrapy_pagelets.page import Page
from scrapy_pagelets.templates.counting import CAPACITY, countable, forget_rare, look_up

Column = NDArray[Any]

#: A node belongs to the template if this share of the pages has it: one odd page must not delete the template.
VOTE: Final = 0.6


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
    links : (n,) the link targets below the node, without links to the page itself; 0 for fewer than two
    target : (links,) link target, 0 for the page itself
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
    targets = np.where(nodes.links.key == page.key, 0, nodes.links.key)
    return Keys(
        text=nodes.text,
        placed=mix(nodes.path[nodes.leaves] * 31 + nodes.text),
        path=nodes.path,
        shape=nodes.shape,
        exact=nodes.total(nodes.spread(mix(nodes.text))),
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


def mean_odds(nodes: NodeTable, odds: Floats) -> Floats:
    """(n,) mean of the leaves' log odds below each row, weighted by words; 0 where there are none.

    Parameters
    ----------
    odds : (m,) of the page-level classifier
    """
    words = nodes.words + 0.1  # a rule or a bullet has a place, too
    mean: Floats = nodes.total(nodes.spread(words * odds)) / np.maximum(nodes.total(nodes.spread(words)), 0.05)
    return mean


@dataclass(frozen=True, kw_only=True)
class Fragments:
    """What a page adds to the counts.

    Attributes
    ----------
    tallies : keys by family, each of which adds 1
    sums : keys by family, and what they add
    places : (k,) paths of the texts that count
    texts : (k,) the texts, ``Keys.placed``
    """

    tallies: dict[str, Ints]
    sums: dict[str, tuple[Ints, Floats]]
    places: Ints
    texts: Ints

    @classmethod
    def of(cls, nodes: NodeTable, keys: Keys, odds: Floats) -> Self:
        """The fragments of a page.

        Parameters
        ----------
        odds : (n,) ``mean_odds``
        """
        seen = countable(nodes)
        leaves, links = seen[nodes.leaves], seen[nodes.links.row]
        masks = {"text": leaves, "placed": leaves, "target": links}
        tallies = {name: _different(getattr(keys, name)[masks.get(name, seen)]) for name in Counts.FAMILIES}
        tallies["linked"] = _different(keys.path[mostly_links(nodes) & seen])
        tallies["shapes"] = keys.shape[seen]
        sums = {"odds": _summed(keys.path[seen], odds[seen]), "shape_odds": _summed(keys.shape[seen], odds[seen])}
        return cls(tallies=tallies, sums=sums, places=nodes.path[nodes.leaves][leaves], texts=keys.placed[leaves])


class Counts:
    """Fragments counted by distinct page, and the classifier's log odds by place.

    Attributes
    ----------
    pages : number of pages counted
    """

    #: Counted once a page.
    FAMILIES: Final = ("text", "placed", "path", "exact", "links", "target")
    #: Sums, and the tallies by which they become means.
    SUMS: Final = MappingProxyType({"odds": "path", "shape_odds": "shapes"})

    def __init__(self) -> None:
        self.pages = 0
        self._tallies: dict[str, Counter[int]] = {
            name: Counter() for name in (*self.FAMILIES, "variants", "linked", "shapes")
        }
        self._sums: dict[str, dict[int, float]] = {name: {} for name in self.SUMS}

    @property
    def size(self) -> int:
        """Number of entries of all counters."""
        return sum(map(len, self._tallies.values())) + sum(map(len, self._sums.values()))

    def learn(self, nodes: NodeTable, keys: Keys, odds: Floats) -> None:
        """Count a page.

        Parameters
        ----------
        odds : (n,) ``mean_odds``
        """
        self.add(Fragments.of(nodes, keys, odds))

    def add(self, fragments: Fragments) -> None:
        """Count the page of these fragments."""
        self.pages += 1
        placed = self._tallies["placed"]
        texts = zip(fragments.places.tolist(), fragments.texts.tolist(), strict=True)
        self._tallies["variants"].update({place for place, text in texts if text not in placed})
        for name, keys in fragments.tallies.items():
            self._tallies[name].update(keys.tolist())
        for name, (keys, values) in fragments.sums.items():
            sums = self._sums[name]
            sums.update(zip(keys.tolist(), (_sums(sums, keys) + values).tolist(), strict=True))
        for counter in self._tallies.values():
            forget_rare(counter)
        for name, counted in self.SUMS.items():
            forget_others(self._sums[name], self._tallies[counted])

    def arrays(self) -> dict[str, Column]:
        """All counters as columns, for `from_arrays`."""
        found: dict[str, Column] = {"pages": np.array([self.pages])}
        tables: dict[str, Mapping[int, float]] = {**self._tallies, **self._sums}
        for name, table in tables.items():
            kind = np.int32 if name in self._tallies else np.float64
            found[f"{name}_keys"] = np.fromiter(table.keys(), np.int64, len(table))
            found[f"{name}_values"] = np.fromiter(table.values(), kind, len(table))
        return found

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Column]) -> Self:
        """Counters of what ``arrays`` gave."""
        counts = cls()
        counts.pages = int(arrays["pages"][0])
        tables: dict[str, dict[int, Any]] = {**counts._tallies, **counts._sums}
        for name, table in tables.items():
            entries = zip(arrays[f"{name}_keys"].tolist(), arrays[f"{name}_values"].tolist(), strict=True)
            dict.update(table, entries)  # a counter would count the pairs
        return counts

    def mapped(self, nodes: NodeTable, keys: Keys, pages: int, *, include_slots: bool = False) -> Bools:
        """(n,) rows of the template by votes: on ``VOTE`` of the pages, two at least, below rows that are.

        Nodes of equal path hash form a mapping that is one-to-one, equal and top-down: Definition 3.2 with
        ``mapping.same_signature`` and the rank among equal siblings as equality (``algorithms.md`` E.2).

        Parameters
        ----------
        pages : number of pages that vote
        include_slots : also runs of text whose place all pages have while their words vary
        """
        needed = max(2.0, VOTE * pages)
        mapped: Bools = look_up(self._tallies["path"], nodes.path) >= needed
        if not include_slots:
            mapped[nodes.leaves] &= look_up(self._tallies["placed"], keys.placed) >= needed
        for rows in nodes.levels[1:]:
            mapped[rows] &= mapped[nodes.parent[rows]]
        return mapped

    def within(self, pages: int) -> Self:
        """The same counters, as a view, for a part of the site: fragments that only so many pages could have."""
        view = copy(self)
        view.pages = pages
        return view

    def most(self, texts: Ints) -> int:
        """On how many pages the most frequent one of some texts stands."""
        return int(look_up(self._tallies["text"], texts).max(initial=0))

    def share(self, name: str, column: Ints, known: bool) -> Floats:
        """Share of the other pages that have each fragment of a family; 0 if there is no other page.

        Parameters
        ----------
        known : the page itself has been counted
        """
        count: Floats = np.maximum(look_up(self._tallies[name], column) - known, 0) / max(1, self.pages - known)
        return count

    def variants(self, nodes: NodeTable) -> Floats:
        """(m,) different texts at the place of each leaf, over the pages that have the place."""
        places = nodes.path[nodes.leaves]
        return look_up(self._tallies["variants"], places) / np.maximum(1, look_up(self._tallies["path"], places))

    def linked(self, nodes: NodeTable) -> Floats:
        """(n,) share of the pages with the node on which it holds links and little else."""
        return look_up(self._tallies["linked"], nodes.path) / np.maximum(1, look_up(self._tallies["path"], nodes.path))

    def odds_by_path(self, keys: Keys, own: Floats, known: bool) -> Floats:
        """(n,) mean log odds of the same node on other pages; NaN where there is no other page with it."""
        return _rest(self._sums["odds"], self._tallies["path"], keys.path, own, np.full(len(own), int(known)), known)

    def odds_by_shape(self, keys: Keys, own: Floats, known: bool) -> Floats:
        """(n,) mean log odds of the nodes of the same shape on other pages; NaN where there is none."""
        _, back = np.unique(keys.shape, return_inverse=True)
        times = np.bincount(back)[back].astype(np.int64) * known
        together: Floats = np.bincount(back, own)[back].astype(np.float64)
        return _rest(self._sums["shape_odds"], self._tallies["shapes"], keys.shape, together, times, known)


def _rest(sums: dict[int, float], counts: Counter[int], column: Ints, own: Floats, times: Ints, known: bool) -> Floats:
    count = look_up(counts, column) - times
    summed = _sums(sums, column) - own * known
    return np.where(count > 0, summed / np.maximum(1, count), np.nan)


def _different(keys: Ints) -> Ints:
    return np.fromiter(different := set(keys.tolist()), np.int64, len(different))


def _summed(keys: Ints, values: Floats) -> tuple[Ints, Floats]:
    """The different keys, and the sum of the values of each."""
    different, back = np.unique(keys, return_inverse=True)
    return different, np.bincount(back, values).astype(np.float64)


def _sums(sums: dict[int, float], keys: Ints) -> Floats:
    return np.fromiter(map(sums.get, keys.tolist(), repeat(0.0)), np.float64, len(keys))


def mostly_links(nodes: NodeTable) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """(n,) rows three quarters of whose words are link text."""
    words = nodes.total(nodes.spread(nodes.words))
    return nodes.total(nodes.spread(nodes.words * nodes.anchor[nodes.leaves])) > 0.75 * words


def forget_others(sums: dict[int, float], counter: Counter[int]) -> None:
    """Drop the sums whose counter has forgotten them."""
    if len(sums) > CAPACITY:
        for key in sums.keys() - counter.keys():
            del sums[key]
