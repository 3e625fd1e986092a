"""Readers for the values of settings, Python values or strings: each checks one and converts it to the type needed.

For one that cannot be used, it raises a ``ValueError`` that continues the name of the setting: ``is 'x': give ...``.
"""

import json
import os
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final, NoReturn

from scrapy_pagelets.base.characters import without_controls
from scrapy_pagelets.base.display import shortened
from scrapy_pagelets.document.units import tokenizer_of
from scrapy_pagelets.index.interface import IndexUnusable, shown
from scrapy_pagelets.index.targets import kind_of

Reader = Callable[[Any], Any]
_FLAGS: Final = {"0": False, "1": True, "false": False, "true": True}


def whole(takes: str, fits: Callable[[int], bool]) -> Reader:
    """Return a reader of whole numbers for which ``fits`` is true; ``takes`` says which: ``give a number, from 1``."""
    return _number(int, takes, fits)


def decimal(takes: str, least: float, most: float) -> Reader:
    """Return a reader of numbers from ``least`` to ``most``."""
    return _number(float, takes, lambda number: least <= number <= most)  # which is false for NaN


def _number(kind: Callable[[Any], Any], takes: str, fits: Callable[[Any], bool]) -> Reader:
    def read(value: Any) -> Any:
        try:
            number = kind(value)
        except (TypeError, ValueError, OverflowError):
            _refuse(value, takes)
        if (isinstance(value, float) and number != value) or not fits(number):
            _refuse(value if isinstance(value, float) else number, takes)
        return number

    return read


def flag_or(*names: str) -> Reader:
    """Return a reader of a boolean, in the notations of Scrapy, or of one of some names."""
    takes = "give True or False, 1 or 0" + "".join(f", or {name}" for name in names)

    def read(value: Any) -> bool | str:
        known = _FLAGS.get(str(value).lower()) if isinstance(value, bool | int | str) else None
        if known is None and value not in names:
            _refuse(value, takes)
        return value if known is None else known

    return read


flag: Final = flag_or()  # reads a boolean


def choice(allowed: Iterable[str]) -> Reader:
    """Return a reader of one of the allowed names."""
    names = tuple(allowed)

    def read(value: Any) -> str:
        if not isinstance(value, str) or value not in names:
            raise ValueError(f"has {_shown(value)}: choose from {', '.join(names)}")
        return value

    return read


def choices(allowed: Iterable[str]) -> Reader:
    """Return a reader of several allowed names: a list, or a string with commas."""
    one = choice(allowed)
    return lambda value: tuple(map(one, _listed(value, "give a list of names, or names separated by commas")))


def words(value: Any) -> str:
    """Read words in one string; white space and control characters become single spaces."""
    if not isinstance(value, str):
        _refuse(value, "give words, in one string")
    return " ".join(without_controls(value).split())


def path(value: Any) -> str:
    """Read the path of a file or folder, "" for none."""
    try:
        name = os.fspath(value)
        if isinstance(name, str) and b"\0" not in os.fsencode(name):
            return name
    except (TypeError, UnicodeEncodeError):
        pass
    return _refuse(value, "give the path of a file or folder, in one string")


def paths(value: Any) -> tuple[str, ...]:
    """Read paths of files: a list, or a string with commas."""
    return tuple(map(path, _listed(value, "give a list of paths, or paths separated by commas")))


def index(value: Any) -> str:
    """Read the name of a search index, "" for none."""
    name = path(value)
    try:
        if name:
            kind_of(name)
    except IndexUnusable as error:
        raise ValueError(f"cannot be used: {error}") from error
    return name


def tokenizer(value: Any) -> str:
    """Read the name of a function that counts tokens, "" for none."""
    name = words(value)
    try:
        tokenizer_of(name)
    except ValueError as error:
        takes = "give a function that returns the number of tokens of a text, as package.module:function"
        raise ValueError(f"has {_shown(name)}, which cannot be used ({error}): {takes}") from error
    return name


def server(value: Any) -> str:
    """Read the URL of a Redis server, "" for none."""
    name = path(value)
    if name and not name.startswith(("redis://", "rediss://", "unix://")):
        _refuse(value, "give the URL of a Redis server, such as redis://localhost:6379/0")
    return name


def names(allowed: Iterable[str], presets: Mapping[str, Mapping[str, str | None]]) -> Reader:
    """Return a reader of new names for allowed ones, None to leave one out: a dictionary, JSON, or a preset."""
    check = choice(allowed)
    takes = 'map names of the feed to new names, {"text": "body"}, or to None (null in JSON) to leave a field out'
    takes += "".join(f", or give {preset}" for preset in presets)

    def read(value: Any) -> Mapping[str, str | None]:
        if isinstance(value, str) and value in presets:
            return presets[value]
        try:
            mapping = json.loads(value) if isinstance(value, str) else dict(value)
        except (TypeError, ValueError, RecursionError):
            _refuse(value, takes)
        if not isinstance(mapping, dict):
            _refuse(value, takes)
        for name, new in mapping.items():
            check(name)
            if not (new is None or (isinstance(new, str) and new)):
                raise ValueError(f"has {_shown(new)} for {name}: {takes}")
        return MappingProxyType(mapping)

    return read


def _listed(value: Any, takes: str) -> list[Any]:
    """A list, as Scrapy reads it, but spaces around the parts of a string are dropped."""
    if isinstance(value, str):
        return [part.strip() for part in value.split(",")] if value.strip() else []
    return list(value) if isinstance(value, list | tuple | set | frozenset) else _refuse(value, takes)


def _refuse(value: Any, takes: str) -> NoReturn:
    raise ValueError(f"is {_shown(value)}: {takes}")


def _shown(value: Any) -> str:
    """A value for messages: on one line, truncated, and without the password of a server."""
    try:
        text = repr(shown(value) if isinstance(value, str) else value)
    except (ValueError, RecursionError):  # a number with more digits than Python converts to a string
        text = f"a {type(value).__name__} too large to be shown"
    return shortened(text, 100)
