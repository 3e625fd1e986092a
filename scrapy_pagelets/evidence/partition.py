"""Partition a page into pagelets by link count.

Source: Bar-Yossef & Rajagopalan 2002, *Template Detection via Data Mining and its Applications*, Definition 2 and
Figure 3. ``docs/algorithms/pagelets-templates-2002.md`` describes what the default form adds to them.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from scrapy_pagelets.base.arrays import Bools, Ints
from scrapy_pagelets.core import compiled, give
from scrapy_pagelets.page.looks import NOTHING
from scrapy_pagelets.page.nodes import TAG, TAGS, TEXT, NodeTable

#: A child with this many links is a region of its own: the value of the paper, and ours for modern pages.
STRICT_K: Final = 3
DEFAULT_K: Final = 5
#: Links in a block of prose with at least this many words do not divide its parent.
_PROSE_WORDS: Final = 8
_PROSE_TAGS: Final = np.array([TAG[t] for t in "p h1 h2 h3 h4 h5 h6 blockquote dd td pre figure figcaption li".split()])
#: At least this many consecutive siblings of one look are the records of one region.
_RUN: Final = 3
_INLINE_TAGS: Final = (
    "#text a span b i em strong u s small big font tt code kbd samp var cite q abbr acronym sub sup time mark ins del "
    "bdo bdi nobr data dfn img br wbr"
).split()
_INLINE: Final = np.array([TAG[tag] for tag in _INLINE_TAGS])
_ANONYMOUS: Final = -1
_LINKING: Final = np.array([TAG["a"], TAG["area"]])


@compiled("subtrees")
def partition(nodes: NodeTable, k: int = DEFAULT_K, *, strict: bool = False) -> Ints:
    """(m,) number of the pagelet of each leaf, from 0 in document order; every leaf has exactly one.

    Parameters
    ----------
    k : a node is divided if one of its children has this many hyperlinks or more
    strict : use the form of the paper: links in prose count, records are not merged, and inline elements are children
        like any others. Definition 2 leaves the text between the children of a divided node without a pagelet. In both
        forms here, such text makes anonymous pagelets; in the default form, these include inline elements

    Raises
    ------
    ValueError : if k < 1
    """
    _check(k)
    if not len(nodes.leaves):
        return np.zeros(0, np.int64)
    divided = _divided(nodes, k, strict)
    owner = _owners(nodes, divided, strict)
    return np.unique(owner[nodes.leaves], return_inverse=True)[1].astype(np.int64)


@compiled("subtrees")
def partition_of_rows(nodes: NodeTable, k: int = DEFAULT_K, *, strict: bool = False) -> Ints:
    """(n,) number of the pagelet of each run of text, as `partition`; -1 for elements."""
    labels = np.full(len(nodes), -1)
    labels[nodes.leaves] = partition(nodes, k, strict=strict)
    return labels


def _check(k: int) -> None:
    if k < 1:
        raise ValueError(f"k is {k}: a pagelet needs a number of links of 1 or more")


def _divided(nodes: NodeTable, k: int, strict: bool) -> Bools:
    """(n,) whether Figure 3 divides the row: a child has k links or more, and every ancestor is divided."""
    links = nodes.links
    away = np.array([href.lstrip()[:1] not in ("", "#") for href in links.href], np.bool_)
    counted = (links.key != 0) & away & np.isin(nodes.tag[links.row], _LINKING)
    own = np.bincount(links.row[counted], minlength=len(nodes))
    count = nodes.total(own)
    if not strict:
        count = np.where(_prose(nodes), 0, count)
    divided = np.zeros(len(nodes), np.bool_)
    rich = np.flatnonzero(count[1:] >= k) + 1
    divided[nodes.parent[rich]] = True
    return nodes.inherit(divided, np.bitwise_and)


def _prose(nodes: NodeTable) -> Bools:
    """(n,) whether the row is a block of text in which links are a minor part."""
    words = nodes.sum_below(nodes.words)
    linked = nodes.sum_below(nodes.words * nodes.anchor[nodes.leaves])
    return np.isin(nodes.tag, _PROSE_TAGS) & (words >= _PROSE_WORDS) & (linked < 0.5 * words)


def _owners(nodes: NodeTable, divided: Bools, strict: bool) -> Ints:
    """(n,) first row of the pagelet of each row."""
    owner = np.arange(len(nodes))
    starts = _starts(nodes, divided, strict)
    for rows in nodes.levels[1:]:
        above = nodes.parent[rows]
        owner[rows] = np.where(divided[above], starts[rows], owner[above])
    return owner


def _starts(nodes: NodeTable, divided: Bools, strict: bool) -> Ints:
    """(n,) for children of divided rows, the sibling with which their pagelet begins, of anonymous text or records."""
    starts = np.arange(len(nodes))
    inline = nodes.tag == TEXT if strict else np.isin(nodes.tag, _INLINE)
    kind = np.where(inline, _ANONYMOUS, nodes.signature)
    rows = _children_of_divided(nodes, divided, strict)
    if not len(rows):
        return starts
    first = np.ones(len(rows), np.bool_)
    first[1:] = (np.diff(nodes.parent[rows]) != 0) | (np.diff(kind[rows]) != 0)
    first[1:] |= divided[rows][1:] | divided[rows][:-1]
    begin = np.flatnonzero(first)
    run = np.cumsum(first) - 1
    joined = kind[rows[begin]] == _ANONYMOUS
    if not strict:
        joined |= np.diff(np.append(begin, len(rows))) >= _RUN
    starts[rows] = np.where(joined[run], rows[begin][run], rows)
    return starts


def _children_of_divided(nodes: NodeTable, divided: Bools, strict: bool) -> Ints:
    """Rows of the children of divided rows, grouped by parent, in document order."""
    wanted = np.concatenate(([False], divided[nodes.parent[1:]]))
    if not strict:
        # A reader sees nothing of these, so they do not interrupt a run of siblings.
        wanted &= (nodes.signs & NOTHING == 0)[nodes.look]
    rows = np.flatnonzero(wanted)
    return rows[np.argsort(nodes.parent[rows], kind="stable")]


give(
    "subtrees", TAGS=TAGS, PROSE_TAGS=_PROSE_TAGS, INLINE=_INLINE, LINKING=_LINKING, DEFAULT_K=DEFAULT_K,
    NOTHING=NOTHING, check=_check,
)  # fmt: skip
