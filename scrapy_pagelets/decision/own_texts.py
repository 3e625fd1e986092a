"""What a page alone says amid its content, whatever the model thinks of it.

It is sentences, captions, values of labels, code, links to files and other sites, and tables of data. The model judges
by what is around a text, and some elements seldom have content: an ``aside`` with a tip, a field with its label, the
card of a link. What no other page says at the same place is no template there, and neither are a few words without
links between content that not all pages have, such as the labels that a manual repeats.
"""

import re
from collections.abc import Iterator
from typing import Final

import numpy as np

from scrapy_pagelets.base.arrays import Bools, Floats, Ints, up_to
from scrapy_pagelets.base.characters import lazily
from scrapy_pagelets.decision.half_lines import IS_NO_DATA, captions_of
from scrapy_pagelets.metadata.dates import has_year
from scrapy_pagelets.metadata.headline import Headline
from scrapy_pagelets.page.looks import HEADING, LANDMARKS
from scrapy_pagelets.page.nodes import TAG, NodeTable, among_tags, below, rows_named, rows_tagged
from scrapy_pagelets.page.page import Page
from scrapy_pagelets.page.roles import THRESHOLD
from scrapy_pagelets.page.urls import host_of, is_page

_KNOWN: Final = 4  # other pages of a site from which on a text that none of them has is of this page alone
_SENTENCE: Final = 8  # words without links that are a sentence
_NOTE: Final = 100  # words of a note
_NO_NOTE: Final = LANDMARKS["nav"] | LANDMARKS["footer"]
#: Leaves from a text back to content and on to content; the same if it is right behind content. In a stretch of
#: sentences that only this page has, only other leaves count.
_AMID, _BEHIND = 6, 3
#: Words of a label and of a value, and leaves from content to a value.
_LABEL, _VALUE, _NEAR = 3, 12, 12
_MOST_OF_VALUE, _MOST_BEHIND = 0.98, 0.9  # the most templateness of a value, and of a text right behind content
_FAR: Final = 20  # more than these: how far content is that a page has not
_OFTEN: Final = 0.5  # share of the other pages that have a label
_NEARLY_ALL: Final = 0.9  # share of the other pages that have a text between content, from which on it is a control
_MOST_OF_LIST: Final = 0.85  # the most templateness of the items of a list
_LISTS: Final = (TAG["ul"], TAG["ol"])
#: Share of the words of a stretch amid content that only this page has, from which on all of these are content, if they
#: are as many as a sentence has.
_MOSTLY: Final = 0.8
_CONTACTS: Final = ("mailto:", "tel:")  # links that say how to reach people
#: Classes of the boxes with what wikis know of a thing: labels with values, and a picture.
_FACTS: Final = lazily(r"(?:^|\s)(?:portable-|wiki-)?infobox(?:$|[\s_-])", re.IGNORECASE)
_IS_VALUE: Final = among_tags("dd td div span")  # elements that may be a value
_IS_CELL: Final = among_tags("td th")
#: Elements that may have no more of a note than its number.
_IS_INLINE: Final = among_tags("a sup span b strong i em")
#: Share of the words of a table that are in links, and the most templateness of all of its words.
_LINKED, _MOST_OF_TABLE = 0.3, 0.8


