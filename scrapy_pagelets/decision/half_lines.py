"""Texts that go with others: lines of who wrote something and when, signs, and labels with what they are of."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, takewhile
from typing import Final

import numpy as np

from scrapy_pagelets.base.arrays import Bools, Ints, up_to
from scrapy_pagelets.base.caches import once
from scrapy_pagelets.base.characters import lazily
from scrapy_pagelets.core import give
from scrapy_pagelets.core.small_corrections import signs_with_words as signs_with_words
from scrapy_pagelets.metadata import dates
from scrapy_pagelets.metadata.byline import is_between
from scrapy_pagelets.metadata.headline import Headline
from scrapy_pagelets.metadata.posts import Post, Thread
from scrapy_pagelets.page.data_tables import flat_grids
from scrapy_pagelets.page.gaps import begins_with, panels_of
from scrapy_pagelets.page.looks import HEADING
from scrapy_pagelets.page.nodes import LINE, TAG, NodeTable, among_tags, rows_named, rows_tagged, rows_with

_BEFORE, _AFTER = 3, 14  # runs of text before and after the own heading that may be its byline
_LONG, _LABEL = 9, 3  # words of a run of text with a date or a name, and of the label before them: "Submitted by"
_REACH: Final = 4  # runs of text from a name to the date beside it
_VALUE: Final = 30  # words of the value of a label, but in tables and lists of terms
_AROUND: Final = 4  # elements around a caption that may be those of the text
#: Classes of captions that are in no element of their own kind.
_CAPTION: Final = lazily(
    r"(?:^|\s)(?:wp-caption-text|image-caption|thumbcaption|tr-caption|lightbox-caption|gallery-?text|gallery-caption)(?:$|\s)"
)
#: Classes of the lines that declare a function, a type or a field in manuals: Javadoc, Sphinx, Doxygen, rustdoc.
_DECLARATION: Final = lazily(
    r"(?:^|\s)(?:(?:member|type|method)-?signature|sig-object|memproto|code-header|structfield)(?:$|\s)", re.IGNORECASE
)
_ROW, _TERM, _DEFINITION = (TAG[name] for name in ("tr", "dt", "dd"))
#: What tables of layout have in them: other tables, and what a reader fills in.
IS_NO_DATA: Final = among_tags("table form input select textarea button")


def torn_bylines(
    nodes: NodeTable, headline: Headline | None, thread: Thread, names: Iterable[str], keep: Bools
) -> Bools:
    """(m,) leaves that belong to a name or a date that is content: the other one of the two, and the label before them.

    Names and dates are those of the posts of a thread, or else those beside the page's own heading. ``headline``: the
    own heading. ``names``: of the authors of the page. ``keep``: (m,) what is content so far.
    """
    found = np.zeros(len(keep), np.bool_)
    known = (*({name.casefold() for name in names} - {""}),)
    lines = {leaf for post in thread.posts for leaf in post.line}
    beside = [] if thread.is_thread else [_near(nodes, headline)]
    for near in (*beside, *_posts(thread.posts, keep)):
        own = np.array([*near, *(leaf - 1 for leaf in near)], np.int64)
        if keep[own].all() or not keep[near].any():  # there is nothing to add, or nothing to add to
            continue
        told = {place for place, leaf in enumerate(near) if leaf in lines or _tells(nodes, leaf, known)}
        if not told:
            continue
        for place in sorted(told):
            if keep[near[place]]:
                found[_line(nodes, near, place, told)] = True
    return found & ~keep


def companions(nodes: NodeTable, keep: Bools) -> Bools:
    """(m,) leaves without which others say little: labels of values and of tabs, captions, words of declarations.

    A label is the first of the two parts of an element, of the cells of a row, or a term, if what follows is content.
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
    for leaves in _halves(nodes, up_to(keep), rows_with(nodes, HEADING)):
        found[leaves] |= ~nodes.anchor[nodes.leaves[leaves]]
    for row in rows_tagged(nodes, TAG["blockquote"]):
        leaves, has_author = nodes.leaves_of(row), TAG["footer"] in nodes.tag[row : nodes.end[row]]
        found[leaves] |= has_author and 2 * (nodes.words[leaves] * keep[leaves]).sum() > nodes.words[leaves].sum()
    for row, head in _headed_tables(nodes):
        leaves, body = nodes.leaves_of(row), slice(head, nodes.last_leaf.item(row))
        is_kept = 2 * (nodes.words[body] * (keep | found)[body]).sum() > nodes.words[body].sum()
        found[leaves] |= is_kept
    return found & ~keep


def _halves(nodes: NodeTable, kept: Ints, of_rows: list[int]) -> Iterator[slice]:
    """The leaves of elements some of which are content. The others of a heading may be links, as to edit it."""
    rows = np.array(of_rows, np.int64)
    own = kept[nodes.last_leaf[rows]] - kept[nodes.first_leaf[rows]]
    yield from map(nodes.leaves_of, rows[(own > 0) & (own < nodes.last_leaf[rows] - nodes.first_leaf[rows])].tolist())


