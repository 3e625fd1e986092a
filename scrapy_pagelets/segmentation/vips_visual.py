"""VIPS for the pages of today: separators in pools of siblings, from the page down.

Source: Yu, Cai, Wen, Ma 2003, section 2.2; ``docs/algorithms/vips-feedback-2003.md`` says what differs from the paper.
A node is divided into its children. These are parted at the strongest separators among them, and so on, each part in a
pool of its own. So what stands side by side needs no separator across the page.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from scrapy_pagelets.layout import POSITION, Layout
from scrapy_pagelets.nodes import Bools, Floats, Ints, NodeTable
from scrapy_pagelets.segmentation.vips_blocks import Blocks, Pool
from scrapy_pagelets.segmentation.vips_separators import Strips, crossed, separators
from scrapy_pagelets.segmentation.vips_tree import GREATEST, LEAST, BlockTree, Growing
from scrapy_pagelets.segmentation.vips_weights import Cues, strength

#: Pixels that blocks may overlap: borders, and rounding.
_TOLERANCE: Final = 1.0
#: Separators that are weaker than the strongest one by less than this are as strong.
_AS_STRONG: Final = 0.33
#: A page whose strongest separator is weak is divided at weak ones: this share of the strongest one is subtracted.
_RELATIVE: Final = 0.5
#: Least strength of what makes a block of coherence 7, and what each degree below takes more.
_SEVEN: Final = -2.3
_DEGREE: Final = 0.65
#: Pixels below which a block without text is space.
_THIN: Final = 30.0
#: Strength of what parts blocks that overlap, with no separator between any of them.
_TANGLED: Final = 0.0
#: So many blocks of a pool may float above the others.
_FLOATING: Final = 32
_ABOVE: Final = np.array([POSITION["absolute"], POSITION["fixed"]])


class Visual:
    """One page on its way to its content structure."""

    def __init__(self, nodes: NodeTable, layout: Layout) -> None:
        self.blocks = Blocks(nodes, layout)
        self.cues = Cues(self.blocks)
        self._tree = Growing(nodes, self._layers())
        self._boxes = [np.zeros(4)]
        self._strength = [-np.inf]

    def _layers(self) -> Ints | None:
        """(n,) 0 for the page, else which of the fixed elements a row is in; None if there are none."""
        fixed, ends = self.blocks.fixed, self.blocks.nodes.end
        if not len(fixed):
            return None
        layer = np.zeros(len(ends), np.int64)
        for number, row in enumerate(fixed.tolist(), 1):
            layer[row : ends[row]] = number
        return layer

    def structure(self) -> BlockTree:
        """The content structure of the page; fixed elements are parts of their own."""
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
        """A pool of several blocks: of a single one, what it is divided into."""
        while len(pool) == 1:
            start, end = pool.spans[0].tolist()
            spans = self.blocks.divided((start, end))
            if not spans:
                break
            pool = self.blocks.pool(spans)
        return pool

    def _parts(self, block: int, pool: Pool) -> list[Pool]:
        """A pool, parted at its strongest separators."""
        aside, spacing = self._floating(pool), self._spacing(pool)
        if (~aside & ~spacing).sum() > 1:
            aside |= spacing
        below = pool.only(~aside)
        found = self._separators(below)
        if not found:
            self._strength[block] = _TANGLED
            return [pool.only(np.array([i])) for i in range(len(pool))]
        weighed = [self.weigh(below, strips, horizontal=horizontal) for strips, horizontal in found]
        most = max(float(weights.max()) for weights in weighed)
        self._strength[block] = most
        cell = np.zeros(len(below), np.int64)
        for (strips, _), weights in zip(found, weighed, strict=True):
            cell = cell * (len(weights) + 1) + crossed(strips, weights > most - _AS_STRONG)
        order = np.argsort(cell, kind="stable")
        groups = np.split(order, np.flatnonzero(np.diff(cell[order])) + 1)
        return [below.only(group) for group in groups] + [pool.only(np.array([i])) for i in np.flatnonzero(aside)]

    def _floating(self, pool: Pool) -> Bools:
        """(k,) blocks that lie above others of the pool."""
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
        """(k,) thin blocks without text: cells and pictures that are there as space between others, or as a line."""
        thin = (pool.boxes[:, 2:] - pool.boxes[:, :2]).min(axis=1) < _THIN
        return np.asarray(thin & (self.cues.letters(pool) == 0))

    def _separators(self, pool: Pool) -> list[tuple[Strips, bool]]:
        """Separators of both directions, whether they are horizontal; directions without any left out."""
        boxes = pool.boxes
        both = [(separators(boxes[:, i], boxes[:, i + 2], _TOLERANCE), i == 1) for i in (1, 0)]
        return [(strips, horizontal) for strips, horizontal in both if len(strips.start)]

    def weigh(self, pool: Pool, strips: Strips, *, horizontal: bool) -> Floats:
        """(s,) strength of the separators of one direction."""
        return strength(self.cues.of(pool, strips, horizontal=horizontal))

    def _finished(self) -> BlockTree:
        """The tree: a block is as coherent as its strongest separator, wherever in it, leaves it."""
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
    """(4,) the box around a pool, zero for an empty one."""
    if not len(pool):
        return np.zeros(4)
    return np.concatenate((pool.boxes[:, :2].min(axis=0), pool.boxes[:, 2:].max(axis=0)))