def own_texts(page: Page, headline: Headline | None, templateness: Floats, alike: Ints, others: int) -> Bools:
    """(m,) leaves of template that are content, as the page alone has them amid its content or right behind it.

    A stretch amid content of texts that no other page has may be as long as it is. Right behind content, links count as
    template unless they lead to files: many pages end with their own address. A few words without links between content
    are content unless nearly all pages have them there. So is what has neither link nor year between the heading and
    content.

    ``templateness``: (m,) as the model sees it. ``alike``: (m,) number of other pages with the same text at the same
    place, see `Site.pages_alike`. ``others``: number of other pages of the site that are known.
    """
    nodes = page.nodes
    mask = np.zeros(len(templateness), np.bool_)
    if others < _KNOWN or not len(mask):
        return mask
    keep, place = templateness < THRESHOLD, np.arange(len(mask))
    if headline is not None:
        own_end = nodes.last_leaf.item(headline.row)
        keep[:own_end] = place[:own_end] == own_end - 1
    before, behind = _distances(keep, place)
    amid, right_behind = (before <= _AMID) & (behind <= _AMID), before <= _BEHIND
    after = right_behind & (templateness <= _MOST_BEHIND)
    linked, around, alone, rare = nodes.anchor[nodes.leaves], amid | after, alike == 0, alike < _OFTEN * others
    is_said = (nodes.words >= _SENTENCE) | nodes.leaves_below(captions_of(nodes))
    mask |= around & alone & is_said & ~linked
    if (lost := alone & ~keep & ~mask).any():
        mask |= _stretches(nodes, keep, alone, alone & (~linked | _contacts(nodes, lost)), is_said)
    for leaves in _links_elsewhere(page, *(each & alone & ~keep for each in (amid, right_behind))):
        mask[leaves] = True
    mask |= _code(nodes, keep, around & alone, alone)
    near = (before <= _NEAR) & (templateness < _MOST_OF_VALUE)
    for leaves in _values(nodes, ~rare & ~linked, near, rare):
        mask[leaves] |= rare[leaves] | ~linked[leaves]  # a link that many pages have there is a control
    for mark, leaves in _notes(nodes, keep):
        mask[leaves] |= rare[leaves] | (~linked[leaves] & (nodes.words[leaves] > 0))
        mask[leaves] |= nodes.text[leaves] == nodes.text[mark]
    if headline is not None:
        mask |= _facts_below(nodes, headline, keep) & alone & ~linked
    boxes = map(nodes.leaves_of, nodes.outermost(rows_named(nodes, _FACTS)))
    lists = (each for each in _lists_behind(nodes, keep, linked) if templateness[each].mean() <= _MOST_OF_LIST)
    for leaves in (*boxes, *lists):
        mask[leaves] |= 2 * nodes.words[leaves][rare[leaves]].sum() >= nodes.words[leaves].sum()
    for leaves in _between(nodes, keep | mask, ~linked & (alike < _NEARLY_ALL * others)):
        mask[leaves] = True
    found: Bools = mask & ~keep
    return found


def _stretches(nodes: NodeTable, keep: Bools, alone: Bools, own: Bools, is_said: Bools) -> Bools:
    """(m,) the own leaves of stretches amid content: those that say something, and all where most words are own ones.

    Only leaves that other pages have count as a distance from content.
    """
    stretch = np.maximum(*_distances(keep, up_to(~alone)[1:])) <= _AMID
    mask: Bools = stretch & own & is_said
    for leaves in _runs(stretch & ~keep):
        if nodes.words[leaves][own[leaves]].sum() >= max(_SENTENCE, _MOSTLY * nodes.words[leaves].sum()):
            mask[leaves] |= own[leaves]
    return mask


def _code(nodes: NodeTable, keep: Bools, own: Bools, alone: Bools) -> Bools:
    """(m,) the leaves of blocks of code that have content or own leaves, or look like one with content and are alone.

    Half of a block of code is none.
    """
    mask, is_own = np.zeros(len(keep), np.bool_), keep | own
    blocks = [(row, nodes.leaves_of(row)) for row in nodes.outermost(rows_tagged(nodes, TAG["pre"]))]
    kept = {nodes.look.item(row) for row, leaves in blocks if keep[leaves].any()}
    for row, leaves in blocks:
        mask[leaves] = is_own[leaves].any() or (nodes.look.item(row) in kept and alone[leaves].any())
    return mask


