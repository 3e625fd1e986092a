"""Read rules from a TOML file; an error names the file and the line."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final, NoReturn, TypeVar

from scrapy_pagelets.base.display import shortened
from scrapy_pagelets.base.errors import ConfigError
from scrapy_pagelets.page.roles import ACTIONS
from scrapy_pagelets.rules.host_rules import HostPattern, Rule, Rules, Selector

T = TypeVar("T")
_RULE, _HOSTS = "rule", "hosts"
_KEYS: Final = (_HOSTS, *ACTIONS)
#: A comment, a string or a bare word of TOML. Strings of several lines come first.
_TOKEN: Final = re.compile(
    r'#[^\n]*|("""(?:\\.|[^\\])*?"{3,5}|\'\'\'.*?\'{3,5}|"(?:\\.|[^"\\\n])*"|\'[^\'\n]*\')|([\w-]+)', re.DOTALL
)
_LINE: Final = re.compile(r" \(at (?:line (\d+), column \d+|end of document)\)$")
#: Longer values are truncated in messages.
_SHOWN: Final = 100


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
                self._refuse(self._line(key), f"there is no table {_shown(key)}: write [[rule]]")
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
                self._refuse(at, f"there is no key {_shown(key)}: did you mean {meant}?")
            strings = [value] if isinstance(value, str) else value
            if not isinstance(strings, list) or not all(isinstance(string, str) for string in strings):
                what = "host patterns" if key == _HOSTS else "CSS selectors or XPaths"
                self._refuse(at, f"{key} is {_shown(value)}: give a list of {what}")
            if key == _HOSTS:
                hosts = [self._made(lambda written, _: HostPattern.of(written), string) for string in strings]
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
            self._refuse(line, f"{_shown(string)} {error}")

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
    """The keys and strings of a TOML document, each with its line."""
    line, end = 1, 0
    for match in _TOKEN.finditer(text):
        line += text.count("\n", end, match.start())
        end = match.start()
        if match[1]:
            yield tomllib.loads(f"string = {match[1]}")["string"], line
        elif match[2]:
            yield match[2], line


def _shown(value: Any) -> str:
    return shortened(repr(value), _SHOWN)
