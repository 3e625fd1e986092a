"""Limits on the size of a page, so that a few kilobytes cannot take gigabytes, and the memory that a crawl needs."""

import os
from dataclasses import dataclass
from threading import Lock
from typing import Final

from lxml import etree

from scrapy_pagelets.base.errors import PageletsError
from scrapy_pagelets.core import give
from scrapy_pagelets.core.limits import may_have_long_tag as may_have_long_tag
from scrapy_pagelets.core.limits import without_nul as without_nul

#: Attributes of one element. The parser compares each with all others; elements of real pages have up to 20.
MAX_ATTRIBUTES: Final = 1000
_ATTRIBUTES_PER_NODE: Final = 10  # the limit on the attributes of a page, as a multiple of the limit on its nodes
_TRIES: Final = 100  # how many ``>`` are examined for the end of a tag before the page is parsed to count
_OPENING: Final = "= \t\n\r\f"  # a quotation mark after one of these may open the value of an attribute
_SEPARATORS: Final = " \t\n\r\f/\"'"  # one of these is before each attribute
give("limits", OPENING=_OPENING, SEPARATORS=_SEPARATORS, TRIES=_TRIES)
#: The parser holds all attributes of an element in memory before it reports them, so pages are counted one at a time.
_counting: Final = Lock()


class TooLarge(PageletsError, ValueError):
    """Raised before a page beyond the limits is parsed; the message names the limit."""


@dataclass(frozen=True)
class Limits:
    """The limits on a page."""

    #: number of elements, comments and processing instructions; a page may have ten times as many attributes
    nodes: int = 100_000
    size: int = 32 << 20  # bytes of the body

    def check_size(self, body: bytes) -> None:
        """Raise `TooLarge` for a body with more bytes than the limit."""
        if len(body) > self.size:
            raise TooLarge(f"it has {len(body)} bytes, more than the {self.size} of PAGELETS_MAX_SIZE")

    def check_nodes(self, count: int) -> None:
        """Raise `TooLarge` for a number of nodes beyond the limit."""
        if count > self.nodes:
            raise TooLarge(f"it has more than the {self.nodes} nodes of PAGELETS_MAX_NODES")

    def check(self, text: str) -> None:
        """Raise `TooLarge` for a text with too many nodes or attributes, in memory that their number does not change.

        Nearly all pages pass by bounds that cost next to nothing: a node begins with ``<``, and an attribute has two
        characters or more. All others are parsed without building a tree, and their nodes and attributes are counted.

        >>> Limits(nodes=3).check("<p>1 < 2, and 2 < 3, and 3 < 4")
        >>> Limits(nodes=3).check("<br>" * 4)
        Traceback (most recent call last):
        ...
        scrapy_pagelets.page.limits.TooLarge: it has more than the 3 nodes of PAGELETS_MAX_NODES
        """
        text = without_nul(text)
        if (
            (len(text) > self.nodes and text.count("<") > self.nodes)
            or len(text) > 2 * _ATTRIBUTES_PER_NODE * self.nodes
            or may_have_long_tag(text, MAX_ATTRIBUTES)
        ):
            parser = etree.HTMLParser(  # type: ignore[call-overload]  # a target need not have all methods
                target=_Count(self), encoding="utf-8", huge_tree=True, recover=True
            )
            with _counting:
                parser.feed(text.encode("utf-8", "replace"))
                parser.close()


class _Count:
    """Parser target that counts nodes and attributes instead of building a tree."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._nodes = self._attributes = 0

    def start(self, _tag: str, attributes: dict[str, str]) -> None:
        self.comment()
        self._attributes += len(attributes)
        if len(attributes) > MAX_ATTRIBUTES:
            raise TooLarge(f"it has an element with more than {MAX_ATTRIBUTES} attributes")
        if self._attributes > (most := _ATTRIBUTES_PER_NODE * self._limits.nodes):
            raise TooLarge(
                f"it has more than {most} attributes, {_ATTRIBUTES_PER_NODE} for each node of PAGELETS_MAX_NODES"
            )

    def comment(self, *_: str | None) -> None:
        self._nodes += 1
        self._limits.check_nodes(self._nodes)

    pi = comment

    def close(self) -> None:
        """Return nothing: a page beyond the limits has raised ``TooLarge`` by now."""


def memory_shortage() -> str:
    """Return a message if the process may not allocate the memory that a crawl needs, else "".

    OpenBLAS, which comes with NumPy and SciPy, waits forever if it gets no memory while it is loaded.
    """
    try:
        import resource
    except ImportError:  # Windows has no such limits
        return ""
    least = 768 + 64 * min(os.cpu_count() or 1, 64)  # the libraries reserve 64 MB for each of so many processors
    for kind, option in ((resource.RLIMIT_AS, "-v"), (resource.RLIMIT_DATA, "-d")):
        allowed = resource.getrlimit(kind)[0]
        if allowed != resource.RLIM_INFINITY and allowed < least << 20:
            return (
                f"the process is limited to {allowed >> 20} MB of memory, which can make its libraries hang: "
                f"allow {least} MB or more (ulimit {option} {least << 10})"
            )
    return ""
