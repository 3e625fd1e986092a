"""The template of a class of pages from a feed, which has no HTML: from the paths of pagelets that its pages share."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any, Final

from xxhash import xxh3_64_intdigest

from scrapy_pagelets.evidence.class_template import VOTE
from scrapy_pagelets.evidence.template_html import HEAD, SLOT, document

Pagelet = Mapping[str, Any]

_CONTENT: Final = "content"
_STEP: Final = re.compile(r"/(?:text\(\)\[\d+\]|([a-z_][a-z0-9_.-]*|\*)(?:\[\d+\])?)", re.IGNORECASE | re.ASCII)
_PATH: Final = re.compile(f"(?:{_STEP.pattern})+", re.IGNORECASE | re.ASCII)
#: Elements whose content is not HTML.
_FOREIGN: Final = frozenset("script style textarea title iframe xmp listing plaintext noscript template".split())
_VOID: Final = frozenset("area base br col embed hr img input link meta source track wbr".split())


class Skeleton:
    """Counts the pagelets of the pages of a class by their text, and writes those that its pages share as HTML.

    The pages are read twice: `count` takes each of them, then `choose`.

    Attributes
    ----------
    pages : number of pages counted
    """

    def __init__(self) -> None:
        self.pages = 0
        self._counts: Counter[int] = Counter()
        self._key_page: tuple[int, str, Sequence[Pagelet]] = (0, "", ())

    def count(self, pagelets: Sequence[Pagelet]) -> None:
        """Count the pagelets of a page that are not content."""
        self.pages += 1
        self._counts.update({_key(one) for one in pagelets if one["role"] != _CONTENT})

    def choose(self, url: str, pagelets: Sequence[Pagelet]) -> None:
        """Make a page the key page if it has more of the template than those before."""
        shared = sum(len(one["text"]) for one in pagelets if self._is_shared(one))
        if shared > self._key_page[0]:
            self._key_page = shared, url, pagelets

    def html(self, name: str) -> str:
        """HTML of the template, with a slot in the place of other pagelets; "" if the pages share no pagelet.

        A pagelet is template if it is not content and at least 60 % of the pages, two at least, have one with its text.
        The text of a pagelet stands at its first path, and each of its links at the first place with its words. The
        elements have no attributes, because a feed has none.

        Parameters
        ----------
        name : of the class, for the comment at the top
        """
        shared, url, pagelets = self._key_page
        if not shared:
            return ""
        tree = _Tree()
        tree.add("/html/head", HEAD)
        for pagelet in pagelets:
            is_shared = self._is_shared(pagelet)
            for number, path in enumerate(pagelet["xpaths"]):
                if not is_shared:
                    tree.add_slot(path)
                elif not number:
                    tree.add(path, _linked(pagelet))
        about = f"Template of {name}: pagelets that most of {self.pages} pages share, from a feed. Key page: {url}"
        return document(about, tree.html())

    def _is_shared(self, pagelet: Pagelet) -> bool:
        needed = max(2.0, VOTE * self.pages)
        return pagelet["role"] != _CONTENT and self._counts[_key(pagelet)] >= needed


def _key(pagelet: Pagelet) -> int:
    return xxh3_64_intdigest(pagelet["text"].encode("utf-8", "replace"))


def is_path(value: object) -> bool:
    """Return True for an XPath as the feed has them.

    >>> is_path("/html/body/div[2]/text()[1]"), is_path("//div"), is_path(3)
    (True, False, False)
    """
    return isinstance(value, str) and _PATH.fullmatch(value) is not None


def _linked(pagelet: Pagelet) -> str:
    """HTML of the text of a pagelet, with its links, which the feed has in document order."""
    text, start = str(pagelet["text"]), 0
    pieces: list[str] = []
    for link in pagelet.get("links") or ():
        anchor = link["anchor"]
        begin = text.find(anchor, start) if anchor else -1
        if begin >= 0 and link["url"].startswith(("http://", "https://")):
            pieces += escape(text[start:begin]), f'<a href="{escape(link["url"])}">{escape(anchor)}</a>'
            start = begin + len(anchor)
    return "".join([*pieces, escape(text[start:])]).replace("\n", "<br>\n")


class _Tree:
    """A tree of elements, built from paths in document order. A node is the number of an entry in ``_content``."""

    def __init__(self) -> None:
        self._names = [""]
        #: HTML, slots (None) and children (int) of each node.
        self._content: list[list[str | int | None]] = [[]]
        self._children: dict[tuple[int, str], int] = {}

    def add(self, path: str, html: str) -> None:
        self._content[self._node(path)].append(html)

    def add_slot(self, path: str) -> None:
        """Put a slot in the place of a node, unless there is one just before."""
        above = self._content[self._node(path.rpartition("/")[0])]
        if not above or above[-1] is not None:
            above.append(None)

    def _node(self, path: str) -> int:
        """The node of a path, made if it is missing; for a run of text, its parent."""
        node = 0
        for step in _STEP.finditer(path):
            if name := step[1]:
                key = node, step[0]
                if key not in self._children:
                    self._children[key] = len(self._names)
                    self._content[node].append(len(self._names))
                    self._names.append("div" if name == "*" or name.lower() in _FOREIGN | _VOID else name)
                    self._content.append([])
                node = self._children[key]
        return node

    def html(self) -> str:
        return "".join(self._pieces())

    def _pieces(self) -> Iterator[str]:
        todo: list[str | int | None] = self._content[0][::-1]
        while todo:
            part = todo.pop()
            if part is None:
                yield f"<{SLOT}></{SLOT}>\n"
            elif isinstance(part, str):
                yield part
            else:
                yield f"<{self._names[part]}>"
                todo += f"</{self._names[part]}>\n", *self._content[part][::-1]
