"""Headings of content whose whole section is template: a reader has no use for them."""

from __future__ import annotations

from typing import Final

import numpy as np

from scrapy_pagelets.base.arrays import Bools, Ints
from scrapy_pagelets.core import give
from scrapy_pagelets.core.small_corrections import has_lone_heading as has_lone_heading
from scrapy_pagelets.page.looks import HEADING
from scrapy_pagelets.page.nodes import TAG, TEXT, NodeTable, rows_with

_LEVEL: Final = {TAG[f"h{level}"]: level for level in range(1, 7)}
_MEDIA: Final = [TAG[name] for name in ("img", "picture", "svg", "video", "audio", "iframe", "object")]
#: Share of the other pages that have the heading of a section of the template at its place.
_OFTEN: Final = 0.2


def lone_headings_of(nodes: NodeTable, keep: Bools, alike: Ints, anywhere: Ints, pages: int) -> Bools:
    """(m,) leaves of headings that are content while all of their section is template.

    They are those that many other pages have at the same place, or anywhere if they are no links, as titles of posts
    are. For the last one of the page, one other page with it at its place is enough, unless it is a link or a picture
    follows. Headings of sections without text stay.

    Parameters
    ----------
    keep : (m,) the leaves that are content so far
    alike, anywhere : (m,) number of other pages with the same text at the same place, see `Site.pages_alike`, and
        anywhere, see `Site.pages_with_text`
    pages : number of other pages of the site that are known

    Examples
    --------
    >>> from scrapy_pagelets import Page
    >>> page = Page.parse(b"<h1>Tea</h1><p>Of tea.<h2>Share</h2><a href=/x>Us</a>", "http://a/")
    >>> lone_headings_of(page.nodes, np.array([1, 1, 1, 0], np.bool_), np.array([0, 0, 1, 9]), np.arange(4), 9).tolist()
    [False, False, True, False]
    """
    found = np.zeros(len(keep), np.bool_)
    if not has_lone_heading(nodes, keep):
        return found
    rows = np.array(rows_with(nodes, HEADING), np.int64)
    rows = rows[nodes.first_leaf[rows] < nodes.last_leaf[rows]]
    first, last = nodes.first_leaf[rows], nodes.last_leaf[rows]
    kept = np.append(np.flatnonzero(keep), len(keep))
    following = kept[np.searchsorted(kept, last)]  # the next leaf of content
    levels = {leaf: _LEVEL[tag] for leaf, tag in zip(first.tolist(), nodes.tag[rows].tolist(), strict=True)}
    behind: dict[int, int] = {}  # the next leaf of content behind a heading that is none
    for row, start, end, next_one in zip(
        *(each.tolist()[::-1] for each in (rows, first, last, following)), strict=True
    ):
        next_one = behind.get(next_one, next_one)
        below = levels.get(next_one, 9 if next_one < len(keep) else 0) > levels[start]
        if below or next_one == end or not keep[start:end].all():
            continue
        same_place = alike[start:end].min()
        linked = nodes.anchor[nodes.leaves[start:end]].any()
        is_last = not (behind or linked) and next_one == len(keep) and not _shows(nodes, row, end)
        others = same_place if linked else max(same_place, anywhere[start:end].min())
        if (is_last and same_place > 0) or others > max(1, _OFTEN * pages):
            found[start:end] = True
            behind[start] = next_one
    return found


def _shows(nodes: NodeTable, row: int, leaf: int) -> bool:
    """Whether a picture or the like stands between a heading and a leaf below it."""
    return bool(np.isin(nodes.tag[nodes.end[row] : nodes.leaves[leaf]], _MEDIA).any())


give("small_corrections", HEADING=HEADING, TEXT=TEXT)
