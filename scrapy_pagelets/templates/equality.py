"""Node equality: which nodes of two pages an equal top-down mapping may pair.

Source: Alarte, Insa, Silva, Tamarit 2014, Definition 3.2, which leaves the equality open, and Section 4.2.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from scrapy_pagelets.nodes import TEXT, Floats, Ints, NodeTable, mix

#: For two arrays of rows of equal length, the equality of each pair, 0 to 1; 0 forbids the pair.
Compare = Callable[[Ints, Ints], Floats]


@dataclass(frozen=True)
class Equality:
    """How equal two nodes are, 0 to 1; 0 forbids the pair.

    Attributes
    ----------
    label : (n,) for a page, what the equality knows of each node by itself; equal labels on two pages mean the same
    tolerant : for two pages, the comparison of their rows if it does not only depend on equal labels. The result may
        depend on the two labels, and for all nodes on the number of children and the position among the siblings,
        but on nothing else. Without it, nodes are equal if their labels are
    """

    label: Callable[[NodeTable], Ints]
    tolerant: Callable[[NodeTable, NodeTable], Compare] | None = None

    def compare(self, one: NodeTable, other: NodeTable) -> Compare:
        """Return the comparison of the rows of two pages."""
        if self.tolerant is not None:
            return self.tolerant(one, other)
        left, right = self.label(one), self.label(other)
        return lambda rows, images: (left[rows] == right[images]).astype(np.float64)


def _signatures(nodes: NodeTable) -> Ints:
    return np.where(nodes.tag == TEXT, 1, nodes.signature)


def _signatures_and_texts(nodes: NodeTable) -> Ints:
    return np.where(nodes.tag == TEXT, mix(nodes.spread(nodes.text)), nodes.signature)


def _looks(nodes: NodeTable) -> Ints:
    return np.where(nodes.tag == TEXT, 1, np.array([hash(look) for look in nodes.looks], np.int64)[nodes.look])


#: Signatures agree (tag, id, class tokens and role, without volatile tokens). Any two runs of text are equal.
same_signature = Equality(_signatures)
#: As `same_signature`, but two runs of text are equal only if they say the same (`NodeTable.text`).
same_signature_and_text = Equality(_signatures_and_texts)


def _weigh(one: NodeTable, other: NodeTable) -> Compare:
    position, position_ = _position(one), _position(other)
    children, children_ = _elements_below(one), _elements_below(other)

    def compare(rows: Ints, images: Ints) -> Floats:
        i, j = children[rows], children_[images]
        same = _same_looks(one, one.look[rows], other, other.look[images])
        same += 0.15 * (1 - np.abs(i - j) / np.maximum(1, np.maximum(i, j)))
        same += 0.15 * (1 - np.minimum(1, np.abs(position[rows] - position_[images]) / 10))
        texts = one.tag[rows] == TEXT
        same[(same < 0.5) | texts] = 0
        same[texts != (other.tag[images] == TEXT)] = 0
        same[texts & (other.tag[images] == TEXT)] = 1
        return same

    return compare


#: The paper's equality: tags must agree; class, other attributes, number of children and position add up to 1. Any two
#: runs of text are equal. The weights are ours: Section 4.2 of the paper does not state them.
weighted = Equality(_looks, _weigh)


def _same_looks(one: NodeTable, looks: Ints, other: NodeTable, looks_: Ints) -> Floats:
    """Compare looks, each distinct pair once: 0.4 for the overlap of classes, 0.15 each for id and role; -1 for tags."""
    distinct, back = np.unique(looks * len(other.looks) + looks_, return_inverse=True)
    i, j = np.divmod(distinct, len(other.looks))
    columns, columns_ = list(zip(*one.looks, strict=True)), list(zip(*other.looks, strict=True))
    tag, name, role = (_agree(columns[part], i, columns_[part], j) for part in (0, 1, 3))
    same: Floats = 0.4 * _overlap(columns[2], i, columns_[2], j) + 0.15 * name + 0.15 * role
    same[tag == 0] = -1
    return same[back]


def _agree(names: tuple[str, ...], i: Ints, names_: tuple[str, ...], j: Ints) -> Floats:
    numbers: dict[str, int] = {}
    one, other = (np.array([numbers.setdefault(n, len(numbers)) for n in column]) for column in (names, names_))
    return (one[i] == other[j]).astype(np.float64)


def _overlap(classes: tuple[str, ...], i: Ints, classes_: tuple[str, ...], j: Ints) -> Floats:
    """Share of common class tokens in all tokens of two looks; 1 if both have none."""
    from scipy.sparse import csr_array

    numbers: dict[str, int] = {}
    cells = [
        [(look, numbers.setdefault(t, len(numbers))) for look, names in enumerate(side) for t in set(names.split())]
        for side in (classes, classes_)
    ]
    one, other = (
        csr_array((np.ones(len(found)), tuple(np.array(found, np.int64).reshape(-1, 2).T)), (len(side), len(numbers)))
        for found, side in zip(cells, (classes, classes_), strict=True)
    )
    common = one[i].multiply(other[j]).sum(axis=1)
    union = one.sum(axis=1)[i] + other.sum(axis=1)[j] - common
    share: Floats = np.where(union > 0, common / np.maximum(1, union), 1.0)
    return share


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
