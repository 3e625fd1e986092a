"""Flatten a tree of lxml into a node table: one walk over its elements and texts."""

from __future__ import annotations

import re
from array import array
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from lxml import etree
from xxhash import xxh3_64_intdigest

from scrapy_pagelets.base.arrays import Bools, Ints, mix
from scrapy_pagelets.base.caches import MOST_BYTES, cached
from scrapy_pagelets.base.characters import BY_CHARACTER, WORD, readable
from scrapy_pagelets.core import compiled, give
from scrapy_pagelets.page.adjoining import part_words
from scrapy_pagelets.page.gaps import gaps_of
from scrapy_pagelets.page.looks import ENCODED, READING, Look, class_signature, signature, signs
from scrapy_pagelets.page.nodes import GAPS, GLUED, LINE, PARAGRAPH, SPACE, TAG, TEXT, Links, NodeTable, levels_of
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
_FRAMES: Final = frozenset(("frame", "iframe"))
_LINK_TAGS: Final = frozenset(("a", "area", "frame", "iframe"))
_VERBATIM_TAGS: Final = frozenset(("pre", "textarea", "listing", "xmp", "plaintext"))
_HIDING_STYLE: Final = re.compile(
    r"(?<![\w-])(?:display\s*:\s*none|(?:content-)?visibility\s*:\s*hidden)", re.IGNORECASE
)
#: Attributes of a `template` that is shown, because browsers make a shadow root of it.
_SHADOW_ROOT: Final = ("shadowrootmode", "shadowroot")
#: What an inline style has in it that says how an element is laid out.
LAYING_OUT: Final = ("display", "white-space", "font-family")
#: Elements by which a page tells of itself.
DECLARING: Final = ("base", "link", "meta", "script", "title")
_MICRODATA: Final = etree.XPath("descendant::*[@itemprop or @itemtype]")
#: White space other than one space.
_SPACES: Final = re.compile(r"\s{2,}|[^\S ]")
_DIGITS: Final = str.maketrans("123456789", "0" * 9)
#: Texts from this length on are not cached: the short ones of menus recur on each page.
_LONG: Final = 200
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
#: Rows, addresses and relations of the links.
_Found = tuple[Ints, list[str], list[str]]


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


@compiled("table")
def flatten(root: etree._Element, noscript: bool) -> tuple[dict[str, Any], _Found]:
    """Flatten a tree in one pass, without recursion; return the columns of its table by name, and those of its links.

    Those of the links are their rows, their addresses, and their relations in lower case.
    """
    table = _Table(noscript)
    table.walk(root)
    return table.columns(), (_column(table.link_rows), table.hrefs, table.rels)


@dataclass(slots=True)
class _Open:
    """An element that has begun and not ended."""

    row: int
    gap: int = GLUED
    traits: int = 0
    ranks: dict[int, int] = field(default_factory=dict)  # by signature, the last rank of its children so far
    texts: int = 0  # number of its runs of text so far