def _headed_tables(nodes: NodeTable) -> Iterator[tuple[int, int]]:
    """The tables with heads of columns and nothing to fill in, each with the leaf behind its heads."""
    for head in rows_tagged(nodes, TAG["thead"]):
        row = nodes.parent.item(head)
        if not IS_NO_DATA[nodes.tag[row + 1 : nodes.end[row]]].any():
            yield row, nodes.last_leaf.item(head)
    for row, columns in flat_grids(nodes).items():
        yield row, nodes.last_leaf.item(nodes.children_of(row)[columns - 1])


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
    for _ in range(_AROUND):
        row = nodes.parent.item(row)
        around = nodes.leaves_of(max(row, 0))
        if keep[around.start : leaves.start].any() and keep[leaves.stop : around.stop].any():
            return True
    return False


def _value_of(nodes: NodeTable, leaf: int) -> int:
    """The end of the leaves of which a leaf is the label; the leaf itself if it is none."""
    row = nodes.leaves.item(leaf)
    above = nodes.parent.item(row)
    while above > 0 and nodes.leaves_of(above) == slice(leaf, leaf + 1):
        row, above = above, nodes.parent.item(above)
        if nodes.signs[nodes.look[row]] & HEADING:
            return leaf
    end = nodes.last_leaf.item(above)
    if nodes.first_leaf[above] != leaf and nodes.tag[row] != _TERM:
        return leaf
    others = [*islice(_with_text(nodes, nodes.end.item(row), nodes.end.item(above)), 2)]
    if nodes.tag[row] == _TERM:
        return nodes.last_leaf.item(others[0]) if others and nodes.tag[others[0]] == _DEFINITION else leaf
    is_pair = len(others) == 1 and nodes.words[leaf + 1 : end].sum() <= _VALUE
    return end if is_pair or nodes.tag[above] == _ROW else leaf


def _with_text(nodes: NodeTable, row: int, end: int) -> Iterator[int]:
    """The rows with text from one up to the end of the element that they are right below."""
    while row < end:
        if nodes.first_leaf[row] < nodes.last_leaf[row]:
            yield row
        row = nodes.end.item(row)


def _near(nodes: NodeTable, headline: Headline | None) -> list[int]:
    """The leaves around the own heading, up to the headings before and after it."""
    if headline is None:
        return []
    own, headings = nodes.leaves_of(headline.row), nodes.leaves_below(rows_with(nodes, HEADING))
    before = takewhile(lambda leaf: not headings[leaf], range(own.start - 1, max(-1, own.start - 1 - _BEFORE), -1))
    after = takewhile(lambda leaf: not headings[leaf], range(own.stop, min(len(headings), own.stop + _AFTER)))
    return [*sorted(before), *after]


def _posts(posts: Iterable[Post], keep: Bools) -> Iterator[list[int]]:
    """The leaves of each post around its author and date, if these are content; without its profile."""
    for post in posts:
        if post.line and keep[list(post.line)].any():
            first, last = min(post.line) - _REACH, max(post.line) + _REACH
            profile = set(post.profile)
            yield [leaf for leaf in post.leaves if first <= leaf <= last and leaf not in profile]


def _tells(nodes: NodeTable, leaf: int, names: tuple[str, ...]) -> bool:
    """Whether a leaf ends in one of some names, or has a date, and few words besides."""
    if nodes.words.item(leaf) > _LONG:
        return False
    text = nodes.strings[leaf]
    if names and text.rstrip().casefold().endswith(names):
        return True
    return dates.has_year(text) and dates.find(text, day_first=True) is not None


def _line(nodes: NodeTable, near: Sequence[int], place: int, told: set[int]) -> list[int]:
    """The leaves from the label before what is told to the last date or name beside it."""
    first = last = place
    for step in (-1, 1):
        edge = place
        for other in range(place + step, place + step * (_REACH + 1), step):
            if not 0 <= other < len(near) or near[other] != near[edge] + step:
                break
            if other in told:
                first, last = min(first, other), max(last, other)
            elif not is_between(nodes.strings[near[other]]):
                break
            edge = other
    label = near[first] - 1  # a post may begin behind it
    return [*([label] * _is_label(nodes, label)), *near[first : last + 1]]


def _is_label(nodes: NodeTable, leaf: int) -> bool:
    """Whether a leaf announces the next one: a few words in its line, or "by" in a line of its own; no link."""
    text = nodes.strings[leaf] if leaf >= 0 else ""
    if not any(map(str.isalpha, text)) or nodes.anchor[nodes.leaves[leaf]]:
        return False
    return is_between(text) or bool(nodes.gap[leaf + 1] < LINE and nodes.words[leaf] <= _LABEL)


give("small_corrections", LINE=LINE)
