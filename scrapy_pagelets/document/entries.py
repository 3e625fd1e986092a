"""Entries of a page that lists posts: what an entry has headings for is below its first one, whatever their levels."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from itertools import compress, pairwise
from typing import Final

import numpy as np

from scrapy_pagelets.base.arrays import Bools
from scrapy_pagelets.page.looks import HEADING
from scrapy_pagelets.page.nodes import TAG, NodeTable, rows_tagged, rows_with
from scrapy_pagelets.page.page import Page

_ARTICLE: Final = TAG["article"]
#: Elements around the heading of an entry, up to that of the entry.
_AROUND: Final = 8


def inside_entries(page: Page, shown: Bools) -> frozenset[int]:
    """Rows of the headings in entries that follow the heading of their entry.

    Entries are siblings of one tag whose first headings are of one level, and lead to other pages or begin an
    ``article``.

    Parameters
    ----------
    shown : (n,) rows with content

    Examples
    --------
    >>> post = "<div><h2><a href=b>Of tea</a></h2><h1>Water</h1><p>Boil it.</div>"
    >>> page = Page.parse((post + post).encode(), "http://a/")
    >>> len(inside_entries(page, np.ones(len(page.nodes), np.bool_)))
    2
    """
    nodes = page.nodes
    rows = [row for row in rows_with(nodes, HEADING) if shown[row]]
    heads = _heads(page, rows) if len(rows) > 2 else set()
    inside: set[int] = set()
    for siblings in (_siblings(nodes, *pair) for pair in pairwise(sorted(heads))):
        firsts = [rows[bisect_left(rows, row)] for row in siblings]
        if not heads.issuperset(firsts) or len(levels := {nodes.tag.item(row) for row in firsts}) > 1:
            continue
        for sibling, first in zip(siblings, firsts, strict=True):
            following = rows[bisect_right(rows, first) : bisect_left(rows, nodes.end.item(sibling))]
            if inside.isdisjoint(following[:1]):  # else they are known
                # Two entries may stand in one row.
                inside.update(row for row in following if row not in heads or nodes.tag.item(row) not in levels)
    return frozenset(inside)


def _heads(page: Page, rows: list[int]) -> set[int]:
    """Those of some headings that lead to another page, or are the first in an ``article``."""
    nodes = page.nodes
    links = nodes.links.row[(nodes.links.key != 0) & (nodes.links.key != page.key)]
    leading = np.searchsorted(links, nodes.end[rows]) > np.searchsorted(links, rows)
    heads = {row for row in compress(rows, leading) if nodes.anchor[nodes.leaves[nodes.leaves_of(row)]].all()}
    for article in rows_tagged(nodes, _ARTICLE):
        place = bisect_left(rows, article)
        heads.update(row for row in rows[place : place + 1] if row < nodes.end[article])
    return heads


def _siblings(nodes: NodeTable, one: int, other: int) -> tuple[int, ...]:
    """The two siblings of one tag that two headings are in; () if there are none."""
    first, second = one, other
    for _ in range(_AROUND):
        if nodes.end[nodes.parent[first]] <= other:
            first = nodes.parent.item(first)
        if nodes.parent[second] > one:
            second = nodes.parent.item(second)
    alike = nodes.parent[first] == nodes.parent[second] and nodes.tag[first] == nodes.tag[second]
    return (first, second) if alike and first != one and second != other else ()