class _Table:
    """The columns of a node table while its tree is walked over; the compiled core has the same as one loop."""

    def __init__(self, noscript: bool) -> None:
        self.noscript = noscript
        self.parents, self.ends, self.look_ids, self.paths = (array("q") for _ in range(4))
        self.leaves, self.keys, self.words, self.gaps, self.numbers = (array("q") for _ in range(5))
        self.strings: list[str] = []
        self.spaces: dict[int, str] = {}
        self.kinds: dict[Look, _Kind] = {}
        self.room = ROOM_OF_LOOKS  # characters that further looks may have
        self.anchors: list[int] = []
        self.hidden: list[int] = []
        self.labels: dict[int, str] = {}
        self.relations: dict[int, str] = {}
        self.styles: dict[int, str] = {}
        self.link_rows, self.hrefs, self.rels = array("q"), list[str](), list[str]()
        self.open = [_Open(-1)]  # the first one stands for what is outside of the root
        self.pending = PARAGRAPH  # the widest gap since the last run of text
        self.verbatim = 0  # number of open elements that keep white space
        self.white = ""  # white space since the last run of text inside of them

    def walk(self, root: etree._Element) -> None:
        """Add a row for each element of a tree, and for each text that a reader sees."""
        context = etree.iterwalk(root, events=("start", "end", "comment", "pi"))
        for event, element in context:
            if event == "start":
                if self.begin(element):
                    self.add_text(element.text)
                else:
                    context.skip_subtree()
                continue
            if event == "end":
                self.end()
            if len(self.open) > 1:  # no text after the root
                self.add_text(element.tail)

    def begin(self, element: etree._Element) -> bool:
        """Add a row for an element; False if a reader sees nothing of what is in it."""
        tag: Any = element.tag
        look, href, rel = self.attributes(tag, element)
        number, mark, gap, traits = self.kind(look)
        above = self.open[-1]
        rank = above.ranks[mark] = above.ranks.get(mark, -1) + 1
        row = self.add_row(above.row, number, (mark, rank))
        self.open.append(_Open(row, gap, traits))
        if href and traits & _LINKS:
            self.add_link(row, tag, href, rel)
        if gap <= self.pending == LINE and tag == "br":  # an empty line
            self.pending = PARAGRAPH
        self.widen(gap)
        if traits & _UNSEEN and _is_unseen(tag, element) and not (self.noscript and tag == "noscript"):
            return False
        if traits & _VERBATIM or gap >= LINE:
            self.white = ""
        self.verbatim += bool(traits & _VERBATIM)
        return True

    def end(self) -> None:
        """End the innermost element."""
        ended = self.open.pop()
        self.ends[ended.row] = len(self.parents)
        self.widen(ended.gap)
        if ended.gap >= LINE:
            self.white = ""
        self.verbatim -= bool(ended.traits & _VERBATIM)

    def attributes(self, tag: str, element: etree._Element) -> tuple[Look, str, str]:
        """The look of the element of the next row, the address that it leads to, and its relation."""
        row, found = len(self.parents), {"id": "", "class": "", "role": "", "href": "", "rel": ""}
        for name, value in element.items():
            if name in found:
                found[name] = value
            elif name == "src" and tag in _FRAMES:
                found["href"] = value
            elif name == "aria-label":
                self.labels[row] = value
            elif name == "hidden" or (name == "style" and _HIDING_STYLE.search(value)):
                self.hidden.append(row)
            if name == "rel":
                self.relations[row] = value
            if name == "style" and any(word in value for word in LAYING_OUT):
                self.styles[row] = value
        return (tag, found["id"], found["class"], found["role"]), found["href"], found["rel"]

    def kind(self, look: Look) -> _Kind:
        """What the table has of a look."""
        if look not in self.kinds:
            look = _bounded(look) if self.room > 0 else (look[0], "", "", "")
        if look not in self.kinds:
            self.kinds[look] = _kind(look, len(self.kinds))
            self.room -= sum(map(len, look))
        return self.kinds[look]

    def add_row(self, parent: int, look: int, step: tuple[int, ...]) -> int:
        """Add a row below another; ``step`` tells it from its siblings."""
        self.parents.append(parent)
        self.ends.append(0)
        self.look_ids.append(look)
        self.paths.append(hash((self.paths[parent] if parent >= 0 else 0, *step)))
        return len(self.parents) - 1

    def add_link(self, row: int, tag: str, href: str, rel: str) -> None:
        """Add a link; style sheets put space between adjacent ones."""
        self.link_rows.append(row)
        self.hrefs.append(href)
        self.rels.append(rel.lower())
        if tag == "a":
            before = self.anchors[-1] if self.anchors else row
            if self.leaves and before < self.leaves[-1] < self.ends[before]:
                self.widen(SPACE)
            self.anchors.append(row)

    def add_text(self, text: str | None) -> None:
        """Add a row for a text of the innermost element, unless a reader sees none of it."""
        if not text:
            return
        above = self.open[-1]
        above.texts += 1
        if not (text := readable(text)):
            return
        if text[0].isspace():
            self.widen(SPACE)
        if text.isspace():
            self.white += text if self.verbatim else ""
            return
        folded = fold(text)
        key, count = _text_key(folded) if len(folded) < _LONG else text_key(folded)
        row = self.add_row(above.row, self.look_ids[above.row], (above.texts,))
        self.ends[row] = row + 1
        self.leaves.append(row)
        self.strings.append(self.exact(text) if self.verbatim else folded)
        self.keys.append(key)
        self.words.append(count)
        self.gaps.append(self.pending)
        self.numbers.append(above.texts)
        self.pending = SPACE if text[-1].isspace() else GLUED

    def exact(self, text: str) -> str:
        """The next string as it is inside of ``pre``, with the white space before it put aside."""
        string = text.strip()
        start = text.find(string)
        self.spaces[len(self.strings)] = self.white + text[:start]
        self.white = text[start + len(string) :]
        return string

    def widen(self, gap: int) -> None:
        """Make the gap before the next run of text at least as wide as another."""
        self.pending = max(self.pending, gap)

    def columns(self) -> dict[str, Any]:
        """The columns of the node table, by name."""
        look, end, leaves, parent = (_column(each) for each in (self.look_ids, self.ends, self.leaves, self.parents))
        tag = np.array([TAG.get(look[0], 0) for look in self.kinds], np.int64)[look]
        tag[leaves] = TEXT
        own = np.array([mark for _, mark, _, _ in self.kinds.values()], np.int64)[look]
        # The number of rows before this one whose subtrees have not ended.
        depth = np.arange(len(end)) - np.cumsum(np.bincount(end, minlength=len(end) + 1)[:-1])
        return {
            "tag": tag,
            "parent": parent,
            "end": end,
            "depth": depth,
            "look": look,
            "path": _column(self.paths),
            "signature": own,
            "shape": _shape(parent, depth, np.where(tag == TEXT, 1, own)),
            "looks": list(self.kinds),
            "signs": np.array(list(map(signs, self.kinds)), np.int64),
            "class_signature": np.array(list(map(class_signature, self.kinds)), np.int64),
            "first_leaf": np.searchsorted(leaves, np.arange(len(end))),
            "last_leaf": np.searchsorted(leaves, end),
            "leaves": leaves,
            "strings": self.strings,
            "spaces": self.spaces,
            "text": _column(self.keys),
            "words": _column(self.words),
            "gap": _column(self.gaps),
            "number": _column(self.numbers),
            "anchor": _inside(self.anchors, end),
            "hidden": _inside(self.hidden, end),
            "labels": self.labels,
            "relations": self.relations,
            "styles": self.styles,
        }


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


