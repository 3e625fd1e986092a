"""What a page may have at the most, lest some kilobytes become gigabytes, and the memory that a crawl needs."""

from __future__ import annotations

import os
from dataclasses import dataclass
from threading import Lock
from typing import Final

from lxml import etree

from scrapy_pagelets.errors import PageletsError

#: Attributes of one element. The parser compares each with all others.
MAX_ATTRIBUTES: Final = 10_000
#: Attributes of a page, for each node that it may have.
_ATTRIBUTES_PER_NODE: Final = 10
#: How many ``>`` are looked at to find the end of a tag before the page is counted.
_TRIES: Final = 100
#: A quotation mark behind one of these may begin the value of an attribute.
_OPENING: Final = "= \t\n\r\f"
#: Megabytes of address space that a crawl takes with its libraries, and those that they reserve for each processor.
_LEAST: Final = 768
_A_PROCESSOR: Final = 64
_MOST_PROCESSORS: Final = 64
#: A parser has all attributes of an element in memory before it tells of it: one at a time.
_counting: Final = Lock()


class TooLarge(PageletsError, ValueError):
    """Raised for a page beyond the limits, before it is parsed; the message says what there is too much of."""


@dataclass(frozen=True)
class Limits:
    """What a page may have at the most.

    Attributes
    ----------
    nodes : elements, comments and processing instructions; of attributes ten times as many
    size : bytes of the body
    """

    nodes: int = 100_000
    size: int = 32 << 20

    def check_size(self, body: bytes) -> None:
        """Refuse a body of too many bytes.

        Raises
        ------
        TooLarge : if it is beyond the limit
        """
        if len(body) > self.size:
            raise TooLarge(f"it has {len(body)} bytes, more than the {self.size} of PAGELETS_MAX_SIZE")

    def check_nodes(self, count: int) -> None:
        """Refuse so many nodes.

        Raises
        ------
        TooLarge : if they are beyond the limit
        """
        if count > self.nodes:
            raise TooLarge(f"it has more than the {self.nodes} nodes of PAGELETS_MAX_NODES")

    def check_attributes(self, of_element: int, of_page: int) -> None:
        """Refuse so many attributes.

        Raises
        ------
        TooLarge : if they are beyond the limits
        """
        if of_element > MAX_ATTRIBUTES:
            raise TooLarge(f"it has an element with more than {MAX_ATTRIBUTES} attributes")
        if of_page > (most := _ATTRIBUTES_PER_NODE * self.nodes):
            raise TooLarge(
                f"it has more than {most} attributes, {_ATTRIBUTES_PER_NODE} for each node of PAGELETS_MAX_NODES"
            )

    def check(self, text: str) -> None:
        """Refuse a text of too many nodes or attributes, in memory that does not depend on their number.

        Nearly all pages pass on bounds that cost next to nothing: a node begins with ``<``, an attribute has two
        characters or more. The others are parsed without a tree, to be counted.

        Raises
        ------
        TooLarge : if there are more than the limits

        Examples
        --------
        >>> Limits(nodes=3).check("<p>1 < 2, and 2 < 3, and 3 < 4")
        >>> Limits(nodes=3).check("<br>" * 4)
        Traceback (most recent call last):
        ...
        scrapy_pagelets.limits.TooLarge: it has more than the 3 nodes of PAGELETS_MAX_NODES
        """
        text = text.replace("\x00", "")  # as before parsing
        if (
            text.count("<") > self.nodes
            or len(text) > 2 * _ATTRIBUTES_PER_NODE * self.nodes
            or _may_have_long_tag(text, 2 * MAX_ATTRIBUTES)
        ):
            parser = etree.HTMLParser(  # type: ignore[call-overload]  # a target need not have all methods
                target=_Count(self), encoding="utf-8", huge_tree=True, recover=True
            )
            with _counting:
                parser.feed(text.encode("utf-8", "replace"))
                parser.close()


class _Count:
    """What a parser tells instead of building a tree."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._nodes = self._attributes = 0

    def start(self, _tag: str, attributes: dict[str, str]) -> None:
        self._count()
        if attributes:
            self._attributes += len(attributes)
            self._limits.check_attributes(len(attributes), self._attributes)

    def comment(self, _text: str) -> None:
        self._count()

    def pi(self, _target: str, _data: str | None) -> None:
        self._count()

    def close(self) -> None:
        """Nothing is to be returned: what is too much has been raised."""

    def _count(self) -> None:
        self._nodes += 1
        self._limits.check_nodes(self._nodes)


def _may_have_long_tag(text: str, length: int) -> bool:
    """False if no tag of so many characters is in a text, whatever its comments and scripts look like.

    A ``>`` ends any tag that is open there, unless it stands in quotes. Then the last such quotation mark before it
    comes behind an equals sign. So it is enough to find, in each stretch of the length, one ``>`` of which that is not
    true: the page need not be read from its beginning to its end.
    """
    at = 0
    while len(text) - at > length:
        end = at + length
        for _ in range(_TRIES):
            end = text.rfind(">", at + 1, end)
            if end < 0:
                return True
            if _ends_tag(text, at, end):
                break
        else:
            return True
        at = end
    return False


def _ends_tag(text: str, start: int, end: int) -> bool:
    """True if a ``>`` is in no quotes; one at the start is in none either."""
    marks = (text.rfind(mark, start, end) for mark in "\"'")
    return all(mark < 0 or (mark > 0 and text[mark - 1] not in _OPENING) for mark in marks)


def scarcity() -> str:
    """Say that the process may not have the memory that a crawl takes; "" if it may.

    Where OpenBLAS, which NumPy and SciPy bring along, gets no memory when it is loaded, it waits for it without end.
    """
    try:
        import resource
    except ImportError:  # Windows has no such limits
        return ""
    least = _LEAST + _A_PROCESSOR * min(os.cpu_count() or 1, _MOST_PROCESSORS)
    for kind, option in ((resource.RLIMIT_AS, "-v"), (resource.RLIMIT_DATA, "-d")):
        allowed = resource.getrlimit(kind)[0]
        if allowed != resource.RLIM_INFINITY and allowed < least << 20:
            return (
                f"the process may have only {allowed >> 20} MB of memory, which can make its libraries hang: "
                f"allow {least} MB or more (ulimit {option} {least << 10})"
            )
    return ""
