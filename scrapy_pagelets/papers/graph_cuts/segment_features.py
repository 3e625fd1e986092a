"""Features of nodes and of pairs of leaves for the costs of GCuts and CClus; which leaves are neighbours.

Source of the cues: Chakrabarti, Kumar, Punera 2008, section 4.3. Formulas, parents, siblings and templateness are ours.
"""

from typing import Final

import numpy as np

from scrapy_pagelets.base.arrays import Floats, Ints, mix
from scrapy_pagelets.decision.model import LABELLED, load, look_odds
from scrapy_pagelets.page.looks import Layout
from scrapy_pagelets.page.nodes import TAG, TEXT, NodeTable, ranks, tags_of
from scrapy_pagelets.page.page import Page
from scrapy_pagelets.papers.graph_cuts.tree import Tree

_CLASSES: Final = {
    "div": "div center", "p": "p blockquote pre", "heading": "h1 h2 h3 h4 h5 h6 hgroup", "list": "ul ol menu dl",
    "item": "li dt dd", "table": "table tbody thead", "row": "tr", "cell": "td th",
    "section": "section article main aside", "landmark": "nav header footer", "form": "form fieldset select",
    "link": "a", "inline": "span b i em strong u font small big label",
}  # fmt: skip
#: Column of ``_CLASSES`` for each tag number; one more column for tags of no class.
_CLASS: Final = np.full(len(TAG), len(_CLASSES))
for _number, _names in enumerate(_CLASSES.values()):
    _CLASS[tags_of(_names)] = _number
_HEADINGS: Final = tags_of("h1 h2 h3 h4 h5 h6")
_INPUTS: Final = tags_of("input select textarea button")
_BLOCKS: Final = tags_of("div p table ul ol li tr td section article h1 h2 h3 h4 h5 h6 form")
_SENTENCE: Final = 10  # a run of text of at least this many words counts as a sentence rather than a label
_NODE: Final = (
    "words", "leaves", "words_per_leaf", "link_words", "links_per_leaf", "images_per_leaf", "has_image",
    "headings_per_leaf", "headings", "inputs", "blocks", "blocks_per_leaf", "sentences_per_leaf", "sentences",
    "digits_per_leaf", "templateness", "templateness_spread", "lexicon", "first", "last", "middle", "share_of_words",
    "share_of_leaves", "depth", "height", "children", "largest_child", "alike_children", "alike_tags", "leaf_children",
    "child_words_spread", "child_links_spread", "child_templateness_spread", "has_id", "chain", *_CLASSES,
)  # fmt: skip
_SITUATION: Final = (
    "rank", "rank_from_end", "share_of_parent", "alike_siblings", "like_before", "like_after", "templateness_step",
    "link_words_step",
)  # fmt: skip
#: Features of its parent that a node has.
_OF_PARENT: Final = (
    "words", "leaves", "link_words", "children", "largest_child", "alike_children", "alike_tags", "templateness",
    "templateness_spread", "depth", "share_of_words", "share_of_leaves", "child_words_spread", "child_links_spread",
    "child_templateness_spread", "leaf_children", "blocks_per_leaf",
)  # fmt: skip
_PAIR: Final = ("distance", "tree_distance", "one_parent", "alike", "one_shape")
NODE_FEATURES: Final = _NODE
SITUATION_FEATURES: Final = (*_NODE, *(f"parent_{name}" for name in _OF_PARENT), *_SITUATION)
PAIR_FEATURES: Final = (*(f"{name}_step" for name in _NODE), *(f"meeting_{name}" for name in _NODE), *_PAIR)
#: Rows that are compared with all others at once; with more visible leaves than this, document order alone counts.
_CHUNK, _MAX_LEAVES = 256, 5_000
_OVERLAP: Final = 2  # pixels by which boxes may overlap and still be side by side


