"""What small corrections change, column by column in NumPy."""

from __future__ import annotations

import numpy as np

from scrapy_pagelets.base.arrays import Bools, Floats, mix, up_to
from scrapy_pagelets.decision.corrections import _DOUBT, _IS_ITEM, _IS_LAYOUT, _NO_WORD, _RUNS, _SHORT, _WORDS
from scrapy_pagelets.page.looks import HEADING
from scrapy_pagelets.page.nodes import LINE, NodeTable, below, rows_with
from scrapy_pagelets.page.roles import THRESHOLD


def decided_together(nodes: NodeTable, templateness: Floats) -> Floats:
    """See `core.small_corrections.decided_together`."""
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


def signs_with_words(nodes: NodeTable, templateness: Floats) -> Floats:
    """See `core.small_corrections.signs_with_words`."""
    line, place = np.cumsum(nodes.gap >= LINE), np.arange(len(templateness))
    words = nodes.words > 0
    before = np.maximum.accumulate(np.where(words, place, -1))
    behind = np.minimum.accumulate(np.where(words, place, len(place))[::-1])[::-1]
    after = np.minimum(behind, len(place) - 1)
    is_before = (before >= 0) & (line[before] == line)
    is_behind = (behind < len(place)) & (line[after] == line)
    beside = np.where(is_before, before, np.where(is_behind, after, place))
    return templateness[beside]


def has_copies(nodes: NodeTable) -> bool:
    """Whether one block of layout has the text of another one behind it."""
    words, texts = up_to(nodes.words), up_to(mix(nodes.text))
    rows = np.flatnonzero(_IS_LAYOUT[nodes.tag] & (nodes.last_leaf - nodes.first_leaf >= _RUNS))
    rows = rows[below(nodes, words, rows) >= _WORDS]
    order = np.argsort(below(nodes, texts, rows), kind="stable")
    text, rows = below(nodes, texts, rows)[order], rows[order]
    return bool(((text[1:] == text[:-1]) & (rows[1:] >= nodes.end[rows[:-1]])).any())


def has_lone_heading(nodes: NodeTable, keep: Bools) -> bool:
    """Whether template follows a heading of content."""
    ends = ((nodes.first_leaf[row], nodes.last_leaf[row]) for row in rows_with(nodes, HEADING))
    return any(first < last < len(keep) and keep[first] and not keep[last] for first, last in ends)
