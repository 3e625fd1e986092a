"""Equalities of nodes, 0 to 1: by labels, of which a crawl takes the signatures alone, and that of the paper.

Source: Alarte, Insa, Silva, Tamarit 2014, Definition 3.2, and Section 4.2, which does not state the weights.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import chain

import numpy as np

from scrapy_pagelets.base.arrays import Floats, Ints, mix
from scrapy_pagelets.evidence.etdm import Label, in_order, runs
from scrapy_pagelets.page.nodes import TEXT, NodeTable

#: For two arrays of rows of equal length, the equality of each pair; 0 forbids the pair.
Compare = Callable[[Ints, Ints], Floats]
#: The comparison of the rows of two pages.
Equality = Callable[[NodeTable, NodeTable], Compare]


def by_label(label_of: Label) -> Equality:
    """Return the equality of nodes with the same label."""

    def equality(one: NodeTable, other: NodeTable) -> Compare:
        left, right = label_of(one), label_of(other)
        return lambda rows, images: (left[rows] == right[images]).astype(np.float64)

    return equality


def same_signature_and_text(nodes: NodeTable) -> Ints:
    """(n,) label as `etdm.same_signature`, but runs of text are equal only if they say the same."""
    return np.where(nodes.tag == TEXT, mix(nodes.spread(nodes.text)), nodes.signature)


def weighted(one: NodeTable, other: NodeTable) -> Compare:
    """Compare as the paper: tags must agree; class, other attributes, number of children and position add up to 1.

    Any two runs of text are equal. The weights are ours: Section 4.2 of the paper does not state them.
    """
    position, position_ = _position(one), _position(other)
    children, children_ = _elements_below(one), _elements_below(other)
    numbers: dict[str, int] = {}
    looks, looks_ = _Looks.of(one, numbers), _Looks.of(other, numbers)

    def compare(rows: Ints, images: Ints) -> Floats:
        i, j = children[rows], children_[images]
        same = looks.compare(one.look[rows], looks_, other.look[images])
        same += 0.15 * (1 - np.abs(i - j) / np.maximum(1, np.maximum(i, j)))
        same += 0.15 * (1 - np.minimum(1, np.abs(position[rows] - position_[images]) / 10))
        same[same < 0.5] = 0
        texts, texts_ = one.tag[rows] == TEXT, other.tag[images] == TEXT
        same[texts | texts_] = (texts & texts_)[texts | texts_]
        return same

    return compare


@dataclass(frozen=True, eq=False)
class _Looks:
    """The looks of a page as numbers common to both pages; the classes of a look are a run of ``classes``."""

    tag: Ints
    name: Ints
    role: Ints
    start: Ints
    count: Ints
    classes: Ints

    @classmethod
    def of(cls, nodes: NodeTable, numbers: dict[str, int]) -> _Looks:
        def numbered(names: Iterable[str]) -> Ints:
            return np.array([numbers.setdefault(name, len(numbers)) for name in names], np.int64)

        tags, names, classes, roles = zip(*nodes.looks, strict=True)
        tokens = [set(text.split()) for text in classes]
        count = np.array([len(found) for found in tokens], np.int64)
        below = numbered(chain.from_iterable(tokens))
        return cls(numbered(tags), numbered(names), numbered(roles), np.cumsum(count) - count, count, below)

    def compare(self, looks: Ints, other: _Looks, looks_: Ints) -> Floats:
        """0.4 for the overlap of classes, 0.15 each for the id and the role; -1 if the tags differ."""
        distinct, back = np.unique(looks * len(other.tag) + looks_, return_inverse=True)
        i, j = np.divmod(distinct, len(other.tag))
        same: Floats = 0.4 * self._overlap(i, other, j)
        same += 0.15 * (self.name[i] == other.name[j]) + 0.15 * (self.role[i] == other.role[j])
        same[self.tag[i] != other.tag[j]] = -1
        return same[back]

    def _overlap(self, i: Ints, other: _Looks, j: Ints) -> Floats:
        """Share of common class tokens in all tokens of two looks; 1 if both have none."""
        size = max(self.classes.max(initial=0), other.classes.max(initial=0)) + 1
        (pair, keys), (_, keys_) = self._tokens(i, size), other._tokens(j, size)
        common = np.bincount(pair[in_order(keys, keys_)[0]], minlength=len(i))
        union = self.count[i] + other.count[j] - common
        share: Floats = np.where(union > 0, common / np.maximum(1, union), 1.0)
        return share

    def _tokens(self, looks: Ints, size: int) -> tuple[Ints, Ints]:
        """Return the index of the look for each of its tokens, and a key of index and token."""
        index = np.repeat(np.arange(len(looks)), self.count[looks])
        return index, index * size + self.classes[runs(self.start[looks], self.count[looks])]


def _elements_below(nodes: NodeTable) -> Ints:
    """(n,) number of children that are elements."""
    return np.bincount(nodes.parent[1:][nodes.tag[1:] != TEXT], minlength=len(nodes))


def _position(nodes: NodeTable) -> Ints:
    """(n,) number of siblings before the row that are elements."""
    order = np.argsort(nodes.parent, kind="stable")
    before = np.cumsum(nodes.tag[order] != TEXT) - (nodes.tag[order] != TEXT)
    parent = nodes.parent[order]
    position = np.empty(len(nodes), np.int64)
    position[order] = before - before[np.searchsorted(parent, parent)]
    return position
