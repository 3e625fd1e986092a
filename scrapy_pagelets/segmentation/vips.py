"""VIPS: the visual structure of a page, as a tree of blocks with degrees of coherence.

Source: Yu, Cai, Wen, Ma 2003, *Improving Pseudo-Relevance Feedback in Web Information Retrieval Using Web Page
Segmentation*, section 2, and Cai, Yu, Wen, Ma 2003, *VIPS: a Vision-based Page Segmentation Algorithm*
(MSR-TR-2003-79). ``docs/algorithms/vips-feedback-2003.md`` says what is restated and what is ours.
"""

from __future__ import annotations

from typing import Final

from scrapy_pagelets.nodes import Ints
from scrapy_pagelets.page import Page
from scrapy_pagelets.segmentation.vips_lite import guessed
from scrapy_pagelets.segmentation.vips_strict import Strict
from scrapy_pagelets.segmentation.vips_tree import GREATEST, BlockTree
from scrapy_pagelets.segmentation.vips_visual import Visual

#: Permitted degree of coherence that gives the parts of a page, and the parts of these.
TOP_PDOC: Final = 4
INNER_PDOC: Final = 8


def vips(page: Page, pdoc: int = GREATEST, *, strict: bool = False) -> BlockTree:
    """The content structure of a page.

    A page without layout (`Page.parse`) gets a guessed one: what it would look like with no style sheet of its own.
    That is faster and less exact.

    Parameters
    ----------
    pdoc : permitted degree of coherence, 1 to 10: blocks of this coherence are not divided further
    strict : the rules of 2003, with weights of which some are ours

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
    """(m,) number of the segment of each leaf.

    Each segment is a union of whole subtrees. Leaves that are not visible belong to the segment around them. Where that
    is divided, they are a segment of their own.

    Parameters
    ----------
    pdoc : permitted degree of coherence, 1 (one segment) to 10; ``TOP_PDOC`` gives the parts of a page, ``INNER_PDOC``
        the parts of these
    strict : see `vips`

    Raises
    ------
    ValueError : if pdoc is not from 1 to 10
    """
    return vips(page, pdoc, strict=strict).labels(pdoc)
