"""VIPS as it was published: the thirteen rules by tag, separators across the whole pool, tabulated weights.

Source: Cai, Yu, Wen, Ma 2003, *VIPS: a Vision-based Page Segmentation Algorithm* (MSR-TR-2003-79), sections 4.1 to 4.3.
``docs/algorithms/vips-feedback-2003.md`` says how certain the rules are. Never published, so ours: the thresholds of
relative size, the coherence "by tag and size", and that which a separator leaves. The weights of gaps, rulers and
backgrounds are those of the open implementation ``vips_java``; the others are ours.
"""

from typing import Final

import numpy as np

from scrapy_pagelets.base.arrays import Bools, Floats, Ints
from scrapy_pagelets.page.looks import Layout
from scrapy_pagelets.page.nodes import TAG, TEXT, NodeTable, tags_of
from scrapy_pagelets.papers.vips.vips_blocks import GREATEST, LEAST, BlockTree, Growing, Strips, crossed, separators

#: Shares of the page's area below which a block is small (rules 9 and 10), and above which it is less coherent.
_SMALL: Final = 0.1
_LARGE, _HUGE = 0.3, 0.6
#: Share by which children are not larger than their parent yet: the browser's edges are fractions of a pixel.
_ROUNDING: Final = 1e-5
_INLINE: Final = tags_of(
    "#text a span b i em strong u s small big font tt code kbd samp var cite q abbr acronym sub sup label nobr ins del "
    "bdo"
)
_SECTIONS: Final = tags_of("body main article section aside nav header footer form table")
_TEXTS: Final = tags_of("p pre blockquote figure h1 h2 h3 h4 h5 h6")
_DISTANCES: Final = np.array([8, 15, 25, 35, 45, 55])  # pixels above which a gap has a greater weight
_DISTANCE_WEIGHTS: Final = np.array([1, 2, 4, 6, 8, 10, 12])
_RULER = _BACKGROUND = _FONT = 2
_ALIKE: Final = -2
_TABLES: Final = frozenset(TAG[tag] for tag in ("table", "thead", "tbody", "tfoot", "tr"))
_CELLS: Final = frozenset((TAG["td"], TAG["th"]))
_CUT, _DIVIDE, _DIVIDE_PARTLY, _KEEP = "cut", "divide", "part", "keep"


