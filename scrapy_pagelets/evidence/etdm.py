"""Equal top-down mappings: the part of the DOM that the pages of one template share.

Nodes are equal by their labels. Where whole subtrees are identical, their roots are paired in order; other children are
assigned by weight. This is the pairwise form of the paper; ``tests.oracles.template_by_votes`` counts path hashes
instead. For two pages, both agree if the labels are those of ``same_signature`` and no two siblings are equal.

Source: Alarte, Insa, Silva, Tamarit 2014, Definitions 3.2, which leaves the equality open, and 3.3, Algorithm 2 in
Section 4.2. ``docs/algorithms/menu-templates-2014.md`` shows why the result is the largest mapping.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from scrapy_pagelets.base.arrays import Bools, Floats, Ints, mix
from scrapy_pagelets.core.assignment import assign
from scrapy_pagelets.page.nodes import TEXT, NodeTable

#: (n,) for a page, what decides which nodes are equal: equal labels on two pages mean the same.
Label = Callable[[NodeTable], Ints]
#: Share of the smallest difference of weights that all preferences for document order together may have.
_ORDER: Final = 0.5


def same_signature(nodes: NodeTable) -> Ints:
    """(n,) label by signature: tag, id, class tokens and role, without volatile tokens. All runs of text are equal."""
    return np.where(nodes.tag == TEXT, 1, nodes.signature)


@dataclass(frozen=True, eq=False)
class Side:
    """One of two pages whose classes have common numbers; rows that cannot be mapped are no one's children."""

    label: Ints  # (n,) number of its label
    kind: Ints  # (n,) number of the class of the row's subtree
    text: Ints  # (n,) hash of a run of text that the other page has at such a place as well, else 0
    #: (n,) number of rows, and of such texts, in the subtree
    nodes: Ints
    texts: Ints
    #: the children of a row are ``children[start[row] : start[row] + count[row]]``. Two rows of one class have children
    #: of the same classes in this order
    start: Ints
    count: Ints
    children: Ints


def sides(one: NodeTable, other: NodeTable, label_of: Label, among: Bools) -> tuple[Side, Side]:
    """Classify the subtrees of two pages whose roots are equal; identical are those whose labels and texts agree.

    ``among``: (n,) rows of the first page that may be mapped.
    """
    label, label_ = _numbered(label_of(one), label_of(other))
    kept = one.inherit(among.copy(), np.bitwise_and)
    path, path_ = _paths(one, label), _paths(other, label_)
    # A row can only be mapped to a row with the same labels from the root.
    kept &= np.isin(path, path_)
    kept_ = np.isin(path_, path[kept])
    # The hash of each run of text with its path, 0 if the other page has none such.
    text = np.where(kept & (one.tag == TEXT), mix(path * 31 + one.spread(one.text)), 0)
    text_ = np.where(kept_ & (other.tag == TEXT), mix(path_ * 31 + other.spread(other.text)), 0)
    text, text_ = text * np.isin(text, text_), text_ * np.isin(text_, text)
    kind, kind_ = _numbered(_kinds(one, label, text, kept), _kinds(other, label_, text_, kept_))
    return _side(one, label, kind, text, kept), _side(other, label_, kind_, text_, kept_)


def _numbered(one: Ints, other: Ints) -> tuple[Ints, Ints]:
    _, back = np.unique(np.concatenate([one, other]), return_inverse=True)
    return back[: len(one)], back[len(one) :]


def _paths(nodes: NodeTable, label: Ints) -> Ints:
    """(n,) hash of the labels from the root."""
    path = mix(label + 1)
    for rows in nodes.levels[1:]:
        path[rows] = mix(path[nodes.parent[rows]] * 31 + label[rows])
    return path


def _kinds(nodes: NodeTable, label: Ints, text: Ints, kept: Bools) -> Ints:
    """(n,) hash of each row's subtree; siblings may stand in any order."""
    kind = mix(label + 1) ^ text
    below = np.zeros(len(nodes), np.int64)
    for rows in reversed(nodes.levels[1:]):
        rows = rows[kept[rows]]
        kind[rows] = mix(kind[rows] + below[rows])
        np.add.at(below, nodes.parent[rows], mix(kind[rows] * 31))
    return kind


