"""A template as a tree of its own, and the alignment of pages with it in near-linear time.

The alignment is an equal top-down mapping (Alarte, Insa, Silva, Tamarit 2014, Definition 3.2) for each page of a crawl.
It is not always the largest one, as that of ``etdm``: siblings of one signature are told apart by their texts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from scrapy_pagelets.base.arrays import Bools, Ints
from scrapy_pagelets.core.subtrees import align_page as align_page
from scrapy_pagelets.page.nodes import TEXT, NodeTable


@dataclass(frozen=True, eq=False)
class TemplateTree:
    """Rows of a page that form a tree, in preorder. It needs no page and can be stored as arrays.

    Attributes
    ----------
    parent : (n,) row of the parent, -1 at the root
    end : (n,) row after the last one of the subtree
    depth : (n,) 0 at the root
    label : (n,) signature; ``TEXT`` for a run of text
    text : (n,) hash of a run of text, 0 for an element
    """

    parent: Ints
    end: Ints
    depth: Ints
    label: Ints
    text: Ints

    def __len__(self) -> int:
        return len(self.parent)

    @classmethod
    def of(cls, nodes: NodeTable, rows: Bools | None = None) -> Self:
        """Take the rows of a page whose ancestors are among them as well; None for all rows."""
        kept = nodes.inherit(np.ones(len(nodes), np.bool_) if rows is None else rows.copy(), np.bitwise_and)
        before = np.append(0, np.cumsum(kept))
        parent = nodes.parent[kept]
        return cls(
            parent=np.where(parent < 0, -1, before[parent]),
            end=before[nodes.end[kept]],
            depth=nodes.depth[kept],
            label=_labels(nodes)[kept],
            text=nodes.spread(nodes.text)[kept],
        )


def _labels(nodes: NodeTable) -> Ints:
    return np.where(nodes.tag == TEXT, TEXT, nodes.signature)
