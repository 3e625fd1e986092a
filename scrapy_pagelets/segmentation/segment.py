"""A page to its pagelets: cut, weighed by templateness, parted into content and template."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urljoin

import numpy as np

from scrapy_pagelets.nodes import Bools, Floats, Ints, NodeTable
from scrapy_pagelets.page import Page
from scrapy_pagelets.segmentation.pagelets import STRICT_K, partition
from scrapy_pagelets.text import plain, xpaths

CONTENT, NAVIGATION, TEMPLATE = "content", "navigation", "template"

_SEGMENTERS: Final[dict[str, Callable[[NodeTable], Ints]]] = {
    "pagelets": partition,
    "pagelets-strict": lambda nodes: partition(nodes, STRICT_K, strict=True),
}


@dataclass(frozen=True)
class Pagelet:
    """A region of a page with one topic or function.

    Attributes
    ----------
    page : it belongs to
    id : number on its page, in document order
    leaves : (m,) its runs of text, a mask over the page's
    templateness : mean over its words, 0 to 1
    role : content, navigation (a template of links) or template
    """

    page: Page
    id: int
    leaves: Bools
    templateness: float
    role: str

    @property
    def text(self) -> str:
        """Its text."""
        return plain(self.page.nodes, self.leaves)

    @property
    def words(self) -> int:
        """Number of its words."""
        return int(self.page.nodes.words[self.leaves].sum())

    @property
    def xpaths(self) -> list[str]:
        """Paths of the fewest nodes that hold its text and no other."""
        return xpaths(self.page.nodes, self.leaves)

    @property
    def links(self) -> list[dict[str, str]]:
        """Its hyperlinks, ``url`` as absolute URL and ``anchor`` text, in document order."""
        nodes = self.page.nodes
        found = []
        for row, href, key in zip(nodes.links.row, nodes.links.href, nodes.links.key, strict=True):
            inside = slice(nodes.first_leaf[row], nodes.last_leaf[row])
            if key and self.leaves[inside].any():
                found.append({"url": urljoin(self.page.base, href.strip()), "anchor": " ".join(nodes.strings[inside])})
        return found

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
    """Cut a page into pagelets; every leaf is in exactly one.

    A pagelet that holds both content and template is parted in two, so that what is exported is what is counted as content.

    Parameters
    ----------
    templateness : (m,) of each leaf, 0 to 1; all content if None
    segmenter : ``pagelets`` (link count, ``algorithms.md`` D.1) or ``pagelets-strict`` (the paper's form, k=3)

    Examples
    --------
    >>> page = Page.parse(b"<h1>Title</h1><p>Some words.<p>More.", "http://example.com/")
    >>> [(p.text, p.role) for p in segment(page)]
    [('Title\\n\\nSome words.\\n\\nMore.', 'content')]
    """
    nodes = page.nodes
    weights = np.zeros(len(nodes.leaves)) if templateness is None else templateness
    labels = _SEGMENTERS[segmenter](nodes) * 2 + (weights >= 0.5)
    order = np.unique(labels, return_index=True)
    return [
        _pagelet(page, number, labels == labels[first], weights) for number, first in enumerate(sorted(order[1].tolist()))
    ]


def _pagelet(page: Page, number: int, leaves: Bools, weights: Floats) -> Pagelet:
    nodes = page.nodes
    words = nodes.words[leaves]
    mean = float(np.average(weights[leaves], weights=np.maximum(words, 1)))
    linked = words[nodes.anchor[nodes.leaves[leaves]]].sum()
    role = CONTENT if mean < 0.5 else NAVIGATION if linked > 0.5 * words.sum() else TEMPLATE
    return Pagelet(page, number, leaves, mean, role)
