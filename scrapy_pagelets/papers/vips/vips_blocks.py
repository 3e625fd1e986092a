"""Visual blocks of a page, the children that a node is divided into, the separators between blocks, and their tree.

Source: Cai, Yu, Wen, Ma 2003, rules 1, 2, 4 and 5 of section 4.1, and section 4.2, adapted: whether an element breaks
the line says its computed ``display``, not its name. ``docs/algorithms/vips-feedback-2003.md`` lists all rules.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple, Self

import numpy as np

from scrapy_pagelets.base.arrays import Bools, Floats, Ints
from scrapy_pagelets.page.looks import DISPLAY, POSITION, Layout, around
from scrapy_pagelets.page.nodes import TAG, TEXT, NodeTable, tags_of

LEAST, GREATEST = 1, 10  # least and greatest degree of coherence
Span = tuple[int, int]  # a half-open range of rows: the subtrees of some adjacent siblings
_LINES: Final = (
    "block flow-root list-item flex grid table table-caption table-header-group table-row-group table-footer-group "
    "table-row table-cell"
).split()
_BREAKING: Final = np.array([name in _LINES for name in DISPLAY])
#: Elements that paint something other than text.
_REPLACED: Final = tags_of("img svg picture video iframe object embed input button select textarea")
_LANDMARKS: Final = tags_of("main article section nav aside header footer dialog")
_LANDMARK_ROLES: Final = "main article region navigation complementary banner contentinfo dialog search".split()


class Pool(NamedTuple):
    """Blocks among which separators are searched: siblings, or runs of inline siblings."""

    spans: Ints  # (k, 2) rows of each block, from the first to before the last
    boxes: Floats  # (k, 4) left, top, right, bottom

    def __len__(self) -> int:
        return len(self.spans)

    def only(self, which: Ints | Bools) -> Self:
        """Return a pool of some of the blocks, by number or by mask."""
        return type(self)(self.spans[which], self.boxes[which])


class Blocks:
    """The visual properties of a page that VIPS uses."""

    def __init__(self, nodes: NodeTable, layout: Layout) -> None:
        self.nodes, self.layout = nodes, layout
        self._seen: Bools = layout.visible & (layout.width >= 1) & (layout.height >= 1)
        own = (layout.background != layout.background[np.maximum(nodes.parent, 0)]) | layout.picture
        #: (n,) whether a box of its own is visible: a background other than the parent's, or a background picture; the
        #: backgrounds of `html` and `body` cover the page
        self.painted: Bools = own & self._seen & (nodes.tag != TEXT) & (nodes.depth > 1)
        rows = np.flatnonzero(layout.position == POSITION["fixed"])
        reached = np.maximum.accumulate(np.append(0, nodes.end[rows]))[:-1]
        #: rows of fixed elements, which do not scroll: layers above the page; only the outermost ones
        self.fixed = rows[rows >= reached]
        self.box = self._boxes()
        #: (n,) whether anything of the row is painted, and whether it is in the layer of its parent as well
        self.valid: Bools = self.box[:, 0] < np.inf
        self.flowing = self.valid.copy()
        self.flowing[self.fixed] = False
        #: (n,) whether a row breaks the line or contains one that does; others are inline: rule 4's virtual text
        breaking = _BREAKING[layout.display] & self.valid & (nodes.tag != TEXT)
        self.block_level = nodes.total(breaking.astype(np.int64)) > 0
        rows = np.flatnonzero((nodes.tag == TAG["hr"]) & layout.visible)
        #: (h, 4) boxes of ``<hr>``, from the top of the page to its bottom
        self.rulers: Floats = layout.boxes[rows[np.argsort(layout.y[rows], kind="stable")]]
        #: (n,) number of visible children in the row's layer
        self._children = np.bincount(nodes.parent[np.flatnonzero(self.flowing[1:]) + 1], minlength=len(nodes))

    def _boxes(self) -> Floats:
        """(n, 4) Left, top, right, bottom of what is painted by a row and within it: no margins, no fixed layers."""
        nodes = self.nodes
        solid = (self.painted | (nodes.tag == TEXT) | np.isin(nodes.tag, _REPLACED)) & self._seen
        box = self.layout.boxes * (1, 1, -1, -1)
        box[~solid] = np.inf
        lifted = np.zeros(len(nodes), np.bool_)
        lifted[self.fixed] = True
        for rows in reversed(nodes.levels[1:]):
            rows = rows[~lifted[rows]]
            np.minimum.at(box, nodes.parent[rows], box[rows])
        box[:, 2:] *= -1
        return box

    @cached_property
    def branching(self) -> Ints:
        """(n,) Number of ancestors with several visible children."""
        depth = np.zeros(len(self.nodes), np.int64)
        for rows in self.nodes.levels[1:]:
            above = self.nodes.parent[rows]
            depth[rows] = depth[above] + (self._children[above] > 1)
        return depth

    @cached_property
    def landmark(self) -> Bools:
        """(n,) Whether a row, or the only one in it, is a landmark of HTML or ARIA."""
        roles = np.array([look[3].lower() in _LANDMARK_ROLES for look in self.nodes.looks])[self.nodes.look]
        landmark: Bools = np.isin(self.nodes.tag, _LANDMARKS) | (roles & (self.nodes.tag != TEXT))
        for rows in reversed(self.nodes.levels[1:]):
            rows = rows[self.flowing[rows] & landmark[rows]]
            above = self.nodes.parent[rows]
            landmark[above[self._children[above] == 1]] = True
        return landmark

    def pool(self, spans: list[Span]) -> Pool:
        """Make a pool of the blocks of given spans, without those that are not visible."""
        rows = np.array(spans, np.int64).reshape(-1, 2)
        pool = Pool(rows, np.array([self._box_of(*span) for span in spans]).reshape(-1, 4))
        return pool.only(pool.boxes[:, 0] < np.inf)

    def _box_of(self, start: int, end: int) -> Floats:
        if self.nodes.end[start] == end:
            return np.asarray(self.box[start])
        rows, row = [], start
        while row < end:
            if self.flowing[row]:
                rows.append(row)
            row = int(self.nodes.end[row])
        return around(self.box[rows])

    def divided(self, span: Span) -> list[Span]:
        """The blocks that a block is divided into; none if it is not divided.

        Invisible nodes are skipped (rule 1), children that break the line are blocks (rule 5). Inline nodes and text
        between two of these are one block, which rule 4 leaves undivided.
        """
        start, end = span
        if self.nodes.end[start] != end or not self.block_level[start]:
            return []
        ends, flowing, block_level = self.nodes.end, self.flowing, self.block_level
        spans: list[Span] = []
        row, inline = start + 1, False
        while row < end:
            after = int(ends[row])
            if flowing[row]:
                if inline and not block_level[row]:
                    spans[-1] = (spans[-1][0], after)
                else:
                    spans.append((row, after))
                inline = not block_level[row]
            row = after
        return spans


class Strips(NamedTuple):
    """The separators of one direction, from left to right or from top to bottom."""

    side: Ints  # (k,) number of separators before each block
    #: (s,) where each separator begins and ends; if blocks overlap by less than the tolerance, it ends before it begins
    start: Floats
    end: Floats


def separators(start: Floats, end: Floats, tolerance: float = 0.0) -> Strips:
    """Separators of blocks whose projections are ``start`` to ``end``, (k,), without those at the border of the pool.

    A block that starts after the end of all before it has one in front; the report of 2003 does this block by block, in
    quadratic time. ``tolerance``: how far separated blocks may overlap, so that a pixel of border or rounding does not
    join them. With 0, blocks that touch have no separator between them; with more, one of no width.
    """
    order = np.argsort(start, kind="stable")
    reached = np.maximum.accumulate(end[order])[:-1]
    begins = start[order][1:]
    free = begins - reached > -tolerance
    side = np.empty(len(start), np.int64)
    side[order] = np.append(0, np.cumsum(free))
    return Strips(side, reached[free], begins[free])


def crossed(strips: Strips, chosen: Bools) -> Ints:
    """(k,) Number of chosen separators before each block. ``chosen``: (s,) which separators are counted."""
    return np.append(0, np.cumsum(chosen))[strips.side]


@dataclass(frozen=True, eq=False)
class BlockTree:
    """The visual blocks of a page, parents before children; block 0 is the page."""

    nodes: NodeTable  # of the page
    parent: Ints  # (b,) -1 at the root
    doc: Ints  # (b,) degree of coherence, 1 to 10; never less than that of the parent
    #: (n,) the innermost block of each row. If that block contains others, the row has been divided or is not visible
    owner: Ints

    def __len__(self) -> int:
        return len(self.parent)

    def labels(self, pdoc: int) -> Ints:
        """(m,) Number of the segment of each leaf: blocks are divided until their coherence is permitted.

        ``pdoc``: 1 (the whole page) to 10 (as many segments as possible), else ValueError.
        """
        return self.of_rows(pdoc)[self.nodes.leaves]

    def of_rows(self, pdoc: int) -> Ints:
        """(n,) Number of the segment of each row, like `labels`; that of a divided row has no meaning."""
        if not LEAST <= pdoc <= GREATEST:
            raise ValueError(f"pdoc is {pdoc}: give a degree of coherence from {LEAST} (one segment) to {GREATEST}")
        kept = list(range(len(self)))  # the outermost block of permitted coherence around each, or the block itself
        parent, coherent = self.parent.tolist(), (self.doc >= pdoc).tolist()
        for block in range(1, len(self)):
            above = parent[block]
            if coherent[above]:
                kept[block] = kept[above]
        return np.array(kept, np.int64)[self.owner]


class Growing:
    """A block tree under construction; it starts with the page as one block.

    ``layer``: (n,) number of the layer of each row, 0 by default. A block has rows of its own layer only.
    """

    def __init__(self, nodes: NodeTable, layer: Ints | None = None) -> None:
        self.parent = [-1]
        self.owner = np.zeros(len(nodes), np.int64)
        self._layer = np.zeros(len(nodes), np.int64) if layer is None else layer

    def add(self, parent: int, spans: list[Span], layer: int = 0) -> int:
        """Add a block that takes the rows of the spans; return its number."""
        block = len(self.parent)
        self.parent.append(parent)
        for start, end in spans:
            self.owner[start:end][self._layer[start:end] == layer] = block
        return block
