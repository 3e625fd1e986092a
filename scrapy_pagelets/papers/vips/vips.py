"""VIPS: the visual structure of a page as a tree of blocks, each with a degree of coherence.

Source: Yu, Cai, Wen, Ma 2003, *Improving Pseudo-Relevance Feedback in Web Information Retrieval Using Web Page
Segmentation*, section 2, and Cai, Yu, Wen, Ma 2003, *VIPS: a Vision-based Page Segmentation Algorithm*
(MSR-TR-2003-79). ``docs/algorithms/vips-feedback-2003.md`` says what is restated and what is ours.
"""

from __future__ import annotations

from typing import Final

from scrapy_pagelets.base.arrays import Ints
from scrapy_pagelets.page.page import Page
from scrapy_pagelets.papers.vips.vips_lite import guessed
from scrapy_pagelets.papers.vips.vips_strict import Strict
from scrapy_pagelets.papers.vips.vips_tree import GREATEST, BlockTree
from scrapy_pagelets.papers.vips.vips_visual import Visual

#: Permitted degrees of coherence that give the regions of a page, and the blocks within them.
TOP_PDOC: Final = 4
INNER_PDOC: Final = 8


def vips(page: Page, pdoc: int = GREATEST, *, strict: bool = False) -> BlockTree:
    """Return the content structure of a page.

    For a page without layout (`Page.parse`) the layout is guessed: how the page would look without its style sheets.
    That is faster and less exact.

    Parameters
    ----------
    pdoc : permitted degree of coherence, 1 to 10: blocks of this coherence are not divided further
    strict : follow the rules of 2003; some of the weights are ours

    Raises
    ------
    ValueError : if pdoc is not from 1 to 10

    Examples
    --------
    >>> menu, text = b"<table><tr><td><a href=a>A</a><br><a href=b>B</a></td>", b"<td><h1>Title</h1><p>Some words."
    >>> tree = vips(Page.parse(menu + text, "http://example.com/"))
    >>> tree.parent[:3].tolist(), tree.labels(pdoc=1).tolist()
    ([-1, 0, 0], [0, 0, 0, 0])
    """
    layout = guessed(page.nodes) if page.layout is None else page.layout
    tree = (Strict if strict else Visual)(page.nodes, layout).structure()
    return tree.pruned(pdoc)


def vips_labels(page: Page, pdoc: int = INNER_PDOC, *, strict: bool = False) -> Ints:
    """(m,) Number of the segment of each leaf.

    Each segment is a union of whole subtrees. Leaves that are not visible belong to the segment around them. If that is
    divided, they are a segment of their own.

    Parameters
    ----------
    pdoc : permitted degree of coherence, 1 (one segment) to 10; ``TOP_PDOC`` gives the regions of a page,
        ``INNER_PDOC`` the blocks within them
    strict : see `vips`

    Raises
    ------
    ValueError : if pdoc is not from 1 to 10
    """
    return vips(page, pdoc, strict=strict).labels(pdoc)