_text_key = cached(text_key)


def fold(text: str) -> str:
    """Fold the white space of a text."""
    return " ".join(text.split()) if len(text) < _HUGE else _SPACES.sub(" ", text.strip())


@compiled("table")
def declarations(root: etree._Element) -> tuple[dict[str, list[etree._Element]], list[etree._Element]]:
    """The elements by which a page tells of itself, in document order: those in ``DECLARING`` by tag, and microdata."""
    found: dict[str, list[etree._Element]] = {tag: [] for tag in DECLARING}
    for element in root.iter(*DECLARING):
        found[str(element.tag)].append(element)
    return found, _MICRODATA(root)


def _bounded(look: Look) -> Look:
    """Cut off what is too long to be compared and kept."""
    tag, name, classes, role = look
    return tag, name[:_LONGEST], classes[:_LONGEST], role[:_LONGEST]


def _kind(look: Look, number: int) -> _Kind:
    tag = look[0]
    traits = (tag in _UNSEEN_TAGS) * _UNSEEN | (tag in _VERBATIM_TAGS) * _VERBATIM | (tag in _LINK_TAGS) * _LINKS
    return number, signature(look), GAPS.get(tag, GLUED), traits


def _is_unseen(tag: str, element: etree._Element) -> bool:
    if tag == "head":
        return all(child.tag in _METADATA for child in element if isinstance(child.tag, str))
    if tag == "template":
        return not any(element.get(name) in ("open", "closed") for name in _SHADOW_ROOT)
    return tag != "iframe" or element.find("html") is None  # the tree of a rendered page includes framed documents


def _shape(parent: Ints, depth: Ints, own: Ints) -> Ints:
    column = np.zeros(len(own), np.int64)
    for rows in levels_of(depth):
        column[rows] = mix(column[parent[rows]] * 31 + own[rows])
    return column


def _column(values: array[int]) -> Ints:
    return np.frombuffer(values, np.int64) if values else np.zeros(0, np.int64)


def _inside(rows: list[int], end: Ints) -> Bools:
    """(n,) True inside the subtrees of the given rows."""
    change = np.zeros(len(end) + 1, np.int64)
    np.add.at(change, rows, 1)
    np.add.at(change, end[rows], -1)
    return np.cumsum(change[:-1]) > 0


give(
    "table", BY_CHARACTER=BY_CHARACTER, DECLARING=DECLARING, HIDING_STYLE=_HIDING_STYLE, LAYING_OUT=LAYING_OUT,
    METADATA=_METADATA, TAG=TAG,
    MOST_BYTES=MOST_BYTES, ROOM_OF_LOOKS=ROOM_OF_LOOKS, bounded=_bounded, class_signature=class_signature, fold=fold,
    kind=_kind, readable=readable, signs=signs,
)  # fmt: skip
