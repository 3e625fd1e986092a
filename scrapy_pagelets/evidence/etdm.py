"""Equal top-down mappings: the part of the DOM that the pages of one template share.

Source: Alarte, Insa, Silva, Tamarit 2014, Definitions 3.2 and 3.3, Algorithm 2. This is the pairwise form of the paper,
for nodes that are equal by any labels. ``tests.oracles.template_by_votes`` counts path hashes instead. For two pages,
the two forms agree if the labels are those of ``same_signature`` and no two siblings are equal
(``docs/algorithms/menu-templates-2014.md``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from scrapy_pagelets.base.arrays import Bools, Floats, Ints
from scrapy_pagelets.evidence.siblings import Label, Side, assign, in_order, product, runs, same_signature, sides
from scrapy_pagelets.page.nodes import TEXT, NodeTable

#: How many pairs of children, and children of such pairs, are looked at for one mapping after identical subtrees were
#: paired. Where that does not suffice, children are paired in document order by equal label.
PAIRS: Final = 1_000_000


@dataclass(frozen=True, eq=False)
class Mapping:
    """An equal top-down mapping of two pages."""

    pairs: Ints  # (k, 2) rows of the first page in document order, each with the row of the second that it is mapped to
    #: whether no equal top-down mapping that begins with the roots has more pairs. If it is false, some nodes had too
    #: many different children to compare them all (``PAIRS``)
    exact: bool


@dataclass(frozen=True, eq=False)
class Extract:
    """The template of a key page."""

    rows: Bools  # (n,) which of its rows are template
    same: Bools  # (n,) which of them are elements, or runs of text that say the same on all pages
    exact: bool  # whether all mappings were the largest


def etdm(one: NodeTable, other: NodeTable, label_of: Label = same_signature, among: Bools | None = None) -> Mapping:
    """Return the largest equal top-down mapping of two pages that begins with the roots; empty if these differ.

    Of mappings of one size, those with more equal texts are preferred, then those that map the k-th of several siblings
    to the k-th.

    ``among``: (n,) rows of the first page that may be mapped, the template so far; None for all.
    """
    among = np.ones(len(one), np.bool_) if among is None else among
    if not among[0] or label_of(one)[0] != label_of(other)[0]:
        return Mapping(np.zeros((0, 2), np.int64), True)
    found = _search(*sides(one, other, label_of, among, with_text=True))
    if found.exact:
        return found
    # Without regard to texts, more subtrees are identical.
    without = _search(*sides(one, other, label_of, among, with_text=False))
    return without if without.exact or len(without.pairs) > len(found.pairs) else found


def extract(key_page: NodeTable, pages: Sequence[NodeTable], label_of: Label = same_signature) -> Extract:
    """Return the template of a key page with respect to other pages: Definition 3.3 by Algorithm 2.

    Pages whose root differs are skipped, as in the paper.
    """
    rows = same = np.ones(len(key_page), np.bool_)
    exact = True
    texts = key_page.spread(key_page.text)
    for page in pages:
        mapping = etdm(key_page, page, label_of, rows)
        if len(mapping.pairs):
            own, other = mapping.pairs.T
            rows, equal = np.zeros(len(key_page), np.bool_), np.zeros(len(key_page), np.bool_)
            rows[own] = True
            equal[own] = (key_page.tag[own] != TEXT) | (texts[own] == page.spread(page.text)[other])
            same = same & equal
            exact &= mapping.exact
    return Extract(rows, same & rows, exact)


def _search(left: Side, right: Side) -> Mapping:
    levels, exact = _descend(left, right)
    rows, images = _collect(left, right, levels, _choose(left, right, levels))
    exact |= len(rows) == min(int(left.nodes[0]), int(right.nodes[0]))
    return Mapping(np.column_stack([rows, images]), exact)


@dataclass(frozen=True, eq=False)
class _Children:
    """The children of the rows of a level, concatenated: rows, index of the parent, place among its children."""

    rows: Ints
    parent: Ints
    place: Ints

    @classmethod
    def of(cls, side: Side, rows: Ints) -> _Children:
        count = side.count[rows]
        below = side.children[runs(side.start[rows], count)]
        return cls(below, np.repeat(np.arange(len(rows)), count), runs(np.zeros_like(count), count))

    def in_document_order(self, free: Bools) -> Ints:
        indices = np.flatnonzero(free)
        return indices[np.argsort(self.rows[indices], kind="stable")]


@dataclass(frozen=True, eq=False)
class _Level:
    """Pairs of subtrees of one depth, one for each pair of classes, and the pairs of children that can be chosen."""

    count: int  # number of pairs of subtrees
    parent: Ints  # (edges,) index of the pair of subtrees
    left: Ints  # (edges,) rows of the two children
    right: Ints
    place: Ints  # (edges,) their places among the children of each subtree
    place_: Ints
    group: Ints  # (edges,) number of the assignment of the edge, -1 for identical subtrees: chosen already
    score: Floats  # (edges,) preference among mappings of one size, 0 to 1
    below: Ints  # (edges,) index of the pair on the next level


def _descend(left: Side, right: Side) -> tuple[list[_Level], bool]:
    """Return which pairs of classes meet, level by level, and whether these are all that matter."""
    levels: list[_Level] = []
    one = other = np.zeros(1, np.int64)
    budget, exact = PAIRS, True
    while len(one):
        level, cost, complete = _level(left, right, one, other, budget)
        levels.append(level)
        budget -= cost
        exact &= complete
        _, first = np.unique(level.below[level.below >= 0], return_index=True)
        one, other = level.left[level.below >= 0][first], level.right[level.below >= 0][first]
    return levels, exact


def _level(left: Side, right: Side, one: Ints, other: Ints, budget: int) -> tuple[_Level, int, bool]:
    """Return the level of some pairs of subtrees, its cost, and whether all pairs of children that matter are in it."""
    a, b = _Children.of(left, one), _Children.of(right, other)
    i, j, group, cost, complete = _edges(a, left, b, right, len(one), budget)
    below = np.full(len(i), -1)
    classes = left.kind[a.rows[i]] * (int(right.kind.max()) + 1) + right.kind[b.rows[j]]
    _, below[group >= 0] = np.unique(classes[group >= 0], return_inverse=True)
    level = _Level(
        count=len(one),
        parent=a.parent[i],
        left=a.rows[i],
        right=b.rows[j],
        place=a.place[i],
        place_=b.place[j],
        group=group,
        score=_same_texts(left, right, a.rows[i], b.rows[j]),
        below=below,
    )
    return level, cost, complete


def _edges(
    a: _Children, left: Side, b: _Children, right: Side, count: int, budget: int
) -> tuple[Ints, Ints, Ints, int, bool]:
    """Return both ends and the group of the pairs of children, their cost, and whether all that matter are there."""
    free, free_ = np.ones(len(a.rows), np.bool_), np.ones(len(b.rows), np.bool_)
    none = np.zeros(0, np.int64)
    fixed = (none, none)
    identical = _take_in_order(a, b, *_keys(a, left.kind, b, right.kind), free, free_)
    keys, keys_ = _keys(a, left.label, b, right.label)
    cost = _costs(a, left, b, right, keys, keys_, free, free_, count)
    order = np.argsort(cost, kind="stable")
    small = np.zeros(count, np.bool_)
    small[order] = np.cumsum(cost[order]) <= budget
    few, few_ = np.flatnonzero(free & small[a.parent]), np.flatnonzero(free_ & small[b.parent])
    x, y = product(keys[few], keys_[few_])
    complete = True
    if not small.all():
        free[few] = free_[few_] = False
        fixed, complete = _approximate(a, left, b, right, free, free_)
    # Each pair that is fixed is a group of its own.
    own = max(keys.max(initial=0), keys_.max(initial=0)) + 1 + np.arange(len(fixed[0]))
    group = np.concatenate([np.full(len(identical[0]), -1), keys[few[x]], own])
    i = np.concatenate([identical[0], few[x], fixed[0]])
    j = np.concatenate([identical[1], few_[y], fixed[1]])
    return i, j, group, int(cost[small].sum()), complete


def _keys(a: _Children, column: Ints, b: _Children, column_: Ints) -> tuple[Ints, Ints]:
    """Return keys that are equal for children of one pair of subtrees with equal values in the columns."""
    size = max(int(column.max()), int(column_.max())) + 1
    return a.parent * size + column[a.rows], b.parent * size + column_[b.rows]


def _take_in_order(a: _Children, b: _Children, keys: Ints, keys_: Ints, free: Bools, free_: Bools) -> tuple[Ints, Ints]:
    """Pair the k-th free child of each key with the k-th on the other side; they are no longer free."""
    i, j = a.in_document_order(free), b.in_document_order(free_)
    x, y = in_order(keys[i], keys_[j])
    free[i[x]] = free_[j[y]] = False
    return i[x], j[y]


def _approximate(
    a: _Children, left: Side, b: _Children, right: Side, free: Bools, free_: Bools
) -> tuple[tuple[Ints, Ints], bool]:
    """Pair free children in document order: identical subtrees, then by label, then by tag.

    Identical subtrees suffice where all children of the pair that has fewer find one.
    """
    found = [_take_in_order(a, b, *_keys(a, left.kind, b, right.kind), free, free_)]
    complete = not np.isin(a.parent[free], b.parent[free_]).any()
    for column, column_ in ((left.label, right.label), (left.tag, right.tag)):
        found.append(_take_in_order(a, b, *_keys(a, column, b, column_), free, free_))
    i, j = (np.concatenate(column) for column in zip(*found, strict=True))
    return (i, j), bool(complete)


def _costs(
    a: _Children, left: Side, b: _Children, right: Side, keys: Ints, keys_: Ints, free: Bools, free_: Bools, count: int
) -> Ints:
    """(count,) for each pair of subtrees, the number of pairs of free children of equal key, and of their children."""
    i, j = np.flatnonzero(free), np.flatnonzero(free_)
    j = j[np.argsort(keys_[j])]
    begin, end = (np.searchsorted(keys_[j], keys[i], side) for side in ("left", "right"))
    summed = np.append(0, np.cumsum(right.count[b.rows[j]]))
    cost = (end - begin) * (1 + left.count[a.rows[i]]) + summed[end] - summed[begin]
    total = np.zeros(count, np.int64)
    np.add.at(total, a.parent[i], cost)
    return total


def _same_texts(left: Side, right: Side, rows: Ints, images: Ints) -> Floats:
    same: Floats = ((left.text[rows] != 0) & (left.text[rows] == right.text[images])).astype(np.float64)
    return same


def _choose(left: Side, right: Side, levels: list[_Level]) -> list[Bools]:
    """For each level, (edges,) the edges of the best mapping of each pair of subtrees, from the leaves up."""
    # All scores together are less than one node.
    unit = 0.5 / (min(len(left.label), len(right.label)) + 1)
    chosen: list[Bools] = []
    value: Floats = np.zeros(0)
    for level in reversed(levels):
        identical = level.group < 0
        weight = left.nodes[level.left] + unit * left.texts[level.left]
        weight[~identical] = 1 + unit * level.score[~identical] + value[level.below[~identical]]
        taken = identical.copy()
        taken[~identical] = assign(
            level.group[~identical],
            (level.parent * len(left.label) + level.left)[~identical],
            (level.parent * len(right.label) + level.right)[~identical],
            weight[~identical],
            unit,
        )
        value = np.bincount(level.parent[taken], weight[taken], level.count).astype(np.float64)
        chosen.append(taken)
    return chosen[::-1]


def _collect(left: Side, right: Side, levels: list[_Level], chosen: list[Bools]) -> tuple[Ints, Ints]:
    """Return the rows of both pages that are mapped, from the choices for pairs of classes."""
    rows = images = pair = np.zeros(1, np.int64)
    found = []
    for level, taken in zip(levels, chosen, strict=True):
        found.append((rows, images))
        same = pair < 0
        twins = _twins(left, right, rows[same], images[same])
        rows, images, pair = _mapped(left, right, level, taken, rows[~same], images[~same], pair[~same])
        rows, images = np.append(twins[0], rows), np.append(twins[1], images)
        pair = np.append(np.full(len(twins[0]), -1), pair)
    while len(rows):
        found.append((rows, images))
        rows, images = _twins(left, right, rows, images)
    one, other = (np.concatenate(column) for column in zip(*found, strict=True))
    order = np.argsort(one)
    return one[order], other[order]


def _twins(left: Side, right: Side, rows: Ints, images: Ints) -> tuple[Ints, Ints]:
    """Pair the children of identical subtrees."""
    count = left.count[rows]
    return left.children[runs(left.start[rows], count)], right.children[runs(right.start[images], count)]


def _mapped(
    left: Side, right: Side, level: _Level, taken: Bools, rows: Ints, images: Ints, pair: Ints
) -> tuple[Ints, Ints, Ints]:
    """Pair the children of rows as those of the pairs of subtrees of the same classes."""
    edges = np.flatnonzero(taken)
    edges = edges[np.argsort(level.parent[edges], kind="stable")]
    begin, end = (np.searchsorted(level.parent[edges], pair, side) for side in ("left", "right"))
    edge = edges[runs(begin, end - begin)]
    one = left.children[np.repeat(left.start[rows], end - begin) + level.place[edge]]
    other = right.children[np.repeat(right.start[images], end - begin) + level.place_[edge]]
    return one, other, level.below[edge]
