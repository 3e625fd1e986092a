"""VIPS for today's pages: separators in pools of siblings, from the page down.

Source: Yu, Cai, Wen, Ma 2003, section 2.2; ``docs/algorithms/vips-feedback-2003.md`` says what differs. A node is
divided into its children, these at the strongest separators among them, and so on, each group in a pool of its own, so
that blocks side by side need no separator across the page. The strength of a separator is a weighted sum of cues:
distance, rulers, backgrounds, fonts and structural similarity are those of Cai, Yu, Wen, Ma 2003, section 4.2; the
others are ours. The weights, never published, are learnt (``python -m benchmarks vips --fit``).
"""

from typing import Final

import numpy as np

from scrapy_pagelets.base.arrays import Bools, Floats, Ints
from scrapy_pagelets.page.looks import POSITION, Layout, around
from scrapy_pagelets.page.nodes import NodeTable
from scrapy_pagelets.papers.vips import vips_blocks
from scrapy_pagelets.papers.vips.vips_blocks import GREATEST, LEAST, Blocks, BlockTree, Growing, Pool, Strips

_TOLERANCE: Final = 1.0  # pixels by which separate blocks may overlap, because of borders and rounding
_AS_STRONG: Final = 0.33  # separators that are weaker than the strongest one by less than this count as equally strong
#: This share of the strongest separator is subtracted from all, so that pages with weak separators are divided too.
_RELATIVE: Final = 0.5
#: Least strength of a separator that makes a block of coherence 7, and the increase for each degree below.
_SEVEN: Final = -2.3
_DEGREE: Final = 0.65
_THIN: Final = 30.0  # a block without text counts as spacing if it is thinner than this, in pixels
_OVERLAPPING: Final = 0.0  # strength of the division of overlapping blocks, which have no separator between them
_FLOATING: Final = 32  # at most this many blocks of a pool may float above the others
_ABOVE: Final = np.array([POSITION["absolute"], POSITION["fixed"]])
_LINE: Final = 1.3  # height of a line of text, relative to its font size
_PLAIN: Final = 0.05  # a plainly visible difference of backgrounds; the difference of black and white is 1
#: Weight of each cue, in log odds that two neighbours belong to different blocks of a page.
WEIGHTS: Final = {
    "bias": -1.47, "horizontal": 0.5, "gap": 0.24, "ruler": 1.0, "background": 0.47, "font": 0.07, "same_look": -0.02,
    "landmark": 1.0, "depth": -0.5, "area": 4.81, "length": 1.3, "links": 0.2, "text": -0.72, "more_text": 1.47,
    "boxed": 0.56,
}  # fmt: skip
_COLUMN: Final = np.array(list(WEIGHTS.values()))


