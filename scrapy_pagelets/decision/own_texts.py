"""What a page alone says amid its content, whatever the model thinks of it.

It is sentences, captions, values of labels, code, links to files and other sites, and tables of data. The model judges
by what is around a text, and some elements seldom have content: an ``aside`` with a tip, a field with its label, the
card of a link. What no other page says at the same place is no template there, and neither are a few words without
links between content that not all pages have, such as the labels that a manual repeats. Values go with their labels.
The model doubts more far down a long page: paragraphs stay where half of those in one element, or of one form, do.
"""

import re
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Final, NamedTuple

import numpy as np

from scrapy_pagelets.base.arrays import Bools, Floats, Ints
from scrapy_pagelets.base.characters import lazily
from scrapy_pagelets.core import give
from scrapy_pagelets.core.own_texts import data_tables as data_tables
from scrapy_pagelets.core.own_texts import own_texts as own_texts
from scrapy_pagelets.decision.half_lines import COLONS, IS_NO_DATA, captions_of, part_of
from scrapy_pagelets.metadata.dates import has_year
from scrapy_pagelets.metadata.headline import Headline
from scrapy_pagelets.page.gaps import panels_of
from scrapy_pagelets.page.looks import FORMULA, HEADING, LANDMARKS
from scrapy_pagelets.page.nodes import LINE, TAG, NodeTable, among_tags, attributes_at, beginning, rows_named, rows_with
from scrapy_pagelets.page.roles import THRESHOLD
from scrapy_pagelets.page.urls import host_of, is_page

_KNOWN: Final = 4  # other pages of a site from which on a text that none of them has is of this page alone
#: Words without links of a sentence, of a note, and of paragraphs of one kind from which on most of them decide.
_SENTENCE, _NOTE, _PARAGRAPHS = 8, 100, 50
_IS_PARAGRAPH: Final = among_tags("p li dd blockquote")
#: Roles of notes and sources, as publishers give them (DPUB-ARIA).
_NOTES: Final = frozenset("doc-footnote doc-endnote doc-endnotes doc-biblioentry doc-bibliography doc-example".split())
_NO_NOTE: Final = LANDMARKS["nav"] | LANDMARKS["footer"]
#: Leaves from a text back to content and on to content; the same if it is right behind content. In a stretch of
#: sentences that only this page has, only other leaves count.
_AMID, _BEHIND = 6, 3
#: Words of a label and of a value, and leaves from content to a value.
_LABEL, _VALUE, _NEAR = 3, 12, 12
_SAME: Final = 0.8  # share of the pages with a place from which on they have the same text there
_DIFFERING: Final = 0.1  # how likely the texts of two other pages differ at a place for data
_MOST_OF_VALUE, _MOST_BEHIND = 0.98, 0.9  # the most templateness of a value, and of a text right behind content
_FAR: Final = 20  # more than these: how far content is that a page has not
_OFTEN: Final = 0.5  # share of the other pages that have a label
_NEARLY_ALL: Final = 0.9  # share of the other pages that have a text between content, from which on it is a control
_MOST_OF_LIST: Final = 0.85  # the most templateness of the items of a list
_IS_LIST: Final = among_tags("ul ol")
#: Share of the words of a stretch amid content that only this page has, as many as a sentence, from which all are kept.
_MOSTLY: Final = 0.8
_CONTACTS: Final = ("mailto:", "tel:")  # links that say how to reach people
#: Classes of the boxes with what wikis know of a thing: labels with values, and a picture.
_FACTS: Final = lazily(
    r"(?:^|\s)(?:(?:portable-|wiki-)?infobox(?:$|[\s_-])|(?:tw|table(?:-wrap)?|fig(?:ure)?)-(?:foot(?:er|notes?)?|notes?)(?:$|\s))",
    re.IGNORECASE,
)
_IS_VALUE: Final = among_tags("dd td div span")  # elements that may be a value
_IS_CELL: Final = among_tags("td th")
#: Elements that may have no more of a note than its number.
_IS_INLINE: Final = among_tags("a sup span b strong i em")
#: Share of the words of a table that are in links, and the most templateness of all of its words.
_LINKED, _MOST_OF_TABLE = 0.3, 0.8
#: Words of a label, and of it with its value; leaves of a line; pairs of a list; shares of pairs and of varied values.
_NAME, _PAIR, _REACH, _FEWEST, _PAIRS, _VARIED, _MOST_LISTS = 5, 30, 12, 3, 0.8, 2 / 3, 200
_LEADING: Final = frozenset("tag category prev previous next author bookmark".split())  # relations of other pages
_FACT: Final = lazily(r"\s*[^\W\d_](?:[^:：\d]{1,30}[:：]|[^:：]{1,30}[:：]\s)\s*\S")  # a label with its value
#: An amount with the sign of a currency, which looks like those on other pages: they differ in their digits alone.
_PRICE: Final = lazily(r"(?:[A-Z]{0,3}\s?[$€£¥₹₽₺₩]\s?\d[\d.,'’\s]{0,14}|\d[\d.,'’\s]{0,14}(?:[$€£¥₹₽₺₩]|zł|Kč|kr))")
_TERMS: Final = (TAG["dt"], TAG["th"])


