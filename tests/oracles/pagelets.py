"""The pagelets of a page, level by level."""

from __future__ import annotations

from itertools import accumulate, compress
from math import fsum
from typing import Final

import numpy as np

from scrapy_pagelets.base.arrays import Bools, Floats, Ints
from scrapy_pagelets.evidence.partition import _INLINE, _LINKING, _PROSE_TAGS, DEFAULT_K, _check
from scrapy_pagelets.page.looks import NOTHING
from scrapy_pagelets.page.nodes import TEXT, NodeTable
from scrapy_pagelets.page.roles import _LINKED, CONTENT, NAVIGATION, ROLES, TEMPLATE, THRESHOLD, is_template

#: Links in a block of prose with at least this many words do not divide its parent.
_PROSE_WORDS: Final = 8
#: At least this many consecutive siblings of one look are the records of one region.
_RUN: Final = 3
_ANONYMOUS: Final = -1


def _groups(labels: Ints) -> list[Ints]:
    """Indices of the leaves of each label; the labels in the order of their first leaves."""
    return [np.flatnonzero(labels == label) for label in dict.fromkeys(labels.tolist())]


def partition(nodes: NodeTable, k: int = DEFAULT_K, *, strict: bool = False) -> Ints:
    """See `core.subtrees.partition`."""
    _check(k)
    if not len(nodes.leaves):
        return np.zeros(0, np.int64)
    divided = _divided(nodes, k, strict)
    owner = _owners(nodes, divided, strict)
    return np.unique(owner[nodes.leaves], return_inverse=True)[1].astype(np.int64)


def partition_of_rows(nodes: NodeTable, k: int = DEFAULT_K, *, strict: bool = False) -> Ints:
    """(n,) number of the pagelet of each run of text, as `partition`; -1 for elements."""
    labels = np.full(len(nodes), -1)
    labels[nodes.leaves] = partition(nodes, k, strict=strict)
    return labels


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


def role_of(nodes: NodeTable, leaves: Ints, templateness: float, roles: Ints) -> str:
    """Return the role of some leaves of a page, which is that of most of their words.

    Parameters
    ----------
    leaves : (k,) indices of the leaves
    templateness : of all of them together, 0 to 1
    roles : (m,) of each leaf of the page the index of its role in ``ROLES``; 0 also for template of which nobody knows
    """
    if templateness < THRESHOLD:
        return CONTENT
    words = nodes.words[leaves].tolist()  # lists, as most pagelets are a leaf or two
    votes = [0] * len(ROLES)
    for role, count in zip(roles[leaves].tolist(), words, strict=True):
        votes[role] += max(count, 1)
    if sum(votes[1:]) >= votes[0]:
        return ROLES[votes.index(max(votes[1:]), 1)]
    linked = sum(compress(words, nodes.anchor[nodes.leaves[leaves]].tolist()))
    return NAVIGATION if linked > _LINKED * sum(words) else TEMPLATE


def divided(nodes: NodeTable, labels: Ints, templateness: Floats, roles: Ints) -> list[tuple[Ints, float, str]]:
    """See `core.subtrees.divided`."""
    groups = _groups(labels[nodes.leaves] * 2 + is_template(templateness))
    if not groups:
        return []
    # In lists, because most pagelets are too small for NumPy.
    order, ends = np.concatenate(groups), list(accumulate(map(len, groups)))
    starts = [0, *ends[:-1]]
    weights = np.maximum(nodes.words[order], 1)
    weighted, weight = (templateness[order] * weights).tolist(), np.add.reduceat(weights, starts).tolist()
    means = (fsum(weighted[start:end]) / total for start, end, total in zip(starts, ends, weight, strict=True))
    names = (role_of(nodes, group, templateness.item(group.item(0)), roles) for group in groups)
    return list(zip(groups, means, names, strict=True))
