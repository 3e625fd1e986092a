"""Pagelets by link count.

Source: Bar-Yossef & Rajagopalan 2002, *Template Detection via Data Mining and its Applications*, Definition 2 and Figure 3;
``algorithms.md`` D.1 for what the default adds.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from scrapy_pagelets.nodes import TAG, TEXT, Bools, Ints, NodeTable

#: Links that make a region of its own: the paper's value, and ours for the pages of today.
STRICT_K: Final = 3
DEFAULT_K: Final = 5
#: A block of prose of so many words gives no links to the test of its parent.
_PROSE_WORDS: Final = 8
_PROSE_TAGS: Final = np.array([TAG[t] for t in "p h1 h2 h3 h4 h5 h6 blockquote dd td pre figure figcaption li".split()])
#: So many siblings of one shape are the records of one region.
_RUN: Final = 3
_INLINE: Final = np.array(
    [TAG[t] for t in "#text a span b i em strong u s small big font tt code kbd samp var cite q abbr sub sup time mark img br wbr".split()]
)


def partition(nodes: NodeTable, k: int = DEFAULT_K, *, strict: bool = False) -> Ints:
    """Number of the pagelet of each leaf, (m,), counted from 0 in document order; every leaf has exactly one.

    Parameters
    ----------
    k : a node is divided if one of its children holds this many hyperlinks or more
    strict : the paper's form: no immunity of prose, no merging of records. Text between the children of a divided node, which
        Definition 2 leaves without a pagelet, forms anonymous pagelets in both forms

    Raises
    ------
    ValueError : if k < 1
    """
    if k < 1:
        raise ValueError(f"k is {k}: a pagelet needs a number of links of 1 or more")
    if not len(nodes.leaves):
        return np.zeros(0, np.int64)
    divided = _divided(nodes, k, strict)
    owner = _owners(nodes, divided, merge=not strict)
    return np.unique(owner[nodes.leaves], return_inverse=True)[1].astype(np.int64)


def pagelets(nodes: NodeTable, k: int = STRICT_K) -> list[int]:
    """Rows of the pagelets of Figure 3: elements none of whose children holds k links, outside of one another."""
    divided = _divided(nodes, k, strict=True)
    parent_divided = np.concatenate(([True], divided[nodes.parent[1:]]))
    return [int(row) for row in np.flatnonzero(~divided & parent_divided & (nodes.tag != TEXT))]


def _divided(nodes: NodeTable, k: int, strict: bool) -> Bools:
    """(n,) rows that Figure 3 divides: some child has k links or more, and so has every node above."""
    own = np.zeros(len(nodes), np.int64)
    http = nodes.links.key != 0
    fragment = np.array([href.lstrip().startswith("#") for href in nodes.links.href], np.bool_)
    np.add.at(own, nodes.links.row[http & ~fragment], 1)
    count = nodes.total(own)
    if not strict:
        count = np.where(_prose(nodes), 0, count)
    divided = np.zeros(len(nodes), np.bool_)
    rich = np.flatnonzero(count[1:] >= k) + 1
    divided[nodes.parent[rich]] = True
    for rows in nodes.levels[1:]:
        divided[rows] &= divided[nodes.parent[rows]]
    return divided


def _prose(nodes: NodeTable) -> Bools:
    """(n,) blocks of text in which links are a minor part."""
    words = nodes.total(nodes.spread(nodes.words))
    linked = nodes.total(nodes.spread(nodes.words * nodes.anchor[nodes.leaves]))
    return np.isin(nodes.tag, _PROSE_TAGS) & (words >= _PROSE_WORDS) & (linked < 0.5 * words)


def _owners(nodes: NodeTable, divided: Bools, merge: bool) -> Ints:
    """(n,) for each row the first row of its pagelet."""
    owner = np.arange(len(nodes))
    starts = _starts(nodes, divided, merge)
    for rows in nodes.levels[1:]:
        above = nodes.parent[rows]
        owner[rows] = np.where(divided[above], starts[rows], owner[above])
    return owner


def _starts(nodes: NodeTable, divided: Bools, merge: bool) -> Ints:
    """(n,) for the children of divided rows the sibling with which their pagelet begins.

    Runs of text and inline neighbours make one anonymous pagelet; runs of siblings with one shape make one region of records.
    """
    starts = np.arange(len(nodes))
    inline = np.isin(nodes.tag, _INLINE)
    siblings: dict[int, list[int]] = {}
    for row in (np.flatnonzero(divided[nodes.parent[1:]]) + 1).tolist():
        siblings.setdefault(int(nodes.parent[row]), []).append(row)
    for rows in siblings.values():
        kinds = [(-1 if inline[r] and not divided[r] else int(nodes.signature[r]), bool(divided[r])) for r in rows]
        begin = 0
        for end in range(1, len(rows) + 1):
            if end < len(rows) and kinds[end] == kinds[begin]:
                continue
            anonymous = kinds[begin][0] == -1
            if not kinds[begin][1] and (anonymous or (merge and end - begin >= _RUN)):
                starts[rows[begin:end]] = rows[begin]
            begin = end
    return starts

