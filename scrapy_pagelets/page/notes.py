"""Marks of footnotes: in plain text they must not look like a part of the word before them."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

from scrapy_pagelets.page.nodes import GLUED, TAG, NodeTable, rows_tagged

_MARK: Final = re.compile(r"\d{1,3}|[a-z]|[*†‡§]{1,3}")


def with_brackets(nodes: NodeTable) -> NodeTable:
    """The node table with brackets around the marks of footnotes: raised links of a number, a letter or a sign."""
    leaves = [nodes.first_leaf.item(row) for row in rows_tagged(nodes, TAG["sup"])]
    marks = [leaf for leaf in leaves if leaf < len(nodes.gap) and _is_mark(nodes, leaf)]
    if not marks:
        return nodes
    strings = list(nodes.strings)
    for leaf in marks:
        strings[leaf] = f"[{strings[leaf]}]"
    return replace(nodes, strings=strings)


def _is_mark(nodes: NodeTable, leaf: int) -> bool:
    row = int(nodes.leaves[leaf])
    if nodes.gap[leaf] != GLUED or not nodes.anchor[row] or not _MARK.fullmatch(nodes.strings[leaf]):
        return False
    alone = False
    while nodes.last_leaf[row] - nodes.first_leaf[row] <= 1:  # up to the smallest element with other text
        alone = alone or nodes.tag[row] == TAG["sup"]
        row = int(nodes.parent[row])
        if row < 0:
            return False
    return alone
