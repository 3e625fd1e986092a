"""What stands in the content and is none, by its elements: choices, hints for screen readers, numbers of lines,
bylines, and what leads to other posts."""

from __future__ import annotations

from typing import Final

import numpy as np

from scrapy_pagelets.document.code import line_numbers
from scrapy_pagelets.looks import BYLINE, CHOICES, ELSEWHERE, HEADING, HEARD, RELATED
from scrapy_pagelets.nodes import LINE, Bools, NodeTable, rows_with

#: Words of a hint for screen readers ("opens in a new window"). What is longer is content, such as a transcript.
_HINT: Final = 8
#: Words of a line with author, date and section of a post. What is longer has the post in it.
_BYLINE: Final = 20
#: Relations of a link to its place in a series of pages, as HTML 4 and HTML 5 name them.
_SERIES: Final = frozenset("prev previous next up first last start contents index".split())
#: Words besides links in a line of such links: "Next:", "Previous:".
_LABELS: Final = 4
#: Words of content that the page must have besides, or they are what it is about.
_LEAST: Final = 3


def asides_of(nodes: NodeTable, keep: Bools) -> Bools:
    """(m,) leaves of options to choose from, hints for screen readers, numbers of lines of code, and related posts;
    of lines with author and date of a post, and of links to other pages that the page calls so.

    None if next to nothing else of the page is content. Some pages hide their own heading, so that no whole heading is
    an aside because it is a hint or stands in a byline.

    Parameters
    ----------
    keep : (m,) the leaves that are content so far

    Examples
    --------
    >>> from scrapy_pagelets import Page
    >>> html = f"<p>{'All about green tea. ' * 6}<span class=sr-only>opens in a new window</span><select><option>May"
    >>> asides_of(Page.parse(html.encode(), "http://a/").nodes, np.ones(3, np.bool_)).tolist()
    [False, True, True]
    """
    found = _beside_text(nodes) | line_numbers(nodes) | _series(nodes)
    for row in rows_with(nodes, RELATED | ELSEWHERE):
        found[_leaves(nodes, row)] = True
    if nodes.words[keep & ~found].sum() < _LEAST:
        found[:] = False
    return found


def _beside_text(nodes: NodeTable) -> Bools:
    """(m,) leaves of hints, options and bylines, without those that are a whole heading."""
    found = hints_of(nodes)
    for row in rows_with(nodes, CHOICES):
        found[_leaves(nodes, row)] = True
    for row in rows_with(nodes, BYLINE):
        leaves = _leaves(nodes, row)
        found[leaves] |= nodes.words[leaves].sum() <= _BYLINE
    for row in rows_with(nodes, HEADING) if found.any() else ():
        leaves = _leaves(nodes, row)
        found[leaves] &= not found[leaves].all()
    return found


def hints_of(nodes: NodeTable) -> Bools:
    """(m,) leaves of hints that only screen readers say, headings that a page hides among them."""
    found = np.zeros(len(nodes.leaves), np.bool_)
    for row in rows_with(nodes, HEARD):
        leaves = _leaves(nodes, row)
        found[leaves] |= nodes.words[leaves].sum() <= _HINT
    return found


def _series(nodes: NodeTable) -> Bools:
    """(m,) leaves of links to the pages before and after this one and above it, and the labels in their lines."""
    found = np.zeros(len(nodes.leaves), np.bool_)
    for row, relation in nodes.relations.items():
        if not _SERIES.isdisjoint(relation.lower().split()):
            found[_leaves(nodes, row)] = True
    if found.any():
        line = np.cumsum(nodes.gap >= LINE)
        others = np.bincount(line, nodes.words * ~found)
        links = np.bincount(line, ~found & nodes.anchor[nodes.leaves])
        found |= ((np.bincount(line, found) > 0) & (links == 0) & (others <= _LABELS))[line]
    return found


def _leaves(nodes: NodeTable, row: int) -> slice:
    return slice(nodes.first_leaf.item(row), nodes.last_leaf.item(row))
