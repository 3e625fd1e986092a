"""Items of one list and cells of one row are decided together where the passes are in doubt."""

from __future__ import annotations

from typing import Final

import numpy as np

from scrapy_pagelets.base.arrays import Floats, up_to
from scrapy_pagelets.page.nodes import TAG, TAGS, NodeTable, below
from scrapy_pagelets.page.roles import THRESHOLD

#: Elements of text. Those of layout stand beside each other and have nothing in common: a text, and what is beside it.
_NAMES: Final = "li tr td th dt dd a span b i em strong code label small option time".split()
_IS_ITEM: Final = np.isin(np.arange(len(TAGS)), [TAG[name] for name in _NAMES if name in TAG])
#: Words of such an element, on average; longer ones have something to say of their own.
_SHORT: Final = 20
#: What a text without words weighs, such as a bullet.
_NO_WORD: Final = 0.01
#: Templateness between which a text is in doubt. What is lost weighs more than what is kept.
_DOUBT: Final = (0.3, 0.9)


def decided_together(nodes: NodeTable, templateness: Floats) -> Floats:
    """(m,) templateness of the leaves; what is in doubt in short elements of one parent and look has their mean.

    Parameters
    ----------
    templateness : (m,) of each leaf by itself

    Examples
    --------
    >>> from scrapy_pagelets import Page
    >>> nodes = Page.parse(b"<ul><li>Handlers<li>Parser<li>Registry</ul><p>Tags", "http://a/").nodes
    >>> decided_together(nodes, np.array([0.4, 0.7, 0.4, 0.7])).round(2).tolist()
    [0.5, 0.5, 0.5, 0.7]
    """
    in_doubt = (templateness > _DOUBT[0]) & (templateness < _DOUBT[1])
    if not in_doubt.any():
        return templateness
    rows = np.flatnonzero(_IS_ITEM[nodes.tag] & (nodes.first_leaf < nodes.last_leaf))
    doubts = below(nodes, up_to(in_doubt), nodes.parent[rows])
    rows = rows[doubts > 0]
    weight = nodes.words + _NO_WORD
    words, of_template = (nodes.sum_below(column)[rows] for column in (weight, weight * templateness))
    _, group = np.unique(nodes.parent[rows] * len(nodes.looks) + nodes.look[rows], return_inverse=True)
    size, kept = np.bincount(group), np.bincount(group, of_template < THRESHOLD * words)
    words_of_group = np.bincount(group, words)
    mean = np.bincount(group, of_template) / words_of_group
    torn = (kept > 0) & (kept < size) & (words_of_group <= _SHORT * size)
    found = templateness.copy()
    for row, value in zip(rows[torn[group]].tolist(), mean[group[torn[group]]].tolist(), strict=True):
        leaves = nodes.leaves_of(row)  # of elements in each other, the inner ones come last
        found[leaves] = np.where(in_doubt[leaves], value, found[leaves])
    return found