class Strict:
    """Builder of the content structure of one page by the rules of the paper."""

    def __init__(self, nodes: NodeTable, layout: Layout) -> None:
        self.nodes = nodes
        self.layout = layout
        #: (n,) whether a node is visible, with a width and a height
        self.valid: Bools = layout.visible & (layout.width > 0) & (layout.height > 0)
        #: (n,) width times height in square pixels, without rounding: both have 24 bits; as a share of the page's area
        self._area: Floats = layout.width.astype(np.float64) * layout.height
        self.size = self._area / max(1.0, float(layout.page_width) * layout.page_height)
        #: (n,) whether a node is text or inline; any other node breaks the line
        self.inline = np.isin(nodes.tag, _INLINE)
        #: (n,) whether a node is text, or an inline node that contains virtual text only
        self.virtual_text: Bools = self.inline & self.valid
        self.virtual_text &= nodes.total((self.valid & ~self.inline).astype(np.int64)) == 0
        rows = np.flatnonzero(self.valid[1:]) + 1
        rows = rows[np.argsort(nodes.parent[rows], kind="stable")]
        counts = np.bincount(nodes.parent[rows], minlength=len(nodes))
        self._children = np.split(rows, np.cumsum(counts)[:-1])  # the valid ones of each row
        self._tree = Growing(nodes)
        self._doc = [LEAST]
        self._blocks = [np.array([0])]

    def structure(self) -> BlockTree:
        """Build the content structure: extract blocks, find separators, construct, and repeat in incoherent blocks."""
        todo = [0]
        while todo:
            block = todo.pop()
            if self._doc[block] == GREATEST:
                continue
            rows = self._blocks[block]
            pool, doc = self.extracted(rows)
            while len(pool) == 1 and pool[0] != rows[0] and doc[0] < GREATEST:
                rows = pool
                pool, doc = self.extracted(rows)
            if len(pool) > 1:
                todo += self._constructed(block, pool, doc)
        return BlockTree(self.nodes, np.array(self._tree.parent), np.array(self._doc), self._tree.owner)

    def extracted(self, rows: Ints) -> tuple[Ints, Ints]:
        """(k,) Rows of the visual blocks of a block, and their coherence."""
        extracted: list[tuple[int, int]] = []
        alone = len(rows) == 1
        # Each entry: rows of siblings, and whether they are the block itself.
        todo = [(rows.tolist(), alone)]
        while todo:
            siblings, root = todo.pop()
            divided = False  # whether the previous sibling was divided
            for row in siblings:
                action, doc = self.rule(row, root=root, divided=divided)
                divided = action in (_DIVIDE, _DIVIDE_PARTLY)
                children = self._children[row]
                if action == _DIVIDE_PARTLY:  # children of another background are not divided in this round
                    shaded = self._shaded(row)
                    extracted += [(child, self.coherence(child)) for child in children[shaded].tolist()]
                    children = children[~shaded]
                if divided:
                    todo.append((children.tolist(), False))
                elif action == _KEEP:
                    extracted.append((row, doc))
        extracted.sort()
        return np.array([row for row, _ in extracted], np.int64), np.array([doc for _, doc in extracted], np.int64)

    def rule(self, row: int, *, root: bool, divided: bool) -> tuple[str, int]:
        """The action of the first rule that applies to a node, and the node's coherence if it is kept.

        A node is cut (left out), divided, partly divided (children with another background are kept) or kept. Rule 11,
        without effect as printed, is "divide if the previous sibling was divided". ``root``: the node is the block that
        is being divided. ``divided``: the previous sibling was.
        """
        children, tag = self._children[row], int(self.nodes.tag[row])
        if tag == TEXT:
            return _KEEP, GREATEST
        if not len(children):  # 1; a visible node without children is a picture, a control or a ruler
            return (_KEEP, GREATEST) if self.nodes.end[row] == row + 1 else (_CUT, 0)
        text = self.virtual_text[children]
        cell, table = tag in _CELLS, tag in _TABLES
        small = self.size[row] < _SMALL
        if len(children) == 1 and self.nodes.tag[children[0]] != TEXT:  # 2
            return _DIVIDE, 0
        if root:  # 3
            return _DIVIDE, 0
        if text.all() and not table:  # 4
            return _KEEP, self._coherence_of_text(row)
        breaks = (self.inline[row] or tag == TAG["p"]) and not self.inline[children].all()
        if not (cell or table) and (breaks or (self.nodes.tag[children] == TAG["hr"]).any()):  # 5, 6
            return _DIVIDE, 0
        if not cell and self._area[children].sum() > self._area[row] * (1 + _ROUNDING):  # 7
            return _DIVIDE, 0
        if table and self._shaded(row).any():  # 8
            return _DIVIDE_PARTLY, 0
        if (text.any() and small and not table) or self.size[children].max() < _SMALL:  # 9, 10
            return _KEEP, self.coherence(row)
        if not (cell or table) or (cell and divided):  # 12, 11
            return _DIVIDE, 0
        return _KEEP, self.coherence(row)  # 13

    def _shaded(self, row: int) -> Bools:
        """(c,) Whether each child has another background than the node."""
        background = self.layout.background
        return np.asarray(background[self._children[row]] != background[row], np.bool_)

    def _coherence_of_text(self, row: int) -> int:
        """Coherence by rule 4: text in a single font is more coherent."""
        leaves = self.nodes.leaves[self.nodes.first_leaf[row] : self.nodes.last_leaf[row]]
        leaves = leaves[self.valid[leaves]]
        fonts = {(float(self.layout.font_size[i]), int(self.layout.font_weight[i])) for i in leaves.tolist()}
        return GREATEST if len(fonts) <= 1 else GREATEST - 1

    def coherence(self, row: int) -> int:
        """Coherence by tag and size: 6 for sections, 8 for prose, 7 for others; less for a large share of the page."""
        tag = self.nodes.tag[row]
        doc = 6 if tag in _SECTIONS else 8 if tag in _TEXTS else 7
        return doc - int(self.size[row] > _LARGE) - int(self.size[row] > _HUGE)

    def _constructed(self, block: int, pool: Ints, doc: Ints) -> list[int]:
        """Divide the pool at its separators of the greatest weight, or into single blocks; return the new blocks."""
        boxes = self.layout.boxes[pool]
        directions = [separators(boxes[:, i], boxes[:, i + 2]) for i in (1, 0)]
        weights = [self.weights(pool, strips, horizontal=i == 0) for i, strips in enumerate(directions)]
        most = max((int(w.max()) for w in weights if len(w)), default=0)
        cell = np.arange(len(pool))
        if most or any(map(len, weights)):
            cell[:] = 0
            for strips, w in zip(directions, weights, strict=True):
                cell = cell * (len(w) + 1) + crossed(strips, w == most)
        if len(self._blocks[block]) > 1:
            self._doc[block] = max(self._doc[block], LEAST, GREATEST - 1 - most // 2)
        new = []
        order = np.argsort(cell, kind="stable")
        for group in np.split(order, np.flatnonzero(np.diff(cell[order])) + 1):
            rows = pool[group]
            own = int(doc[group[0]]) if len(group) == 1 else LEAST
            new.append(self._tree.add(block, [(int(row), int(self.nodes.end[row])) for row in rows]))
            self._blocks.append(rows)
            self._doc.append(max(own, self._doc[block]))
        return new

    def weights(self, pool: Ints, strips: Strips, *, horizontal: bool) -> Ints:
        """(s,) Weights of separators by distance, rulers, and differences of the blocks on both sides.

        A horizontal one weighs more if the fonts of most of the text on its sides differ, most if the lower one is
        larger.
        """
        count, layout = len(strips.start), self.layout
        weight = _DISTANCE_WEIGHTS[np.searchsorted(_DISTANCES, strips.end - strips.start)]
        order = np.argsort(strips.side, kind="stable")
        last = np.searchsorted(strips.side[order], np.arange(count), side="right") - 1
        one, other = pool[order[last]], pool[order[last + 1]]
        ruler = TAG["hr"]
        weight = weight + _RULER * ((self.nodes.tag[one] == ruler) | (self.nodes.tag[other] == ruler))
        weight += _BACKGROUND * (layout.background[one] != layout.background[other])
        if horizontal:
            fonts = self._fonts(pool)
            above, below = fonts[order[last]], fonts[order[last + 1]]  # without text: NaN, which is never less
            weight += _FONT * ((above < below) | (below < above)).any(axis=1)
            weight += _FONT * (above[:, 0] < below[:, 0])
            alike = self.nodes.signature[one] == self.nodes.signature[other]
            weight += _ALIKE * (alike & (self.nodes.tag[one] != TEXT))
        return np.asarray(np.maximum(weight, 1), np.int64)

    def _fonts(self, rows: Ints) -> Floats:
        """(k, 2) Size and weight of the font that most letters of each row have; NaN without text."""
        nodes, layout = self.nodes, self.layout
        first = nodes.first_leaf[rows]
        count = nodes.last_leaf[rows] - first
        block = np.repeat(np.arange(len(rows)), count)
        leaf = np.arange(len(block)) + (first - np.cumsum(count) + count)[block]
        seen = self.valid[nodes.leaves[leaf]]
        block, leaf = block[seen], leaf[seen]
        text = nodes.leaves[leaf]
        used = np.column_stack((block, layout.font_size[text], layout.font_weight[text]))
        used, number = np.unique(used, axis=0, return_inverse=True)
        letters = np.bincount(number, nodes.letters[leaf], len(used))
        order = np.argsort(letters, kind="stable")
        fonts = np.full((len(rows), 2), np.nan)
        fonts[used[order, 0].astype(np.int64)] = used[order, 1:]  # the last one counts
        return fonts