class Seen(NamedTuple):
    """On how many of the other pages of a site that are known the text of each leaf is."""

    alike: Ints  # (m,) at the same place, see `Site.pages_alike`
    others: int
    #: (m,) those with the text at any place, and those with any text at its place: where some pages lack an attribute,
    #: the labels below it move
    elsewhere: Callable[[], tuple[Ints, Ints]]
    differing: Callable[[], Floats]  # (m,) see `Site.differing`


def _boxes(nodes: NodeTable) -> list[int]:
    """The rows of the boxes of facts, of notes, and of sentences in panels with hardly a link."""
    notes = np.array([look[3] in _NOTES for look in nodes.looks], np.bool_)[nodes.look]
    panels = [row for row in panels_of(nodes) if nodes.words_of(row) >= _SENTENCE]
    linked = nodes.words * nodes.anchor[nodes.leaves] if panels else nodes.words
    panels = [row for row in panels if linked[nodes.leaves_of(row)].sum() <= _LINKED * nodes.words_of(row)]
    said = nodes.leaves[nodes.leaves_below(panels) & (nodes.words >= _SENTENCE)] if panels else nodes.leaves[:0]
    return nodes.outermost((*rows_named(nodes, _FACTS), *np.flatnonzero(notes).tolist(), *nodes.parent[said].tolist()))


