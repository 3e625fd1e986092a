"""Read the microdata properties of what a page is about."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

from lxml import etree

from scrapy_pagelets.metadata.kinds import is_work

#: Elements with properties that are looked at.
_MOST_PROPERTIES: Final = 2000
_DEEPEST: Final = 100
#: Elements and runs of text inside of a property that are looked at.
_MOST_INSIDE: Final = 200
#: Attributes that hold the value of a property, in the order of precedence; without one, it is the text.
_VALUES: Final = ("content", "datetime", "src", "href")


def properties_of(marked: Sequence[etree._Element]) -> dict[str, list[etree._Element]]:
    """Return the elements of each property that belongs to the page's one article, posting or other work.

    Properties outside of any item belong to the page. On a page with several works, such as a list of postings, none
    does; those that another item contains (comments of a thread, reviews) are not counted.

    Parameters
    ----------
    marked : the elements with a property or a type
    """
    if not marked:
        return {}
    found: dict[etree._Element | None, dict[str, list[etree._Element]]] = {}
    for element in islice((each for each in marked if "itemprop" in each.attrib), _MOST_PROPERTIES):
        scope = _scope(element)
        for name in (element.get("itemprop") or "").split():
            found.setdefault(scope, {}).setdefault(name, []).append(element)
    works = {scope for scope in found if scope is not None and _is_work(scope)}
    outer = [scope for scope in works if not any(above in works for above in _ancestors(scope))]
    if len(outer) == 1:
        return found[outer[0]]
    return found.get(None, {}) if not outer else {}


def _scope(element: etree._Element) -> etree._Element | None:
    """The item that a property belongs to."""
    return next((above for above in _ancestors(element) if "itemscope" in above.attrib), None)


def _ancestors(element: etree._Element) -> Iterator[etree._Element]:
    return islice(element.iterancestors(), _DEEPEST)


def _is_work(scope: etree._Element) -> bool:
    return is_work((scope.get("itemtype") or "").rpartition("/")[2])


def value_of(element: etree._Element) -> str:
    """Return the value of a property: an attribute, the ``name`` of an item in it, or the text."""
    for name in _VALUES:
        if name != "href" or element.tag == "link":
            value = element.get(name)
            if value:
                return value
    if "itemscope" in element.attrib:
        inner = next(
            (each for each in islice(element.iter(), _MOST_INSIDE) if "name" in (each.get("itemprop") or "").split()),
            None,
        )
        if inner is not None and inner is not element:
            return value_of(inner)
    return " ".join("".join(map(str, islice(element.itertext(), _MOST_INSIDE))).split())