def _facts_below(nodes: NodeTable, headline: Headline, keep: Bools) -> Bools:
    """(m,) the few leaves between the heading and content, such as the place of a job; none in forms or with a year."""
    mask = np.zeros(len(keep), np.bool_)
    end = nodes.last_leaf.item(headline.row)
    first = int(keep[end:].argmax()) if end < len(keep) else 0
    facts = slice(end, end + first)
    if 0 < first <= _AMID and not any(map(has_year, nodes.strings[facts])):
        mask[facts] = not IS_NO_DATA[nodes.tag[nodes.end[headline.row] : nodes.leaves[end + first]]].any()
    return mask


def _between(nodes: NodeTable, keep: Bools, may_be: Bools) -> Iterator[slice]:
    """The leaves between content of which all may be, no more words than a sentence: labels such as "Since: 1.0"."""
    edges = np.flatnonzero(keep[1:] != keep[:-1]) + 1
    edges = edges[int(not keep[0]) :]  # the first one ends content
    for first, end in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=False):
        if may_be[first] and may_be[first:end].all() and nodes.words[first:end].sum() <= _SENTENCE:
            yield slice(first, end)


def _distances(keep: Bools, place: Ints) -> tuple[Ints, Ints]:
    """How far it is from each leaf back to content, and on to content, by the ascending places of the leaves."""
    before = place - np.maximum.accumulate(np.where(keep, place, -_FAR))
    behind = np.minimum.accumulate(np.where(keep, place, place[-1] + _FAR)[::-1])[::-1] - place
    return before, behind


def _contacts(nodes: NodeTable, among: Bools) -> Bools:
    """(m,) the leaves of links to mail addresses and telephone numbers, of those links that have some leaves."""
    rows, links = nodes.links.row, below(nodes, up_to(among), nodes.links.row).nonzero()[0].tolist()
    return nodes.leaves_below(
        [rows.item(link) for link in links if nodes.links.href[link][:7].lower().startswith(_CONTACTS)]
    )


def _runs(mask: Bools) -> Iterator[slice]:
    """The leaves of a mask that follow each other."""
    edges = np.flatnonzero(np.diff(mask.astype(np.int8), prepend=0, append=0))
    yield from map(slice, edges[::2].tolist(), edges[1::2].tolist())


def _lists_behind(nodes: NodeTable, keep: Bools, linked: Bools) -> Iterator[slice]:
    """The leaves of the lists without links that go on with the content right before them, in one element with it."""
    parent, begin = nodes.parent.item, nodes.first_leaf.item
    for leaf in ((keep[:-1] & ~keep[1:]).nonzero()[0] + 1).tolist():
        row = parent(nodes.leaves.item(leaf))
        while begin(above := parent(row)) == leaf:
            row = above
        if nodes.tag.item(row) in _LISTS and begin(row) == leaf and not linked[leaves := nodes.leaves_of(row)].any():
            yield leaves


def _notes(nodes: NodeTable, keep: Bools) -> Iterator[tuple[int, slice]]:
    """The notes and sources that content refers to by links to places below it: the leaves of link and note."""
    begin, links = nodes.first_leaf.item, nodes.links
    rows = [(row, href[1:]) for row, href in zip(links.row.tolist(), links.href, strict=True) if href[:1] == "#"]
    near = _distances(keep, np.cumsum(nodes.words > 0))[0] <= 1 if rows else keep
    may_be = [*(near & (nodes.words <= _LABEL)).tolist(), False] if rows else []
    refs = [(name, leaf) for row, name in rows if may_be[leaf := begin(row)]]
    numbers = {look[1]: number for number, look in enumerate(nodes.looks) if look[1]} if refs else {}
    no_note = IS_NO_DATA[nodes.tag] | (nodes.signs[nodes.look] & (HEADING | _NO_NOTE) > 0) if refs else near
    for name, leaf in refs:
        row = int((nodes.look == numbers[name]).argmax()) if name in numbers else 0
        while row and _IS_INLINE[nodes.tag[row]]:  # the number of the note alone
            row = nodes.parent.item(row)
        if leaf < begin(row) and nodes.words_of(row) <= _NOTE and not no_note[row : nodes.end[row]].any():
            yield leaf, nodes.leaves_of(row)


