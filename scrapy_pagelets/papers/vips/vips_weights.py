"""Strength of visual separators: a weighted sum of cues.

Source: Cai, Yu, Wen, Ma 2003, section 4.2: distance, rulers, backgrounds, fonts, structural similarity. The other cues
are ours. The report's weights were never published. These are learnt (``python -m benchmarks vips --fit``), as Yu, Cai,
Wen, Ma 2003 propose in section 2.3. See ``docs/algorithms/vips-feedback-2003.md``.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from scrapy_pagelets.base.arrays import Floats, Ints
from scrapy_pagelets.papers.vips.vips_blocks import Blocks, Pool
from scrapy_pagelets.papers.vips.vips_separators import Strips

#: Height of a line of text, relative to its font size.
_LINE: Final = 1.3
#: A plainly visible difference of backgrounds; the difference of black and white is 1.
_PLAIN: Final = 0.05

#: Weight of each cue, in log odds that two neighbours belong to different blocks of a page.
WEIGHTS: Final = {
    "bias": -1.47, "horizontal": 0.5, "gap": 0.24, "ruler": 1.0, "background": 0.47, "font": 0.07, "same_look": -0.02,
    "landmark": 1.0, "depth": -0.5, "area": 4.81, "length": 1.3, "links": 0.2, "text": -0.72, "more_text": 1.47,
    "boxed": 0.56,
}  # fmt: skip
_COLUMN: Final = np.array(list(WEIGHTS.values()))


class Cues:
    """Cues of the separators of a page.

    Parameters
    ----------
    blocks : of the page
    """

    def __init__(self, blocks: Blocks) -> None:
        self.blocks = blocks
        nodes, layout = blocks.nodes, blocks.layout
        letters = np.fromiter(map(len, nodes.strings), np.float64, len(nodes.strings))
        text = nodes.spread(letters) * layout.visible
        size = np.log2(np.maximum(layout.font_size, 1))
        colors = np.column_stack([layout.background >> shift & 255 for shift in (24, 16, 8)]) / 255
        columns = np.column_stack((text, text * nodes.anchor, text * size, text[:, None] * colors))
        # (n + 1, 6) Sums over all rows before: letters, letters in links, letters times font size, times background.
        self._sums = np.zeros((len(nodes) + 1, columns.shape[1]))
        np.cumsum(columns, axis=0, out=self._sums[1:])
        self._letters = max(1.0, float(self._sums[-1, 0]))
        self._line = _LINE * 2 ** (float(self._sums[-1, 2]) / self._letters) if self._sums[-1, 0] else _LINE * 16
        self._width, self._height = max(1, layout.page_width), max(1, layout.page_height)

    def letters(self, pool: Pool) -> Floats:
        """(k,) Number of letters of each block."""
        return np.asarray(self._sums[pool.spans[:, 1], 0] - self._sums[pool.spans[:, 0], 0])

    def of(self, pool: Pool, strips: Strips, *, horizontal: bool) -> Floats:
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
        one = np.ones(count - 1)
        columns = (
            one, one * horizontal, np.log2(1 + np.maximum(0, strips.end - strips.start) / self._line),
            self._rulers(pool, strips) if horizontal else 0 * one,
            1 - np.exp(-step[:, 2:].max(axis=1) / _PLAIN), np.maximum(0, change[:, 1]) * horizontal,
            self._same_look(lead, np.bincount(side, minlength=count)), self._landmark(lead),
            one * self.blocks.branching[first[0]], np.minimum(share[1:], share[:-1]), one * min(1.0, float(length)),
            step[:, 0], np.minimum(text[1:], text[:-1]), np.maximum(text[1:], text[:-1]),
            np.abs(np.diff(self.blocks.painted[lead].astype(np.float64))),
        )  # fmt: skip
        return np.column_stack(columns)

    def _same_look(self, lead: Ints, count: Ints) -> Floats:
        """(s,) Whether the sides are single siblings of one look, like items of a list."""
        look = np.where(count == 1, self.blocks.nodes.signature[lead], -1 - np.arange(len(lead)))
        return np.asarray(look[1:] == look[:-1], np.float64)

    def _landmark(self, lead: Ints) -> Floats:
        """(s,) Whether a landmark begins or ends."""
        named = self.blocks.landmark[lead]
        return (named[1:] | named[:-1]).astype(np.float64)

    def _rulers(self, pool: Pool, strips: Strips) -> Floats:
        """(s,) Whether a ``<hr>`` lies in the separator."""
        left, top = pool.boxes[:, :2].min(axis=0).tolist()
        right, bottom = pool.boxes[:, 2:].max(axis=0).tolist()
        rulers = self.blocks.rulers
        near = rulers[slice(*np.searchsorted(rulers[:, 1], (top, bottom)))]
        middle = (near[:, 1] + near[:, 3])[(near[:, 0] < right) & (near[:, 2] > left)] / 2
        inside = np.searchsorted(middle, strips.end + 1) > np.searchsorted(middle, strips.start - 1)
        return inside.astype(np.float64)


def strength(cues: Floats) -> Floats:
    """(s,) Strength of separators, from their cues."""
    return np.asarray(cues @ _COLUMN, np.float64)
