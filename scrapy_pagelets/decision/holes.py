"""Blocks that the passes miss in the middle of a text are content as the others are."""

from __future__ import annotations

from typing import Final

import numpy as np

from scrapy_pagelets.base.arrays import Bools, Ints, up_to
from scrapy_pagelets.core import give
from scrapy_pagelets.page.nodes import TAG, TAGS, NodeTable, below

_BLOCKS: Final = "p ul ol dl blockquote pre table h2 h3 h4 h5 h6".split()
_IS_BLOCK: Final = np.isin(np.arange(len(TAGS)), [TAG[name] for name in _BLOCKS])
#: Share of the words of its blocks, and number of them, that are content in an element whose holes are filled.
_SHARE, _LEAST = 0.7, 50
#: Share of content from which on a block is no hole, and of words in links from which on it is a menu.
_HALF, _LINKS = 0.5, 0.8
give("corrections", SHARE=_SHARE, LEAST=_LEAST, HALF=_HALF, LINKS=_LINKS, IS_BLOCK=_IS_BLOCK)


def holes_of(nodes: NodeTable, keep: Bools) -> Bools:
    """(m,) leaves of blocks that are no content, between two blocks of the same element that are.

    Parameters
    ----------
    keep : (m,) the leaves that are content so far

    Examples
    --------
    >>> from scrapy_pagelets import Page
    >>> text = "<p>All about green tea, and how it is picked.</p>" * 5
    >>> nodes = Page.parse(f"{text}<ul><li>Gloves</ul>{text}".encode(), "http://a/").nodes
    >>> holes_of(nodes, np.arange(11) != 5).nonzero()[0].tolist()
    [5]
    """
    found = np.zeros(len(nodes.leaves), np.bool_)
    blocks = np.flatnonzero(_IS_BLOCK[nodes.tag])
    words, kept = (below(nodes, up_to(column), blocks) for column in (nodes.words, nodes.words * keep))
    is_hole = kept < _HALF * words
    is_text = ~is_hole & (kept > 0)
    if not (is_hole.any() and is_text.any()):
        return found
    above = nodes.parent[blocks]
    all_words, all_kept = (np.bincount(above, column, len(nodes))[above] for column in (words, kept))
    is_hole &= (all_kept >= _LEAST) & (all_kept >= _SHARE * all_words) & _between(blocks, above, is_text)
    for row in blocks[is_hole].tolist():
        leaves = slice(nodes.first_leaf.item(row), nodes.last_leaf.item(row))
        linked = nodes.words[leaves] * nodes.anchor[nodes.leaves[leaves]]
        found[leaves] = linked.sum() <= _LINKS * nodes.words[leaves].sum()
    return found


def _between(blocks: Ints, above: Ints, is_text: Bools) -> Bools:
    """(k,) whether a block has one of text before it and one behind it in the same element.

    Parameters
    ----------
    blocks, above : (k,) rows of the blocks, ascending, and of their parents
    """
    texts, parents = blocks[is_text], above[is_text]
    first, last = np.full((2, above.max() + 1), -1)
    last[parents] = texts  # of several values for a parent, the last one stays
    first[parents[::-1]] = texts[::-1]
    between: Bools = (first[above] >= 0) & (first[above] < blocks) & (blocks < last[above])
    return between
