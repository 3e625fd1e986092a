"""What nodes look like on a rendered page: place, shape, fonts, colours, gaps and alignment.

Source of the cues: Chakrabarti, Kumar, Punera 2008, section 4.3: position, aspect ratio, background colour, types,
sizes and colours of text. The paper gives no formulas; these are ours. Gaps are a cue of VIPS (Cai, Yu, Wen, Ma 2003);
alignment is ours.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from scrapy_pagelets.layout import POSITION, Layout
from scrapy_pagelets.nodes import Bools, Floats, Ints
from scrapy_pagelets.segmentation.tree import Tree

_NODE: Final = (
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

APPEARANCE: Final = _NODE
SITUATION_APPEARANCE: Final = (*_NODE, *_SITUATION)
PAIR_APPEARANCE: Final = (*(f"{name}_step" for name in _NODE), *(f"meeting_{name}" for name in _NODE), *_PAIR)

#: Pixels that are no difference: rounding, borders.
_SLACK: Final = 3.0
#: Pixels of a gap of 1.
_LINE: Final = 16.0


def appearance(tree: Tree, layout: Layout) -> Floats:
    """(k, len(APPEARANCE)) what the nodes look like, each by itself."""
    boxes, height = _boxes(tree, layout), max(1.0, layout.page_height)
    left, top, right, bottom = boxes.T
    wide, high = right - left, bottom - top
    seen = np.zeros(len(tree))
    seen[tree.leaves] = layout.visible[tree.seen]
    count = np.maximum(1.0, tree.total(seen))
    size, weight, dark, behind = (_of_leaves(tree, column) * seen for column in _columns(tree, layout))
    largest = _largest(tree, size)
    steps = np.abs(_light(layout.background)[tree.rows] - _light(layout.background)[_above(tree)])
    chain = tree.of >= 0

    def held(column: Bools) -> Floats:
        return np.bincount(tree.of[chain], weights=column[chain], minlength=len(tree)).astype(np.float64)

    columns = (
        wide / layout.page_width, np.log1p(high / _LINE), wide * high / (layout.page_width * height),
        left / layout.page_width, right / layout.page_width, top / height, bottom / height,
        np.log((wide + 1) / (high + 1)), 1 - tree.total(seen) / tree.size,
        *_mean_and_spread(tree, size, count), largest, tree.total(weight) / count,
        *_mean_and_spread(tree, dark, count), steps, _mean_and_spread(tree, behind, count)[1],
        np.log1p(held(layout.picture)), held(layout.position >= POSITION["absolute"]), held(layout.floating),
        *_among_children(tree, boxes),
    )  # fmt: skip
    return np.column_stack(columns).astype(np.float64)


def situation_appearance(tree: Tree, layout: Layout, columns: Floats) -> Floats:
    """(k, len(SITUATION_APPEARANCE)) what the nodes look like, beside their parents and siblings.

    Parameters
    ----------
    columns : (k, len(APPEARANCE)) ``appearance``
    """
    boxes, above = _boxes(tree, layout), np.maximum(tree.parent, 0)
    gap, beside, aligned, _ = (np.nan_to_num(column, nan=-1.0) for column in _to_next(tree, boxes))
    before, after = _neighbours(tree)
    shade = _light(layout.background)[tree.rows]
    parts = [_share(boxes, above, side) for side in (0, 1)]
    for column in (gap, beside, aligned):  # of a node and the next: that of the node before is the one before it
        parts += [np.where(before >= 0, column[before], -1.0), np.where(after >= 0, column, -1.0)]
    name = _NODE.index
    parts += [columns[above, name("largest_gap")], columns[:, name("font_size")] - columns[above, name("font_size")]]
    parts += [np.where(near >= 0, np.abs(shade - shade[near]), -1.0) for near in (before, after)]
    return np.column_stack((columns, *parts))


def pair_appearance(tree: Tree, layout: Layout, columns: Floats, one: Ints, other: Ints) -> Floats:
    """(e, len(PAIR_APPEARANCE)) how unlike two nodes look, and how they stand to each other.

    Parameters
    ----------
    columns : (k, len(APPEARANCE)) ``appearance``
    one, other : (e,) nodes, neither of them in the other
    """
    boxes = _boxes(tree, layout)
    a, b = boxes[one], boxes[other]
    beside, below = (np.maximum(a[:, i], b[:, i]) - np.minimum(a[:, i + 2], b[:, i + 2]) for i in (0, 1))
    meeting = tree.meeting(tree.first[one], tree.first[other])
    edges = (np.abs(a[:, i] - b[:, i]) <= _SLACK for i in (0, 2))
    step = np.abs(columns[one] - columns[other])
    name = _NODE.index
    shade = _light(layout.background)[tree.rows]
    alike = (step[:, name("font_size")] == 0, shade[one] == shade[other])
    gaps = (np.log1p(np.maximum(0, gap) / _LINE) for gap in (beside, below))
    return np.column_stack((step, columns[meeting], *gaps, below < 0, *edges, *alike)).astype(np.float64)


def _boxes(tree: Tree, layout: Layout) -> Floats:
    """(k, 4) left, top, right, bottom around the leaves that are seen; zero where none is."""
    found = np.tile(np.array([np.inf, np.inf, -np.inf, -np.inf]), (len(tree), 1))
    shown = layout.visible[tree.seen]
    rows = tree.seen[shown]
    corner = np.stack((layout.x[rows], layout.y[rows]), axis=1).astype(np.float64)
    extent = np.stack((layout.width[rows], layout.height[rows]), axis=1)
    found[tree.leaves[shown]] = np.concatenate((corner, corner + extent), axis=1)
    for level in reversed(tree.levels[1:]):
        np.minimum.at(found[:, :2], tree.parent[level], found[level, :2])
        np.maximum.at(found[:, 2:], tree.parent[level], found[level, 2:])
    found[~np.isfinite(found).all(axis=1)] = 0
    return found


def _columns(tree: Tree, layout: Layout) -> tuple[Floats, Floats, Floats, Floats]:
    """Of each leaf: size of the font against that of most text of the page, bold or not, how dark text and ground."""
    rows = tree.seen
    usual = float(np.median(layout.font_size[rows])) or _LINE
    bold = (layout.font_weight[rows] >= 600).astype(np.float64)
    size = layout.font_size[rows].astype(np.float64) / usual
    return size, bold, 1 - _light(layout.color[rows]), 1 - _light(layout.background[rows])


def _light(color: NDArray[np.uint32]) -> Floats:
    """How light a colour is, 0 to 1: a mean of its channels, tints a little apart."""
    red, green, blue = ((color >> shift & 0xFF).astype(np.float64) / 255 for shift in (24, 16, 8))
    return 0.35 * red + 0.5 * green + 0.15 * blue


def _of_leaves(tree: Tree, column: Floats) -> Floats:
    """(k,) a column of the leaves, 0 elsewhere."""
    found = np.zeros(len(tree))
    found[tree.leaves] = column
    return found


def _mean_and_spread(tree: Tree, column: Floats, count: Floats) -> tuple[Floats, Floats]:
    """(k,) mean and standard deviation of a column over the leaves that are seen."""
    mean = tree.total(column) / count
    return mean, np.sqrt(np.maximum(0, tree.total(column**2) / count - mean**2))


def _largest(tree: Tree, column: Floats) -> Floats:
    found = column.copy()
    for level in reversed(tree.levels[1:]):
        np.maximum.at(found, tree.parent[level], found[level])
    return found


def _above(tree: Tree) -> Ints:
    """(k,) row of the parent, of the root its own."""
    return tree.rows[np.maximum(tree.parent, 0)]


def _neighbours(tree: Tree) -> tuple[Ints, Ints]:
    """(k,) the siblings before and after, -1 for none."""
    order = np.argsort(tree.parent, kind="stable")
    one, next_ = order[:-1], order[1:]
    same = tree.parent[one] == tree.parent[next_]
    before, after = np.full(len(tree), -1), np.full(len(tree), -1)
    before[next_[same]], after[one[same]] = one[same], next_[same]
    return before, after


def _to_next(tree: Tree, boxes: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """(k,) of a node and its next sibling: the gap between them, whether they stand side by side, have one left edge,
    one width; NaN where there is none or one of them is not seen."""
    after = _neighbours(tree)[1]
    other = boxes[after]
    known = (after >= 0) & (boxes[:, 2] > boxes[:, 0]) & (other[:, 2] > other[:, 0])
    below, beside = other[:, 1] - boxes[:, 3], other[:, 0] - boxes[:, 2]
    line = (below < -_SLACK) & (boxes[:, 1] - other[:, 3] < -_SLACK)
    gap = np.log1p(np.maximum(0, np.where(line, beside, below)) / _LINE)
    aligned = np.abs(other[:, 0] - boxes[:, 0]) <= _SLACK
    width = np.abs((other[:, 2] - other[:, 0]) - (boxes[:, 2] - boxes[:, 0])) <= _SLACK
    return tuple(np.where(known, column, np.nan) for column in (gap, line, aligned, width))  # type: ignore[return-value]


def _among_children(tree: Tree, boxes: Floats) -> tuple[Floats, ...]:
    """(k,) largest gap between children that follow each other, spread of the gaps; shares of pairs that stand side by
    side, have one left edge, one width."""
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


def _share(boxes: Floats, above: Ints, side: int) -> Floats:
    """(k,) extent of a node in that of its parent, 0 across and 1 down."""
    extent = boxes[:, side + 2] - boxes[:, side]
    share: Floats = extent / np.maximum(1.0, extent[above])
    return share