def _links_elsewhere(page: Page, amid: Bools, to_files: Bools) -> Iterator[slice]:
    """The leaves of links to other hosts, and to files, that have one among some leaves."""
    nodes, links, host = page.nodes, page.nodes.links, host_of(page.url)
    may_be = amid | to_files
    for link in below(nodes, up_to(may_be), links.row).nonzero()[0].tolist() if may_be.any() else ():
        leaves, href = nodes.leaves_of(links.row.item(link)), links.href[link]
        is_elsewhere = amid[leaves].any() and href[:4].lower() == "http" and host_of(href) != host
        if is_elsewhere or (to_files[leaves].any() and not is_page(href)):
            yield leaves


def _values(nodes: NodeTable, often: Bools, near: Bools, own: Bools) -> Iterator[slice]:
    """The leaves of each value whose label, of a few words, is often there: a term, or the first part of two.

    Only those count of which some leaves are ``near``, and some the ``own`` ones of the page.
    """
    rows = (_IS_VALUE[nodes.tag] & (nodes.first_leaf > 0)).nonzero()[0]
    first, last, above = nodes.first_leaf[rows], nodes.last_leaf[rows], nodes.parent[rows]
    words, label, is_definition = up_to(nodes.words), first - 1, nodes.tag[rows] == TAG["dd"]
    follows = is_definition[1:] & is_definition[:-1] & (above[1:] == above[:-1]) & (first[1:] == last[:-1])
    for at in follows.nonzero()[0].tolist():  # a term may have several
        label[at + 1] = label[at]
    is_pair = (nodes.first_leaf[above] == first - 1) & (nodes.last_leaf[above] == last) | is_definition
    is_pair &= (first < last) & (words[last] - words[first] <= _VALUE)
    is_pair &= (nodes.words[label] > 0) & (nodes.words[label] <= _LABEL) & often[label]
    for some in (up_to(near), up_to(own)):
        is_pair &= some[first] < some[last]
    yield from map(slice, first[is_pair].tolist(), last[is_pair].tolist())


def data_tables(nodes: NodeTable, headline: Headline | None, templateness: Floats, alike: Ints, others: int) -> Bools:
    """(m,) the leaves of tables of data below the own heading, but for those of other pages, and those surely template.

    Their cells are short, and each of them alone looks like template. A table of data has two cells or more in its
    rows, hardly a link, and neither a table nor anything to fill in inside.

    ``templateness``, ``alike``, ``others``: as of `own_texts`.
    """
    behind = nodes.last_leaf.item(headline.row) if headline else len(nodes.leaves)
    below_heading = [row for row in rows_tagged(nodes, TAG["table"]) if nodes.first_leaf.item(row) >= behind]
    if headline is None or not below_heading:
        return np.zeros(len(templateness), np.bool_)
    tables = np.array(below_heading, np.int64)
    cells = (_IS_CELL[nodes.tag] & (nodes.first_leaf < nodes.last_leaf)).nonzero()[0]
    opening = cells[np.unique(nodes.parent[cells], return_index=True)[1]]
    number, lines, no_data = (
        np.searchsorted(rows, nodes.end[tables]) - np.searchsorted(rows, tables + 1)
        for rows in (cells, np.sort(opening), IS_NO_DATA[nodes.tag].nonzero()[0])
    )
    often, linked = alike > _OFTEN * others, nodes.anchor[nodes.leaves]
    words, repeated, of_links, rated = (
        nodes.sum_below(nodes.words * share)[tables] for share in (1, often, linked, templateness)
    )
    is_data = (lines > 1) & (number >= 2 * lines - 1) & (no_data == 0)
    is_data &= (repeated < _OFTEN * words) & (of_links <= _LINKED * words) & (rated <= _MOST_OF_TABLE * words)
    return nodes.leaves_below(tables[is_data].tolist())
