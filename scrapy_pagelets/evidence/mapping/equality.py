"""Node equality: which nodes of two pages an equal top-down mapping may pair.

Source: Alarte, Insa, Silva, Tamarit 2014, Definition 3.2, which leaves the equality open, and Section 4.2.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from scrapy_pagelets.base.arrays import Ints
from scrapy_pagelets.page.nodes import TEXT, NodeTable

#: For a page, (n,) labels of its nodes: nodes of two pages are equal if they have the same label.
Equality = Callable[[NodeTable], Ints]


def same_signature(nodes: NodeTable) -> Ints:
    """Nodes are equal if tag, id, class tokens and role agree, but for volatile tokens; all runs of text are equal."""
    return np.where(nodes.tag == TEXT, 1, nodes.signature)
