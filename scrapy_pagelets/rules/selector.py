"""A CSS selector or an XPath that names elements of a page."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Self

from cssselect import HTMLTranslator, SelectorError
from lxml import etree

#: How an XPath begins: with a slash, a bracket, a dot and a slash, or the name of a function. No CSS selector does.
_XPATH: Final = re.compile(r"[/(]|\.{1,2}/|[\w-]+\(")
_LITERAL: Final = re.compile(r"\"[^\"]*\"|'[^']*'")
_FUNCTION: Final = re.compile(r"([\w.-]+)\s*\(")
_PREFIX: Final = re.compile(r"(?<![\w:.-])(?!xml:)([\w.-]+):(?!:)")
#: The functions of XPath 1.0, the tests of nodes, and the operators that a bracket may follow.
_KNOWN: Final = frozenset(
    "last position count id local-name namespace-uri name string concat starts-with contains substring-before "
    "substring-after substring string-length normalize-space translate boolean not true false lang number sum floor "
    "ceiling round comment text node processing-instruction and or div mod".split()
)
#: The end of an XPath that selects attributes, text or comments.
_NOT_ELEMENTS: Final = re.compile(
    r"(?:@[\w:*.-]+|attribute::[\w:*.-]+|(?:text|comment|processing-instruction)\([^()]*\))(?:\[[^\[\]]*\])*$"
)
_KINDS: Final = {bool: "a truth value", float: "a number", str: "a string"}


@dataclass(frozen=True, eq=False)
class Selector:
    """A selector of a rule.

    Attributes
    ----------
    written : as it stands in the file
    line : where it stands

    Examples
    --------
    >>> page = etree.fromstring("<html><p class='a'>One</p><p>Two</p></html>")
    >>> [p.text for p in Selector.of(".a").elements(page)], [p.text for p in Selector.of("//p[2]").elements(page)]
    (['One'], ['Two'])
    """

    written: str
    line: int
    _find: Callable[[etree._Element], Any]

    @classmethod
    def of(cls, written: str, line: int = 0) -> Self:
        """Compile a selector. An XPath begins with ``/``, ``(``, ``./`` or the name of a function.

        Raises
        ------
        ValueError : if it is not one, or does not select elements; the message continues the selector
        """
        stripped = written.strip()
        return cls(written, line, _of_xpath(stripped) if _XPATH.match(stripped) else _of_css(stripped))

    def elements(self, root: etree._Element) -> list[etree._Element]:
        """Return the elements of a tree that the selector names.

        Raises
        ------
        ValueError : if it fails, or names something other than elements; the message continues the selector
        """
        try:
            found = self._find(root)
        except etree.XPathError as error:
            raise ValueError(f"fails: {_one_line(error)}") from None
        if not isinstance(found, list) or not all(map(etree.iselement, found)):
            raise ValueError("selects something other than elements")
        return found


def _of_css(written: str) -> etree.XPath:
    try:
        return etree.XPath(HTMLTranslator().css_to_xpath(written))
    except (SelectorError, etree.XPathError, ValueError, RecursionError) as error:
        raise ValueError(f"is not a CSS selector: {_one_line(error)}") from None


def _of_xpath(written: str) -> etree.XPath:
    code = _LITERAL.sub("''", written)
    if unknown := set(_FUNCTION.findall(code)) - _KNOWN:
        raise ValueError(f"is not an XPath: there is no function {min(unknown)}")
    if prefix := _PREFIX.search(code):
        raise ValueError(f"is not an XPath for HTML: it has the prefix {prefix[1]}")
    if "$" in code:
        raise ValueError("is not an XPath for HTML: it has a variable")
    try:
        find = etree.XPath(written, smart_strings=False)
        # The type of an XPath does not depend on the tree.
        found = find(etree.Element("html"))
    except (etree.XPathError, ValueError) as error:
        raise ValueError(f"is not an XPath: {_one_line(error)}") from None
    if not isinstance(found, list):
        raise ValueError(f"selects {_KINDS[type(found)]}: give an XPath of elements")
    if _NOT_ELEMENTS.search(code):
        raise ValueError("selects attributes, text or comments: give an XPath of elements")
    return find


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())
