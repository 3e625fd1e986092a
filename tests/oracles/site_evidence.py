"""What a site learns from pages, table by table."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import reduce
from itertools import repeat
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from scrapy_pagelets.base.arrays import Bools, Floats, Ints, mix
from scrapy_pagelets.base.caches import once
from scrapy_pagelets.evidence.evidence import (
    _GIANT,
    _ODDS,
    CAPACITY,
    CLASSES,
    CLASSIFIERS,
    Fragments,
    Keys,
    SiteEvidence,
    Sums,
    Tables,
)
from scrapy_pagelets.page.nodes import TEXT, NodeTable
from scrapy_pagelets.page.page import Page

_DIGIT: Final = re.compile("[0-9]")


@once
def keys_of(page: Page) -> Keys:
    """Hash the fragments of a page."""
    nodes = page.nodes
    text = mix(nodes.text * 31 + _digits(nodes.strings))
    targets = np.where(nodes.links.key == page.key, 0, nodes.links.key)
    return Keys(
        text=text,
        placed=mix(nodes.path[nodes.leaves] * 31 + nodes.text),
        value=(text.astype(np.uint64) >> np.uint64(11)).astype(np.float64) * 2.0**-52 - 1,
        path=nodes.path,
        shape=nodes.shape,
        exact=nodes.sum_below(mix(nodes.text)),
        links=link_sets(nodes, nodes.links.key),
        target=targets,
    )


def _digits(strings: Sequence[str]) -> Ints:
    """(m,) hash of the digits of each run of text."""
    found = np.zeros(len(strings), np.uint64)
    for leaf, text in enumerate(strings):
        found[leaf] = reduce(lambda key, digit: (key * 31 + ord(digit)) % 2**64, _DIGIT.findall(text), 0)
    return found.astype(np.int64)


def link_sets(nodes: NodeTable, targets: Ints) -> Ints:
    """(n,) hash of the link targets below each row, independent of their order: the sum of their scrambled keys."""
    column, count = np.zeros(len(nodes), np.int64), np.zeros(len(nodes), np.int64)
    real = targets != 0
    column[nodes.links.row[real]] = mix(targets[real])
    count[nodes.links.row[real]] = 1
    return np.where(nodes.total(count) >= 2, nodes.total(column), 0)


def countable_parts(nodes: NodeTable) -> tuple[Bools, Bools]:
    """(n,) whether each row counts, see `countable`; (links,) whether each link does."""
    seen = countable(nodes)
    return seen, seen[nodes.links.row]


def countable(nodes: NodeTable) -> Bools:
    """(n,) rows to count: of a giant page only its beginning and end, so that it does not displace other pages."""
    if len(nodes) <= _GIANT:
        return np.ones(len(nodes), np.bool_)
    return (np.arange(len(nodes)) < _GIANT) | (nodes.end > len(nodes) - _GIANT)


def count_page(tables: Tables, fragments: Fragments, number: int) -> None:
    """Count a page, see `Counts.add`. New keys are added in the order of the page."""
    keys, seen = fragments.keys, fragments.seen
    leaves = seen[fragments.leaves]
    one_class = np.eye(CLASSES)[number]
    columns = _of_rows(tables, fragments)[seen]
    path = keys.path[seen]
    at = _first(path)
    tables["path"].add(path[at], np.hstack([columns[at], np.broadcast_to(one_class, (len(at), CLASSES))]))
    text = keys.text[leaves]
    tables["text"].add(text[_first(text)], np.hstack([1, one_class]))
    for name, column in {
        "placed": keys.placed[leaves], "exact": keys.exact[seen], "links": keys.links[seen],
        "target": keys.target[fragments.links],
    }.items():  # fmt: skip
        tables[name].add(column[_first(column)], np.ones(1))
    shape, odds = keys.shape[seen], fragments.odds[seen]
    at = _first(shape)
    tables["shape"].add(shape[at], _by_key(shape, odds)[at])


def _first(keys: Ints) -> Ints:
    """Ascending indices of the first occurrence of each key."""
    return np.sort(np.unique(keys, return_index=True)[1])


def _of_rows(tables: Tables, fragments: Fragments) -> Floats:
    """(n, _ODDS + CLASSIFIERS) columns: pages, new text, mostly links, new words, words, value, square, log odds."""
    keys, words = fragments.keys, fragments.words
    varied, value = np.zeros((2, len(keys.path)))
    value[fragments.leaves] = keys.value
    varied[fragments.leaves] = ~tables["placed"].has(keys.placed)
    new = ~tables["text"].has(keys.text)
    below = np.concatenate([[[0, 0]], np.cumsum(np.stack([words * new, words], 1), axis=0)])
    sums = below[fragments.last] - below[fragments.first]
    return np.column_stack([np.ones(len(varied)), varied, fragments.linked, sums, value, value**2, fragments.odds])


def evidence_of(
    tables: Tables,
    pages: int,
    nodes: NodeTable,
    keys: Keys,
    odds: Floats,
    number: int,
    of_class: int,
    known: bool,
    *,
    separate: bool,
) -> SiteEvidence:
    """See `core.counter.evidence_of`."""
    text, path = tables["text"][keys.text], tables["path"][keys.path]
    others, classmates = max(1, pages - known), max(1, of_class - known)

    def share(count: Sums, of_pages: int = others) -> Floats:
        return np.minimum(np.maximum(count - known, 0) / of_pages, 1)

    having_path, varied, linked, new, words = path[:, : _ODDS - 2].astype(np.float64).T
    in_class = path[:, _ODDS + CLASSIFIERS + number]
    having = np.maximum(1, having_path)
    mass = new / max(1, pages)
    if separate:  # rows that it shares with the rest of the site, such as the root, have the mass of its own ones
        own = having_path <= pages
        mass = np.where(own, mass, mass[own].max(initial=0))
    of_shape, alike = tables["shape"][keys.shape], _by_key(keys.shape, odds) * known
    return SiteEvidence(
        pages=pages - known,
        text=share(text[:, 0]),
        class_text=share(text[:, 1 + number], classmates),
        placed=share(tables["placed"][keys.placed][:, 0]),
        variants=(varied / having)[nodes.leaves],
        values=_difference(path[nodes.leaves], keys.value, known),
        path=share(in_class if separate else path[:, 0]),
        class_path=share(in_class, classmates),
        exact=share(tables["exact"][keys.exact][:, 0]),
        links=share(tables["links"][keys.links][:, 0]) * (keys.links != 0),
        linked=linked / having,
        fresh=new / np.maximum(1e-9, words),
        mass=mass,
        odds=_mean(having_path - known, path[:, _ODDS : _ODDS + CLASSIFIERS] - odds * known),
        shape_odds=_mean(of_shape[:, 0] - alike[:, 0], of_shape[:, 1:] - alike[:, 1:]),
        target=share(tables["target"][keys.target][:, 0]) * (keys.target != 0),
    )


def _difference(path: Sums, value: Floats, known: bool) -> Floats:
    """(m,) how likely two other pages differ in a text: three times the variance of its values, without this page's."""
    count = path[:, 0].astype(np.float64) - known
    value = value * known
    mean, square = (path[:, _ODDS - 2 : _ODDS].T - (value, value**2)) / np.maximum(1, count)
    return np.where(count > 1, np.clip(3 * (square - mean**2) * count / np.maximum(1, count - 1), 0, 1), 0)