def labelled(
    nodes: NodeTable, headline: Headline | None, keep: Bools, seen: Seen, *, is_article: bool = False
) -> Bools:
    """(m,) leaves of labels and of values that belong to what is content, between the own heading and its end.

    In a list of pairs all are content if half of them are, or if the values of most differ from page to page and tag or
    colon tell the labels. So are a value of which the label is content, a line from a label to a value, a number to
    call, the first price near the heading, and a text that is a label and a value, no sentence and without a year,
    which few pages have; such a text may stand right behind content in an element with it. What leads to other pages is
    not. On pages that are no articles, labels need no colon, and any short text is a fact that differs from page to
    page at its place, beside the heading and amid content.

    ``keep``: (m,) the leaves that are content so far. ``seen``: on how many other pages the texts of the leaves are.
    ``is_article``: whether the page is one.
    """
    found = np.zeros(len(keep), np.bool_)
    if headline is None or seen.others < _KNOWN or not keep.any():
        return found
    first, content = nodes.last_leaf.item(headline.row), keep.nonzero()[0]
    last = content.item(-1)
    plain = nodes.words > 0
    lost, plain = plain & ~keep, plain & ~nodes.anchor[nodes.leaves]
    for link in beginning(nodes.links.href, _CONTACTS[1]):
        leaves = nodes.leaves_of(nodes.links.row.item(link))
        is_own = (seen.alike[leaves] < _OFTEN * seen.others).all()
        found[leaves] |= first <= leaves.start < last + _BEHIND and is_own
    own, behind, begin = lost & plain, slice(last, last + _BEHIND), max(0, first - _AMID)
    may_be = own[begin:last].any() or (lost[first:last] & plain[first - 1 : max(0, last - 1)]).any()
    if not (may_be or (seen.alike[behind][own[behind]] < _SAME * seen.others).any()):
        return found & ~keep  # neither texts nor links behind labels
    if buttons := rows_with(nodes, LANDMARKS["button"]):
        plain &= ~nodes.leaves_below(buttons)
        own &= plain
    half, (anywhere, place) = _OFTEN * seen.others, seen.elsewhere()
    often = seen.alike >= np.maximum(half, _SAME * place)
    own &= ~often & (nodes.words <= _VALUE)
    is_label = (np.maximum(seen.alike, anywhere) >= half) & plain & (nodes.words <= _NAME)
    slots = own & (np.maximum(seen.alike, anywhere) < np.minimum(half, _SAME * np.maximum(place, 1)))
    if not is_article and slots.any():
        slots &= seen.differing() >= _DIFFERING
        found |= _slots(nodes, slots, lost & ~plain, content, headline.row)
    found[[*_with_labels(nodes, own, keep, first, last)]] = True
    prices = (leaf for leaf in (lost[first : min(first + _NEAR, last)].nonzero()[0] + first).tolist()
              if _PRICE.fullmatch(nodes.strings[leaf].strip()))  # fmt: skip
    price = [*islice(prices, 1)]
    found[price] |= plain[price]
    torn = is_label[:-1] & (lost[:-1] | lost[1:])
    torn[last:] &= own[last + 1 :]
    lists: dict[tuple[int, int], None] = {}
    for leaf in (torn[first : last + _BEHIND].nonzero()[0] + first).tolist():
        found[_line(nodes, leaf, last, keep, often)] = True
        row, around = part_of(nodes, leaf)
        if nodes.tag.item(row) == _TERMS[0]:
            lists[around, -1] = None
        elif leaf in (nodes.first_leaf.item(around), nodes.last_leaf.item(around) - 1):
            while nodes.leaves_of(nodes.parent.item(around)) == nodes.leaves_of(around):
                around = nodes.parent.item(around)  # what holds the pair alone
            lists[nodes.parent.item(around), nodes.look.item(around)] = None
            value = _value_of(nodes, leaf, nodes.leaves_of(around))
            found[leaf] |= value.start >= first and bool(((keep[value] | found[value]) & ~often[value]).all())
    for above, look in [*lists][:_MOST_LISTS]:
        for pair in _facts(nodes, _pairs(nodes, above, look), keep | found, is_label, often, is_article):
            found[pair] = True
    return found & ~keep


def _with_labels(nodes: NodeTable, own: Bools, keep: Bools, first: int, last: int) -> Iterator[int]:
    """Those of some leaves that are a label and a value, no sentence and without a year."""
    for leaf in (own[first : last + 1 + _BEHIND].nonzero()[0] + first).tolist():
        text = nodes.strings[leaf].rstrip()
        if (":" in text or COLONS[1] in text) and _FACT.match(text) and not (has_year(text) or text[-1] == "."):
            yield from [leaf] if leaf < last or _has_content(nodes, leaf, keep) else ()


def _value_of(nodes: NodeTable, leaf: int, pair: slice) -> slice:
    """The few words of a pair of which a leaf is the label: several texts behind its colon, or one before it."""
    value = slice(leaf - 1, leaf) if pair == slice(leaf - 1, leaf + 1) else slice(leaf + 1, pair.stop)
    has_colon = nodes.strings[leaf].rstrip().endswith(COLONS) and pair.stop > leaf + 2  # one link alone leads on
    is_value = (value.stop == leaf or has_colon) and nodes.words[value].sum() <= _PAIR
    return value if is_value else slice(-1, -1)


