"""The layout of a rendered page: boxes, fonts, colours and visibility of its nodes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from scrapy_pagelets.base.arrays import Bools

Floats32 = NDArray[np.float32]
Codes = NDArray[np.int8]

#: Values of ``display`` by code; the last one means any other value.
DISPLAYS: Final = (
    "none contents inline inline-block block flow-root list-item flex inline-flex grid inline-grid table inline-table "
    "table-caption table-header-group table-row-group table-footer-group table-row table-cell table-column-group "
    "table-column other"
).split()
DISPLAY: Final = {name: code for code, name in enumerate(DISPLAYS)}
#: Values of ``position`` by code.
POSITIONS: Final = "static relative absolute fixed sticky".split()
POSITION: Final = {name: code for code, name in enumerate(POSITIONS)}


@dataclass(kw_only=True, frozen=True, eq=False, repr=False)
class Layout:
    """The layout of a rendered page, with the same rows as its node table.

    Lengths are in CSS pixels. The origin is the top left corner of the document. A run of text has the box around its
    lines and the font and colours of its parent.

    Attributes
    ----------
    x, y, width, height : (n,) the border box. A node without a box of its own (``display: contents``, a wrapper of
        floats) has the box around its children; zero if nothing is painted
    font_size, font_weight : (n,) pixels; 100 to 900
    color : (n,) colour of the text, RGBA as ``0xRRGGBBAA``
    background : (n,) the background colour blended over the backgrounds behind it, always opaque
    picture : (n,) whether the node has a background image or gradient of its own
    visible : (n,) whether some part of the node or of its descendants can be seen: it is not hidden, transparent,
        clipped, left of or above the page, or without a box
    display : (n,) index into ``DISPLAYS``; a run of text is ``inline``
    position : (n,) index into ``POSITIONS``; a run of text is ``static``
    floating : (n,) whether the node floats left or right
    z_index : (n,) 0 for ``auto``
    page_width, page_height : width of the viewport and height of the document
    """

    x: Floats32
    y: Floats32
    width: Floats32
    height: Floats32
    font_size: Floats32
    font_weight: NDArray[np.int16]
    color: NDArray[np.uint32]
    background: NDArray[np.uint32]
    picture: Bools
    visible: Bools
    display: Codes
    position: Codes
    floating: Bools
    z_index: NDArray[np.int32]
    page_width: int
    page_height: int
