"""VIPS for today's pages: separators in pools of siblings, from the page down.

Source: Yu, Cai, Wen, Ma 2003, section 2.2; ``docs/algorithms/vips-feedback-2003.md`` says what differs from the paper.
A node is divided into its children. These are divided at the strongest separators among them, and so on, each group in
a pool of its own. So blocks that are side by side need no separator across the page.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from scrapy_pagelets.base.arrays import Bools, Floats, Ints
from scrapy_pagelets.page.looks import POSITION, Layout
from scrapy_pagelets.page.nodes import NodeTable
from scrapy_pagelets.papers.vips.vips_blocks import Blocks, Pool
from scrapy_pagelets.papers.vips.vips_separators import Strips, crossed, separators
from scrapy_pagelets.papers.vips.vips_tree import GREATEST, LEAST, BlockTree, Growing
from scrapy_pagelets.papers.vips.vips_weights import Cues, strength

#: Pixels by which separate blocks may overlap, because of borders and rounding.
_TOLERANCE: Final = 1.0
#: Separators that are weaker than the strongest one by less than this count as equally strong.
_AS_STRONG: Final = 0.33
#: This share of the strongest separator is subtracted from all, so that pages with weak separators are divided too.
_RELATIVE: Final = 0.5
#: Least strength of a separator that makes a block of coherence 7, and the increase for each degree below.
_SEVEN: Final = -2.3
_DEGREE: Final = 0.65
#: A block without text counts as spacing if it is thinner than this, in pixels.
_THIN: Final = 30.0
#: Strength of the division of overlapping blocks, which have no separator between them.
_OVERLAPPING: Final = 0.0
#: At most this many blocks of a pool may float above the others.
_FLOATING: Final = 32
_ABOVE: Final = np.array([POSITION["absolute"], POSITION["fixed"]])


class Visual:
    """Builder of the content structure of one page."""

    def __init__(self, nodes: NodeTable, layout: Layout) -> None:
        self.blocks = Blocks(nodes, layout)
        self.cues = Cues(self.blocks)
        self._tree = Growing(nodes, self._layers())
        self._boxes = [np.zeros(4)]
        self._strength = [-np.inf]

    def _layers(self) -> Ints | None:
        """(n,) Number of the fixed element that each row is in, 0 for none; None if the page has no fixed elements."""
        fixed, ends = self.blocks.fixed, self.blocks.nodes.end
        if not len(fixed):
            return None
        layer = np.zeros(len(ends), np.int64)
        for number, row in enumerate(fixed.tolist(), 1):
            layer[row : ends[row]] = number
        return layer

    def structure(self) -> BlockTree:
        """Build the content structure of the page; fixed elements are blocks of their own."""
        ends = self.blocks.nodes.end
        roots = [0, *self.blocks.fixed.tolist()]
        pools = [self.blocks.pool([(row, int(ends[row]))]) for row in roots]
        self._boxes[0] = _around(pools[0])
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
        self._boxes.append(_around(pool))
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
        directions = self._separators(below)
        if not directions:
            self._strength[block] = _OVERLAPPING
            return [pool.only(np.array([i])) for i in range(len(pool))]
        strengths = [self.weigh(below, strips, horizontal=horizontal) for strips, horizontal in directions]
        most = max(float(weights.max()) for weights in strengths)
        self._strength[block] = most
        cell = np.zeros(len(below), np.int64)
        for (strips, _), weights in zip(directions, strengths, strict=True):
            cell = cell * (len(weights) + 1) + crossed(strips, weights > most - _AS_STRONG)
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
        return np.asarray(thin & (self.cues.letters(pool) == 0))

    def _separators(self, pool: Pool) -> list[tuple[Strips, bool]]:
        """The separators of each direction, and whether they are horizontal; without directions that have none."""
        boxes = pool.boxes
        both = [(separators(boxes[:, i], boxes[:, i + 2], _TOLERANCE), i == 1) for i in (1, 0)]
        return [(strips, horizontal) for strips, horizontal in both if len(strips.start)]

    def weigh(self, pool: Pool, strips: Strips, *, horizontal: bool) -> Floats:
        """(s,) Strength of the separators of one direction."""
        return strength(self.cues.of(pool, strips, horizontal=horizontal))

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
        boxes = np.array(self._boxes)
        return BlockTree(self.blocks.nodes, np.array(parent), doc.astype(np.int64), boxes, self._tree.owner)


def _around(pool: Pool) -> Floats:
    """(4,) The box around a pool; zeros for an empty one."""
    if not len(pool):
        return np.zeros(4)
    return np.concatenate((pool.boxes[:, :2].min(axis=0), pool.boxes[:, 2:].max(axis=0)))
