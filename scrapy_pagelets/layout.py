"""What a browser knows of the nodes of a page: boxes, fonts, colours, visibility."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from scrapy_pagelets.nodes import Bools

Floats32 = NDArray[np.float32]
Codes = NDArray[np.int8]

#: Values of ``display`` by code; the last one stands for any other.
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
    """The rendered page, row for row with its node table.

    Lengths are CSS pixels, places those of the document with its top left corner at 0, 0. A run of text has the box
    around its lines, and font and colours of its parent.

    Attributes
    ----------
    x, y, width, height : (n,) the border box. What has none of its own (``display: contents``, a wrapper of floats) has
        the box around its children; zero where nothing is painted
    font_size, font_weight : (n,) pixels; 100 to 900
    color : (n,) of the text, RGBA as ``0xRRGGBBAA``
    background : (n,) what shines through from behind laid under the own background colour, opaque: never transparent
    picture : (n,) has a background image or gradient of its own
    visible : (n,) something of it, or of what is in it, is to be seen: not hidden, transparent, clipped away, left or
        above of the page, or without a box
    display : (n,) index into ``DISPLAYS``; a run of text is ``inline``
    position : (n,) index into ``POSITIONS``; a run of text is ``static``
    floating : (n,) floats left or right
    z_index : (n,) 0 for ``auto``
    page_width, page_height : of the viewport; of the document
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
