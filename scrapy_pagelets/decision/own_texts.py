"""What a page alone says amid its content, whatever the model thinks of it.

It is sentences, captions, values of labels, code, links to files and other sites, and tables of data. The model judges
by what is around a text, and some elements seldom have content: an ``aside`` with a tip, a field with its label, the
card of a link. What no other page says at the same place is no template there, and neither are a few words without
links between content that not all pages have, such as the labels that a manual repeats. Far down a long page, the model
doubts more; so paragraphs of a page alone stay where at least half of those in the same element, or of one form, do.
"""

import re
from typing import Final

import numpy as np

from scrapy_pagelets.base.characters import lazily
from scrapy_pagelets.core import give
from scrapy_pagelets.core.own_texts import data_tables as data_tables
from scrapy_pagelets.core.own_texts import own_texts as own_texts
from scrapy_pagelets.decision.half_lines import IS_NO_DATA, captions_of
from scrapy_pagelets.metadata.dates import has_year
from scrapy_pagelets.page.looks import FORMULA, HEADING, LANDMARKS
from scrapy_pagelets.page.nodes import TAG, NodeTable, among_tags, rows_named, rows_with
from scrapy_pagelets.page.roles import THRESHOLD
from scrapy_pagelets.page.urls import host_of, is_page

_KNOWN: Final = 4  # other pages of a site from which on a text that none of them has is of this page alone
#: Words without links that are a sentence; and words of paragraphs of one kind of which most decide.
_SENTENCE, _PARAGRAPHS = 8, 50
_IS_PARAGRAPH: Final = among_tags("p li dd blockquote")
#: Roles of notes and sources, as publishers give them (DPUB-ARIA).
_NOTES: Final = frozenset("doc-footnote doc-endnote doc-endnotes doc-biblioentry doc-bibliography doc-example".split())
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


def _boxes(nodes: NodeTable) -> list[int]:
    """The rows of the boxes of facts, and of notes."""
    notes = np.array([look[3] in _NOTES for look in nodes.looks], np.bool_)[nodes.look]
    return nodes.outermost((*rows_named(nodes, _FACTS), *np.flatnonzero(notes).tolist()))


#: What says something in a few words: captions, and formulas, which no template has.
give("own_texts", captions_of=lambda nodes: [*captions_of(nodes), *rows_with(nodes, FORMULA)])
give(
    "own_texts", KNOWN=_KNOWN, SENTENCE=_SENTENCE, NOTE=_NOTE, NO_NOTE=HEADING | _NO_NOTE, AMID=_AMID, BEHIND=_BEHIND,
    LABEL=_LABEL, VALUE=_VALUE, NEAR=_NEAR, FAR=_FAR, MOST_OF_VALUE=_MOST_OF_VALUE, MOST_BEHIND=_MOST_BEHIND,
    OFTEN=_OFTEN, NEARLY_ALL=_NEARLY_ALL, MOST_OF_LIST=_MOST_OF_LIST, MOSTLY=_MOSTLY, THRESHOLD=THRESHOLD,
    CONTACTS=_CONTACTS, CODE=TAG["pre"], DEFINITION=TAG["dd"], IS_VALUE=_IS_VALUE.tolist(), IS_LIST=_IS_LIST.tolist(),
    IS_INLINE=_IS_INLINE.tolist(), IS_NO_DATA=IS_NO_DATA.tolist(), boxes_of=_boxes, has_year=has_year,
    host_of=host_of, is_page=is_page, TABLE=TAG["table"], IS_CELL=_IS_CELL.tolist(), LINKED=_LINKED,
    MOST_OF_TABLE=_MOST_OF_TABLE, PARAGRAPHS=_PARAGRAPHS, IS_PARAGRAPH=_IS_PARAGRAPH.tolist(),
)  # fmt: skip
