"""Rules by host, and their TOML file: which of them a page has, and which of its elements their selectors name."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final, NoReturn, Self, TypeVar

from cssselect import HTMLTranslator, SelectorError
from lxml import etree

from scrapy_pagelets.base.caches import cached
from scrapy_pagelets.base.characters import lazily
from scrapy_pagelets.base.display import shortened
from scrapy_pagelets.base.errors import ConfigError
from scrapy_pagelets.page.page import Page
from scrapy_pagelets.page.roles import ACTIONS, IGNORE_LINKS, Cause, Marks, links_inside
from scrapy_pagelets.page.urls import host_of

_ANY: Final = "*"
_PATTERN: Final = lazily(r"(\*\.)?((?:\[[0-9a-fA-F:.]+\]|[^\s/\\@?#*:\[\]]+)(?::[0-9]+)?)")
_PORT: Final = lazily(r":[0-9]+$")


@dataclass(frozen=True)
class HostPattern:
    """A host; ``*.host`` is the host and every host below it, ``*`` is any. Without a port it stands for all ports."""

    source: str  # as it stands in the file
    host: str  # normalised, with the port if there is one; "" for any
    below: bool  # whether hosts below it match as well

    @classmethod
    def of(cls, source: str) -> Self:
        """Read a pattern. Raise ValueError if it is not one; the message continues the pattern."""
        if source == _ANY:
            return cls(source, "", below=True)
        match = _PATTERN.fullmatch(source)
        host = host_of(f"http://{match[2]}/") if match else ""
        if match is None or not host:
            raise ValueError("is not a host pattern: give example.com, *.example.com, example.com:8000 or *")
        return cls(source, host, bool(match[1]))

    def matches(self, host: str) -> bool:
        """Return whether a host, as `urls.host_of` returns it, matches."""
        host = host if _PORT.search(self.host) else _PORT.sub("", host)
        return not self.host or host == self.host or (self.below and host.endswith(f".{self.host}"))


@dataclass(frozen=True, eq=False)
class Rule:
    """What to do on the pages of some hosts."""

    line: int  # where it begins in the file
    hosts: Sequence[HostPattern]  # patterns of the hosts
    selectors: Mapping[str, Sequence[Selector]]  # for each action, the selectors of its elements


class Rules:
    """All rules of a file. Thread-safe. ``path``: the file, for messages. ``rules``: in the order of the file."""

    def __init__(self, path: str = "", rules: Sequence[Rule] = ()) -> None:
        self._path = path
        self._rules = rules
        self._of_host = cached(self._found)
        self._used: set[Rule | Selector] = set()  # the rules and the selectors that had a page, or an element

    def mark(self, page: Page) -> Page:
        """Return the page with the rows that rules name in its ``marks``; the page itself if no rule has its host."""
        found = self._of_host(host_of(page.url)) if self._rules else []
        return replace(page, marks=self._marks(page, found)) if found else page

    def without_page(self) -> list[str]:
        """Name the rules that no page had, with their lines."""
        unused = (rule for rule in self._rules if rule not in self._used)
        return [f"{', '.join(pattern.source for pattern in rule.hosts)} (line {rule.line})" for rule in unused]

    def without_element(self) -> list[str]:
        """Name the selectors that matched nothing, though their rules had pages, with their lines."""
        used = (rule for rule in self._rules if rule in self._used)
        selectors = (one for rule in used for of_action in rule.selectors.values() for one in of_action)
        return [f"{one.source} (line {one.line})" for one in selectors if one not in self._used]

    def _found(self, host: str) -> list[tuple[str, Rule]]:
        """The rules of a host, each with the pattern that matches."""
        matching = ((rule, (p.source for p in rule.hosts if p.matches(host))) for rule in self._rules)
        return [(source, rule) for rule, patterns in matching if (source := next(patterns, None)) is not None]

    def _marks(self, page: Page, found: Sequence[tuple[str, Rule]]) -> Marks:
        row_of = rows_of_elements(page)
        rows: dict[Cause, list[int]] = {}
        problems = []
        for host, rule in found:
            self._used.add(rule)
            for action, selector in ((action, one) for action, some in rule.selectors.items() for one in some):
                own = rows.setdefault(Cause(host, action), [])
                try:
                    elements = selector.elements(page.root)
                except ValueError as error:
                    problems.append(f"{self._path}, line {selector.line}: {selector.source!r} {error} on {page.url}")
                    elements = []
                if elements:
                    self._used.add(selector)
                own += [row for element in elements if (row := row_of.get(element)) is not None]
        ignored = [row for cause, own in rows.items() if cause.action == IGNORE_LINKS for row in own]
        return Marks(rows, frozenset(links_inside(page.nodes, ignored) if ignored else ()), tuple(problems))


def rows_of_elements(page: Page) -> dict[etree._Element, int]:
    """The row of each element of a page."""
    leaves = set(page.nodes.leaves.tolist())
    return {element: row for row, element in enumerate(page.nodes.elements) if row not in leaves}


#: How an XPath begins: with a slash, a bracket, a dot and a slash, or the name of a function. No CSS selector does.
_XPATH: Final = lazily(r"[/(]|\.{1,2}/|[\w-]+\(")
_LITERAL: Final = lazily(r"\"[^\"]*\"|'[^']*'")
_FUNCTION: Final = lazily(r"([\w.-]+)\s*\(")
_PREFIX: Final = lazily(r"(?<![\w:.-])(?!xml:)([\w.-]+):(?!:)")
#: The functions of XPath 1.0, the tests of nodes, and the operators that a bracket may follow.
_KNOWN: Final = frozenset(
    "last position count id local-name namespace-uri name string concat starts-with contains substring-before "
    "substring-after substring string-length normalize-space translate boolean not true false lang number sum floor "
    "ceiling round comment text node processing-instruction and or div mod".split()
)
#: The end of an XPath that selects attributes, text or comments.
_NOT_ELEMENTS: Final = lazily(
    r"(?:@[\w:*.-]+|attribute::[\w:*.-]+|(?:text|comment|processing-instruction)\([^()]*\))(?:\[[^\[\]]*\])*$"
)
_KINDS: Final = {bool: "a truth value", float: "a number", str: "a string"}


@dataclass(frozen=True, eq=False)
class Selector:
    """A selector of a rule. ``source``: as it stands in the file. ``line``: where it stands."""

    source: str
    line: int
    _find: Callable[[etree._Element], Any]

    @classmethod
    def of(cls, source: str, line: int = 0) -> Self:
        """Compile a selector. An XPath begins with ``/``, ``(``, ``./`` or the name of a function.

        Raise ValueError if it is not one, or does not select elements; the message continues the selector.
        """
        stripped = source.strip()
        return cls(source, line, _of_xpath(stripped) if _XPATH.match(stripped) else _of_css(stripped))

    def elements(self, root: etree._Element) -> list[etree._Element]:
        """Return the elements of a tree that the selector names.

        Raise ValueError if it fails, or names something other than elements; the message continues the selector.
        """
        try:
            found = self._find(root)
        except etree.XPathError as error:
            raise ValueError(f"fails: {_one_line(error)}") from None
        if not isinstance(found, list) or not all(map(etree.iselement, found)):
            raise ValueError("selects something other than elements")
        return found


def _of_css(source: str) -> etree.XPath:
    try:
        return etree.XPath(HTMLTranslator().css_to_xpath(source))
    except (SelectorError, etree.XPathError, ValueError, RecursionError) as error:
        raise ValueError(f"is not a CSS selector: {_one_line(error)}") from None


def _of_xpath(source: str) -> etree.XPath:
    code = _LITERAL.sub("''", source)
    if unknown := set(_FUNCTION.findall(code)) - _KNOWN:
        raise ValueError(f"is not an XPath: there is no function {min(unknown)}")
    if prefix := _PREFIX.search(code):
        raise ValueError(f"is not an XPath for HTML: it has the prefix {prefix[1]}")
    if "$" in code:
        raise ValueError("is not an XPath for HTML: it has a variable")
    try:
        find = etree.XPath(source, smart_strings=False)
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


T = TypeVar("T")
_RULE, _HOSTS = "rule", "hosts"
_KEYS: Final = (_HOSTS, *ACTIONS)
#: A comment, a string or a bare word of TOML. Strings of several lines come first.
_TOKEN: Final = lazily(
    r'#[^\n]*|("""(?:\\.|[^\\])*?"{3,5}|\'\'\'.*?\'{3,5}|"(?:\\.|[^"\\\n])*"|\'[^\'\n]*\')|([\w-]+)', re.DOTALL
)
_LINE: Final = lazily(r" \(at (?:line (\d+), column \d+|end of document)\)$")
_SHOWN: Final = 100  # longer values are truncated in messages


def read(path: str) -> Rules:
    """Read the rules of a file.

    Raise ConfigError if the file cannot be read, is not TOML, or has something that is not a rule.
    """
    try:
        text = Path(path).read_text(encoding="utf-8-sig").replace("\r\n", "\n")
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}") from None
    except ValueError:
        raise ConfigError(f"{path} is not TOML: it is not UTF-8") from None
    return _File(path, text).rules()


class _File:
    """A file of rules, whose keys and strings are looked up in the text in their order, for the lines of messages."""

    def __init__(self, path: str, text: str) -> None:
        self._path = path
        self._text = text
        self._tokens: list[tuple[str, int]] = []
        self._next = 0

    def rules(self) -> Rules:
        document = self._document()
        self._tokens = list(_tokens(self._text))
        for key in document:
            if key != _RULE:
                self._refuse(self._line(key), f"there is no table {shortened(repr(key), _SHOWN)}: write [[rule]]")
        tables = document.get(_RULE, [])
        if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
            self._refuse(self._line(_RULE), "write [[rule]], with two brackets, for each rule")
        if not tables:
            self._refuse(1, "there is no rule: write [[rule]]")
        return Rules(self._path, [self._rule(table) for table in tables])

    def _document(self) -> dict[str, Any]:
        try:
            return tomllib.loads(self._text)
        except tomllib.TOMLDecodeError as error:
            place = _LINE.search(str(error))
            line = int(place[1]) if place and place[1] else self._text.rstrip().count("\n") + 1
            self._refuse(line, f"this is not TOML: {_LINE.sub('', str(error))}")
        except RecursionError:
            raise ConfigError(f"{self._path} is not TOML: it nests too deep") from None

    def _rule(self, table: dict[str, Any]) -> Rule:
        if self._next < len(self._tokens) and self._tokens[self._next][0] == _RULE:
            line = self._line(_RULE)
        else:  # an inline table
            line = self._tokens[min(self._next, len(self._tokens) - 1)][1]
        hosts: list[HostPattern] = []
        selectors = {}
        for key, value in table.items():
            at = self._line(key)
            if key not in _KEYS:
                meant = get_close_matches(re.sub(r"[\s-]", "_", key.lower()), _KEYS, 1, 0.0)[0]
                self._refuse(at, f"there is no key {shortened(repr(key), _SHOWN)}: did you mean {meant}?")
            strings = [value] if isinstance(value, str) else value
            if not isinstance(strings, list) or not all(isinstance(string, str) for string in strings):
                what = "host patterns" if key == _HOSTS else "CSS selectors or XPaths"
                self._refuse(at, f"{key} is {shortened(repr(value), _SHOWN)}: give a list of {what}")
            if key == _HOSTS:
                hosts = [self._made(lambda source, _: HostPattern.of(source), string) for string in strings]
            else:
                selectors[key] = [self._made(Selector.of, string) for string in strings]
        if not hosts:
            self._refuse(line, 'the rule has no hosts: give them, as in hosts = ["*.example.com"]')
        if not any(selectors.values()):
            self._refuse(line, f"the rule does nothing: give {', '.join(ACTIONS[:-1])} or {ACTIONS[-1]}")
        return Rule(line, hosts, selectors)

    def _made(self, make: Callable[[str, int], T], string: str) -> T:
        line = self._line(string)
        try:
            return make(string, line)
        except ValueError as error:
            self._refuse(line, f"{shortened(repr(string), _SHOWN)} {error}")

    def _line(self, value: str) -> int:
        """The line of the next key or string that is this value."""
        for number in range(self._next, len(self._tokens)):
            if self._tokens[number][0] == value:
                self._next = number + 1
                return self._tokens[number][1]
        return next((line for token, line in self._tokens if token == value), 1)

    def _refuse(self, line: int, problem: str) -> NoReturn:
        raise ConfigError(f"{self._path}, line {line}: {problem}")


def _tokens(text: str) -> Iterator[tuple[str, int]]:
    line, end = 1, 0
    for match in _TOKEN.finditer(text):
        line += text.count("\n", end, match.start())
        end = match.start()
        if match[1]:
            yield tomllib.loads(f"string = {match[1]}")["string"], line
        elif match[2]:
            yield match[2], line
