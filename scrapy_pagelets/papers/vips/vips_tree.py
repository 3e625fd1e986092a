"""The content structure of a page: blocks within blocks, each at least as coherent as the one around it.

Source: Yu, Cai, Wen, Ma 2003, section 2.1; see ``docs/algorithms/vips-feedback-2003.md``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from scrapy_pagelets.base.arrays import Floats, Ints
from scrapy_pagelets.page.nodes import NodeTable

#: Least and greatest degree of coherence.
LEAST, GREATEST = 1, 10
#: A half-open range of rows: the subtrees of some adjacent siblings.
Span = tuple[int, int]


@dataclass(frozen=True, eq=False)
class BlockTree:
    """The visual blocks of a page, parents before children; block 0 is the page."""

    nodes: NodeTable  # of the page
    parent: Ints  # (b,) -1 at the root
    doc: Ints  # (b,) degree of coherence, 1 to 10; never less than that of the parent
    box: Floats  # (b, 4) left, top, right, bottom in CSS pixels; zeros if nothing is visible
    #: (n,) the innermost block of each row. If that block contains others, the row has been divided or is not visible
    owner: Ints

    def __len__(self) -> int:
        return len(self.parent)

    def labels(self, pdoc: int) -> Ints:
        """(m,) Number of the segment of each leaf: blocks are divided until their coherence is permitted.

        Raises ValueError if pdoc is not from 1 to 10.

        ``pdoc``: permitted degree of coherence, 1 (the whole page) to 10 (as many segments as possible).
        """
        return self.of_rows(pdoc)[self.nodes.leaves]

    def of_rows(self, pdoc: int) -> Ints:
        """(n,) Number of the segment of each row, like `labels`; that of a divided row has no meaning."""
        return self._kept(pdoc)[self.owner]

    def pruned(self, pdoc: int) -> BlockTree:
        """Return the tree without the blocks inside blocks of permitted coherence.

        Raise ValueError if pdoc is not from 1 to 10.
        """
        kept = self._kept(pdoc)
        own = np.flatnonzero(kept == np.arange(len(self)))
        number = np.empty(len(self), np.int64)
        number[own] = np.arange(len(own))
        parent = np.append(number, -1)[self.parent[own]]
        return BlockTree(self.nodes, parent, self.doc[own], self.box[own], number[kept[self.owner]])

    def _kept(self, pdoc: int) -> Ints:
        """(b,) The outermost block of permitted coherence around each block, or the block itself."""
        if not LEAST <= pdoc <= GREATEST:
            raise ValueError(f"pdoc is {pdoc}: give a degree of coherence from {LEAST} (one segment) to {GREATEST}")
        kept = list(range(len(self)))
        parent, coherent = self.parent.tolist(), (self.doc >= pdoc).tolist()
        for block in range(1, len(self)):
            above = parent[block]
            if coherent[above]:
                kept[block] = kept[above]
        return np.array(kept, np.int64)


class Growing:
    """A block tree under construction; it starts with the page as one block.

    ``layer``: (n,) number of the layer of each row; None if there is one layer. A block has rows of its own layer only.
    """

    def __init__(self, nodes: NodeTable, layer: Ints | None = None) -> None:
        self.parent = [-1]
        self.owner = np.zeros(len(nodes), np.int64)
        self._layer = layer

    def add(self, parent: int, spans: list[Span], layer: int = 0) -> int:
        """Add a block that takes the rows of the spans; return its number."""
        block = len(self.parent)
        self.parent.append(parent)
        for start, end in spans:
            rows = self.owner[start:end]
            if self._layer is None:
                rows[:] = block
            else:
                rows[self._layer[start:end] == layer] = block
        return block
