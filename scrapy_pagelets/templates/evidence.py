"""What a site says of a page: which fragments its pages share, and how the classifier judges the same place on them.

Sources: Bar-Yossef & Rajagopalan 2002, Definition 4 (fragments shared by pages of one authority); Alarte et al. 2014,
Definition 3.3 (nodes shared by the pages of a template); Chakrabarti, Kumar, Punera 2007 (page fragments counted by
distinct page).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import repeat
from typing import Final

import numpy as np

from scrapy_pagelets.nodes import Floats, Ints, NodeTable, mix
from scrapy_pagelets.page import Page
from scrapy_pagelets.templates.counting import CAPACITY, countable, forget_rare, look_up


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


class Counts:
    """Fragments counted by distinct page, and the classifier's log odds by place.

    Attributes
    ----------
    pages : number of pages counted
    """

    FAMILIES: Final = ("text", "placed", "path", "exact", "links", "target")

    def __init__(self) -> None:
        self.pages = 0
        self._counters: dict[str, Counter[int]] = {name: Counter() for name in self.FAMILIES}
        self._variants: Counter[int] = Counter()
        self._linked: Counter[int] = Counter()
        self._odds: dict[int, float] = {}
        self._shapes: Counter[int] = Counter()
        self._shape_odds: dict[int, float] = {}

    def learn(self, nodes: NodeTable, keys: Keys, odds: Floats) -> None:
        """Count a page.

        Parameters
        ----------
        odds : (n,) ``mean_odds``
        """
        self.pages += 1
        seen = countable(nodes)
        leaves, links = seen[nodes.leaves], seen[nodes.links.row]
        masks = {"text": leaves, "placed": leaves, "target": links}
        placed = self._counters["placed"]
        places, texts = nodes.path[nodes.leaves][leaves].tolist(), keys.placed[leaves].tolist()
        self._variants.update({place for place, key in zip(places, texts, strict=True) if key not in placed})
        for name, counter in self._counters.items():
            counter.update(set(getattr(keys, name)[masks.get(name, seen)].tolist()))
        self._linked.update(set(keys.path[mostly_links(nodes) & seen].tolist()))
        _add(self._odds, keys.path[seen], odds[seen])
        _add(self._shape_odds, keys.shape[seen], odds[seen])
        self._shapes.update(keys.shape[seen].tolist())
        for counter in (*self._counters.values(), self._variants, self._linked):
            forget_rare(counter)
        for sums, counter in ((self._odds, self._counters["path"]), (self._shape_odds, self._shapes)):
            forget_rare(counter)
            forget_others(sums, counter)

    def share(self, name: str, column: Ints, known: bool) -> Floats:
        """Share of the other pages that have each fragment of a family; 0 if there is no other page.

        Parameters
        ----------
        known : the page itself has been counted
        """
        count: Floats = np.maximum(look_up(self._counters[name], column) - known, 0) / max(1, self.pages - known)
        return count

    def variants(self, nodes: NodeTable) -> Floats:
        """(m,) different texts at the place of each leaf, over the pages that have the place."""
        places = nodes.path[nodes.leaves]
        return look_up(self._variants, places) / np.maximum(1, look_up(self._counters["path"], places))

    def linked(self, nodes: NodeTable) -> Floats:
        """(n,) share of the pages with the node on which it holds links and little else."""
        return look_up(self._linked, nodes.path) / np.maximum(1, look_up(self._counters["path"], nodes.path))

    def odds_by_path(self, keys: Keys, own: Floats, known: bool) -> Floats:
        """(n,) mean log odds of the same node on other pages; NaN where there is no other page with it."""
        return _rest(self._odds, self._counters["path"], keys.path, own, np.full(len(own), int(known)), known)

    def odds_by_shape(self, keys: Keys, own: Floats, known: bool) -> Floats:
        """(n,) mean log odds of the nodes of the same shape on other pages; NaN where there is none."""
        _, back = np.unique(keys.shape, return_inverse=True)
        times = np.bincount(back)[back].astype(np.int64) * known
        together: Floats = np.bincount(back, own)[back].astype(np.float64)
        return _rest(self._shape_odds, self._shapes, keys.shape, together, times, known)


def _rest(sums: dict[int, float], counts: Counter[int], column: Ints, own: Floats, times: Ints, known: bool) -> Floats:
    count = look_up(counts, column) - times
    summed = _sums(sums, column) - own * known
    return np.where(count > 0, summed / np.maximum(1, count), np.nan)


def _add(sums: dict[int, float], keys: Ints, values: Floats) -> None:
    different, back = np.unique(keys, return_inverse=True)
    added = _sums(sums, different) + np.bincount(back, values)
    sums.update(zip(different.tolist(), added.tolist(), strict=True))


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
