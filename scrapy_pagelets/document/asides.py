"""What stands in the content and is none, by its elements: choices, hints for screen readers, numbers of lines, related
posts, links to further pages of a list, forms to log in."""

from __future__ import annotations

from typing import Final

import numpy as np

from scrapy_pagelets.document.code import line_numbers
from scrapy_pagelets.looks import CHOICES, HEADING, HEARD, PAGER, RELATED
from scrapy_pagelets.nodes import TAG, Bools, NodeTable, rows_tagged, rows_with

#: Words of a hint for screen readers ("opens in a new window"). What is longer is content, such as a transcript.
_HINT: Final = 8
#: Elements of what no longer holds, such as a former price.
STRUCK: Final = frozenset("del s strike".split())
#: Runs of text of two prices with their labels.
_PRICES: Final = 8
#: Words of a form to log in, or of links to further pages.
_SHORT: Final = 40
#: Words of content that the page must have besides, or they are what it is about.
_LEAST: Final = 20


def asides_of(nodes: NodeTable, keep: Bools) -> Bools:
    """(m,) leaves of what is listed above.

    None if next to nothing else of the page is content. Some pages hide their own heading, so headings are no hints;
    labels of prices beside a struck one are none either.

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
    found = hints_of(nodes)
    if found.any():
        found &= ~_labels_of_prices(nodes)
    for row in rows_with(nodes, CHOICES):
        found[_leaves(nodes, row)] = True
    for row in rows_with(nodes, HEADING) if found.any() else ():
        found[_leaves(nodes, row)] = False
    found |= line_numbers(nodes)
    forms = (form for form in rows_tagged(nodes, TAG["form"]) if _asks_for_password(nodes, form))
    short = [row for row in (*rows_with(nodes, PAGER), *forms) if nodes.words[_leaves(nodes, row)].sum() <= _SHORT]
    for row in (*rows_with(nodes, RELATED), *short):
        found[_leaves(nodes, row)] = True
    if nodes.words[keep & ~found].sum() < _LEAST:
        found[:] = False
    return found


def hints_of(nodes: NodeTable) -> Bools:
    """(m,) leaves of hints that only screen readers say, headings that a page hides among them."""
    found = np.zeros(len(nodes.leaves), np.bool_)
    for row in rows_with(nodes, HEARD):
        leaves = _leaves(nodes, row)
        found[leaves] |= nodes.words[leaves].sum() <= _HINT
    return found


def _asks_for_password(nodes: NodeTable, form: int) -> bool:
    fields = nodes.elements[form].iter("input")
    return any((field.get("type") or "").lower() == "password" for field in fields)


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
