"""Rules by host: which of them a page has, and which elements of the page they name."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Self

import numpy as np
from lxml import etree

from scrapy_pagelets.base.caches import cached
from scrapy_pagelets.page.page import Page
from scrapy_pagelets.page.roles import IGNORE_LINKS, Cause, Marks, links_inside
from scrapy_pagelets.page.urls import host_of
from scrapy_pagelets.rules.selector import Selector

_ANY: Final = "*"
_PATTERN: Final = re.compile(r"(\*\.)?((?:\[[0-9a-fA-F:.]+\]|[^\s/\\@?#*:\[\]]+)(?::[0-9]+)?)")
_PORT: Final = re.compile(r":[0-9]+$")


@dataclass(frozen=True)
class HostPattern:
    """A host; ``*.host`` is the host and every host below it, ``*`` is any. Without a port it stands for all ports.

    Attributes
    ----------
    written : as it stands in the file
    host : normalised, with the port if there is one; "" for any
    below : whether hosts below it match as well

    Examples
    --------
    >>> pattern = HostPattern.of("*.Example.com")
    >>> [pattern.matches(host) for host in ("example.com", "www.example.com:8000", "anexample.com")]
    [True, True, False]
    """

    written: str
    host: str
    below: bool

    @classmethod
    def of(cls, written: str) -> Self:
        """Read a pattern.

        Raises
        ------
        ValueError : if it is not one; the message continues the pattern
        """
        if written == _ANY:
            return cls(written, "", below=True)
        match = _PATTERN.fullmatch(written)
        host = host_of(f"http://{match[2]}/") if match else ""
        if match is None or not host:
            raise ValueError("is not a host pattern: give example.com, *.example.com, example.com:8000 or *")
        return cls(written, host, bool(match[1]))

    def matches(self, host: str) -> bool:
        """Return whether a host, as `urls.host_of` returns it, matches."""
        if not self.host:
            return True
        if not _PORT.search(self.host):
            host = _PORT.sub("", host)
        return host == self.host or (self.below and host.endswith(f".{self.host}"))


@dataclass(frozen=True, eq=False)
class Rule:
    """What to do on the pages of some hosts.

    Attributes
    ----------
    line : where it begins in the file
    hosts : patterns of the hosts
    selectors : for each action, the selectors of its elements
    """

    line: int
    hosts: Sequence[HostPattern]
    selectors: Mapping[str, Sequence[Selector]]


class Rules:
    """All rules of a file. Thread-safe.

    Parameters
    ----------
    path : the file, for messages
    rules : in the order of the file

    Examples
    --------
    >>> rule = Rule(1, [HostPattern.of("example.com")], {"headline": [Selector.of("h2")]})
    >>> page = Rules("rules.toml", [rule]).mark(Page.parse(b"<h1>Shop</h1><h2>Kettle</h2>", "http://example.com/"))
    >>> [page.nodes.xpath(row) for row in page.marks.headline]
    ['/html/body/h2']
    """

    def __init__(self, path: str = "", rules: Sequence[Rule] = ()) -> None:
        self._path = path
        self._rules = rules
        self._of_host = cached(self._found)
        #: The rules and the selectors that had a page, or an element.
        self._used: set[Rule | Selector] = set()

    def mark(self, page: Page) -> Page:
        """Return the page with the rows that rules name in its ``marks``; the page itself if no rule has its host."""
        found = self._of_host(host_of(page.url)) if self._rules else []
        return replace(page, marks=self._marks(page, found)) if found else page

    @staticmethod
    def headline(page: Page) -> list[int]:
        """Return the rows of the elements that rules name as headline, in document order; `mark` has come before."""
        return page.marks.headline

    def without_page(self) -> list[str]:
        """Name the rules that no page had, with their lines."""
        return [
            f"{', '.join(pattern.written for pattern in rule.hosts)} (line {rule.line})"
            for rule in self._rules
            if rule not in self._used
        ]

    def without_element(self) -> list[str]:
        """Name the selectors that matched nothing, though their rules had pages, with their lines."""
        return [
            f"{selector.written} (line {selector.line})"
            for rule in self._rules
            if rule in self._used
            for selectors in rule.selectors.values()
            for selector in selectors
            if selector not in self._used
        ]

    def _found(self, host: str) -> list[tuple[str, Rule]]:
        """The rules of a host, each with the pattern that matches."""
        matching = ((rule, (p.written for p in rule.hosts if p.matches(host))) for rule in self._rules)
        return [(written, rule) for rule, patterns in matching if (written := next(patterns, None)) is not None]

    def _marks(self, page: Page, found: Sequence[tuple[str, Rule]]) -> Marks:
        row_of = _rows(page)
        rows: dict[Cause, list[int]] = {}
        problems = []
        for host, rule, action, selector in _parts(found):
            self._used.add(rule)
            own = rows.setdefault(Cause(host, action), [])
            try:
                elements = selector.elements(page.root)
            except ValueError as error:
                problems.append(f"{self._path}, line {selector.line}: {selector.written!r} {error} on {page.url}")
                elements = []
            if elements:
                self._used.add(selector)
            own += [row for element in elements if (row := row_of.get(element)) is not None]
        ignored = [row for cause, own in rows.items() if cause.action == IGNORE_LINKS for row in own]
        return Marks(rows, frozenset(links_inside(page.nodes, ignored) if ignored else ()), tuple(problems))


def _parts(found: Sequence[tuple[str, Rule]]) -> Iterator[tuple[str, Rule, str, Selector]]:
    for host, rule in found:
        for action, selectors in rule.selectors.items():
            for selector in selectors:
                yield host, rule, action, selector


def _rows(page: Page) -> dict[etree._Element, int]:
    """The row of each element of a page."""
    nodes = page.nodes
    is_element = np.ones(len(nodes), np.bool_)
    is_element[nodes.leaves] = False
    return {nodes.elements[row]: row for row in np.flatnonzero(is_element).tolist()}
