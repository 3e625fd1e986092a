"""Structured data: the JSON-LD and the microdata of a page, and the types of schema.org that tell what it is about.

It is written by hand and by strangers: any of it may be broken or hostile.
"""

import json
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, Final

from lxml import etree

from scrapy_pagelets.base.characters import lazily

Object = dict[str, Any]
#: Characters of all scripts of a page that are read. Those of the pages that we know have 250,000 at most.
_LONGEST: Final = 500_000
_MOST: Final = 1000  # objects of a page that are looked at, and values of a list
#: Comments and CDATA marks around the JSON, which parsers of old needed, and white space.
_WRAPPING: Final = lazily(r"(?:\s|<!--|//<!\[CDATA\[|<!\[CDATA\[|/\*\s*<!\[CDATA\[\s*\*/)*")
_DECODER: Final = json.JSONDecoder(strict=False)
#: Properties whose value may be the object that the page is about.
_MAIN: Final = ("@graph", "mainEntity", "mainEntityOfPage")


def objects_of(elements: Iterable[etree._Element]) -> list[Object]:
    """Return the objects that describe the page, in document order: those at the top, in graphs, and main entities.

    Objects in other properties (reviews, comments, related products) are not among them. Scripts that cannot be parsed,
    and those beyond half a million characters, are left out.

    ``elements``: the ``script`` elements of the page.
    """
    queue = deque(value for text in _scripts(elements) for value in values_of(json_at(text)))
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
        text = script.text or ""
        if "ld+json" in script.get("type", "").lower() and len(text) <= left:
            left -= len(text)
            yield _WRAPPING.sub("", text, count=1)


def json_at(text: str) -> Any:
    """Return the JSON value that a text begins with; None if that is broken."""
    try:
        return _DECODER.raw_decode(text)[0]
    except (ValueError, RecursionError):
        return None


def values_of(value: Any) -> list[Any]:
    """Return the values of a property, of which JSON-LD allows one or a list."""
    if isinstance(value, list):
        return value[:_MOST]
    return [] if value is None else [value]


def types_of(value: Object) -> list[str]:
    """Return the types of an object, without the address of the vocabulary."""
    return [str(each).rpartition("/")[2] for each in values_of(value.get("@type")) if isinstance(each, str)]


def by_id(objects: Iterable[Object]) -> dict[str, Object]:
    """Return the objects that others refer to by their ``@id``; the one with most properties if several have it."""
    found: dict[str, Object] = {}
    for each in objects:
        name = each.get("@id")
        if isinstance(name, str) and len(each) > len(found.get(name, ())):
            found[name] = each
    return found


_MOST_PROPERTIES: Final = 2000  # elements with properties that are looked at
_DEEPEST: Final = 100
_MOST_INSIDE: Final = 200  # elements and runs of text inside of a property that are looked at
#: Attributes that hold the value of a property, in the order of precedence; without one, it is the text.
_VALUES: Final = ("content", "datetime", "src", "href")


def properties_of(marked: Sequence[etree._Element]) -> dict[str, list[etree._Element]]:
    """Return the elements of each property that belongs to the page's one article, posting or other work.

    Properties outside of any item belong to the page. On a page with several works, such as a list of postings, none
    does; those that another item contains (comments of a thread, reviews) are not counted.

    ``marked``: the elements with a property or a type.
    """
    found: dict[etree._Element | None, dict[str, list[etree._Element]]] = {}
    for element in islice((each for each in marked if "itemprop" in each.attrib), _MOST_PROPERTIES):
        scope = next((above for above in _ancestors(element) if "itemscope" in above.attrib), None)
        for name in (element.get("itemprop") or "").split():
            found.setdefault(scope, {}).setdefault(name, []).append(element)
    works = {each for each in found if each is not None and is_work((each.get("itemtype") or "").rpartition("/")[2])}
    outer = [scope for scope in works if not any(above in works for above in _ancestors(scope))]
    return found.get(outer[0] if outer else None, {}) if len(outer) < 2 else {}


def _ancestors(element: etree._Element) -> Iterator[etree._Element]:
    return islice(element.iterancestors(), _DEEPEST)


def value_of(element: etree._Element) -> str:
    """Return the value of a property: an attribute, the ``name`` of an item in it, or the text."""
    values = (element.get(name) for name in _VALUES if name != "href" or element.tag == "link")
    if value := next(filter(None, values), ""):
        return value
    if "itemscope" in element.attrib:
        inside = islice(element.iter(), _MOST_INSIDE)
        inner = next((each for each in inside if "name" in (each.get("itemprop") or "").split()), None)
        if inner is not None and inner is not element:
            return value_of(inner)
    return " ".join("".join(map(str, islice(element.itertext(), _MOST_INSIDE))).split())


_WORKS: Final = frozenset(
    "Article Report Thesis Question Recipe HowTo CreativeWork Course Event Book Movie Dataset SoftwareApplication "
    "MobileApplication WebApplication SoftwareSourceCode VideoGame PodcastEpisode Guide Product JobPosting".split()
)
_ENDINGS: Final = ("Article", "Posting")


def is_work(kind: str) -> bool:
    """Return True for a type of works, which have an author or a date of their own."""
    return kind in _WORKS or kind.endswith(_ENDINGS)


def is_page(kind: str) -> bool:
    """Return True for the types of pages."""
    return kind.endswith("Page") and not is_work(kind)
