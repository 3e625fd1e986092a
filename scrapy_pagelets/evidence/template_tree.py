"""A template as a tree of its own, and the alignment of pages with it in near-linear time.

The alignment is an equal top-down mapping (Alarte, Insa, Silva, Tamarit 2014, Definition 3.2) for each page of a crawl.
It is not always the largest one, as that of ``etdm``: siblings of one signature are told apart by their texts.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from scrapy_pagelets.base.arrays import Bools, Ints, mix
from scrapy_pagelets.core import compiled
from scrapy_pagelets.evidence.siblings import in_order, runs
from scrapy_pagelets.page.nodes import TEXT, NodeTable, levels_of


@dataclass(frozen=True, eq=False)
class TemplateTree:
    """Rows of a page that form a tree, in preorder. It needs no page and can be stored as arrays.

    Attributes
    ----------
    parent : (n,) row of the parent, -1 at the root
    end : (n,) row after the last one of the subtree
    depth : (n,) 0 at the root
    label : (n,) signature; ``TEXT`` for a run of text
    text : (n,) hash of a run of text, 0 for an element
    """

    parent: Ints
    end: Ints
    depth: Ints
    label: Ints
    text: Ints

    def __len__(self) -> int:
        return len(self.parent)

    @classmethod
    def of(cls, nodes: NodeTable, rows: Bools | None = None) -> Self:
        """Take the rows of a page whose ancestors are among them as well; None for all rows."""
        kept = nodes.inherit(np.ones(len(nodes), np.bool_) if rows is None else rows.copy(), np.bitwise_and)
        before = np.append(0, np.cumsum(kept))
        parent = nodes.parent[kept]
        return cls(
            parent=np.where(parent < 0, -1, before[parent]),
            end=before[nodes.end[kept]],
            depth=nodes.depth[kept],
            label=_labels(nodes)[kept],
            text=nodes.spread(nodes.text)[kept],
        )

    @cached_property
    def levels(self) -> list[Ints]:
        """Rows of each depth from the root down, in document order."""
        return levels_of(self.depth)

    @cached_property
    def texts(self) -> Ints:
        """The distinct hashes of runs of text, sorted."""
        return np.unique(self.text[self.label == TEXT])

    @cached_property
    def keys(self) -> Ints:
        """(n,) hash of parent and label: siblings that may take each other's place have the same."""
        return _keys(self.parent, self.label)


def _keys(parent: Ints, label: Ints) -> Ints:
    return mix(parent * 31 + label)


@compiled("subtrees")
def align_page(template: TemplateTree, nodes: NodeTable) -> Ints:
    """(n,) row of the template for each row of a page, -1 for none: an equal top-down mapping from the roots down.

    Of the children of two rows that belong together, those of equal signature are paired if the same texts stand below
    them, then by the number of texts that both have, then in document order. Only texts that occur on both sides count.
    """
    found = np.full(len(nodes), -1)
    label = _labels(nodes)
    if not len(template) or template.label[0] != label[0]:
        return found
    found[0] = 0
    page, other = _Texts.of_page(nodes, template), _Texts.of_template(template, nodes)
    free = np.ones(len(template), np.bool_)
    for rows, rows_ in zip(nodes.levels[1:], template.levels[1:], strict=False):
        rows = rows[found[nodes.parent[rows]] >= 0]
        one = _Siblings(page, rows, _keys(found[nodes.parent[rows]], label[rows]))
        two = _Siblings(other, rows_, template.keys[rows_])
        for pairs in (_same, _by_votes, lambda one, two: in_order(one.keys, two.keys)):
            i, j = pairs(one, two)
            found[one.rows[i]] = two.rows[j]
            free[two.rows[j]] = False
            one, two = one.where(found[one.rows] < 0), two.where(free[two.rows])
            if not len(one.rows) or not len(two.rows):
                break
    return found


def _labels(nodes: NodeTable) -> Ints:
    return np.where(nodes.tag == TEXT, TEXT, nodes.signature)


@dataclass(frozen=True, eq=False)
class _Texts:
    """The runs of text of one side that the other has as well; those below a row are ``text[first:last]``."""

    text: Ints  # (k,) their hashes
    first: Ints  # (n,)
    last: Ints  # (n,)
    sum: Ints  # (n,) hash of those below a row, in any order; 0 for none

    @classmethod
    def of_page(cls, nodes: NodeTable, template: TemplateTree) -> Self:
        return cls._of(nodes.leaves, nodes.text, template.texts, nodes.end)

    @classmethod
    def of_template(cls, template: TemplateTree, nodes: NodeTable) -> Self:
        leaves = np.flatnonzero(template.label == TEXT)
        return cls._of(leaves, template.text[leaves], np.unique(nodes.text), template.end)

    @classmethod
    def _of(cls, leaves: Ints, text: Ints, others: Ints, end: Ints) -> Self:
        common = _among(text, others)
        leaves, text = leaves[common], text[common]
        before = np.searchsorted(leaves, np.arange(len(end) + 1))
        first, last = before[:-1], before[end]
        summed = np.append(0, np.cumsum(mix(text)))
        return cls(text, first, last, summed[last] - summed[first])


def _among(values: Ints, ranked: Ints) -> Bools:
    """Whether each value occurs in a sorted column."""
    if not len(ranked):
        return np.zeros(len(values), np.bool_)
    found: Bools = ranked[np.minimum(np.searchsorted(ranked, values), len(ranked) - 1)] == values
    return found


@dataclass(frozen=True, eq=False)
class _Siblings:
    """Rows of one side and level that are still free; only rows of equal keys may be paired."""

    texts: _Texts
    rows: Ints
    keys: Ints

    def where(self, free: Bools) -> Self:
        return type(self)(self.texts, self.rows[free], self.keys[free])


def _same(one: _Siblings, other: _Siblings) -> tuple[Ints, Ints]:
    """Pair siblings below which the same texts stand."""
    summed, summed_ = one.texts.sum[one.rows], other.texts.sum[other.rows]
    i, j = np.flatnonzero(summed), np.flatnonzero(summed_)
    x, y = in_order(mix(one.keys[i] + summed[i]), mix(other.keys[j] + summed_[j]))
    return i[x], j[y]


def _by_votes(one: _Siblings, other: _Siblings) -> tuple[Ints, Ints]:
    """Pair siblings by the number of texts that both have below them, the largest numbers first."""
    i, text = _below(one.texts, one.rows)
    j, text_ = _below(other.texts, other.rows)
    if not len(i) or not len(j):
        return i[:0], j[:0]
    x, y = in_order(mix(one.keys[i] + text), mix(other.keys[j] + text_))
    pairs, votes = np.unique(i[x] * len(other.rows) + j[y], return_counts=True)
    a, b = np.divmod(pairs[np.argsort(-votes, kind="stable")], len(other.rows))
    found: dict[int, int] = {}
    taken: set[int] = set()
    for row, image in zip(a.tolist(), b.tolist(), strict=True):
        if row not in found and image not in taken:
            found[row] = image
            taken.add(image)
    return np.array(list(found), np.int64), np.array(list(found.values()), np.int64)


def _below(texts: _Texts, rows: Ints) -> tuple[Ints, Ints]:
    """Return each text below some rows, after the index of the row."""
    count = texts.last[rows] - texts.first[rows]
    return np.arange(len(rows)).repeat(count), texts.text[runs(texts.first[rows], count)]
