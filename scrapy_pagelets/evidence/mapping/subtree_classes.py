"""Classes of identical subtrees, common to two pages, for `largest_mapping`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from scrapy_pagelets.base.arrays import Bools, Ints
from scrapy_pagelets.base.hashing import mix
from scrapy_pagelets.evidence.mapping.equality import Equality
from scrapy_pagelets.page.nodes import TEXT, NodeTable


@dataclass(frozen=True, eq=False)
class Side:
    """One of two pages whose classes have common numbers; rows that cannot be mapped are no one's children.

    Attributes
    ----------
    label : (n,) number of the row's label
    kind : (n,) number of the class of the row's subtree
    text : (n,) hash of a run of text that the other page has at such a place as well, else 0
    nodes, texts : (n,) number of rows, and of such texts, in the subtree
    start, count, children : the children of a row are ``children[start[row] : start[row] + count[row]]``. Two rows of
        one class have children of the same classes in this order
    """

    label: Ints
    kind: Ints
    text: Ints
    nodes: Ints
    texts: Ints
    start: Ints
    count: Ints
    children: Ints


def sides(one: NodeTable, other: NodeTable, equality: Equality, among: Bools, *, with_text: bool) -> tuple[Side, Side]:
    """Classify the subtrees of two pages whose roots are equal.

    Subtrees are identical if their labels and texts agree; siblings may stand in any order.

    Parameters
    ----------
    among : (n,) rows of the first page that may be mapped
    with_text : tell apart subtrees by the texts that both pages have
    """
    label, label_ = _numbered(equality(one), equality(other))
    path, path_ = _paths(one, label), _paths(other, label_)
    # A row can only be mapped to a row with the same labels from the root.
    kept = _closed(one, among) & np.isin(path, path_)
    kept_ = np.isin(path_, path[kept])
    text, text_ = np.zeros(len(one), np.int64), np.zeros(len(other), np.int64)
    if with_text:
        text, text_ = _common_texts(one, path, kept, other, path_, kept_)
    kind, kind_ = _numbered(_kinds(one, label, text, kept), _kinds(other, label_, text_, kept_))
    return _side(one, label, kind, text, kept), _side(other, label_, kind_, text_, kept_)


def _numbered(one: Ints, other: Ints) -> tuple[Ints, Ints]:
    """Number the values of two columns together from 0."""
    _, back = np.unique(np.concatenate([one, other]), return_inverse=True)
    return back[: len(one)], back[len(one) :]


def _closed(nodes: NodeTable, among: Bools) -> Bools:
    """(n,) the rows whose ancestors are all among the given ones as well."""
    closed = among.copy()
    for rows in nodes.levels[1:]:
        closed[rows] &= closed[nodes.parent[rows]]
    return closed


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
    """(n,) hash of each row's subtree, whatever the order of siblings."""
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
