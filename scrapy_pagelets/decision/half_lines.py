"""Texts that go with others: signs, captions, and labels with what they are of."""

import re
from collections import defaultdict
from collections.abc import Iterator
from itertools import islice
from typing import Final

import numpy as np

from scrapy_pagelets.base.arrays import Bools, Ints, up_to
from scrapy_pagelets.base.caches import once
from scrapy_pagelets.base.characters import lazily
from scrapy_pagelets.core import give
from scrapy_pagelets.core.small_corrections import signs_with_words as signs_with_words
from scrapy_pagelets.page.data_tables import flat_grids
from scrapy_pagelets.page.gaps import begins_with, panels_of
from scrapy_pagelets.page.looks import HEADING
from scrapy_pagelets.page.nodes import (
    LINE,
    SPACE,
    TAG,
    NodeTable,
    among_tags,
    leaves_beginning,
    rows_named,
    rows_tagged,
    rows_with,
)

_LABEL, _VALUE = 3, 30  # words of a label, and of its value but in tables and lists of terms
COLONS: Final = (":", "\N{FULLWIDTH COLON}")
_AROUND: Final = 4  # elements around a caption that may be those of the text
#: Classes of captions that are in no element of their own kind.
_CAPTION: Final = lazily(
    r"(?:^|\s)(?:(?:wp|tr|(?:news-)?im(?:age|g)|thumb|lightbox|gallery)-?caption(?:-text)?|gallery-?text)(?:$|\s)"
)
#: Classes of the lines that declare a function, a type or a field in manuals: Javadoc, Sphinx, Doxygen, rustdoc.
_DECLARATION: Final = lazily(
    r"(?:^|\s)(?:(?:member|type|method)-?signature|sig-object|memproto|code-header|structfield)(?:$|\s)", re.IGNORECASE
)
_ROW, _TERM, _DEFINITION, _TABLE = (TAG[name] for name in ("tr", "dt", "dd", "table"))
#: What tables of layout have in them: other tables, and what a reader fills in.
IS_NO_DATA: Final = among_tags("table form input select textarea button")


def companions(nodes: NodeTable, keep: Bools) -> Bools:
    """(m,) leaves without which others say little: labels of values and of tabs, captions, words of declarations.

    A label is the first of the two parts of an element, of the cells of a row, one of two by turns, or a term, if what
    follows is content.
    ``keep``: (m,) the leaves that are content so far.
    """
    found = np.zeros(len(keep), np.bool_)
    for panel, tab in panels_of(nodes).items():
        leaves, label = nodes.leaves_of(panel), nodes.leaves_of(tab)
        is_kept = 2 * (nodes.words[leaves] * keep[leaves]).sum() > nodes.words[leaves].sum()
        found[label] |= is_kept and not begins_with(nodes, panel, tab)
    may_be = ~keep[:-1] & keep[1:] & (nodes.words[:-1] > 0) & (nodes.words[:-1] <= _LABEL)
    for leaf in (may_be & ~nodes.anchor[nodes.leaves[:-1]]).nonzero()[0].tolist():
        value = _value_of(nodes, leaf)
        found[leaf] |= leaf + 1 < value and bool(keep[leaf + 1 : value].all())
    for leaves in _halves(nodes, up_to(keep), [*rows_named(nodes, _DECLARATION), *rows_tagged(nodes, TAG["code"])]):
        found[leaves] = True
    for row in reversed(captions_of(nodes)):  # of several in a row, the last one decides
        leaves = nodes.leaves_of(row)
        linked = nodes.words[leaves][nodes.anchor[nodes.leaves[leaves]]].sum()  # it may name whose the picture is
        found[leaves] |= 2 * linked <= nodes.words[leaves].sum() and _is_amid(nodes, row, keep | found)
    for captions in _galleries(nodes):  # the last one may have nothing of content behind it
        own = np.concatenate([np.r_[nodes.leaves_of(row)] for row in captions])
        found[own] |= 2 * (keep[own] | found[own]).sum() >= len(own)
    kept = up_to(keep)
    for leaves in _halves(nodes, kept, rows_with(nodes, HEADING)):
        found[leaves] |= ~nodes.anchor[nodes.leaves[leaves]]
    for row in rows_tagged(nodes, TAG["blockquote"]):
        leaves, has_author = nodes.leaves_of(row), TAG["footer"] in nodes.tag[row : nodes.end[row]]
        found[leaves] |= has_author and 2 * (nodes.words[leaves] * keep[leaves]).sum() > nodes.words[leaves].sum()
    for row, head in _headed_tables(nodes, kept):
        leaves, body = nodes.leaves_of(row), slice(head, nodes.last_leaf.item(row))
        found[leaves] |= 2 * (nodes.words[body] * (keep | found)[body]).sum() > nodes.words[body].sum()
    return found & ~keep


def opening_alone(nodes: NodeTable, is_template: Bools) -> list[int]:
    """Leaves that are an opening bracket right before template: the words before it do not need that."""
    begins = leaves_beginning(nodes, (" (",))
    opening = (leaf for leaf in begins if nodes.strings[leaf].strip() == "(" and leaf + 1 < len(nodes.strings))
    return [leaf for leaf in opening if is_template[leaf + 1] and nodes.gap[leaf + 1] <= SPACE]


