"""The node table of a tree, row by row."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from lxml import etree
from xxhash import xxh3_64_intdigest

from scrapy_pagelets.base.arrays import Bools, Ints, mix
from scrapy_pagelets.base.caches import cached
from scrapy_pagelets.base.characters import WORD, readable
from scrapy_pagelets.page.flattening import (
    _HIDING_STYLE,
    _LINKS,
    _METADATA,
    _UNSEEN,
    _VERBATIM,
    DECLARING,
    LAYING_OUT,
    ROOM_OF_LOOKS,
    _bounded,
    _Kind,
    _kind,
    fold,
)
from scrapy_pagelets.page.looks import Look, class_signature, signs
from scrapy_pagelets.page.nodes import GLUED, LINE, PARAGRAPH, SPACE, TAG, TEXT, levels_of

_FRAMES: Final = frozenset(("frame", "iframe"))
#: Attributes of a `template` that is shown, because browsers make a shadow root of it.
_SHADOW_ROOT: Final = ("shadowrootmode", "shadowroot")
_MICRODATA: Final = etree.XPath("descendant::*[@itemprop or @itemtype]")
#: Texts from this length on are not cached: the short ones of menus recur on each page.
_LONG: Final = 200
#: Rows, addresses and relations of the links.
_Found = tuple[Ints, list[str], list[str]]


def flatten(root: etree._Element, noscript: bool) -> tuple[dict[str, Any], _Found]:
    """See `core.table.flatten`."""
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


_DIGITS: Final = str.maketrans("123456789", "0" * 9)


def text_key(text: str) -> tuple[int, int]:
    """Return hash and number of words of a run of text whose white space is folded.

    The hash ignores case and treats all digits alike. The words of an ASCII text are separated by white space, those of
    other texts are those of `scrapy_pagelets.base.characters`.
    """
    words = text.count(" ") + 1 if len(text) > 3 and text.isascii() else len(WORD.findall(text))
    return xxh3_64_intdigest(text.casefold().translate(_DIGITS).encode("utf-8", "replace")) >> 1, words


_text_key = cached(text_key)


def declarations(root: etree._Element) -> tuple[dict[str, list[etree._Element]], list[etree._Element]]:
    """The elements by which a page tells of itself, in document order: those in ``DECLARING`` by tag, and microdata."""
    found: dict[str, list[etree._Element]] = {tag: [] for tag in DECLARING}
    for element in root.iter(*DECLARING):
        found[str(element.tag)].append(element)
    return found, _MICRODATA(root)


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
