"""VIPS: the visual structure of a page as a tree of blocks, each with a degree of coherence.

Source: Yu, Cai, Wen, Ma 2003, *Improving Pseudo-Relevance Feedback in Web Information Retrieval Using Web Page
Segmentation*, section 2, and Cai, Yu, Wen, Ma 2003, *VIPS: a Vision-based Page Segmentation Algorithm*
(MSR-TR-2003-79). ``docs/algorithms/vips-feedback-2003.md`` says what is ours. So is the layout of pages that were not
rendered: blocks below each other, cells beside each other, letters of one width.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from scrapy_pagelets.base.arrays import Bools, Floats, Ints
from scrapy_pagelets.page.looks import DISPLAY, POSITION, Layout
from scrapy_pagelets.page.nodes import TAG, NodeTable, among_tags
from scrapy_pagelets.page.page import Page
from scrapy_pagelets.papers.vips.vips_blocks import BlockTree
from scrapy_pagelets.papers.vips.vips_strict import Strict
from scrapy_pagelets.papers.vips.vips_visual import Visual

#: Permitted degrees of coherence that give the regions of a page, and the blocks within them.
TOP_PDOC: Final = 4
INNER_PDOC: Final = 8
_WIDTH: Final = 1366
_LINE: Final = 18.0  # CSS pixels, here and below: height of a line
_LETTER: Final = 8.0  # width of a letter
_MARGIN: Final = 16.0  # default margins
_PICTURE: Final = 60.0  # height of a picture
_SIZES: Final = {"h1": 32.0, "h2": 24.0, "h3": 18.7, "h5": 13.3, "h6": 10.7, "small": 13.3, "big": 19.2}
_BLACK, _BLUE, _WHITE = 0x000000FF, 0x0000EEFF, 0xFFFFFFFF
_TABLES: Final = {
    "li": "list-item", "table": "table", "thead": "table-header-group", "tbody": "table-row-group",
    "tfoot": "table-footer-group", "tr": "table-row", "td": "table-cell", "th": "table-cell",
}  # fmt: skip


def vips(page: Page, *, strict: bool = False) -> BlockTree:
    """Return the content structure of a page.

    The layout of a page without one (`Page.parse`) is guessed: faster and less exact. ``strict``: follow the rules of
    2003; some of the weights are ours.

    >>> menu, text = b"<table><tr><td><a href=a>A</a><br><a href=b>B</a></td>", b"<td><h1>Title</h1><p>Some words."
    >>> tree = vips(Page.parse(menu + text, "http://example.com/"))
    >>> tree.parent[:3].tolist(), tree.labels(pdoc=1).tolist()
    ([-1, 0, 0], [0, 0, 0, 0])
    """
    layout = guess_layout(page.nodes) if page.layout is None else page.layout
    return (Strict if strict else Visual)(page.nodes, layout).structure()


def cut_by_sight(page: Page, pdoc: int = INNER_PDOC, *, strict: bool = False) -> Ints:
    """(n,) Number of the block of each run of text, else -1; ``pdoc``: see `BlockTree.labels`, ``strict``: `vips`."""
    labels = np.full(len(page.nodes), -1)
    labels[page.nodes.leaves] = vips(page, strict=strict).labels(pdoc)
    return labels


_BLOCK: Final = among_tags(
    "html body main article section nav aside header footer dialog form fieldset div p h1 h2 h3 h4 h5 h6 hgroup ul ol "
    "menu dl dt dd caption pre blockquote figure figcaption address hr details summary center dir optgroup option "
    "frameset frame legend search"
)
_SPACED: Final = among_tags("p h1 h2 h3 h4 h5 h6 ul ol menu dl blockquote pre figure hr fieldset")
_BOLD: Final = among_tags("h1 h2 h3 h4 h5 h6 b strong th")
_PICTURES: Final = among_tags("img picture video svg iframe object embed")
_CONTROLS: Final = among_tags("input button select textarea progress meter")
_PAINTED: Final = _PICTURES | _CONTROLS | among_tags("#text hr")
#: (tags,) the value of ``display`` of each tag.
_DISPLAYS: Final = np.where(_BLOCK, np.int8(DISPLAY["block"]), np.int8(DISPLAY["inline"]))
np.put(_DISPLAYS, [TAG[tag] for tag in _TABLES], [DISPLAY[display] for display in _TABLES.values()])


def guess_layout(nodes: NodeTable) -> Layout:
    """Guess the layout of a page that was not rendered."""
    display = _DISPLAYS[nodes.tag]
    is_cell = np.append(display == DISPLAY["table-row"], False)[nodes.parent]
    width = _widths(nodes, is_cell)
    height = _heights(nodes, is_cell, width)
    x, y = _positions(nodes, is_cell, width, height)
    size, weight = _fonts(nodes)
    painted = _PAINTED[nodes.tag] & ~nodes.hidden
    inner = np.maximum(0, height - _MARGIN * _SPACED[nodes.tag])
    return Layout(
        x=x.astype(np.float32), y=y.astype(np.float32), width=width.astype(np.float32),
        height=inner.astype(np.float32), font_size=size, font_weight=weight,
        color=np.where(nodes.anchor, _BLUE, _BLACK).astype(np.uint32),
        background=np.full(len(nodes), _WHITE, np.uint32), picture=np.zeros(len(nodes), np.bool_),
        visible=nodes.total(painted.astype(np.int64)) > 0,
        display=np.where(nodes.hidden, np.int8(DISPLAY["none"]), display),
        position=np.full(len(nodes), POSITION["static"], np.int8), floating=np.zeros(len(nodes), np.bool_),
        page_width=_WIDTH, page_height=max(1, int(height[0])),
    )  # fmt: skip


def _widths(nodes: NodeTable, beside: Bools) -> Floats:
    """(n,) Cells share the width of their row by the length of their text; any other node is as wide as its parent."""
    part = np.where(beside, 1 + np.sqrt(nodes.sum_below(nodes.letters)), 0)
    whole = np.bincount(nodes.parent[1:], weights=part[1:], minlength=len(nodes))
    width = np.full(len(nodes), float(_WIDTH))
    for rows in nodes.levels[1:]:
        above, cell = nodes.parent[rows], beside[rows]
        width[rows] = width[above] * np.where(cell, part[rows] / np.where(cell, whole[above], 1), 1)
    return width


def _heights(nodes: NodeTable, beside: Bools, width: Floats) -> Floats:
    """(n,) Text fills lines. A row is as high as its highest cell, any other node as the sum of its children."""
    height = _LINE * (_CONTROLS[nodes.tag] + 0.5 * (nodes.tag == TAG["br"])) + _PICTURE * _PICTURES[nodes.tag]
    height[nodes.leaves] = np.maximum(0.5, nodes.letters * _LETTER / width[nodes.leaves]) * _LINE
    height[nodes.hidden] = 0
    height += _MARGIN * (_SPACED[nodes.tag] * ~nodes.hidden)
    for rows in reversed(nodes.levels[1:]):
        above = nodes.parent[rows]
        np.add.at(height, above[~beside[rows]], height[rows[~beside[rows]]])
        np.maximum.at(height, above[beside[rows]], height[rows[beside[rows]]])
    return np.asarray(height, np.float64)


def _positions(nodes: NodeTable, beside: Bools, width: Floats, height: Floats) -> tuple[Floats, Floats]:
    """(n,) Left and top; half of a node's margin is above its content."""
    x, y = np.zeros((2, len(nodes)))
    y[0] = 0.5 * _MARGIN
    for rows in nodes.levels[1:]:
        above = nodes.parent[rows]
        first = np.searchsorted(above, above)  # first sibling of each; siblings are adjacent
        across = np.append(0, np.cumsum(np.where(beside[rows], width[rows], 0)))
        down = np.append(0, np.cumsum(np.where(beside[rows], 0, height[rows])))
        x[rows] = x[above] + across[:-1] - across[first]
        y[rows] = y[above] + down[:-1] - down[first] + 0.5 * _MARGIN * _SPACED[nodes.tag[rows]]
    return x, y


def _fonts(nodes: NodeTable) -> tuple[NDArray[np.float32], NDArray[np.int16]]:
    """(n,) Font size and weight, which children inherit."""
    own = np.zeros(len(TAG), np.float32)
    for name, pixels in _SIZES.items():
        own[TAG[name]] = pixels
    size = np.full(len(nodes), 16, np.float32)
    weight = np.full(len(nodes), 400, np.int16)
    for rows in nodes.levels[1:]:
        above, tag = nodes.parent[rows], nodes.tag[rows]
        size[rows] = np.where(own[tag] > 0, own[tag], size[above])
        weight[rows] = np.where(_BOLD[tag], 700, weight[above])
    return size, weight
