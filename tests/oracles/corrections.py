"""The corrections of the content, mask by mask."""

from __future__ import annotations

import re
from typing import Final

import numpy as np

from scrapy_pagelets.base.arrays import Bools, Floats, Ints, in_order, up_to
from scrapy_pagelets.decision.content import (
    _ANNOUNCING,
    _COLONS,
    _HALF,
    _IN_DOUBT,
    _IS_BLOCK,
    _IS_HEADING,
    _IS_ITEM,
    _IS_LIST,
    _LEAST,
    _LINKS,
    _MOST,
    _NEARLY,
    _PROSE,
    _RUNS,
    _SHARE,
    _WHOLE,
    _is_label,
)
from scrapy_pagelets.metadata.headline import Headline
from scrapy_pagelets.page.looks import HEADING
from scrapy_pagelets.page.nodes import CELL, LINE, TEXT, NodeTable, below
from scrapy_pagelets.page.roles import is_template
from tests.oracles.nodes import rows_with

_WORD: Final = re.compile(r"\w")


def corrected(nodes: NodeTable, templateness: Floats, headline: Headline | None) -> Floats:
    """(m,) templateness of the leaves: 0 in the own heading, headings, sentences and lists of content, 1 in permalinks.

    If the page has an own heading, what stands above it as the name of the site is template, also where the cut of the
    page is in doubt.

    Parameters
    ----------
    templateness : (m,) as the site knows it
    headline : the page's own heading, if it has one
    """
    found = templateness.copy()
    found[_sentences_of_content(nodes, ~is_template(found))] = 0
    found[_items_of_content(nodes, ~is_template(found))] = 0
    found[holes_of(nodes, ~is_template(found))] = 0
    if headline is not None:
        found[nodes.leaves_below((headline.row, *headline.sections))] = 0
        found[nodes.leaves_below(headline.banners)] = 1
    marks = permalinks(nodes)
    found[marks] = 1
    found[_headings_of_content(nodes, ~is_template(found)) & ~marks] = 0
    found[_lists_of_headings(nodes, found, ~is_template(templateness), marks) & ~marks] = 0
    return found


def _sentences_of_content(nodes: NodeTable, keep: Bools) -> Bools:
    """(m,) leaves of lines of prose that are nearly all content: without the words of a link, a sentence breaks off."""
    line = np.cumsum(nodes.gap >= CELL)
    words = np.bincount(line, nodes.words)
    kept = np.bincount(line, nodes.words * keep)
    prose = np.bincount(line, nodes.words * (keep & ~nodes.anchor[nodes.leaves]))
    whole: Bools = ((prose >= _PROSE) & (kept >= _NEARLY * words))[line]
    return whole


def _items_of_content(nodes: NodeTable, keep: Bools) -> Bools:
    """(m,) leaves of the items of lists that are content, whatever the site repeats: "Crotch strap" would be lost."""
    mask = np.zeros(len(keep), np.bool_)
    if not keep.any():
        return mask
    lists = np.flatnonzero(_IS_LIST[nodes.tag])
    first, last = nodes.first_leaf[lists], nodes.last_leaf[lists]
    count = up_to(keep)
    kept = count[last] - count[first]
    torn = (kept < last - first) & ((kept > 0) | (keep[first - 1] & (first < last)))
    if not torn.any():
        return mask
    lists, first, last = lists[torn], first[torn], last[torn]
    words = up_to(nodes.words)
    kept = up_to(nodes.words * keep)
    inside = kept[last] - kept[first]
    of_list = np.zeros(len(nodes), np.bool_)
    of_list[lists] = (inside > 0) & (inside >= _WHOLE * (words[last] - words[first]))
    items = np.flatnonzero(_IS_ITEM[nodes.tag] & of_list[nodes.parent])
    lost = count[nodes.last_leaf[items]] == count[nodes.first_leaf[items]]
    announced = _announced(nodes, first, keep)
    return nodes.leaves_below((*items[lost].tolist(), *lists[announced].tolist()))


def _announced(nodes: NodeTable, first: Ints, keep: Bools) -> Bools:
    """(k,) whether a line of content announces what begins with a leaf: it has own words, and ends in a colon."""
    found: Bools = (first > 0) & (nodes.gap[first] >= LINE) & keep[first - 1]
    if found.any():
        line = np.cumsum(nodes.gap >= LINE)
        prose = np.bincount(line, nodes.words * ~nodes.anchor[nodes.leaves])
        found &= prose[line[first - 1]] >= _ANNOUNCING
    for place in np.flatnonzero(found).tolist():
        found[place] = nodes.strings[first[place] - 1].rstrip().endswith(_COLONS)
    return found


