"""What stands in the content and is none, by its elements: choices, hints for screen readers, numbers of lines,
bylines, what leads to other posts and further pages, forms to log in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import numpy as np

from scrapy_pagelets.base.arrays import Bools
from scrapy_pagelets.page.code import line_numbers
from scrapy_pagelets.page.looks import BYLINE, CHOICES, ELSEWHERE, HEADING, HEARD, PAGER, RELATED
from scrapy_pagelets.page.nodes import LINE, TAG, NodeTable, elements_at, rows_tagged, rows_with

#: Words of a hint for screen readers ("opens in a new window"). What is longer is content, such as a transcript.
_HINT: Final = 8
#: Elements of what no longer holds, such as a former price.
STRUCK: Final = frozenset("del s strike".split())
#: Runs of text of two prices with their labels.
_PRICES: Final = 8
#: Words of a line with author, date and section of a post. What is longer has the post in it.
_BYLINE: Final = 20
#: Relations of a link to its place in a series of pages, as HTML 4 and HTML 5 name them.
_SERIES: Final = frozenset("prev previous next up first last start contents index".split())
#: Words besides links in a line of such links: "Next:", "Previous:".
_LABELS: Final = 4
#: Words of a form to log in, or of links to further pages.
_SHORT: Final = 40
#: Words of content that the page must have besides, or they are what it is about.
_LEAST: Final = 3


def asides_of(nodes: NodeTable, keep: Bools) -> Bools:
    """(m,) leaves of the content that nobody reads as content.

    They are options to choose from, hints for screen readers, numbers of lines of code, bylines, related posts, links
    that the page itself says lead to other posts or further pages, and forms to log in. There are none if next to
    nothing else of the page is content. A whole heading is no hint and no byline, since some pages hide their own
    heading. Labels of prices beside a struck price are no hints.

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
    for row in (*rows_with(nodes, RELATED | ELSEWHERE), *_short(nodes, rows_with(nodes, PAGER)), *_log_in(nodes)):
        found[_leaves(nodes, row)] = True
    if nodes.words[keep & ~found].sum() < _LEAST:
        found[:] = False
    return found


def _beside_text(nodes: NodeTable) -> Bools:
    """(m,) leaves of hints, options and bylines, without those that are a whole heading."""
    found = hints_of(nodes)
    if found.any():
        found &= ~_labels_of_prices(nodes)
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


def _short(nodes: NodeTable, rows: Iterable[int]) -> list[int]:
    """Those of some rows that have few words."""
    return [row for row in rows if nodes.words[_leaves(nodes, row)].sum() <= _SHORT]


def _log_in(nodes: NodeTable) -> Iterator[int]:
    """Rows of the forms that ask for a password and little else."""
    forms = _short(nodes, rows_tagged(nodes, TAG["form"]))
    for row, form in zip(forms, elements_at(nodes, forms), strict=True):
        if any((field.get("type") or "").lower() == "password" for field in form.iter("input")):
            yield row


def _labels_of_prices(nodes: NodeTable) -> Bools:
    """(m,) leaves of hints such as "Regular price" beside struck text: nothing else tells two prices apart.

    Those with the price in them ("Original price was: $9") say it once more.
    """
    mask = np.zeros(len(nodes.leaves), np.bool_)
    struck = np.isin(nodes.look, [look for look, (tag, *_) in enumerate(nodes.looks) if tag in STRUCK])
    places = np.unique(nodes.first_leaf[struck & (nodes.first_leaf < nodes.last_leaf)])
    for row in rows_with(nodes, HEARD) if len(places) else ():
        leaves, around = _leaves(nodes, row), _leaves(nodes, int(nodes.parent[row]))
        text = "".join(nodes.strings[leaves])
        beside = np.searchsorted(places, around.start) < np.searchsorted(places, around.stop)
        mask[leaves] |= beside and around.stop - around.start <= _PRICES and not any(map(str.isdecimal, text))
    return mask


def _leaves(nodes: NodeTable, row: int) -> slice:
    return slice(nodes.first_leaf.item(row), nodes.last_leaf.item(row))
