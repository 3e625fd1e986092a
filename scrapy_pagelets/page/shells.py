"""Shells: pages as they are received, to which scripts add their text."""

from __future__ import annotations

from itertools import islice
from typing import Final

from lxml import etree

from scrapy_pagelets.page.page import Page, is_bare

#: The elements that frameworks fill: by their ids, or with a name of their own.
_ROOTS: Final = etree.XPath(
    "descendant::*[@id='root' or @id='app' or @id='__next' or @id='__nuxt' or @id='___gatsby' or @id='react-root' or "
    "@id='app-root' or @id='svelte' or @id='q-app' or @ng-app or @data-reactroot] | body/*[contains(name(), '-')]"
)
_EMPTY: Final = etree.XPath("boolean(body/*[self::div or self::main or self::section][not(node())])")
_NOSCRIPT: Final = etree.XPath("descendant::noscript")
_LINKS: Final = etree.XPath("boolean(descendant::a[@href])")
#: Fewer words than this may tell that a page is being loaded.
_LOADING: Final = 10
#: Elements with such a name, and runs of text in one of them, that are looked at.
_MOST: Final = 100


def is_shell(page: Page) -> bool:
    """Return True for a page with hardly any text that has scripts, and a place for what they add or a request to run.

    >>> is_shell(Page.parse(b"<div id=app></div><script src=app.js></script>", "http://a/"))
    True
    >>> is_shell(Page.parse(b"<h1>Closed</h1><p>We open in May.<script src=count.js></script>", "http://a/"))
    False
    """
    page = page.source or page
    if not is_bare(page.nodes) or not any(map(_acts, page.declared["script"])):
        return False
    return (
        any(_is_unfilled(element) for element in _ROOTS(page.root)[:_MOST])
        or (page.nodes.words.sum() < _LOADING and _EMPTY(page.root))
        or any("javascript" in _text(element).lower() for element in _NOSCRIPT(page.root)[:_MOST])
    )


def _acts(script: etree._Element) -> bool:
    """True for code, and for the data of code; False for what is said to search engines."""
    return "ld+json" not in (script.get("type") or "") and bool(script.get("src") or (script.text or "").strip())


def _is_unfilled(element: etree._Element) -> bool:
    return len(_text(element).split()) < _LOADING and not _LINKS(element)


def _text(element: etree._Element) -> str:
    return " ".join(map(str, islice(element.itertext("*"), _MOST)))
