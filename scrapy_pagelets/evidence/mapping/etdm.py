"""Equal top-down mappings: the part of the DOM that the pages of one template share.

Source: Alarte, Insa, Silva, Tamarit 2014, Definitions 3.2 and 3.3, Algorithm 2. This is the pairwise form of the paper,
with any node equality. ``Counts.mapped`` votes by path hashes instead. For two pages, the two forms agree if the
equality is ``same_signature`` and no two siblings are equal (``docs/algorithms/menu-templates-2014.md``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from scrapy_pagelets.base.arrays import Bools, Ints
from scrapy_pagelets.evidence.mapping.equality import Equality, same_signature
from scrapy_pagelets.evidence.mapping.largest_mapping import largest
from scrapy_pagelets.page.nodes import TEXT, NodeTable


@dataclass(frozen=True, eq=False)
class Mapping:
    """An equal top-down mapping of two pages.

    Attributes
    ----------
    pairs : (k, 2) rows of the first page in document order, each with the row of the second that it is mapped to
    exact : whether no equal top-down mapping that begins with the roots has more pairs. If it is false, some nodes had
        too many different children to compare them all (``largest_mapping.PAIRS``)
    """

    pairs: Ints
    exact: bool


@dataclass(frozen=True, eq=False)
class Extract:
    """The template of a key page.

    Attributes
    ----------
    rows : (n,) which of its rows are template
    same : (n,) which of them are elements, or runs of text that say the same on all pages
    exact : whether all mappings were the largest
    """

    rows: Bools
    same: Bools
    exact: bool


def etdm(one: NodeTable, other: NodeTable, equality: Equality = same_signature, among: Bools | None = None) -> Mapping:
    """Return the largest equal top-down mapping of two pages that begins with the roots; empty if these differ.

    Of mappings of one size, those with more equal texts are preferred, then those that map the k-th of several siblings
    to the k-th.

    Parameters
    ----------
    among : (n,) rows of the first page that may be mapped, the template so far; None for all
    """
    rows, images, exact = largest(one, other, equality, np.ones(len(one), np.bool_) if among is None else among)
    return Mapping(np.column_stack([rows, images]), exact)


def extract(key_page: NodeTable, pages: Sequence[NodeTable], equality: Equality = same_signature) -> Extract:
    """Return the template of a key page with respect to other pages: Definition 3.3 by Algorithm 2.

    Pages whose root differs are skipped, as in the paper.
    """
    rows = same = np.ones(len(key_page), np.bool_)
    exact = True
    texts = key_page.spread(key_page.text)
    for page in pages:
        mapping = etdm(key_page, page, equality, rows)
        if len(mapping.pairs):
            own, other = mapping.pairs.T
            rows, equal = np.zeros(len(key_page), np.bool_), np.zeros(len(key_page), np.bool_)
            rows[own] = True
            equal[own] = (key_page.tag[own] != TEXT) | (texts[own] == page.spread(page.text)[other])
            same = same & equal
            exact &= mapping.exact
    return Extract(rows, same & rows, exact)
