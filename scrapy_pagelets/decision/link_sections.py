"""Lists of links to other pages below a heading that the site repeats: related posts, whatever their names are."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest

import numpy as np

from scrapy_pagelets.base.arrays import Bools, Ints
from scrapy_pagelets.page.looks import HEADING
from scrapy_pagelets.page.nodes import NodeTable, rows_with
from scrapy_pagelets.page.page import Page

#: Share of the other pages of a site that have the heading at the same place, and the fewest pages that tell it.
_OFTEN, _FEWEST = 0.5, 4
#: Share of the words below the heading that lead to other pages, and runs of text in which they are.
_LINKED, _LINKS = 0.7, 2


def link_sections_of(page: Page, alike: Ints, pages: int) -> Bools:
    """(m,) leaves of headings that half of the pages of a site have, and of what follows them if it is links.

    Links to places of the page itself do not count: they are its table of contents. A section ends at the next heading,
    or with the element that the heading is in.

    Parameters
    ----------
    alike : (m,) number of other pages with the same text at the same place, see `Site.pages_alike`
    pages : number of other pages of the site that are known

    Examples
    --------
    >>> html = "<div><h2>Of tea</h2><p>Green.</p><h3>More</h3><p><a href=b>Black</a><p><a href=c>White</a></div>"
    >>> link_sections_of(Page.parse(html.encode(), "http://a/"), np.array([0, 0, 8, 0, 0]), 9).tolist()
    [False, False, True, True, True]
    """
    nodes = page.nodes
    found = np.zeros(len(nodes.leaves), np.bool_)
    if pages < _FEWEST:
        return found
    repeated = list(_repeated(nodes, alike >= _OFTEN * pages))
    leading = _leading(nodes, page.key) if repeated else found
    for begin, text, end in repeated:
        linked = leading[text:end]
        words = nodes.words[text:end]
        found[begin:end] |= linked.sum() >= _LINKS and words[linked].sum() >= _LINKED * words.sum()
    return found


def _repeated(nodes: NodeTable, often: Bools) -> Iterator[tuple[int, int, int]]:
    """The headings whose leaves are all repeated: first leaf, first leaf of the section, and the leaf behind it."""
    rows = rows_with(nodes, HEADING)
    for row, following in zip_longest(rows, rows[1:]):
        first, last = nodes.first_leaf.item(row), nodes.last_leaf.item(row)
        if first < last and often[first] and often[first:last].all():
            end = len(often) if following is None else nodes.first_leaf.item(following)
            end = min(end, nodes.last_leaf.item(nodes.parent.item(row)))
            if last < end:
                yield first, last, end


def _leading(nodes: NodeTable, own: int) -> Bools:
    """(m,) the leaves in links to other pages.

    Parameters
    ----------
    own : key of the page itself
    """
    rows = nodes.links.row[(nodes.links.key != 0) & (nodes.links.key != own)]
    change = np.zeros(len(nodes.leaves) + 1, np.int64)
    np.add.at(change, nodes.first_leaf[rows], 1)
    np.add.at(change, nodes.last_leaf[rows], -1)
    leading: Bools = np.cumsum(change[:-1]) > 0
    return leading
