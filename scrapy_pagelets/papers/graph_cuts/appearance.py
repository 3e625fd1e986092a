"""Features of the appearance of nodes on a rendered page: place, shape, fonts, colours, gaps and alignment.

Source of the cues: Chakrabarti, Kumar, Punera 2008, section 4.3, and for gaps VIPS (Cai, Yu, Wen, Ma 2003). The
formulas, and alignment, are ours.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from scrapy_pagelets.base.arrays import Floats, Ints
from scrapy_pagelets.page.looks import POSITION, Layout
from scrapy_pagelets.papers.graph_cuts.tree import Tree

APPEARANCE: Final = (
    "width", "height", "area", "left", "right", "top", "bottom", "slenderness", "hidden", "font_size",
    "font_size_spread", "largest_font", "font_weight", "darkness", "darkness_spread", "background_step",
    "background_spread", "pictures", "out_of_flow", "floating", "largest_gap", "gap_spread", "children_beside",
    "children_aligned", "children_of_one_width",
)  # fmt: skip
_SITUATION: Final = (
    "width_of_parent", "height_of_parent", "gap_before", "gap_after", "beside_before", "beside_after", "aligned_before",
    "aligned_after", "gap_of_parent", "font_step", "background_before", "background_after",
)  # fmt: skip
_PAIR: Final = ("gap_beside", "gap_below", "on_one_line", "left_edge", "right_edge", "one_font", "one_background")
SITUATION_APPEARANCE: Final = (*APPEARANCE, *_SITUATION)
PAIR_APPEARANCE: Final = (*(f"{name}_step" for name in APPEARANCE), *(f"meeting_{name}" for name in APPEARANCE), *_PAIR)
_SLACK: Final = 3.0  # differences of up to this many pixels do not count: they come from rounding or borders
_LINE: Final = 16.0  # pixels per unit of length, about a line of text


def appearance(tree: Tree, layout: Layout) -> Floats:
    """(k, len(APPEARANCE)) Features of the appearance of each node by itself."""
    boxes, height = _boxes(tree, layout), max(1.0, layout.page_height)
    left, top, right, bottom = boxes.T
    wide, high = right - left, bottom - top
    seen = np.zeros(len(tree))
    seen[tree.leaves] = layout.visible[tree.seen]
    count = np.maximum(1.0, tree.total(seen))
    own = np.zeros((4, len(tree)))  # of the visible leaves; zero for other nodes
    own[:, tree.leaves] = _leaf_columns(tree, layout)
    size, weight, dark, behind = own * seen
    shade = _lightness(layout.background)[tree.rows]
    steps = np.abs(shade - shade[np.maximum(tree.parent, 0)])
    columns = (
        wide / layout.page_width, np.log1p(high / _LINE), wide * high / (layout.page_width * height),
        left / layout.page_width, right / layout.page_width, top / height, bottom / height,
        np.log((wide + 1) / (high + 1)), 1 - tree.total(seen) / tree.size,
        *_mean_and_spread(tree, size, count), tree.largest(size), tree.total(weight) / count,
        *_mean_and_spread(tree, dark, count), steps, _mean_and_spread(tree, behind, count)[1],
        np.log1p(tree.in_chains(layout.picture)), tree.in_chains(layout.position >= POSITION["absolute"]),
        tree.in_chains(layout.floating),
        *_among_children(tree, boxes),
    )  # fmt: skip
    return np.column_stack(columns).astype(np.float64)


def situation_appearance(tree: Tree, layout: Layout, columns: Floats) -> Floats:
    """(k, len(SITUATION_APPEARANCE)) Features of the appearance of each node and of its surroundings.

    ``columns``: (k, len(APPEARANCE)) ``appearance``.
    """
    boxes, above = _boxes(tree, layout), np.maximum(tree.parent, 0)
    gap, beside, aligned, _ = (np.nan_to_num(column, nan=-1.0) for column in _to_next(tree, boxes))
    before, after = tree.siblings
    shade = _lightness(layout.background)[tree.rows]
    # The extent of each node, across and down, as a share of its parent's.
    extents = [boxes[:, side + 2] - boxes[:, side] for side in (0, 1)]
    parts = [extent / np.maximum(1.0, extent[above]) for extent in extents]
    # Each column describes a node and its next sibling. So the value for the previous sibling is in that sibling's row.
    for column in (gap, beside, aligned):
        parts += [np.where(before >= 0, column[before], -1.0), np.where(after >= 0, column, -1.0)]
    name = APPEARANCE.index
    parts += [columns[above, name("largest_gap")], columns[:, name("font_size")] - columns[above, name("font_size")]]
    parts += [np.where(near >= 0, np.abs(shade - shade[near]), -1.0) for near in (before, after)]
    return np.column_stack((columns, *parts))


def pair_appearance(tree: Tree, layout: Layout, columns: Floats, one: Ints, other: Ints) -> Floats:
    """(e, len(PAIR_APPEARANCE)) Features of how much the appearance of two nodes differs, and of their relative place.

    ``columns``: (k, len(APPEARANCE)) ``appearance``. ``one``, ``other``: (e,) nodes, neither within the other.
    """
    boxes = _boxes(tree, layout)
    a, b = boxes[one], boxes[other]
    beside, below = (np.maximum(a[:, i], b[:, i]) - np.minimum(a[:, i + 2], b[:, i + 2]) for i in (0, 1))
    meeting = tree.meeting(tree.first[one], tree.first[other])
    edges = (np.abs(a[:, i] - b[:, i]) <= _SLACK for i in (0, 2))
    step = np.abs(columns[one] - columns[other])
    name = APPEARANCE.index
    shade = _lightness(layout.background)[tree.rows]
    alike = (step[:, name("font_size")] == 0, shade[one] == shade[other])
    gaps = (np.log1p(np.maximum(0, gap) / _LINE) for gap in (beside, below))
    return np.column_stack((step, columns[meeting], *gaps, below < 0, *edges, *alike)).astype(np.float64)


def _boxes(tree: Tree, layout: Layout) -> Floats:
    """(k, 4) Left, top, right and bottom of the box around the visible leaves; zeros if there are none."""
    boxes = np.tile(np.array([np.inf, np.inf, -np.inf, -np.inf]), (len(tree), 1))
    shown = layout.visible[tree.seen]
    boxes[tree.leaves[shown]] = layout.boxes[tree.seen[shown]]
    for level in reversed(tree.levels[1:]):
        np.minimum.at(boxes[:, :2], tree.parent[level], boxes[level, :2])
        np.maximum.at(boxes[:, 2:], tree.parent[level], boxes[level, 2:])
    boxes[~np.isfinite(boxes).all(axis=1)] = 0
    return boxes


def _leaf_columns(tree: Tree, layout: Layout) -> tuple[Floats, Floats, Floats, Floats]:
    """(m,) Font size relative to the median of the page; whether it is bold; darkness of text and of background."""
    rows = tree.seen
    median = float(np.median(layout.font_size[rows])) or _LINE
    bold = (layout.font_weight[rows] >= 600).astype(np.float64)
    size = layout.font_size[rows].astype(np.float64) / median
    return size, bold, 1 - _lightness(layout.color[rows]), 1 - _lightness(layout.background[rows])


def _lightness(color: NDArray[np.uint32]) -> Floats:
    """Lightness of a colour, 0 to 1: a weighted mean of its channels, so that different tints differ a little."""
    red, green, blue = ((color >> shift & 0xFF).astype(np.float64) / 255 for shift in (24, 16, 8))
    return 0.35 * red + 0.5 * green + 0.15 * blue


def _mean_and_spread(tree: Tree, column: Floats, count: Floats) -> tuple[Floats, Floats]:
    """(k,) Mean and standard deviation of a column over the visible leaves."""
    mean = tree.total(column) / count
    return mean, np.sqrt(np.maximum(0, tree.total(column**2) / count - mean**2))


def _to_next(tree: Tree, boxes: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """(k,) Gap to the next visible sibling; whether they are side by side, left-aligned, of one width; NaN for none."""
    after = tree.siblings[1]
    other = boxes[after]
    both_visible = (after >= 0) & (boxes[:, 2] > boxes[:, 0]) & (other[:, 2] > other[:, 0])
    below, beside = other[:, 1] - boxes[:, 3], other[:, 0] - boxes[:, 2]
    line = (below < -_SLACK) & (boxes[:, 1] - other[:, 3] < -_SLACK)
    gap = np.log1p(np.maximum(0, np.where(line, beside, below)) / _LINE)
    aligned = np.abs(other[:, 0] - boxes[:, 0]) <= _SLACK
    width = np.abs((other[:, 2] - other[:, 0]) - (boxes[:, 2] - boxes[:, 0])) <= _SLACK
    return tuple(np.where(both_visible, column, np.nan) for column in (gap, line, aligned, width))  # type: ignore[return-value]


def _among_children(tree: Tree, boxes: Floats) -> tuple[Floats, ...]:
    """(k,) Largest gap and spread of the gaps of the children; shares side by side, left-aligned, and of one width."""
    columns = _to_next(tree, boxes)
    nodes = np.flatnonzero(~np.isnan(columns[0]))
    parent = tree.parent[nodes]
    count = np.maximum(1, np.bincount(parent, minlength=len(tree)))

    def mean(column: Floats) -> Floats:
        return np.bincount(parent, weights=column[nodes], minlength=len(tree)) / count

    gap = columns[0]
    largest = np.zeros(len(tree))
    np.maximum.at(largest, parent, gap[nodes])
    spread = np.sqrt(np.maximum(0, mean(gap**2) - mean(gap) ** 2))
    return largest, spread, *(mean(column) for column in columns[1:])
