"""The texts and XPaths of leaves, one after another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import numpy as np

from scrapy_pagelets.base.arrays import Bools, Ints
from scrapy_pagelets.base.characters import normalised
from scrapy_pagelets.feed.content_words import _INVISIBLE, _PUNCTUATION
from scrapy_pagelets.metadata.headline import _FIRST_LEVEL, _LONGEST, _MARKS, _words
from scrapy_pagelets.page.nodes import _XPATH_NAME, CELL, GLUED, LINE, PARAGRAPH, SPACE, TEXT, NodeTable
from scrapy_pagelets.page.text import _ITEMS, LEFT_OVER

_SEPARATORS: Final = {GLUED: "", SPACE: " ", CELL: "\t", LINE: "\n", PARAGRAPH: "\n\n"}


def written_leaves(nodes: NodeTable, keep: Bools) -> Ints:
    """(k,) the leaves to keep, but for those that are `left_over`."""
    return np.flatnonzero(keep & ~left_over(nodes))


def words_in(nodes: NodeTable, leaves: Ints) -> int:
    """Number of the words of some leaves."""
    return int(nodes.words[leaves].sum())


def left_over(nodes: NodeTable) -> Bools:
    """(m,) whether a leaf is alone on its line and has only marks."""
    begins = nodes.gap >= LINE
    alone: Bools = begins & (nodes.words == 0)
    alone[:-1] &= begins[1:]
    for leaf in np.flatnonzero(alone).tolist():
        alone[leaf] = leaf not in nodes.spaces and not nodes.strings[leaf].strip(LEFT_OVER)
    return alone


def first_of_items(nodes: NodeTable, leaves: Ints) -> frozenset[int]:
    """Those of some leaves, in ascending order, with which an item of a list begins."""
    items = np.flatnonzero(nodes.tag == _ITEMS)
    first = np.searchsorted(leaves, nodes.first_leaf[items])
    shown = first < np.searchsorted(leaves, nodes.last_leaf[items])
    return frozenset(leaves[first[shown]].tolist())


def text_of(nodes: NodeTable, leaves: Ints, items: frozenset[int] = frozenset()) -> str:
    """See `core.text.text_of`."""
    pieces: list[str] = []
    for leaf, gap, white in runs_of(nodes, leaves):
        if not pieces:
            pieces.append(white.rpartition("\n")[2])
        elif gap <= SPACE:
            pieces.append(white or _SEPARATORS[gap])
        else:  # of the white space at the start of a `pre`, only the indentation of its first line
            pieces += _SEPARATORS[gap], white if gap == LINE else white.rpartition("\n")[2]
        if leaf in items:
            pieces.append("- ")
        pieces.append(nodes.strings[leaf])
    return "".join(pieces)


def links_of(nodes: NodeTable, leaves: Ints) -> list[int]:
    """The links that lead to a page and belong to some leaves: see `core.text.told_of`."""
    of_leaf: dict[int, list[int]] = {}
    for number, (row, key) in enumerate(zip(nodes.links.row.tolist(), nodes.links.key.tolist(), strict=True)):
        if key:
            of_leaf.setdefault(min(nodes.first_leaf.item(row), len(nodes.leaves) - 1), []).append(number)
    return [number for leaf in leaves.tolist() for number in of_leaf.get(leaf, ())]


def anchors_of(nodes: NodeTable, links: Sequence[int]) -> list[str]:
    """The text of some links, with its white space folded."""
    rows = [nodes.links.row.item(number) for number in links]
    return [" ".join(text_of(nodes, np.arange(nodes.first_leaf[row], nodes.last_leaf[row])).split()) for row in rows]


def runs_of(nodes: NodeTable, leaves: Ints) -> Iterator[tuple[int, int, str]]:
    """Yield each leaf with its gap to the one before and, inside ``pre``, the white space between them."""
    if not len(leaves):
        return
    starts = np.concatenate((leaves[:1], leaves[:-1] + 1))  # the first leaf after the previous one to keep
    gaps = np.maximum.reduceat(nodes.gap[: leaves[-1] + 1], starts)
    np.maximum(gaps, SPACE, out=gaps, where=leaves > starts)  # leaves with another between them are separate words
    for leaf, start, gap in zip(leaves.tolist(), starts.tolist(), gaps.tolist(), strict=True):
        white = ""
        if leaf in nodes.spaces:
            white = "".join(nodes.spaces.get(i, "") for i in range(start if gap <= SPACE else leaf, leaf + 1))
        yield leaf, gap, white


def roots(nodes: NodeTable, leaves: Ints) -> list[int]:
    """Rows of the maximal subtrees that have no other leaves, in document order; a single leaf counts as a subtree.

    ``leaves``: (k,) indices of the leaves, ascending.
    """
    tops = []
    breaks = np.flatnonzero(np.diff(leaves) > 1) + 1
    for run in np.split(leaves, breaks) if len(leaves) else []:
        leaf, end = int(run[0]), int(run[-1]) + 1
        while leaf < end:
            row = int(nodes.leaves[leaf])
            above = int(nodes.parent[row])
            while above >= 0 and nodes.first_leaf[above] == leaf and nodes.last_leaf[above] <= end:
                row, above = above, int(nodes.parent[above])
            tops.append(row)
            leaf = int(nodes.last_leaf[row])
    return tops


def paths_of(nodes: NodeTable, leaves: Ints) -> list[str]:
    """See `core.text.paths_of`."""
    steps = steps_of(nodes)
    return [path_of(nodes, row, steps) for row in roots(nodes, leaves)]


def path_of(nodes: NodeTable, row: int, steps: Mapping[int, str]) -> str:
    """See `NodeTable.xpath`. ``steps``: see `steps_of`."""
    if nodes.tag[row] == TEXT:
        return f"{path_of(nodes, nodes.parent.item(row), steps)}/text()[{nodes.number[nodes.first_leaf[row]]}]"
    path, known = list[str](), nodes.known_paths
    while row not in known:
        path.append(steps[row])
        row = nodes.parent.item(row)
    return "/".join((known[row], *reversed(path)))


def steps_of(nodes: NodeTable) -> dict[int, str]:
    """The last step of the XPath of each element, by its row: its name, with its number where others have that name."""
    elements = [row for row in range(len(nodes)) if nodes.tag.item(row) != TEXT]
    names = {row: nodes.looks[nodes.look.item(row)][0] for row in elements}
    parents = dict(zip(elements, nodes.parent[elements].tolist(), strict=True))
    often = Counter((parents[row], names[row]) for row in elements)
    seen, steps = Counter[tuple[int, str]](), dict[int, str]()
    for row in elements:
        for name in ("*", names[row]):
            seen[parents[row], name] += 1
        name = names[row] if _XPATH_NAME.fullmatch(names[row]) else "*"
        is_only = name != "*" and often[parents[row], name] == 1
        steps[row] = name if is_only else f"{name}[{seen[parents[row], name]}]"
    return steps


def naming(nodes: NodeTable, rows: Sequence[int], titles: Sequence[Sequence[str]]) -> list[int]:
    """Those of some headings that are of the first level, begin with a word of a title, or have its first word."""
    known, first = {word for title in titles for word in title}, {title[0] for title in titles}
    found = []
    for row in rows:
        words = _words(heading_text(nodes, row))
        if nodes.tag.item(row) == _FIRST_LEVEL or (words and (words[0] in known or not first.isdisjoint(words))):
            found.append(row)
    return found


def heading_text(nodes: NodeTable, row: int) -> str:
    """Text of a heading without the marks of permalinks; "" if it is too long."""
    leaves = nodes.leaves_of(row)
    if leaves.stop - leaves.start > _LONGEST or sum(nodes.words[leaves].tolist()) > _LONGEST:
        return ""
    pieces = zip(nodes.gap[leaves].tolist(), nodes.strings[leaves], strict=True)
    text = "".join([" " + string if gap else string for gap, string in pieces])
    return " ".join(text.strip(_MARKS).split())


def content_of(nodes: NodeTable, keep: Bools) -> str:
    """See `core.text.content_of`."""
    leaves = np.flatnonzero(keep)
    apart = (nodes.gap[leaves] >= SPACE) | (np.diff(leaves, prepend=-2) > 1)
    pieces: list[str] = []
    for leaf, gap in zip(leaves.tolist(), apart.tolist(), strict=True):
        pieces += (" " if gap or nodes.spaces.get(leaf) else ""), nodes.strings[leaf]
    return " ".join("".join(pieces).split())


def visible_words(text: str) -> str:
    """A text in composed form without white space, invisible characters, and punctuation that stands alone."""
    visible = _INVISIBLE.sub("", normalised("NFC", text))
    return "".join(word for word in visible.split() if word.strip(_PUNCTUATION))