def _halves(nodes: NodeTable, kept: Ints, of_rows: list[int]) -> Iterator[slice]:
    """The leaves of elements some of which are content. The others of a heading may be links, as to edit it."""
    rows = np.array(of_rows, np.int64)
    own = kept[nodes.last_leaf[rows]] - kept[nodes.first_leaf[rows]]
    yield from map(nodes.leaves_of, rows[(own > 0) & (own < nodes.last_leaf[rows] - nodes.first_leaf[rows])].tolist())


def _headed_tables(nodes: NodeTable, kept: Ints) -> Iterator[tuple[int, int]]:
    """The tables with heads of columns and nothing to fill in, each with the leaf behind its heads.

    ``kept``: (m + 1,) number of leaves before each one that are content. Tables that have these alone do not count.
    """
    heads = {nodes.parent.item(head): head for head in rows_tagged(nodes, TAG["thead"])}
    for row in rows_tagged(nodes, _TABLE) if heads or rows_tagged(nodes, TAG["th"]) else ():
        first, last = nodes.first_leaf.item(row), nodes.last_leaf.item(row)
        if kept.item(last) - kept.item(first) == last - first:
            continue
        head = heads.get(row) or _line_of_heads(nodes, row)
        if head and not IS_NO_DATA[nodes.tag[row + 1 : nodes.end[row]]].any():
            yield row, nodes.last_leaf.item(head)
    for row, columns in flat_grids(nodes).items():
        yield row, nodes.last_leaf.item(nodes.children_of(row)[columns - 1])


def _line_of_heads(nodes: NodeTable, table: int) -> int:
    """The first line of a table, if it has several heads of columns and nothing else; else 0."""
    line = table + 1 + (nodes.tag.item(table + 1) == TAG["tbody"])
    cells = nodes.children_of(line) if TAG["th"] in nodes.tag[line : line + 2] else []
    return line if len(cells) > 1 and all(nodes.tag[cell] == TAG["th"] for cell in cells) else 0


@once
def captions_of(nodes: NodeTable) -> list[int]:
    """Rows of the captions of pictures, by tag or class."""
    return sorted({*rows_tagged(nodes, TAG["figcaption"]), *rows_named(nodes, _CAPTION)})


def _galleries(nodes: NodeTable) -> list[list[int]]:
    """The captions of figures that stand in one element and look alike."""
    found: dict[tuple[int, int], list[int]] = defaultdict(list)
    for row in captions_of(nodes):
        figure = nodes.parent.item(row)
        found[nodes.parent.item(figure), nodes.look.item(figure)].append(row)
    return [captions for captions in found.values() if len(captions) > 1]


def _is_amid(nodes: NodeTable, row: int, keep: Bools) -> bool:
    """Whether content follows a caption, at once or in an element around it that has content before it, too."""
    leaves = nodes.leaves_of(row)
    behind = leaves.stop + int(nodes.words[leaves.stop : leaves.stop + 1].sum() == 0)  # a quotation mark
    if keep[leaves.stop : behind + 1].any():
        return True
    around = map(nodes.leaves_of, islice(nodes.above(row), _AROUND))
    return any(keep[each.start : leaves.start].any() and keep[leaves.stop : each.stop].any() for each in around)


def _value_of(nodes: NodeTable, leaf: int) -> int:
    """The end of the leaves of which a leaf is the label; the leaf itself if it is none."""
    row, above = part_of(nodes, leaf)
    end, is_term = nodes.last_leaf.item(above), nodes.tag[row] == _TERM
    if nodes.signs[nodes.look[row]] & HEADING or leaf + 1 >= end:
        return leaf
    value = nodes.leaves.item(leaf + 1)
    while nodes.parent.item(value) != above:
        value = nodes.parent.item(value)
    behind = nodes.last_leaf.item(value)
    if is_term:
        return behind if nodes.tag[value] == _DEFINITION else leaf
    if _in_pairs(nodes, above, row):
        return behind
    is_whole = nodes.tag[above] == _ROW or (behind == end and nodes.words[leaf + 1 : end].sum() <= _VALUE)
    return end if nodes.first_leaf[above] == leaf and is_whole else leaf


def _in_pairs(nodes: NodeTable, above: int, row: int) -> bool:
    """Whether an element has nothing but short elements of two looks by turns, and a row is one of the first look."""
    children = nodes.children_of(above)
    first, second = children[::2], children[1::2]
    is_even = (
        row in first and len(first) == len(second) and len({*nodes.look[first]}) == len({*nodes.look[second]}) == 1
    )
    return is_even and max(map(nodes.words_of, children)) <= _VALUE and min(map(nodes.words_of, children)) > 0


def part_of(nodes: NodeTable, leaf: int) -> tuple[int, int]:
    """The row of the outermost element that holds a leaf alone, and that of the one around it."""
    row = nodes.leaves.item(leaf)
    above = nodes.parent.item(row)
    while above > 0 and nodes.leaves_of(above) == slice(leaf, leaf + 1):
        row, above = above, nodes.parent.item(above)
    return row, above


give("small_corrections", LINE=LINE)
