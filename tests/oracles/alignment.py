"""The alignment of a page with a template, level by level."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from scrapy_pagelets.base.arrays import Bools, Ints, mix
from scrapy_pagelets.evidence.class_template import TemplateTree
from scrapy_pagelets.evidence.etdm import in_order, runs
from scrapy_pagelets.page.nodes import TEXT, NodeTable, levels_of


def align_page(template: TemplateTree, nodes: NodeTable) -> Ints:
    """See `core.subtrees.align_page`."""
    found = np.full(len(nodes), -1)
    label = np.where(nodes.tag == TEXT, TEXT, nodes.signature)
    if not len(template) or template.label[0] != label[0]:
        return found
    found[0] = 0
    page, other = _Texts.of_page(nodes, template), _Texts.of_template(template, nodes)
    free = np.ones(len(template), np.bool_)
    for rows, rows_ in zip(nodes.levels[1:], levels_of(template.depth)[1:], strict=False):
        rows = rows[found[nodes.parent[rows]] >= 0]
        one = _Siblings(page, rows, _keys(found[nodes.parent[rows]], label[rows]))
        two = _Siblings(other, rows_, _keys(template.parent, template.label)[rows_])
        for pairs in (_same, _by_votes, lambda one, two: in_order(one.keys, two.keys)):
            i, j = pairs(one, two)
            found[one.rows[i]] = two.rows[j]
            free[two.rows[j]] = False
            one, two = one.where(found[one.rows] < 0), two.where(free[two.rows])
            if not len(one.rows) or not len(two.rows):
                break
    return found


def _keys(parent: Ints, label: Ints) -> Ints:
    """Hash of parent and label: siblings that may take each other's place have the same."""
    return mix(parent * 31 + label)


@dataclass(frozen=True, eq=False)
class _Texts:
    """The runs of text of one side that the other has as well; those below a row are ``text[first:last]``."""

    text: Ints  # (k,) their hashes
    first: Ints  # (n,)
    last: Ints  # (n,)
    sum: Ints  # (n,) hash of those below a row, in any order; 0 for none

    @classmethod
    def of_page(cls, nodes: NodeTable, template: TemplateTree) -> Self:
        return cls._of(nodes.leaves, nodes.text, np.unique(template.text[template.label == TEXT]), nodes.end)

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
