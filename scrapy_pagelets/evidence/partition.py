"""Partition a page into pagelets by link count.

Source: Bar-Yossef & Rajagopalan 2002, *Template Detection via Data Mining and its Applications*, Definition 2 and
Figure 3. ``docs/algorithms/pagelets-templates-2002.md`` describes what the default form adds to them.
"""

from typing import Final

import numpy as np

from scrapy_pagelets.core import give
from scrapy_pagelets.core.subtrees import partition as partition
from scrapy_pagelets.core.subtrees import partition_of_rows as partition_of_rows
from scrapy_pagelets.page.looks import NOTHING
from scrapy_pagelets.page.nodes import TAG, TAGS

#: A child with this many links is a region of its own: the value of the paper, and ours for modern pages.
STRICT_K: Final = 3
DEFAULT_K: Final = 5
_PROSE_TAGS: Final = np.array([TAG[t] for t in "p h1 h2 h3 h4 h5 h6 blockquote dd td pre figure figcaption li".split()])
_INLINE_TAGS: Final = (
    "#text a span b i em strong u s small big font tt code kbd samp var cite q abbr acronym sub sup time mark ins del "
    "bdo bdi nobr data dfn img br wbr"
).split()
_INLINE: Final = np.array([TAG[tag] for tag in _INLINE_TAGS])
_LINKING: Final = np.array([TAG["a"], TAG["area"]])


def _check(k: int) -> None:
    if k < 1:
        raise ValueError(f"k is {k}: a pagelet needs a number of links of 1 or more")


give(
    "subtrees", TAGS=TAGS, PROSE_TAGS=_PROSE_TAGS, INLINE=_INLINE, LINKING=_LINKING, DEFAULT_K=DEFAULT_K,
    NOTHING=NOTHING, check=_check,
)  # fmt: skip