def _headings_of_content(nodes: NodeTable, keep: Bools) -> Bools:
    """(m,) leaves of headings ("Returns") and labels ("Note") before content, in elements most of which is content.

    Content follows if the next text is content, or most words up to the next title: a date may stand between.
    """
    words = up_to(nodes.words)
    kept = up_to(nodes.words * keep)
    is_title = _IS_HEADING[nodes.tag]
    if labels := [look for look, (_, _, classes, _) in enumerate(nodes.looks) if classes and _is_label(classes)]:
        is_title |= np.isin(nodes.look, labels) & (nodes.tag != TEXT)
    rows = np.flatnonzero(is_title)
    first, last, above = nodes.first_leaf[rows], nodes.last_leaf[rows], nodes.parent[rows]
    start, end = nodes.first_leaf[above], nodes.last_leaf[above]
    others = words[end] - words[start] - (words[last] - words[first])
    inside = (others > 0) & (kept[end] - kept[start] >= _MOST * others) & (kept[last] == kept[first])
    until = np.append(first[first < last], len(keep))  # rows are in document order: the next title ends a section
    until = np.maximum(last, np.minimum(end, until[np.searchsorted(until, last)]))
    below_it = kept[until] - kept[last]
    followed = np.append(keep, False)[last] | ((below_it > 0) & (below_it >= _MOST * (words[until] - words[last])))
    return nodes.leaves_below(rows[inside & followed & (first < last)].tolist())


def _lists_of_headings(nodes: NodeTable, templateness: Floats, told: Bools, marks: Bools) -> Bools:
    """(m,) leaves of lists in doubt right below a heading that is content without corrections, see ``told``."""
    mask = np.zeros(len(templateness), np.bool_)
    keep = ~is_template(templateness)
    lists = np.flatnonzero(_IS_LIST[nodes.tag])
    first, last = nodes.first_leaf[lists], nodes.last_leaf[lists]
    count = up_to(keep)
    torn = (first > 0) & (first < last) & (count[last] - count[first] < last - first)
    if not torn.any():
        return mask
    headings = nodes.leaves_below(rows_with(nodes, HEADING))
    before = np.maximum.accumulate(np.where(marks, -1, np.arange(len(marks))))[first[torn] - 1]
    below = (before >= 0) & headings[before] & keep[before] & told[before]
    for start, end in zip(first[torn][below].tolist(), last[torn][below].tolist(), strict=True):
        inside = templateness[start:end]
        doubt = inside.max() if keep[start:end].any() else in_order(inside) / len(inside)
        mask[start:end] |= doubt <= _IN_DOUBT
    return mask


def permalinks(nodes: NodeTable) -> Bools:
    """(m,) leaves of links that are only there to copy the address of a heading: ``¶``, ``#``."""
    mask = np.zeros(len(nodes.leaves), np.bool_)
    for row, href in zip(nodes.links.row.tolist(), nodes.links.href, strict=True):
        if "#" in href:
            leaves = nodes.leaves_of(row)
            if 0 < leaves.stop - leaves.start <= _RUNS and not _WORD.search("".join(nodes.strings[leaves])):
                mask[leaves] = True
    return mask


def holes_of(nodes: NodeTable, keep: Bools) -> Bools:
    """(m,) leaves of blocks that are no content, between two blocks of the same element that are.

    Parameters
    ----------
    keep : (m,) the leaves that are content so far

    Examples
    --------
    >>> from scrapy_pagelets import Page
    >>> text = "<p>All about green tea, and how it is picked.</p>" * 5
    >>> nodes = Page.parse(f"{text}<ul><li>Gloves</ul>{text}".encode(), "http://a/").nodes
    >>> holes_of(nodes, np.arange(11) != 5).nonzero()[0].tolist()
    [5]
    """
    found = np.zeros(len(nodes.leaves), np.bool_)
    blocks = np.flatnonzero(_IS_BLOCK[nodes.tag])
    words, kept = (below(nodes, up_to(column), blocks) for column in (nodes.words, nodes.words * keep))
    is_hole = kept < _HALF * words
    is_text = ~is_hole & (kept > 0)
    if not (is_hole.any() and is_text.any()):
        return found
    above = nodes.parent[blocks]
    all_words, all_kept = (np.bincount(above, column, len(nodes))[above] for column in (words, kept))
    is_hole &= (all_kept >= _LEAST) & (all_kept >= _SHARE * all_words) & _between(blocks, above, is_text)
    for row in blocks[is_hole].tolist():
        leaves = nodes.leaves_of(row)
        linked = nodes.words[leaves] * nodes.anchor[nodes.leaves[leaves]]
        found[leaves] = linked.sum() <= _LINKS * nodes.words[leaves].sum()
    return found


def _between(blocks: Ints, above: Ints, is_text: Bools) -> Bools:
    """(k,) whether a block stands between two blocks of text of the same element. Rows of blocks ascend."""
    texts, parents = blocks[is_text], above[is_text]
    first, last = np.full((2, above.max() + 1), -1)
    last[parents] = texts  # of several values for a parent, the last one stays
    first[parents[::-1]] = texts[::-1]
    between: Bools = (first[above] >= 0) & (first[above] < blocks) & (blocks < last[above])
    return between
