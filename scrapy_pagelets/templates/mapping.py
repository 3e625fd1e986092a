"""Equal top-down mappings: the part of the DOM that the pages of one template share.

Source: Alarte, Insa, Silva, Tamarit 2014, Definitions 3.2 and 3.3, Algorithm 2. This is the pairwise form of the paper,
with any node equality. During a crawl, ``Site.template_nodes`` votes by path hashes instead. For two pages, both of
which must have a node, the two forms agree if the equality is ``same_signature`` and no two siblings are equal
(``docs/algorithms/menu-templates-2014.md``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

import numpy as np

from scrapy_pagelets.nodes import TEXT, Bools, NodeTable

#: How equal two nodes are, 0 to 1; 0 forbids the pair.
Equality = Callable[[NodeTable, int, NodeTable, int], float]

#: Up to this number of pairs of children, all are compared; beyond it, only children at most `_BAND` positions apart.
_PAIRS: Final = 250_000
_BAND: Final = 100


def weighted(one: NodeTable, i: int, other: NodeTable, j: int) -> float:
    """The paper's equality: tags must agree; class, other attributes, number of children and position add up to 1.

    Two runs of text are always equal. The weights are ours: Section 4.2 of the paper does not state them.
    """
    if one.tag[i] != other.tag[j]:
        return 0.0
    if one.tag[i] == TEXT:
        return 1.0
    tag, name, classes, role = one.looks[one.look[i]]
    tag_, name_, classes_, role_ = other.looks[other.look[j]]
    if tag != tag_:
        return 0.0
    same = 0.4 * _overlap(classes.split(), classes_.split())
    same += 0.3 * ((name == name_) + (role == role_)) / 2
    children, children_ = len(one.elements[i]), len(other.elements[j])
    same += 0.15 * (1 - abs(children - children_) / max(children, children_, 1))
    same += 0.15 * (1 - min(1.0, abs(_position(one, i) - _position(other, j)) / 10))
    return same if same >= 0.5 else 0.0


def _overlap(one: Sequence[str], other: Sequence[str]) -> float:
    union = set(one) | set(other)
    return len(set(one) & set(other)) / len(union) if union else 1.0


def _position(nodes: NodeTable, row: int) -> int:
    """Number of element siblings before the row."""
    element = nodes.elements[row]
    parent = element.getparent()
    return 0 if parent is None else parent.index(element)


def same_signature(one: NodeTable, i: int, other: NodeTable, j: int) -> float:
    """1 if the signatures agree (tag, id, class tokens and role, without volatile tokens), else 0; 1 for two texts."""
    if one.tag[i] == TEXT or other.tag[j] == TEXT:
        return float(one.tag[i] == other.tag[j])
    return float(one.signature[i] == other.signature[j])


def etdm(one: NodeTable, other: NodeTable, equality: Equality = weighted, among: Bools | None = None) -> dict[int, int]:
    """Map rows of the first tree to rows of the second by an equal top-down mapping; {} if the roots differ.

    The children of a mapped pair are paired greedily by descending equality, ties by position, each at most once. With
    ``same_signature``, the mapping is the largest one if no two siblings are equal. Since all pairs of children are
    compared, this form is meant for pages of ordinary size.

    Parameters
    ----------
    equality : 0 to 1; 0 forbids a pair
    among : (n,) rows of the first tree that may be mapped, the template so far; None for all
    """
    if not equality(one, 0, other, 0):
        return {}
    mapping = {0: 0}
    children, children_ = _children(one), _children(other)
    stack = [(0, 0)]
    while stack:
        row, row_ = stack.pop()
        free = [i for i in children[row] if among is None or among[i]]
        used: set[int] = set()
        for _, _, _, i, j in sorted(_pairs(one, free, other, children_[row_], equality)):
            if i not in mapping and j not in used:
                mapping[i] = j
                used.add(j)
                stack.append((i, j))
    return mapping


def _pairs(
    one: NodeTable, rows: list[int], other: NodeTable, rows_: list[int], equality: Equality
) -> Iterator[tuple[float, int, int, int, int]]:
    """Yield the pairs of rows that may be mapped, after their sort keys, which pair the k-th of equal siblings."""
    band = len(rows) + len(rows_) if len(rows) * len(rows_) <= _PAIRS else _BAND
    for x, i in enumerate(rows):
        for y in range(max(0, x - band), min(len(rows_), x + band + 1)):
            if score := equality(one, i, other, rows_[y]):
                yield -score, abs(x - y), x, i, rows_[y]


def _children(nodes: NodeTable) -> list[list[int]]:
    children: list[list[int]] = [[] for _ in range(len(nodes))]
    for row, parent in enumerate(nodes.parent.tolist()):
        if parent >= 0:
            children[parent].append(row)
    return children


def extract(key_page: NodeTable, pages: Sequence[NodeTable], equality: Equality = weighted) -> Bools:
    """(n,) rows of the key page that are its template with respect to other pages: Definition 3.3 by Algorithm 2.

    Pages whose root differs are skipped, as in the paper.
    """
    template = np.ones(len(key_page), np.bool_)
    for page in pages:
        if mapping := etdm(key_page, page, equality, template):
            kept = np.zeros(len(key_page), np.bool_)
            kept[list(mapping)] = True
            template = kept
    return template
