"""What a page says of itself is content, whatever its site repeats; marks that serve the browser only are not."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

import numpy as np

from scrapy_pagelets.base.arrays import Bools, Floats, Ints, in_order, up_to
from scrapy_pagelets.base.caches import cached
from scrapy_pagelets.core import compiled, give
from scrapy_pagelets.metadata.headline import Headline
from scrapy_pagelets.page.looks import HEADING
from scrapy_pagelets.page.nodes import CELL, LINE, TAG, TAGS, TEXT, NodeTable, below, rows_with
from scrapy_pagelets.page.page import Page
from scrapy_pagelets.page.roles import THRESHOLD, is_template

_WORD: Final = re.compile(r"\w")
_IS_HEADING: Final = np.isin(np.arange(len(TAGS)), [TAG[f"h{level}"] for level in range(1, 7)])
#: Classes of the labels of admonitions, such as "Note", as Sphinx, MkDocs, VuePress, GitHub and others write them.
_LABEL: Final = re.compile(
    r"(?:^|[\s_-])(?:admonition|callout|alert|custom-(?:block|container)|hint|note)[-_]{1,2}(?:title|heading|label)(?:$|\s)",
    re.IGNORECASE,
)
#: Share of content from which on a heading belongs to it.
_MOST: Final = 0.5
#: Words of content without links that make a line prose, and the share of its words that are content.
_PROSE, _NEARLY = 8, 0.7
_IS_LIST: Final = np.isin(np.arange(len(TAGS)), [TAG[name] for name in ("ul", "ol", "dl")])
_IS_ITEM: Final = np.isin(np.arange(len(TAGS)), [TAG[name] for name in ("li", "dt", "dd")])
#: Share of the words of a list from which on all of its items are content.
_WHOLE: Final = 0.8
#: Words without links that a line must have to announce a list. Labels of filters and of share buttons have fewer.
_ANNOUNCING: Final = 5
#: Up to this templateness, a list right below a heading of content belongs to it.
_IN_DOUBT: Final = 0.65
_COLONS: Final = (":", "\N{FULLWIDTH COLON}")
#: Leaves before and after the own heading that may say of the page what it declares, and their words.
_BEFORE, _AFTER, _LONGEST = 8, 60, 12
_PRICE: Final = re.compile(r"\D{0,5}?(\d{1,3}(?:[., ]\d{3})+|\d+)(?:[.,](\d{1,2}))?\D{0,5}")
#: A permalink has at most this many runs of text.
_RUNS: Final = 2
_BLOCKS: Final = "p ul ol dl blockquote pre table h2 h3 h4 h5 h6".split()
_IS_BLOCK: Final = np.isin(np.arange(len(TAGS)), [TAG[name] for name in _BLOCKS])
#: Share of the words of its blocks, and number of them, that are content in an element whose holes are filled.
_SHARE, _LEAST = 0.7, 50
#: Share of content from which on a block is no hole, and of words in links from which on it is a menu.
_HALF, _LINKS = 0.5, 0.8


@compiled("corrections")
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


@cached
def _is_label(classes: str) -> bool:
    return _LABEL.search(classes) is not None


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


def said_of_itself(page: Page, headline: Headline | None, names: Sequence[str], prices: Sequence[str]) -> Bools:
    """(m,) leaves near the page's own heading that say its author, its product's name or what that costs.

    They are content even if other pages of the site say the same. Of a price and of a name, it is the first: shops
    repeat prices in forms that style sheets hide, and news say at the end who the author is.

    Parameters
    ----------
    names, prices : as the page declares them, see `Metadata`
    """
    nodes = page.nodes
    mask = np.zeros(len(nodes.leaves), np.bool_)
    told = {name.casefold() for name in names} - {""}
    amounts = {_amount(price) for price in prices} - {""}
    if headline is None or not (told or amounts):
        return mask
    first, last = int(nodes.first_leaf[headline.row]), int(nodes.last_leaf[headline.row])
    for leaf in range(max(0, first - _BEFORE), min(len(mask), last + _AFTER)):
        text = nodes.strings[leaf]
        if nodes.words[leaf] > _LONGEST:
            continue
        amount, name = _amount(text), text.casefold().strip()
        mask[leaf] = name in told or amount in amounts
        amounts.discard(amount)
        told.discard(name)
    return mask


def _amount(text: str) -> str:
    """The digits of a price, without cents of zero ("$ 1,299.00" is 1299); "" if the text says more than a price."""
    match = _PRICE.fullmatch(text.strip())
    if match is None:
        return ""
    whole, cents = re.sub(r"\D", "", match[1]), (match[2] or "").ljust(2, "0")
    return whole if cents == "00" else whole + cents


@compiled("text")
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


give("text", RUNS_OF_PERMALINK=_RUNS)
give(
    "corrections", CELL=CELL, LINE=LINE, TEXT=TEXT, HEADING=HEADING, THRESHOLD=THRESHOLD, PROSE=_PROSE, NEARLY=_NEARLY,
    WHOLE=_WHOLE, ANNOUNCING=_ANNOUNCING, MOST=_MOST, IN_DOUBT=_IN_DOUBT, IS_LIST=_IS_LIST, IS_ITEM=_IS_ITEM,
    IS_HEADING=_IS_HEADING, COLONS=_COLONS, permalinks=permalinks, is_label=_is_label,
)  # fmt: skip
give("corrections", SHARE=_SHARE, LEAST=_LEAST, HALF=_HALF, LINKS=_LINKS, IS_BLOCK=_IS_BLOCK)