def pages_alike(tables: Tables, nodes: NodeTable, keys: Keys, known: bool) -> Ints:
    """(m,) number of other pages that have the text of each leaf at the same path, see `Site.pages_alike`."""
    pages = np.maximum(tables["placed"][keys.placed][:, 0] - known, 0)
    different = _difference(tables["path"][keys.path[nodes.leaves]], keys.value, known)
    has_digits = keys.text != mix(nodes.text * 31)
    found: Ints = np.rint(pages * np.where(has_digits, 1 - different, 1)).astype(np.int64)
    return found


def commonest(table: LossyCounter, keys: Ints, words: Ints) -> Sums:
    """(k,) number of pages with each distinct key of the leaves that have words, the most common one first."""
    return np.sort(table[np.unique(keys[words > 0])][:, 0])[::-1]


def _by_key(keys: Ints, columns: Floats) -> Floats:
    """(n, 1 + columns) for each row, the number of rows with its key, and the sums of their columns."""
    _, back = np.unique(keys, return_inverse=True)
    return np.column_stack([np.bincount(back), *(np.bincount(back, column) for column in columns.T)])[back]


def _mean(count: Floats, summed: Floats) -> Floats:
    return np.where(count[:, None] > 0, summed / np.maximum(1, count)[:, None], np.nan)