def _side(nodes: NodeTable, label: Ints, kind: Ints, text: Ints, kept: Bools) -> Side:
    rows = np.flatnonzero(kept[1:]) + 1
    parent = nodes.parent[rows]
    order = np.lexsort((rows, kind[rows], parent))
    count = np.bincount(parent, minlength=len(nodes))
    return Side(
        label=label,
        kind=kind,
        text=text,
        nodes=nodes.total(kept.astype(np.int64)),
        texts=nodes.total((text != 0).astype(np.int64)),
        start=np.cumsum(count) - count,
        count=count,
        children=rows[order],
    )


#: How many pairs of children, and children of such pairs, are looked at for one mapping after identical subtrees were
#: paired. Where that does not suffice, children are paired in document order by equal label.
PAIRS: Final = 1_000_000


def etdm(one: NodeTable, other: NodeTable, label_of: Label = same_signature, among: Bools | None = None) -> Ints:
    """Return the largest equal top-down mapping of two pages that begins with the roots; empty if these differ.

    Of mappings of one size, those with more equal texts are preferred, then those that map the k-th of several siblings
    to the k-th. Return (k, 2) rows of the first page in document order, each with the row of the second that it is
    mapped to. Only if some nodes have too many different children to compare them all (``PAIRS``), it may be smaller.

    ``among``: (n,) rows of the first page that may be mapped, the template so far; None for all.
    """
    among = np.ones(len(one), np.bool_) if among is None else among
    if not among[0] or label_of(one)[0] != label_of(other)[0]:
        return np.zeros((0, 2), np.int64)
    left, right = sides(one, other, label_of, among)
    levels = _descend(left, right)
    return np.column_stack(_collect(left, right, levels, _choose(left, right, levels)))


def extract(key_page: NodeTable, pages: Sequence[NodeTable], label_of: Label = same_signature) -> tuple[Bools, Bools]:
    """Return the template of a key page with respect to other pages: Definition 3.3 by Algorithm 2.

    These are the rows of the key page that are template, (n,), and those of them that are elements, or runs of text
    that say the same on all pages, (n,). Pages whose root differs are skipped, as in the paper.
    """
    rows = same = np.ones(len(key_page), np.bool_)
    texts = key_page.spread(key_page.text)
    for page in pages:
        pairs = etdm(key_page, page, label_of, rows)
        if len(pairs):
            own, other = pairs.T
            rows, equal = np.zeros(len(key_page), np.bool_), np.zeros(len(key_page), np.bool_)
            rows[own] = True
            equal[own] = (key_page.tag[own] != TEXT) | (texts[own] == page.spread(page.text)[other])
            same = same & equal
    return rows, same & rows


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


def _descend(left: Side, right: Side) -> list[_Level]:
    levels: list[_Level] = []
    one = other = np.zeros(1, np.int64)
    budget = PAIRS
    while len(one):
        level, cost = _level(left, right, one, other, budget)
        levels.append(level)
        budget -= cost
        _, first = np.unique(level.below[level.below >= 0], return_index=True)
        one, other = level.left[level.below >= 0][first], level.right[level.below >= 0][first]
    return levels


def _level(left: Side, right: Side, one: Ints, other: Ints, budget: int) -> tuple[_Level, int]:
    a, b = _Children.of(left, one), _Children.of(right, other)
    i, j, group, cost = _edges(a, left, b, right, len(one), budget)
    below = np.full(len(i), -1)
    classes = left.kind[a.rows[i]] * (int(right.kind.max()) + 1) + right.kind[b.rows[j]]
    _, below[group >= 0] = np.unique(classes[group >= 0], return_inverse=True)
    same = left.text[a.rows[i]]
    level = _Level(
        count=len(one),
        parent=a.parent[i],
        left=a.rows[i],
        right=b.rows[j],
        place=a.place[i],
        place_=b.place[j],
        group=group,
        score=(same != 0) * (same == right.text[b.rows[j]]).astype(np.float64),
        below=below,
    )
    return level, cost


