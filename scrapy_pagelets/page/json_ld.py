"""Read JSON-LD scripts as plain objects. They are written by hand and by strangers: any may be broken or hostile."""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any, Final

from lxml import etree

Object = dict[str, Any]

#: Characters of all scripts of a page that are read. Those of the pages that we know have 250,000 at most.
_LONGEST: Final = 500_000
#: Objects of a page that are looked at, and values of a list.
_MOST: Final = 1000
#: Comments and CDATA marks around the JSON, which parsers of old needed, and white space.
_WRAPPING: Final = re.compile(r"(?:\s|<!--|//<!\[CDATA\[|<!\[CDATA\[|/\*\s*<!\[CDATA\[\s*\*/)*")
_DECODER: Final = json.JSONDecoder(strict=False)
#: Properties whose value may be the object that the page is about.
_MAIN: Final = ("@graph", "mainEntity", "mainEntityOfPage")


def objects_of(elements: Iterable[etree._Element]) -> list[Object]:
    """Return the objects that describe the page, in document order: those at the top, in graphs, and main entities.

    Objects in other properties (reviews, comments, related products) are not among them. Scripts that cannot be parsed,
    and those beyond half a million characters, are left out.

    Parameters
    ----------
    elements : the ``script`` elements of the page
    """
    queue = deque(value for text in _scripts(elements) for value in values_of(_parsed(text)))
    found: list[Object] = []
    for _ in range(_MOST):
        if not queue:
            break
        value = queue.popleft()
        if isinstance(value, dict):
            found.append(value)
            queue.extendleft(reversed([part for name in _MAIN for part in values_of(value.get(name))]))
        elif isinstance(value, list):
            queue.extendleft(reversed(value[:_MOST]))
    return found


def _scripts(elements: Iterable[etree._Element]) -> Iterator[str]:
    left = _LONGEST
    for script in elements:
        if "ld+json" in (script.get("type") or "").lower():
            text = script.text or ""
            if len(text) <= left:
                left -= len(text)
                yield text


def _parsed(text: str) -> Any:
    """The first JSON value of a script; None if it is broken."""
    start = _WRAPPING.match(text)
    assert start
    try:
        return _DECODER.raw_decode(text, start.end())[0]
    except (ValueError, RecursionError):
        return None


def values_of(value: Any) -> list[Any]:
    """Return the values of a property, of which JSON-LD allows one or a list.

    >>> values_of("a"), values_of(["a", 1]), values_of(None)
    (['a'], ['a', 1], [])
    """
    if isinstance(value, list):
        return value[:_MOST]
    return [] if value is None else [value]


def types_of(value: Object) -> list[str]:
    """Return the types of an object, without the address of the vocabulary.

    >>> types_of({"@type": ["https://schema.org/NewsArticle", 3]})
    ['NewsArticle']
    """
    return [str(each).rpartition("/")[2] for each in values_of(value.get("@type")) if isinstance(each, str)]


def by_id(objects: Iterable[Object]) -> dict[str, Object]:
    """Return the objects that others refer to by their ``@id``; the one with most properties if several have it."""
    found: dict[str, Object] = {}
    for each in objects:
        name = each.get("@id")
        if isinstance(name, str) and len(each) > len(found.get(name, ())):
            found[name] = each
    return found
