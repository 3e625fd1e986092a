"""Build a page and its layout from the result of a walk in the browser."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from typing import Any, Final, NamedTuple

import numpy as np
from lxml import etree
from numpy.typing import NDArray

from scrapy_pagelets.base.arrays import Bools, Floats, Ints
from scrapy_pagelets.page.flattening import build
from scrapy_pagelets.page.limits import Limits
from scrapy_pagelets.page.looks import DISPLAY, DISPLAYS, POSITION, Layout
from scrapy_pagelets.page.nodes import TEXT, NodeTable
from scrapy_pagelets.page.page import Page, base_of

#: The JavaScript function that walks through a document, for ``frame.evaluate_handle``; its result is described there.
WALK: Final = files("scrapy_pagelets.rendering").joinpath("walk.js").read_text(encoding="utf-8")
_TRANSPARENT: Final = 0.05  # nodes with an opacity of this or less are invisible
_LIMITS: Final = Limits()
_WHITE: Final = np.array([[255.0, 255.0, 255.0, 1.0]])
_CLIPPING: Final = ("hidden", "clip")


class Frame(NamedTuple):
    """The walk through one document."""

    parent: int  # index of the document that contains the frame, -1 for the page itself
    number: int  # index among the frames of the parent that have walks of their own
    walked: str  # result of the walk


def page_of(frames: Sequence[Frame], url: str, source: Page | None = None, limits: Limits = _LIMITS) -> Page:
    """Build the page of a rendered document and of its frames, parents first; ``source`` is the page as received.

    The tree is the browser's, after scripts have run, with shadow trees inside their hosts and framed documents inside
    their frames. The layout has the same rows. Raise TooLarge if scripts have made the page exceed the limits.
    """
    walks = _joined(frames)
    limits.check_nodes(sum(len(walk.elements) for walk in walks))
    root = walks[0].root
    base = base_of(root.iter("base"), url)
    nodes = build(root, base)
    return Page(url, root, nodes, base, _LayoutBuilder(nodes, walks).layout, source)


@dataclass(frozen=True, eq=False)
class _Walk:
    """A walked document: its columns, its tree, and its elements in the order of the columns."""

    columns: dict[str, Any]
    root: etree._Element
    elements: list[etree._Element]
    left: float
    top: float


def _joined(frames: Sequence[Frame]) -> list[_Walk]:
    """Parse the walks, and attach the trees of frames to those of their parents."""
    walks: list[_Walk] = []
    for parent, number, walked in frames:
        header, _, xml = walked.partition("\n")
        root = etree.fromstring(xml.encode(), etree.XMLParser(encoding="utf-8", huge_tree=True, recover=True))
        left = top = 0.0
        if parent >= 0:
            above = walks[parent]
            index, left, top = above.columns["frames"][3 * number : 3 * number + 3]
            left, top = left + above.left, top + above.top
        walks.append(_Walk(json.loads(header), root, list(root.iter(etree.Element)), left, top))
        if parent >= 0:
            above.elements[index].append(root)
    return walks


_FONT_SIZE, _FONT_WEIGHT, _COLOR, _BACKGROUND, _PICTURE, _VISIBILITY, _DISPLAY, _POSITION, _FLOAT = range(9)
_OPACITY, _OVERFLOW_X, _OVERFLOW_Y, _CLIP = range(9, 13)
_NO_STYLE: Final = "16px|400|rgb(0, 0, 0)|rgba(0, 0, 0, 0)|0|hidden|none|static|none|1|visible|visible|0"


def _numbers(values: NDArray[np.str_]) -> Floats:
    return np.array([float(value.removesuffix("px")) for value in values])


def _colors(values: NDArray[np.str_]) -> Floats:
    """(k, 4) red, green and blue, 0 to 255, and alpha, 0 to 1."""
    channels = ([float(part) for part in value.partition("(")[2].rstrip(")").split(",")] for value in values)
    return np.array([[*parts, 1.0][:4] for parts in channels])


class _LayoutBuilder:
    """Computes the layout of a node table from the measurements of the walks."""

    def __init__(self, nodes: NodeTable, walks: list[_Walk]) -> None:
        self.nodes = nodes
        self.walks = walks
        self.leaf = nodes.tag == TEXT
        number = {element: i for i, element in enumerate(e for walk in walks for e in walk.elements)}
        #: (n,) number of the element of each row; for a run of text, that of its parent.
        self.element = np.array([number[element] for element in nodes.elements], np.int64)
        style = self._gathered("element", "style")[self.element]
        fields = [styles.split("|")[: _CLIP + 1] for walk in walks for styles in walk.columns["styles"]]
        #: (styles, 13) the fields of the distinct styles.
        self.styles = np.array([*fields, _NO_STYLE.split("|")])
        #: (n,) index of the style of each row; the last style if nothing is painted.
        self.style = np.where(style < 0, len(fields), style)
        parent = self._gathered("text", "parent")
        order = np.argsort(parent, kind="stable")
        firsts = np.searchsorted(parent[order], self.element[nodes.leaves])
        #: (m,) number of the walked run of each leaf: the ``number``-th of its parent.
        self._run: Ints = order[firsts + nodes.number - 1]
        left, top = self._measured("x"), self._measured("y")
        #: (n, 4) left, top, right, bottom as measured.
        self._boxes = np.column_stack((left, top, left + self._measured("width"), top + self._measured("height")))

    def _gathered(self, kind: str, name: str) -> NDArray[Any]:
        """Concatenate a column of all walks, with coordinates and numbers relative to the whole page."""
        parts, elements, styles = [], 0, 0
        for walk in self.walks:
            own = np.array(walk.columns[kind][name], np.float64 if name not in ("style", "parent") else np.int64)
            if name == "style":
                own[own >= 0] += styles
            parts.append(own + {"x": walk.left, "y": walk.top, "parent": elements}.get(name, 0))
            elements += len(walk.elements)
            styles += len(walk.columns["styles"])
        return np.concatenate(parts)

    def _measured(self, name: str) -> Floats:
        column = self._gathered("element", name)[self.element]
        column[self.nodes.leaves] = self._gathered("text", name)[self._run]
        return column

    @cached_property
    def _clips(self) -> Floats:
        """(n, 4) left, top, right, bottom of the region to which each row is clipped.

        Elements between an absolutely positioned node and its containing block do not clip it.
        """
        nodes, style = self.nodes, self.style
        clipping = np.isin(self.styles[:, [_OVERFLOW_X, _OVERFLOW_Y]], _CLIPPING).any(axis=1)
        clipping |= _numbers(self.styles[:, _CLIP]) > 0
        # Overflow of `html` and `body` is clipped by the viewport only, so it is visible after scrolling.
        clips = (clipping & (self.styles[:, _DISPLAY] != "inline"))[style] & ~self.leaf & (nodes.depth > 1)
        position = self.styles[:, _POSITION][style]
        absolute, fixed = (position == "absolute") & ~self.leaf, (position == "fixed") & ~self.leaf
        positioned = (position != "static") & ~self.leaf
        everything = np.array([-np.inf, -np.inf, np.inf, np.inf])
        seen = np.tile(everything, (len(nodes), 1))
        children, positioned_children = seen.copy(), seen.copy()
        for rows in nodes.levels:
            above = nodes.parent[rows]
            if above[0] >= 0:
                seen[rows] = np.where(absolute[rows, None], positioned_children[above], children[above])
                positioned_children[rows] = positioned_children[above]
            seen[rows[fixed[rows]]] = everything
            inner = np.where(clips[rows, None], _intersection(seen[rows], self._boxes[rows]), seen[rows])
            children[rows] = inner
            positioned_children[rows] = np.where(positioned[rows, None], inner, positioned_children[rows])
        return seen

    @cached_property
    def _visible(self) -> Bools:
        """(n,) whether the row itself, or something below it, can be seen."""
        opacity = np.where(self.leaf, 1.0, _numbers(self.styles[:, _OPACITY])[self.style])
        opaque = self.nodes.inherit(opacity, np.multiply) > _TRANSPARENT
        shown = (self.styles[:, _VISIBILITY] == "visible")[self.style] & opaque
        left, top, right, bottom = _intersection(self._boxes, self._clips).T
        width, height = right - left, bottom - top
        # A single pixel is a tracking image, or text for screen readers only.
        own = shown & (width >= 1) & (height >= 1) & (width * height > 1) & (right > 0) & (bottom > 0)
        return self.nodes.total(own.astype(np.int64)) > 0

    def _around_children(self) -> Floats:
        """(n, 4) the boxes; a box without extent is replaced by the box around its visible children."""
        boxes = np.where(self._visible[:, None], self._boxes, np.nan)
        empty = (boxes[:, 0] >= boxes[:, 2]) | (boxes[:, 1] >= boxes[:, 3])
        boxes[empty] = np.nan
        around = boxes.copy()
        for rows in reversed(self.nodes.levels[1:]):
            rows = rows[empty[self.nodes.parent[rows]]]
            above = self.nodes.parent[rows]
            for side, outermost in enumerate((np.fmin, np.fmin, np.fmax, np.fmax)):
                outermost.at(around[:, side], above, around[rows, side])
        return np.nan_to_num(around)

    @property
    def layout(self) -> Layout:
        style, styles = self.style, self.styles
        boxes = self._around_children().astype(np.float32)
        display = np.array([DISPLAY.get(name, len(DISPLAYS) - 1) for name in styles[:, _DISPLAY]], np.int8)[style]
        position = np.array([POSITION.get(name, 0) for name in styles[:, _POSITION]], np.int8)[style]
        background = _colors(styles[:, _BACKGROUND])[style]  # to be blended over those of the ancestors, and white
        background[self.leaf, 3] = 0
        background[:1] = _over(background[:1], _WHITE)
        return Layout(
            x=boxes[:, 0],
            y=boxes[:, 1],
            width=boxes[:, 2] - boxes[:, 0],
            height=boxes[:, 3] - boxes[:, 1],
            font_size=_numbers(styles[:, _FONT_SIZE]).astype(np.float32)[style],
            font_weight=_numbers(styles[:, _FONT_WEIGHT]).astype(np.int16)[style],
            color=_packed(_colors(styles[:, _COLOR]))[style],
            background=_packed(self.nodes.inherit(background, _over)),
            picture=(_numbers(styles[:, _PICTURE]) > 0)[style] & ~self.leaf,
            visible=self._visible,
            display=np.where(self.leaf & (display != 0), np.int8(DISPLAY["inline"]), display),
            position=np.where(self.leaf, np.int8(0), position),
            floating=(styles[:, _FLOAT] != "none")[style] & ~self.leaf,
            page_width=self.walks[0].columns["width"],
            page_height=self.walks[0].columns["height"],
        )


def _intersection(a: Floats, b: Floats) -> Floats:
    """(n, 4) intersections of two columns of boxes, with negative extent if they are empty."""
    return np.concatenate((np.maximum(a[:, :2], b[:, :2]), np.minimum(a[:, 2:], b[:, 2:])), axis=1)


def _over(colors: Floats, behind: Floats) -> Floats:
    """Blend (k, 4) colours over those behind them, which are opaque."""
    alpha = colors[:, 3:]
    return np.column_stack((alpha * colors[:, :3] + (1 - alpha) * behind[:, :3], np.ones(len(colors))))


def _packed(colors: Floats) -> NDArray[np.uint32]:
    """Pack (k, 4) red, green, blue and alpha as ``0xRRGGBBAA``."""
    return (np.rint(colors * (1, 1, 1, 255)) @ (2.0**24, 2.0**16, 2.0**8, 1.0)).astype(np.uint32)