def node_features(page: Page, tree: Tree, templateness: Floats) -> Floats:
    """(k, len(NODE_FEATURES)) Features of each node by itself. ``templateness``: (m,) of the leaves, 0 to 1."""
    counted = _counts(page.nodes, templateness)[tree.rows]
    words, linked, texts, links, images, headings, inputs, blocks, sentences, digits, template, squares = counted.T
    leaves, count = tree.size.astype(np.float64), len(tree.leaves)
    per_word, template = linked / np.maximum(1, words), template / np.maximum(1, texts)
    spread = np.sqrt(np.maximum(0, squares / np.maximum(1, texts) - template**2))
    for level in tree.levels[1:]:  # a node of pictures only has its parent's
        template[level] = np.where(texts[level] > 0, template[level], template[tree.parent[level]])
    # (n,) Log odds that an element belongs to a template, by its class, id and role.
    odds = np.array([look_odds(look, load(LABELLED).lexicon) for look in page.nodes.looks])[page.nodes.look]
    columns = (
        np.log1p(words), np.log1p(leaves), words / leaves, per_word, np.log1p(links / leaves),
        np.log1p(images / leaves), images > 0, headings / leaves, np.log1p(headings), np.log1p(inputs),
        np.log1p(blocks), blocks / leaves, sentences / leaves, np.log1p(sentences), digits / leaves,
        template, spread, tree.in_chains(np.where(page.nodes.tag == TEXT, 0.0, odds)),
        tree.first / count, tree.last / count, (tree.first + tree.last) / (2 * count), words / max(1.0, words[0]),
        leaves / count, tree.depth, tree.largest(tree.depth) - tree.depth, tree.children, *_children(page.nodes, tree),
        *(_spread(tree, column) for column in (words, per_word, template)), *_looks(page.nodes, tree),
    )  # fmt: skip
    return np.column_stack(columns).astype(np.float64)


def _counts(nodes: NodeTable, templateness: Floats) -> Floats:
    """(n, 12) Sums over the subtree of each row."""
    words, linked = nodes.words, nodes.words * nodes.anchor[nodes.leaves]
    digits = np.fromiter((any(map(str.isdigit, s[:40])) for s in nodes.strings), np.float64, len(nodes.strings))
    of_rows = (
        nodes.spread(words), nodes.spread(linked), nodes.tag == TEXT,
        np.bincount(nodes.links.row[nodes.links.key != 0], minlength=len(nodes)),
        nodes.tag == TAG["img"], *(np.isin(nodes.tag, tags) for tags in (_HEADINGS, _INPUTS, _BLOCKS)),
        *(nodes.spread(column) for column in (words >= _SENTENCE, digits, templateness, templateness**2)),
    )  # fmt: skip
    return nodes.total(np.column_stack(of_rows))


def _children(nodes: NodeTable, tree: Tree) -> tuple[Floats, ...]:
    """(k,) Shares of the largest child, of the most common look and tag among the children, and of leaf children."""
    count = np.maximum(1, tree.children)
    largest = np.zeros(len(tree))
    np.maximum.at(largest, tree.parent[1:], tree.size[1:])
    leaves = np.bincount(tree.parent[1:], weights=~tree.inner[1:], minlength=len(tree))
    alike, tags = (_most_common(tree, kind) for kind in (_kind(nodes, tree), nodes.tag[tree.rows]))
    return largest / tree.size, alike / count, tags / count, leaves / count


def _kind(nodes: NodeTable, tree: Tree) -> Ints:
    """(k,) A number that siblings of one look have in common."""
    return np.where(nodes.tag[tree.rows] == TEXT, 1, nodes.signature[tree.rows])


def _most_common(tree: Tree, kind: Ints) -> Floats:
    """(k,) Number of children of the most common kind."""
    counts = np.zeros(len(tree))
    _, child, count = np.unique(_family(tree, kind)[1:], return_index=True, return_counts=True)
    np.maximum.at(counts, tree.parent[1:][child], count)
    return counts


def _family(tree: Tree, kind: Ints) -> Ints:
    """(k,) Hash of parent and kind."""
    return mix(kind * 31 + tree.parent)


def _spread(tree: Tree, column: Floats) -> Floats:
    """(k,) Standard deviation of a column over the children."""
    count = np.maximum(1, tree.children)
    mean, square = (
        np.bincount(tree.parent[1:], weights=column[1:] ** power, minlength=len(tree)) / count for power in (1, 2)
    )
    return np.sqrt(np.maximum(0, square - mean**2))


def _looks(nodes: NodeTable, tree: Tree) -> Floats:
    """(2 + classes, k) Elements of the chain that have an id, all its elements, and those of each class."""
    named = np.array([bool(name) for _, name, _, _ in nodes.looks])[nodes.look] & (nodes.tag != TEXT)
    here = tree.of >= 0
    width = len(_CLASSES) + 1
    cells = tree.of[here] * width + _CLASS[nodes.tag[here]]
    classes = np.bincount(cells, minlength=len(tree) * width).reshape(-1, width)
    return np.vstack((tree.in_chains(named.astype(np.float64)), tree.in_chains(np.ones(len(nodes))), classes[:, :-1].T))