def mostly_links(nodes: NodeTable) -> Bools:
    """(n,) whether more than three quarters of the row's words are link text."""
    words = nodes.sum_below(nodes.words)
    return nodes.sum_below(nodes.words * nodes.anchor[nodes.leaves]) > 0.75 * words


#: Depth of the outline: deeper nodes are content as often as template.
_OUTLINE_DEPTH: Final = 4


@once
def outline(nodes: NodeTable) -> frozenset[int]:
    """Hashes of the paths of the first levels by tag and class, without ranks and ids, which a page class shares."""
    own: Ints = nodes.class_signature[nodes.look]
    paths = own.copy()
    for rows in nodes.levels[1 : _OUTLINE_DEPTH + 1]:
        paths[rows] = mix(paths[nodes.parent[rows]] * 31 + own[rows])
    return frozenset(paths[(nodes.depth <= _OUTLINE_DEPTH) & (nodes.tag != TEXT)].tolist())


class LossyCounter:
    """Sums by key: a dictionary maps each key to a row of a NumPy array.

    The first column counts pages. Beyond the capacity, the keys with the smallest counts are dropped.
    Source: Manku & Motwani 2002, *Approximate Frequency Counts over Data Streams* (lossy counting).
    """

    def __init__(self, width: int, capacity: int = CAPACITY) -> None:
        self._capacity = capacity
        self._row: dict[int, int] = {}
        self._sums: Sums = np.zeros((1, width), np.float32)  # row 0 holds the zeros of all missing keys

    def __len__(self) -> int:
        return len(self._row)

    def __getitem__(self, keys: Ints) -> Sums:
        """(k, width) sums of the keys, zeros for missing ones."""
        return self._sums[self._rows(keys)]

    def has(self, keys: Ints) -> Bools:
        """(k,) whether each key is in the table."""
        return self._rows(keys) > 0

    def add(self, keys: Ints, values: NDArray[Any]) -> None:
        """Add to the sums of some keys."""
        rows = self._rows(keys)
        new = np.flatnonzero(rows == 0)
        rows[new] = np.arange(len(self) + 1, len(self) + 1 + len(new))
        self._row.update(zip(keys[new].tolist(), rows[new].tolist(), strict=True))
        self._make_room()
        self._sums[rows] += values
        least = 1
        while len(self) > self._capacity:
            self._retain(self._sums[1 : len(self) + 1, 0] > least)
            least *= 2

    def items(self) -> tuple[Ints, Sums]:
        """(k,) all keys, (k, width) their sums."""
        return np.fromiter(self._row, np.int64, len(self)), self._sums[1 : len(self) + 1]

    def _rows(self, keys: Ints) -> Ints:
        # `map` over `get` with a default runs without Python code for each key.
        return np.fromiter(map(self._row.get, keys.tolist(), repeat(0)), np.int64, len(keys))

    def _make_room(self) -> None:
        if len(self) >= len(self._sums):
            room = np.zeros((len(self) * 3 // 2 + 1, self._sums.shape[1]), np.float32)
            room[: len(self._sums)] = self._sums
            self._sums = room

    def _retain(self, kept: Bools) -> None:
        keys, sums = self.items()
        self._row = {}
        self._sums = np.zeros((1, sums.shape[1]), np.float32)
        if kept.any():
            self._row = {key: row for row, key in enumerate(keys[kept].tolist(), 1)}
            self._sums = np.vstack([self._sums, sums[kept]])
