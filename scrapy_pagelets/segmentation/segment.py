"""A page to its pagelets: cut, weighed by templateness, parted into content and template."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from scrapy_pagelets.nodes import Bools, Floats, Ints, NodeTable
from scrapy_pagelets.page import Page
from scrapy_pagelets.segmentation.pagelets import STRICT_K, partition
from scrapy_pagelets.text import paths_of, text_of
from scrapy_pagelets.urls import absolute

CONTENT, NAVIGATION, TEMPLATE = "content", "navigation", "template"
#: From here on a leaf is template.
_HALF: Final = 0.5

_SEGMENTERS: Final[dict[str, Callable[[NodeTable], Ints]]] = {
    "pagelets": partition,
    "pagelets-strict": lambda nodes: partition(nodes, STRICT_K, strict=True),
}


@dataclass(frozen=True, eq=False)
class Pagelet:
    """A region of a page with one topic or function.

    Attributes
    ----------
    page : it belongs to
    id : number on its page, in document order
    index : (k,) its runs of text, as ascending indices of the page's leaves
    templateness : mean over its words, 0 to 1
    role : content, navigation (a template of links) or template
    """

    page: Page
    id: int
    index: Ints
    templateness: float
    role: str

    @property
    def leaves(self) -> Bools:
        """(m,) its runs of text, as a mask over the page's leaves."""
        mask = np.zeros(len(self.page.nodes.leaves), np.bool_)
        mask[self.index] = True
        return mask

    @property
    def text(self) -> str:
        """Its text."""
        return text_of(self.page.nodes, self.index)

    @property
    def words(self) -> int:
        """Number of its words."""
        return int(self.page.nodes.words[self.index].sum())

    @property
    def xpaths(self) -> list[str]:
        """Paths of the fewest nodes that hold its text and no other; of a rendered page, in the page as received."""
        page = self.page
        if page.source is None:
            return paths_of(page.nodes, self.index)
        received = page.received[self.index]
        return paths_of(page.source.nodes, received[received >= 0])

    @property
    def links(self) -> list[dict[str, str]]:
        """Its hyperlinks, ``url`` as absolute URL and ``anchor`` text, in document order.

        Each link of a page belongs to one pagelet: that of its first run of text; one without text (a picture, a frame)
        to that of the run that follows.
        """
        nodes = self.page.nodes
        links, leaf = nodes.links, nodes.link_leaf
        near = slice(*np.searchsorted(leaf, (self.index[0], self.index[-1] + 1)))
        own = np.flatnonzero(np.isin(leaf[near], self.index) & (links.key[near] != 0)) + near.start
        return [
            {"url": absolute(self.page.base, links.href[i]), "anchor": self._anchor(int(links.row[i]))}
            for i in own.tolist()
        ]

    def _anchor(self, row: int) -> str:
        nodes = self.page.nodes
        first, last = int(nodes.first_leaf[row]), int(nodes.last_leaf[row])
        text = nodes.strings[first] if last == first + 1 else text_of(nodes, np.arange(first, last))
        return " ".join(text.split())

    def record(self) -> dict[str, Any]:
        """The pagelet as it stands in the feed."""
        return {
            "id": self.id,
            "xpaths": self.xpaths,
            "role": self.role,
            "templateness": round(self.templateness, 3),
            "text": self.text,
            "words": self.words,
            "links": self.links,
        }


def segment(page: Page, templateness: Floats | None = None, segmenter: str = "pagelets") -> list[Pagelet]:
    r"""Cut a page into pagelets; every leaf is in exactly one.

    A pagelet that holds both content and template is parted in two, so that what is exported is what is counted as
    content.

    Parameters
    ----------
    templateness : (m,) of each leaf, 0 to 1; all content if None
    segmenter : ``pagelets`` (link count, ``algorithms.md`` D.1) or ``pagelets-strict`` (the paper's form, k=3)

    Raises
    ------
    ValueError : if there is no such segmenter, or if templateness has another length than the page has leaves

    Examples
    --------
    >>> page = Page.parse(b"<h1>Title</h1><p>Some words.<p>More.", "http://example.com/")
    >>> [(p.text, p.role) for p in segment(page)]
    [('Title\n\nSome words.\n\nMore.', 'content')]
    """
    nodes = page.nodes
    weights = np.zeros(len(nodes.leaves)) if templateness is None else templateness
    if weights.shape != nodes.leaves.shape:
        raise ValueError(f"templateness has {weights.size} values, the page {nodes.leaves.size} runs of text")
    if segmenter not in _SEGMENTERS:
        raise ValueError(f"there is no segmenter {segmenter!r}: choose one of {', '.join(_SEGMENTERS)}")
    labels = _SEGMENTERS[segmenter](nodes) * 2 + (weights >= _HALF)
    return [_pagelet(page, number, index, weights) for number, index in enumerate(_groups(labels))]


def _groups(labels: Ints) -> list[Ints]:
    """Indices of the leaves of each label, labels by first leaf."""
    order = np.argsort(labels, kind="stable")
    groups = np.split(order, np.flatnonzero(np.diff(labels[order])) + 1) if len(order) else []
    return sorted(groups, key=lambda group: int(group[0]))


def _pagelet(page: Page, number: int, index: Ints, weights: Floats) -> Pagelet:
    nodes = page.nodes
    words, own = nodes.words[index], weights[index]
    mean = float(np.average(own, weights=np.maximum(words, 1)))
    linked = words[nodes.anchor[nodes.leaves[index]]].sum()
    # All of its leaves are on one side.
    role = CONTENT if own[0] < _HALF else NAVIGATION if linked > 0.5 * words.sum() else TEMPLATE
    return Pagelet(page, number, index, mean, role)
