"""The fragments of a page's URL: names of places in it that a browser scrolls to."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from typing import Final
from urllib.parse import quote

from scrapy_pagelets.document.blocks import Block
from scrapy_pagelets.page.page import Page

#: Longer names are of machines.
_LONGEST_NAME: Final = 200
#: An id of these is no place in the page.
_WHOLE: Final = ("html", "body")
#: Characters of a fragment that need no escape (RFC 3986, 3.5), beside letters and digits.
_SAFE: Final = "-._~!$&'()*+,;=:@/?"


class NamedPlaces:
    """The places in the content of a page that have a name.

    A name belongs to the block that its element begins with; to a heading, if the element is anywhere in it. If two
    elements have one name, a browser goes to the first.

    Parameters
    ----------
    document : the content of the page, as `document_of` returns it
    """

    def __init__(self, page: Page, document: Block) -> None:
        self._page = page
        self._names = dict(_names(page))
        starts = dict(_starts(document.walk()))
        first = page.nodes.first_leaf
        named = [(starts[leaf], name) for row, name in self._names.items() if (leaf := int(first[row])) in starts]
        named.sort(key=lambda place: place[0])  # stable: of the names of a block, the last is the nearest to its text
        self._leaves = [leaf for leaf, _ in named]
        self._named = [name for _, name in named]

    def url(self, leaf: int | None) -> str:
        """The URL of the page with the nearest name at or above a leaf; without one if there is none."""
        url = self._page.url.partition("#")[0]
        name = None if leaf is None else self._nearest(leaf)
        return url if name is None else f"{url}#{quote(name, safe=_SAFE, errors='replace')}"

    def _nearest(self, leaf: int) -> str | None:
        if place := bisect_right(self._leaves, leaf):
            return self._named[place - 1]
        nodes = self._page.nodes
        row = int(nodes.leaves[leaf])
        while row >= 0 and row not in self._names:
            row = int(nodes.parent[row])
        return self._names.get(row)


def _names(page: Page) -> Iterator[tuple[int, str]]:
    """Yield the rows that have a name which no row before has: their ``id``, or the ``name`` of an ``a``."""
    nodes, seen = page.nodes, set[str]()
    tags = [look[0] for look in nodes.looks]
    may = [(look[0] == "a" or bool(look[1])) and look[0] not in _WHOLE for look in nodes.looks]
    text = set(nodes.leaves.tolist())
    for row, look in enumerate(nodes.look.tolist()):
        if not may[look] or row in text:
            continue
        element = nodes.elements[row]
        for name in (element.get("id"), element.get("name") if tags[look] == "a" else None):
            if name and len(name) <= _LONGEST_NAME and name not in seen:
                seen.add(name)
                yield row, name
                break


def _starts(blocks: Iterable[Block]) -> Iterator[tuple[int, int]]:
    """Yield the leaves with which blocks begin, and all leaves of headings, each with the first leaf of its block."""
    for block in blocks:
        for leaf in block.leaves if block.kind == "heading" else block.leaves[:1]:
            yield leaf, block.leaves[0]