def situation_features(nodes: NodeTable, tree: Tree, columns: Floats) -> Floats:
    """(k, len(SITUATION_FEATURES)) Features of each node, of its parent, and of its place among its siblings.

    ``columns``: (k, len(NODE_FEATURES)) ``node_features``.
    """
    above = np.maximum(tree.parent, 0)
    kind = _kind(nodes, tree)
    before, after = tree.siblings
    rank = ranks(tree.parent, np.zeros(len(tree))) - 1  # the place among the siblings, from 0
    _, back, count = np.unique(_family(tree, kind), return_inverse=True, return_counts=True)
    alike = count[back] / np.maximum(1, tree.children)[above]
    like = (np.where(near >= 0, kind[near] == kind, -1.0) for near in (before, after))
    own = columns[:, [_NODE.index("templateness"), _NODE.index("link_words")]]
    return np.column_stack(
        (
            columns, columns[above][:, [_NODE.index(name) for name in _OF_PARENT]], np.log1p(rank),
            np.log1p(np.maximum(0, tree.children[above] - 1 - rank)), tree.size / tree.size[above], alike,
            *like, np.abs(own - own[above]),
        )
    )  # fmt: skip


def pair_features(nodes: NodeTable, tree: Tree, columns: Floats, one: Ints, other: Ints) -> Floats:
    """(e, len(PAIR_FEATURES)) Features of how the nodes of each pair differ, and of their lowest common ancestor.

    ``columns``: (k, len(NODE_FEATURES)) ``node_features``. ``one``, ``other``: (e,) nodes, neither within the other.
    """
    first, second = tree.first[one], tree.first[other]
    meeting = tree.meeting(first, second)
    kind, shape = _kind(nodes, tree), nodes.shape[tree.rows]
    far = np.log1p(np.abs(first - second))
    apart = np.log1p(tree.depth[one] + tree.depth[other] - 2 * tree.depth[meeting])
    same = (column[one] == column[other] for column in (tree.parent, kind, shape))
    return np.column_stack((np.abs(columns[one] - columns[other]), columns[meeting], far, apart, *same))


def consecutive(count: int) -> tuple[Ints, Ints]:
    """Pairs of consecutive leaves, of so many."""
    return np.arange(count - 1), np.arange(1, count)


def evenly(count: int, most: int) -> tuple[Ints, Ints]:
    """All pairs of up to ``most`` leaves, evenly spaced, of so many."""
    leaves = np.unique(np.linspace(0, count - 1, min(count, most)).astype(np.int64))
    one, other = np.triu_indices(len(leaves), 1)
    return leaves[one], leaves[other]


def beside(tree: Tree, layout: Layout) -> tuple[Ints, Ints]:
    """Pairs of consecutive leaves, and of a visible leaf and the nearest one beside or below that overlaps it."""
    pairs = [consecutive(len(tree.leaves))]
    seen = np.flatnonzero(layout.visible[tree.seen])
    if len(seen) <= _MAX_LEAVES:
        x, y, right, bottom = layout.boxes[tree.seen[seen]].T
        for box in ((x, right, y, bottom), (y, bottom, x, right)):
            one, other = _nearest(*box)
            pairs.append((seen[one], seen[other]))
    one, other = (np.concatenate(part) for part in zip(*pairs, strict=True))
    both = np.unique(np.stack((np.minimum(one, other), np.maximum(one, other))), axis=1)
    return both[0], both[1]


def _nearest(low: Floats, high: Floats, start: Floats, end: Floats) -> tuple[Ints, Ints]:
    """Pairs of a box and the nearest one after it: its ``low`` is after the ``high``, and ``start:end`` overlap."""
    pairs = []
    for at in range(0, len(low), _CHUNK):
        own = slice(at, at + _CHUNK)
        gap = low - high[own, None]
        beside = (start < end[own, None]) & (start[own, None] < end) & (gap >= -_OVERLAP)
        gap = np.where(beside, gap, np.inf)
        gap[np.arange(len(gap)), np.arange(at, at + len(gap))] = np.inf
        nearest = gap.argmin(axis=1)
        near = np.isfinite(gap[np.arange(len(gap)), nearest])
        pairs.append((at + np.flatnonzero(near), nearest[near]))
    empty = np.zeros(0, np.int64)
    return tuple(np.concatenate(part) for part in zip((empty, empty), *pairs, strict=True))  # type: ignore[return-value]
