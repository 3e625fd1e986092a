"""What a page says of itself is content, whatever its site repeats; marks that serve the browser only are not."""

from __future__ import annotations

import re
from typing import Final

import numpy as np

from scrapy_pagelets.document.headline import Headline, headline_of
from scrapy_pagelets.nodes import Bools, Floats, NodeTable
from scrapy_pagelets.page import Page
from scrapy_pagelets.templates.site import Site

_WORD: Final = re.compile(r"\w")
#: A permalink has at most this many runs of text.
_RUNS: Final = 2


def corrected(nodes: NodeTable, templateness: Floats, headline: Headline | None) -> Floats:
    """(m,) templateness of the leaves: 0 in the page's own heading, 1 in permalinks.

    Parameters
    ----------
    templateness : (m,) as the site knows it
    headline : the page's own heading, if it has one
    """
    found = templateness.copy()
    if headline is not None:
        found[nodes.first_leaf[headline.row] : nodes.last_leaf[headline.row]] = 0
    found[permalinks(nodes)] = 1
    return found


def permalinks(nodes: NodeTable) -> Bools:
    """(m,) leaves of links that are only there to copy the address of a heading: ``¶``, ``#``."""
    mask = np.zeros(len(nodes.leaves), np.bool_)
    for row, href in zip(nodes.links.row.tolist(), nodes.links.href, strict=True):
        if "#" in href:
            leaves = slice(int(nodes.first_leaf[row]), int(nodes.last_leaf[row]))
            if 0 < leaves.stop - leaves.start <= _RUNS and not _WORD.search("".join(nodes.strings[leaves])):
                mask[leaves] = True
    return mask


def content_of(page: Page, site: Site) -> tuple[Floats, Headline | None]:
    """Templateness of the leaves of a page, (m,), as its site and the page itself know it; and its own heading."""
    headline = headline_of(page, site.template_nodes(page))
    return corrected(page.nodes, site.templateness(page), headline), headline