def _slots(nodes: NodeTable, slots: Bools, linked: Bools, content: Ints, heading: int) -> Bools:
    """(m,) leaves of facts among some that differ from page to page: lines beside the heading, and texts amid content.

    ``linked``: (m,) the links that are no content; with one in it, a line is a menu. ``heading``: row.
    """
    found, first = np.zeros(len(slots), np.bool_), nodes.last_leaf.item(heading)
    text = content.item(min(int(np.searchsorted(content, first)), len(content) - 1))
    slots[first:text] &= slots[first:text].sum() > 1  # one alone may be the time that reading takes
    if not slots.any():
        return found
    keep = np.isin(np.arange(len(slots)), content)
    slots[_of_records(nodes, slots.nonzero()[0], keep)] = False
    beside = _beside_heading(nodes, heading, content.item(-1))
    line = np.cumsum(nodes.gap[beside] >= LINE)
    found[beside] = (
        np.isin(line, line[slots[beside]]) & ~np.isin(line, line[linked[beside]]) & (nodes.words[beside] > 0)
    )
    for leaf in (slots[first : content[-1] + 1 + _BEHIND].nonzero()[0] + first).tolist():
        found[leaf] |= _is_amid(content, leaf) and (leaf < content[-1] or _has_content(nodes, leaf, keep))
    return found


def _has_content(nodes: NodeTable, leaf: int, keep: Bools) -> bool:
    """Whether the element around a text, or around its list, has content."""
    around = part_of(nodes, leaf)[1]
    return bool(keep[nodes.leaves_of(nodes.parent.item(around) if _IS_LIST[nodes.tag[around]] else around)].any())


def _of_records(nodes: NodeTable, leaves: Ints, keep: Bools) -> list[int]:
    """Those of some leaves that each record of a list has and none has as content, such as the dates of posts."""
    shapes = nodes.shape[nodes.leaves]
    alike = {shape: shapes == shape for shape in {*shapes[leaves].tolist()}}
    often = {shape for shape, same in alike.items() if same.sum() >= _FEWEST and not keep[same].any()}
    return [leaf for leaf in leaves.tolist() if shapes[leaf] in often]


def _is_amid(content: Ints, leaf: int) -> bool:
    """Whether a leaf is in a short stretch between content, or behind all of it."""
    place = int(np.searchsorted(content, leaf))
    return place == len(content) or content[place] - content[place - 1] <= _AMID + 1


def _beside_heading(nodes: NodeTable, row: int, last: int) -> slice:
    """The leaves of the element of a heading that stand right before it, and some behind it."""
    first, behind = nodes.first_leaf.item(row), nodes.last_leaf.item(row)
    while row > 0 and nodes.first_leaf.item(row) == first and nodes.last_leaf.item(row) == behind:
        row = nodes.parent.item(row)  # passes by what holds the heading alone
    return slice(max(nodes.first_leaf.item(row), first - _AMID), min(behind + _NEAR, last))


def _line(nodes: NodeTable, leaf: int, stop: int, keep: Bools, often: Bools) -> slice:
    """The leaves from a label to the last one of its line that is content and differs from page to page, if any is."""
    last, end, gap = leaf, leaf + 1, nodes.gap.item
    while end < min(stop, leaf + _REACH) and gap(end) < LINE:
        end += 1
        last = end if keep[end - 1] and not often[end - 1] else last
    is_whole = last > leaf and nodes.words[leaf:last].sum() <= _PAIR
    return slice(leaf, last if is_whole and not _leads_on(nodes, leaf, np.arange(leaf + 1, last)) else leaf)


def _pairs(nodes: NodeTable, above: int, look: int) -> list[slice]:
    """The leaves of each element of a look in another one, or of each term with its definitions."""
    rows = nodes.children_of(above)
    pairs = [nodes.leaves_of(row) for row in rows if nodes.look[row] == look]
    if look < 0:
        starts = [nodes.first_leaf.item(row) for row in rows if nodes.tag[row] == _TERMS[0]]
        pairs = [*map(slice, starts, [*starts[1:], nodes.last_leaf.item(above)])]
    return [pair for pair in pairs if pair.stop > pair.start + 1]