class Visual:
    """Builder of the content structure of one page."""

    def __init__(self, nodes: NodeTable, layout: Layout) -> None:
        self.blocks = Blocks(nodes, layout)
        layer = np.zeros(len(nodes), np.int64)  # number of the fixed element that each row is in, 0 for none
        for number, row in enumerate(self.blocks.fixed.tolist(), 1):
            layer[row : nodes.end[row]] = number
        self._tree = Growing(nodes, layer)
        self._strength = [-np.inf]
        text = nodes.spread(nodes.letters) * layout.visible
        size = np.log2(np.maximum(layout.font_size, 1))
        colors = np.column_stack([layout.background >> shift & 255 for shift in (24, 16, 8)]) / 255
        columns = np.column_stack((text, text * nodes.anchor, text * size, text[:, None] * colors))
        # (n + 1, 6) Sums over all rows before: letters, letters in links, letters times font size, times background.
        self._sums = np.zeros((len(nodes) + 1, columns.shape[1]))
        np.cumsum(columns, axis=0, out=self._sums[1:])
        self._letters = max(1.0, float(self._sums[-1, 0]))
        self._line = _LINE * 2 ** (float(self._sums[-1, 2]) / self._letters) if self._sums[-1, 0] else _LINE * 16
        self._width, self._height = max(1, layout.page_width), max(1, layout.page_height)

    def structure(self) -> BlockTree:
        """Build the content structure of the page; fixed elements are blocks of their own."""
        ends = self.blocks.nodes.end
        roots = [0, *self.blocks.fixed.tolist()]
        pools = [self.blocks.pool([(row, int(ends[row]))]) for row in roots]
        todo = [(0, 0, pools[0])]
        if len(roots) > 1:
            self._strength[0] = np.inf
            todo = [(self._add(0, pool, layer), layer, pool) for layer, pool in enumerate(pools) if len(pool)]
        while todo:
            block, layer, pool = todo.pop()
            pool = self._divided(pool)
            if len(pool) > 1:
                todo += [(self._add(block, part, layer), layer, part) for part in self._parts(block, pool)]
        return self._finished()

    def _add(self, parent: int, pool: Pool, layer: int) -> int:
        self._strength.append(-np.inf)
        return self._tree.add(parent, [(start, end) for start, end in pool.spans.tolist()], layer)

    def _divided(self, pool: Pool) -> Pool:
        """Divide a pool of a single block until it has several, if it can be divided."""
        while len(pool) == 1:
            start, end = pool.spans[0].tolist()
            spans = self.blocks.divided((start, end))
            if not spans:
                break
            pool = self.blocks.pool(spans)
        return pool

    def _parts(self, block: int, pool: Pool) -> list[Pool]:
        """Divide a pool at its strongest separators."""
        aside, spacing = self._floating(pool), self._spacing(pool)
        if (~aside & ~spacing).sum() > 1:
            aside |= spacing
        below = pool.only(~aside)
        directions = []
        for i in (1, 0):  # horizontal separators, then vertical ones
            strips = vips_blocks.separators(below.boxes[:, i], below.boxes[:, i + 2], _TOLERANCE)
            if len(strips.start):
                directions.append((strips, i == 1))
        if not directions:
            self._strength[block] = _OVERLAPPING
            return [pool.only(np.array([i])) for i in range(len(pool))]
        strengths = [self.weigh(below, strips, horizontal=horizontal) for strips, horizontal in directions]
        most = max(float(weights.max()) for weights in strengths)
        self._strength[block] = most
        cell = np.zeros(len(below), np.int64)
        for (strips, _), weights in zip(directions, strengths, strict=True):
            cell = cell * (len(weights) + 1) + vips_blocks.crossed(strips, weights > most - _AS_STRONG)
        order = np.argsort(cell, kind="stable")
        groups = np.split(order, np.flatnonzero(np.diff(cell[order])) + 1)
        return [below.only(group) for group in groups] + [pool.only(np.array([i])) for i in np.flatnonzero(aside)]

    def _floating(self, pool: Pool) -> Bools:
        """(k,) Whether each block lies above others of the pool."""
        rows, boxes = pool.spans[:, 0], pool.boxes
        above = np.isin(self.blocks.layout.position[rows], _ABOVE)
        some = np.flatnonzero(above)
        if not 0 < len(some) <= _FLOATING or len(some) == len(pool):
            return np.zeros(len(pool), np.bool_)
        below = boxes[~above]
        for i in some:
            common = np.minimum(below[:, 2:], boxes[i, 2:]) - np.maximum(below[:, :2], boxes[i, :2])
            above[i] = bool((common > _TOLERANCE).all(axis=1).any())
        return above

    def _spacing(self, pool: Pool) -> Bools:
        """(k,) Whether each block is thin and without text: cells and pictures that serve as spacing or as a line."""
        thin = (pool.boxes[:, 2:] - pool.boxes[:, :2]).min(axis=1) < _THIN
        letters = self._sums[pool.spans[:, 1], 0] - self._sums[pool.spans[:, 0], 0]
        return np.asarray(thin & (letters == 0))

    def weigh(self, pool: Pool, strips: Strips, *, horizontal: bool) -> Floats:
        """(s,) Strength of the separators of one direction."""
        return np.asarray(self.cues(pool, strips, horizontal=horizontal) @ _COLUMN)

    def _finished(self) -> BlockTree:
        """Return the tree; the strongest separator anywhere in a block determines its coherence."""
        parent, strongest = self._tree.parent, self._strength
        for block in range(len(parent) - 1, 0, -1):
            strongest[parent[block]] = max(strongest[parent[block]], strongest[block])
        values = np.array(strongest)
        finite = values[np.isfinite(values)]
        if len(finite):
            values -= _RELATIVE * finite.max()
        degrees = np.where(values > -np.inf, 7 - np.floor((values - _SEVEN) / _DEGREE), GREATEST)
        doc = np.where(values > -np.inf, np.clip(degrees, LEAST, GREATEST - 1), GREATEST)
        return BlockTree(self.blocks.nodes, np.array(parent), doc.astype(np.int64), self._tree.owner)

    def cues(self, pool: Pool, strips: Strips, *, horizontal: bool) -> Floats:
        """(s, len(WEIGHTS)) Cues of the separators of one direction of a pool.

        The sides of a separator are the blocks between it and the previous separator, and between it and the next.
        """
        count, side = len(strips.start) + 1, strips.side
        first, last = pool.spans[:, 0], pool.spans[:, 1]
        sums = np.zeros((count, self._sums.shape[1]))
        np.add.at(sums, side, self._sums[last] - self._sums[first])
        letters = sums[:, 0]
        mean = sums[:, 1:] / np.maximum(letters, 1e-9)[:, None]
        change = np.diff(mean, axis=0) * ((letters[1:] > 0) & (letters[:-1] > 0))[:, None]
        step = np.abs(change)
        area = np.bincount(side, np.prod(pool.boxes[:, 2:] - pool.boxes[:, :2], axis=1), count)
        share = np.sqrt(np.minimum(1, area / (self._width * self._height)))
        text = np.sqrt(letters / self._letters)
        lead = np.empty(count, np.int64)
        lead[side[::-1]] = first[::-1]
        along = 0 if horizontal else 1
        length = (pool.boxes[:, along + 2].max() - pool.boxes[:, along].min()) / (self._width, self._height)[along]
        one, landmark = np.ones(count - 1), self.blocks.landmark[lead]
        columns = (
            one, one * horizontal, np.log2(1 + np.maximum(0, strips.end - strips.start) / self._line),
            self._rulers(pool, strips) if horizontal else 0 * one,
            1 - np.exp(-step[:, 2:].max(axis=1) / _PLAIN), np.maximum(0, change[:, 1]) * horizontal,
            self._same_look(lead, np.bincount(side, minlength=count)), landmark[1:] | landmark[:-1],
            one * self.blocks.branching[first[0]], np.minimum(share[1:], share[:-1]), one * min(1.0, float(length)),
            step[:, 0], np.minimum(text[1:], text[:-1]), np.maximum(text[1:], text[:-1]),
            np.abs(np.diff(self.blocks.painted[lead].astype(np.float64))),
        )  # fmt: skip
        return np.column_stack(columns)

    def _same_look(self, lead: Ints, count: Ints) -> Floats:
        """(s,) Whether the sides are single siblings of one look, like items of a list."""
        look = np.where(count == 1, self.blocks.nodes.signature[lead], -1 - np.arange(len(lead)))
        return np.asarray(look[1:] == look[:-1], np.float64)

    def _rulers(self, pool: Pool, strips: Strips) -> Floats:
        """(s,) Whether a ``<hr>`` lies in the separator."""
        left, top, right, bottom = around(pool.boxes).tolist()
        rulers = self.blocks.rulers
        near = rulers[slice(*np.searchsorted(rulers[:, 1], (top, bottom)))]
        middle = (near[:, 1] + near[:, 3])[(near[:, 0] < right) & (near[:, 2] > left)] / 2
        inside = np.searchsorted(middle, strips.end + 1) > np.searchsorted(middle, strips.start - 1)
        return inside.astype(np.float64)
