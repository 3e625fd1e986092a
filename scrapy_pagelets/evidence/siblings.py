"""Which children of two nodes an equal top-down mapping may pair, and how the best pairs are found.

Nodes are equal by their labels. Where whole subtrees are identical, their roots are paired in order; other children are
assigned by weight. Source: Alarte, Insa, Silva, Tamarit 2014, Definition 3.2, which leaves the equality open, and
Section 4.2. ``docs/algorithms/menu-templates-2014.md`` shows why the result is the largest mapping.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from scrapy_pagelets.base.arrays import Bools, Floats, Ints, mix
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

    tag: Ints  # (n,) number of the row's tag
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


def sides(one: NodeTable, other: NodeTable, label_of: Label, among: Bools, *, with_text: bool) -> tuple[Side, Side]:
    """Classify the subtrees of two pages whose roots are equal; identical are those whose labels and texts agree.

    ``among``: (n,) rows of the first page that may be mapped. ``with_text``: tell apart subtrees by the texts that both
    pages have.
    """
    label, label_ = _numbered(label_of(one), label_of(other))
    kept = one.inherit(among.copy(), np.bitwise_and)
    text, text_ = np.zeros(len(one), np.int64), np.zeros(len(other), np.int64)
    path, path_ = _paths(one, label), _paths(other, label_)
    # A row can only be mapped to a row with the same labels from the root.
    kept &= np.isin(path, path_)
    kept_ = np.isin(path_, path[kept])
    if with_text:
        text, text_ = _common_texts(one, path, kept, other, path_, kept_)
    kind, kind_ = _numbered(_kinds(one, label, text, kept), _kinds(other, label_, text_, kept_))
    return _side(one, label, kind, text, kept), _side(other, label_, kind_, text_, kept_)


def _numbered(one: Ints, other: Ints) -> tuple[Ints, Ints]:
    """Number the values of two columns together from 0."""
    _, back = np.unique(np.concatenate([one, other]), return_inverse=True)
    return back[: len(one)], back[len(one) :]


def _paths(nodes: NodeTable, label: Ints) -> Ints:
    """(n,) hash of the labels from the root."""
    path = mix(label + 1)
    for rows in nodes.levels[1:]:
        path[rows] = mix(path[nodes.parent[rows]] * 31 + label[rows])
    return path


def _common_texts(
    one: NodeTable, path: Ints, kept: Bools, other: NodeTable, path_: Ints, kept_: Bools
) -> tuple[Ints, Ints]:
    """(n,) and (m,) hash of each run of text with its path, 0 if the other page has none such."""
    text = np.where(kept & (one.tag == TEXT), mix(path * 31 + one.spread(one.text)), 0)
    text_ = np.where(kept_ & (other.tag == TEXT), mix(path_ * 31 + other.spread(other.text)), 0)
    return text * np.isin(text, text_), text_ * np.isin(text_, text)


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
        tag=nodes.tag,
        label=label,
        kind=kind,
        text=text,
        nodes=nodes.total(kept.astype(np.int64)),
        texts=nodes.total((text != 0).astype(np.int64)),
        start=np.cumsum(count) - count,
        count=count,
        children=rows[order],
    )


def in_order(keys: Ints, keys_: Ints) -> tuple[Ints, Ints]:
    """Pair the k-th occurrence of each key in one column with the k-th in the other: indices into both.

    >>> [column.tolist() for column in in_order(np.array([7, 5, 5, 5]), np.array([5, 8, 5]))]
    [[1, 2], [0, 2]]
    """
    order, order_ = keys.argsort(kind="stable"), keys_.argsort(kind="stable")
    ranked, ranked_ = keys[order], keys_[order_]
    image = ranked_.searchsorted(ranked) + np.arange(len(keys)) - ranked.searchsorted(ranked)
    paired = image < ranked_.searchsorted(ranked, "right")
    return order[paired], order_[image[paired]]


def product(keys: Ints, keys_: Ints) -> tuple[Ints, Ints]:
    """Pair all occurrences of each key in one column with all in the other: indices into both.

    >>> [column.tolist() for column in product(np.array([5, 7, 5]), np.array([5, 8, 5]))]
    [[0, 0, 2, 2], [0, 2, 0, 2]]
    """
    order = np.argsort(keys_, kind="stable")
    ranked = keys_[order]
    first = np.searchsorted(ranked, keys)
    count = np.searchsorted(ranked, keys, "right") - first
    return np.repeat(np.arange(len(keys)), count), order[runs(first, count)]


def runs(start: Ints, count: Ints) -> Ints:
    """Concatenate ``start[i], start[i] + 1, ...``, each run with ``count[i]`` numbers.

    >>> runs(np.array([7, 3, 0]), np.array([2, 0, 3])).tolist()
    [7, 8, 0, 1, 2]
    """
    ends = count.cumsum()
    joined: Ints = (start - ends + count).repeat(count) + np.arange(count.sum())
    return joined


def assign(group: Ints, left: Ints, right: Ints, weight: Floats, least: float) -> Bools:
    """(k,) the edges of an assignment of largest weight in each group; ties prefer the k-th with the k-th.

    ``group``: (k,) number of the graph that an edge belongs to. ``left``, ``right``: (k,) the ends of the edges; no
    node belongs to two groups. ``weight``: (k,) weights above 0. ``least``: the smallest difference of two sums of
    weights that matters.
    """
    if not len(group):
        return np.zeros(0, np.bool_)
    order = np.lexsort((right, left, group))
    start = np.flatnonzero(np.diff(group[order], prepend=-1))
    i, few = _ranks(group[order], left[order], start)
    j, few_ = _ranks(group[order], right[order], start)
    size = np.diff(start, append=len(order))
    ordered = weight[order] - _ORDER * least * np.abs(i - j) / np.repeat(few * few_, size)
    chosen = np.zeros(len(order), np.bool_)
    single = np.minimum(few, few_) == 1
    chosen[_largest(ordered, start)[single]] = True
    most, least_of = np.maximum.reduceat(weight[order], start), np.minimum.reduceat(weight[order], start)
    even = ~single & (size == few * few_) & (most == least_of)
    chosen |= np.repeat(even, size) & (i == j)
    others = (column[~single & ~even].tolist() for column in (start, size, few, few_))
    for begin, count, a, b in zip(*others, strict=True):
        edges = slice(begin, begin + count)
        chosen[edges] = _solve(i[edges], j[edges], ordered[edges], (a, b))
    result = np.zeros(len(order), np.bool_)
    result[order] = chosen
    return result


def _ranks(group: Ints, node: Ints, start: Ints) -> tuple[Ints, Ints]:
    """Return (k,) rank of each edge's node among the nodes of its group, and (groups,) number of nodes."""
    nodes, back = np.unique(node, return_inverse=True)
    group_of = np.empty(len(nodes), np.int64)
    group_of[back] = group
    by_group = np.argsort(group_of, kind="stable")
    ranked = group_of[by_group]
    rank = np.empty(len(nodes), np.int64)
    rank[by_group] = np.arange(len(nodes)) - np.searchsorted(ranked, ranked)
    present = group[start]
    return rank[back], np.searchsorted(ranked, present, "right") - np.searchsorted(ranked, present)


def _largest(weight: Floats, start: Ints) -> Ints:
    """(groups,) index of the first edge of largest weight."""
    top = np.repeat(np.maximum.reduceat(weight, start), np.diff(start, append=len(weight)))
    hits = np.flatnonzero(weight == top)
    return hits[np.searchsorted(hits, start)]


def _solve(i: Ints, j: Ints, weight: Floats, shape: tuple[int, int]) -> Bools:
    from scipy.optimize import linear_sum_assignment

    matrix = np.zeros(shape)
    matrix[i, j] = weight
    rows, columns = linear_sum_assignment(matrix, maximize=True)
    taken = np.full(shape[0], -1)
    taken[rows] = columns
    chosen: Bools = taken[i] == j
    return chosen
