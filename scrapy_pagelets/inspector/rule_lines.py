"""The rule that a user can write for a pagelet: selectors that name its elements and no others."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Final

from lxml import etree

from scrapy_pagelets.page.nodes import TEXT
from scrapy_pagelets.page.page import Page
from scrapy_pagelets.page.urls import host_of
from scrapy_pagelets.rules.host_rules import Selector

#: Names that a selector can have as they are.
_PLAIN: Final = re.compile(r"-?[A-Za-z_][\w-]*", re.ASCII)
#: Selectors of one rule; what has more parts has no rule.
_MOST: Final = 20
#: Longest name of an element's class or id in a selector.
_LONGEST: Final = 80


def rule(page: Page, rows: Sequence[int], action: str) -> str | None:
    """A rule for some rows of a page, for ``rules.toml``; None if no selector names their elements and no others.

    Parameters
    ----------
    rows : the maximal subtrees of a pagelet, see `text.roots`
    action : ``keep`` or ``strip``
    """
    if not rows or len(rows) > _MOST:
        return None
    written = [selector(page, row) for row in rows]
    if None in written:
        return None
    listed = ", ".join(json.dumps(one, ensure_ascii=False) for one in dict.fromkeys(written))
    host = json.dumps(host_of(page.url) or "*")
    return f"[[rule]]\nhosts = [{host}]\n{action} = [{listed}]"


def selector(page: Page, row: int) -> str | None:
    """The shortest selector that names just the element of a row, in a rendered page and as it was received; None if
    there is none, as for text beside other text."""
    nodes = page.nodes
    if nodes.tag[row] == TEXT:
        row = int(nodes.parent[row])
        if nodes.last_leaf[row] - nodes.first_leaf[row] > 1:
            return None
    element = nodes.elements[row]
    for written in _candidates(element, nodes.xpath(row)):
        if (one := Selector.of(written)).elements(page.root) == [element] and _is_received(page, one):
            return written
    return None


def _is_received(page: Page, one: Selector) -> bool:
    """Whether a crawl that does not render the page finds the element as well: browsers add some, such as tbody."""
    return page.source is None or len(one.elements(page.source.root)) == 1


def _candidates(element: etree._Element, path: str) -> Iterator[str]:
    tag = element.tag if isinstance(element.tag, str) and _PLAIN.fullmatch(element.tag) else ""
    if name := _plain(element.get("id", "").strip()):
        yield f"#{name}"
    classes = [name for name in element.get("class", "").split() if _plain(name)]
    yield from (f"{tag}.{name}" for name in classes)
    if tag and len(classes) > 1:
        yield f"{tag}.{'.'.join(classes)}"
    if role := _plain(element.get("role", "").strip()):
        yield f'[role="{role}"]'
    if tag in ("nav", "header", "footer", "aside", "main", "article", "h1"):
        yield tag
    yield path


def _plain(name: str) -> str:
    return name if len(name) <= _LONGEST and _PLAIN.fullmatch(name) else ""
