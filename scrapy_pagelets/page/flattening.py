"""Flatten a tree of lxml into a node table: one walk over its elements and texts."""

from __future__ import annotations

import re
from typing import Final

import numpy as np
from lxml import etree
from xxhash import xxh3_64_intdigest

from scrapy_pagelets.base.caches import MOST_BYTES
from scrapy_pagelets.base.characters import BY_CHARACTER, WORD, readable
from scrapy_pagelets.core import give
from scrapy_pagelets.core.table import declarations as declarations
from scrapy_pagelets.core.table import flatten as flatten
from scrapy_pagelets.page.adjoining import part_words
from scrapy_pagelets.page.gaps import gaps_of
from scrapy_pagelets.page.looks import ENCODED, READING, Look, class_signature, signature, signs
from scrapy_pagelets.page.nodes import GAPS, GLUED, TAG, Links, NodeTable
from scrapy_pagelets.page.obfuscation import decode_addresses, hides_address
from scrapy_pagelets.page.ruby import bracket_readings
from scrapy_pagelets.page.urls import targets_of

# Tags whose text a reader never sees. Frames, players and canvases show something other than their fallback content.
# `title` occurs in `head` and, as a tooltip, in `svg`.
_UNSEEN_TAGS: Final = frozenset(
    "head script style template noscript noframes noembed iframe audio video canvas datalist title desc "
    "metadata".split()
)
# Tags that are allowed in `head`. If a page omits `</head><body>`, lxml opens no body for `main` and other tags newer
# than its parser, and the whole page ends up in the head.
_METADATA: Final = frozenset("title meta link base basefont bgsound script style template noscript".split())
_LINK_TAGS: Final = frozenset(("a", "area", "frame", "iframe"))
_VERBATIM_TAGS: Final = frozenset(("pre", "textarea", "listing", "xmp", "plaintext"))
_HIDING_STYLE: Final = re.compile(
    r"(?<![\w-])(?:display\s*:\s*none|(?:content-)?visibility\s*:\s*hidden)", re.IGNORECASE
)
#: What an inline style has in it that says how an element is laid out.
LAYING_OUT: Final = ("display", "white-space", "font-family")
#: Elements by which a page tells of itself.
DECLARING: Final = ("base", "link", "meta", "script", "title")
#: White space other than one space.
_SPACES: Final = re.compile(r"\s{2,}|[^\S ]")
_DIGITS: Final = str.maketrans("123456789", "0" * 9)
#: Characters of an id, a class or a role that count. The rest is cut off, because all looks are compared and kept.
_LONGEST: Final = 10_000
#: Characters of the distinct looks of a page. Later elements with another look count by their tags alone, because each
#: look is searched for what it says.
ROOM_OF_LOOKS: Final = 2_000_000
#: Characters from which a run of text is folded and counted without a list of its words.
_HUGE: Final = 100_000
#: Number and signature of a look, and gap and traits of its tag.
_Kind = tuple[int, int, int, int]
_UNSEEN, _VERBATIM, _LINKS = 1, 2, 4


def build(root: etree._Element, base: str, *, noscript: bool = False) -> NodeTable:
    """Make the node table of a tree.

    Parameters
    ----------
    root : root element. Comments and processing instructions are skipped, the text after them is not
    base : URL against which links are resolved
    noscript : include the content of ``noscript``
    """
    columns, (row, href, rel) = flatten(root, noscript)
    if _decode(root, int(np.bitwise_or.reduce(columns["signs"])), href):
        columns, (row, href, rel) = flatten(root, noscript)
    columns["gap"] = gaps_of(columns)
    target, key, beyond = targets_of(base, href)
    links = Links(row=row, href=href, target=target, key=key, rel=rel, beyond=beyond)
    nodes = NodeTable(root=root, links=links, **columns)
    part_words(nodes)
    return nodes


def _decode(root: etree._Element, signs: int, hrefs: list[str]) -> bool:
    """Write the texts of a tree as readers see them; False if no text can differ."""
    if signs & READING:
        bracket_readings(root)
    if encoded := bool(signs & ENCODED) or hides_address(hrefs):
        decode_addresses(root)
    return bool(signs & READING) or encoded


def text_key(text: str) -> tuple[int, int]:
    """Return hash and number of words of a run of text whose white space is folded.

    The hash ignores case and treats all digits alike. The words of an ASCII text are separated by white space, those of
    other texts are those of `scrapy_pagelets.base.characters`.
    """
    if len(text) > 3 and text.isascii():
        words = text.count(" ") + 1
    elif len(text) < _HUGE:
        words = len(WORD.findall(text))
    else:
        words = sum(1 for _ in WORD.finditer(text))
    return xxh3_64_intdigest(text.casefold().translate(_DIGITS).encode("utf-8", "replace")) >> 1, words


def fold(text: str) -> str:
    """Fold the white space of a text."""
    return " ".join(text.split()) if len(text) < _HUGE else _SPACES.sub(" ", text.strip())


def _bounded(look: Look) -> Look:
    """Cut off what is too long to be compared and kept."""
    tag, name, classes, role = look
    return tag, name[:_LONGEST], classes[:_LONGEST], role[:_LONGEST]


def _kind(look: Look, number: int) -> _Kind:
    tag = look[0]
    traits = (tag in _UNSEEN_TAGS) * _UNSEEN | (tag in _VERBATIM_TAGS) * _VERBATIM | (tag in _LINK_TAGS) * _LINKS
    return number, signature(look), GAPS.get(tag, GLUED), traits


give(
    "table", BY_CHARACTER=BY_CHARACTER, DECLARING=DECLARING, HIDING_STYLE=_HIDING_STYLE, LAYING_OUT=LAYING_OUT,
    METADATA=_METADATA, TAG=TAG,
    MOST_BYTES=MOST_BYTES, ROOM_OF_LOOKS=ROOM_OF_LOOKS, bounded=_bounded, class_signature=class_signature, fold=fold,
    kind=_kind, readable=readable, signs=signs,
)  # fmt: skip