def _facts(
    nodes: NodeTable, pairs: list[slice], keep: Bools, is_label: Bools, often: Bools, is_article: bool
) -> Iterator[slice]:
    """The pairs that are content: the short ones of a list of facts, or one whose label alone is content."""
    begin = 2 * sum(bool(is_label[pair.start]) for pair in pairs) >= len(pairs)  # or labels stand behind their values
    labels = [pair.start if begin else pair.stop - 1 for pair in pairs]
    values = [slice(pair.start + begin, pair.stop - (not begin)) for pair in pairs]
    told = [(label, value) for label, value in zip(labels, values, strict=True) if is_label[label]]
    is_list = len(told) >= max(_FEWEST, _PAIRS * len(pairs))
    if not told or not (is_list or any(keep[label] for label, _ in told)):
        return
    if _leads_on(nodes, told[0][0], np.concatenate([np.r_[value] for _, value in told])):
        return
    is_kept = is_list and 2 * sum(bool(keep[value].any()) for _, value in told) >= len(told)
    is_varied = is_list and sum(not often[value].all() for _, value in told) >= _VARIED * len(told)
    has_colon = [nodes.strings[label].rstrip()[-1:] in COLONS for label, _ in told]
    terms = [nodes.tag[part_of(nodes, label)[0]] in _TERMS for label, _ in told]
    named = all(map(max, has_colon, terms))
    linked = sum(bool(nodes.anchor[nodes.leaves[value]].any()) for _, value in told)
    is_steady = bool(often[[label for label, _ in told]].all())
    is_plain = 2 * linked <= len(told)
    if not (named or is_steady or is_plain):
        return  # boxes of links, whose labels move
    are_facts = named or (not is_article and (is_plain or not any(has_colon)))
    for pair, label, value in zip(pairs, labels, values, strict=True):
        is_control = (nodes.anchor[nodes.leaves[value]] & often[value]).any()
        is_fact = not is_control and ((named and keep[label]) or (is_varied and are_facts))
        if (is_fact or is_kept) and nodes.words[pair].sum() <= _PAIR:
            yield pair


def _leads_on(nodes: NodeTable, label: int, values: Ints) -> bool:
    """Whether values lead to other pages: all of them behind a colon, or one by its relation."""
    linked = values[nodes.anchor[nodes.leaves[values]]]
    links = nodes.links.row[np.searchsorted(nodes.links.row, nodes.leaves[linked]) - 1].tolist()
    is_menu = len(linked) == len(values) and nodes.strings[label].rstrip()[-1:] in COLONS
    return is_menu or not _LEADING.isdisjoint(" ".join(attributes_at(nodes, links, "rel")).lower().split())


#: What says something in a few words: captions, and formulas, which no template has.
give("own_texts", captions_of=lambda nodes: [*captions_of(nodes), *rows_with(nodes, FORMULA)])
#: A query may end with the name of a file: "?file=plan.pdf".
give("own_texts", is_page=lambda href: is_page(href) and ("?" not in href or is_page(href.rpartition("=")[2])))
give(
    "own_texts", KNOWN=_KNOWN, SENTENCE=_SENTENCE, NOTE=_NOTE, HEADING=HEADING, NO_NOTE=HEADING | _NO_NOTE,
    AMID=_AMID, BEHIND=_BEHIND, LABEL=_LABEL, VALUE=_VALUE, NEAR=_NEAR, FAR=_FAR, MOST_OF_VALUE=_MOST_OF_VALUE,
    MOST_BEHIND=_MOST_BEHIND,
    OFTEN=_OFTEN, NEARLY_ALL=_NEARLY_ALL, MOST_OF_LIST=_MOST_OF_LIST, MOSTLY=_MOSTLY, THRESHOLD=THRESHOLD,
    CONTACTS=_CONTACTS, CODE=TAG["pre"], DEFINITION=TAG["dd"], IS_VALUE=_IS_VALUE.tolist(), IS_LIST=_IS_LIST.tolist(),
    IS_INLINE=_IS_INLINE.tolist(), IS_NO_DATA=IS_NO_DATA.tolist(), boxes_of=_boxes, has_year=has_year,
    host_of=host_of, TABLE=TAG["table"], IS_CELL=_IS_CELL.tolist(), LINKED=_LINKED,
    MOST_OF_TABLE=_MOST_OF_TABLE, PARAGRAPHS=_PARAGRAPHS, IS_PARAGRAPH=_IS_PARAGRAPH.tolist(),
)  # fmt: skip