def _edges(
    a: _Children, left: Side, b: _Children, right: Side, count: int, budget: int
) -> tuple[Ints, Ints, Ints, int]:
    """Return both ends and the group of the pairs of children, and their cost."""
    free, free_ = np.ones(len(a.rows), np.bool_), np.ones(len(b.rows), np.bool_)
    identical = _take_in_order(a, b, *_keys(a, left.kind, b, right.kind), free, free_)
    keys, keys_ = _keys(a, left.label, b, right.label)
    cost = _costs(a, left, b, right, keys, keys_, free, free_, count)
    order = np.argsort(cost, kind="stable")
    small = np.zeros(count, np.bool_)
    small[order] = np.cumsum(cost[order]) <= budget
    few, few_ = np.flatnonzero(free & small[a.parent]), np.flatnonzero(free_ & small[b.parent])
    x, y = product(keys[few], keys_[few_])
    free[few] = free_[few_] = False
    fixed = _take_in_order(a, b, keys, keys_, free, free_)
    # Each pair that is fixed is a group of its own.
    own = max(keys.max(initial=0), keys_.max(initial=0)) + 1 + np.arange(len(fixed[0]))
    group = np.concatenate([np.full(len(identical[0]), -1), keys[few[x]], own])
    i = np.concatenate([identical[0], few[x], fixed[0]])
    j = np.concatenate([identical[1], few_[y], fixed[1]])
    return i, j, group, int(cost[small].sum())


def _keys(a: _Children, column: Ints, b: _Children, column_: Ints) -> tuple[Ints, Ints]:
    """Return keys that are equal for children of one pair of subtrees with equal values in the columns."""
    size = max(int(column.max()), int(column_.max())) + 1
    return a.parent * size + column[a.rows], b.parent * size + column_[b.rows]


def _take_in_order(a: _Children, b: _Children, keys: Ints, keys_: Ints, free: Bools, free_: Bools) -> tuple[Ints, Ints]:
    """Pair the k-th free child of each key with the k-th on the other side; they are no longer free."""
    i, j = (np.flatnonzero(is_free) for is_free in (free, free_))
    i, j = i[np.argsort(a.rows[i])], j[np.argsort(b.rows[j])]
    x, y = in_order(keys[i], keys_[j])
    free[i[x]] = free_[j[y]] = False
    return i[x], j[y]


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
            _ORDER * unit,
        )
        value = np.bincount(level.parent[taken], weight[taken], level.count).astype(np.float64)
        chosen.append(taken)
    return chosen[::-1]


def _collect(left: Side, right: Side, levels: list[_Level], chosen: list[Bools]) -> tuple[Ints, Ints]:
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


def in_order(keys: Ints, keys_: Ints) -> tuple[Ints, Ints]:
    """Pair the k-th occurrence of each key in one column with the k-th in the other: indices into both."""
    order, order_ = keys.argsort(kind="stable"), keys_.argsort(kind="stable")
    ranked, ranked_ = keys[order], keys_[order_]
    image = ranked_.searchsorted(ranked) + np.arange(len(keys)) - ranked.searchsorted(ranked)
    paired = image < ranked_.searchsorted(ranked, "right")
    return order[paired], order_[image[paired]]


def product(keys: Ints, keys_: Ints) -> tuple[Ints, Ints]:
    """Pair all occurrences of each key in one column with all in the other: indices into both."""
    order = np.argsort(keys_, kind="stable")
    ranked = keys_[order]
    first = np.searchsorted(ranked, keys)
    count = np.searchsorted(ranked, keys, "right") - first
    return np.repeat(np.arange(len(keys)), count), order[runs(first, count)]


def runs(start: Ints, count: Ints) -> Ints:
    """Concatenate ``start[i], start[i] + 1, ...``, each run with ``count[i]`` numbers."""
    ends = count.cumsum()
    return np.asarray((start - ends + count).repeat(count) + np.arange(count.sum()))
