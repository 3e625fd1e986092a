"""Checks of spider arguments (``-a name=value``)."""

from __future__ import annotations

from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

_START: Final = "the spider site needs a start page: -a url=https://example.com/, or -a urls=FILE with one per line"


def start_urls(url: str, urls: str) -> list[str]:
    """Return the start pages: the argument ``url``, or the lines of the file ``urls``.

    Raises
    ------
    ValueError : if the arguments cannot be used; the message says what to give

    Examples
    --------
    >>> start_urls("example.com/a", "")
    ['https://example.com/a']
    """
    if bool(url) == bool(urls):
        raise ValueError(f"{_START}, not both" if url else _START)
    lines = _lines(urls) if urls else [url]
    pages = [line.strip() for line in lines if line.strip() and not line.strip().startswith("#")]
    if not pages:
        raise ValueError(f"{urls} has no start page: write one per line")
    return [_absolute(page) for page in pages]


def _lines(name: str) -> list[str]:
    try:
        return Path(name).read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"the file of start pages cannot be read: {error}") from error


def _absolute(url: str) -> str:
    absolute = url if "://" in url else f"https://{url}"
    try:
        parts = urlsplit(absolute)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable or " " in absolute:
        raise ValueError(f"{url!r} is not the URL of a page: give one like https://example.com/")
    return absolute


def number(name: str, value: str) -> int:
    """Return the value of an argument that takes a whole number.

    >>> number("depth", "3")
    3
    """
    if not (value.isascii() and value.isdecimal()):
        raise ValueError(f"{name} is {value!r}: give a whole number, 0 for no limit")
    return int(value)


def beginning(name: str, value: str) -> str:
    """Return the value of an argument that takes a URL prefix, "" for none."""
    if value and not value.lower().startswith(("http://", "https://", "file://")):
        raise ValueError(f"{name} is {value!r}: give the beginning of a URL, like https://example.com/")
    return value


def flag(name: str, value: str) -> bool:
    """Return the value of an argument that takes 0 or 1."""
    if value not in ("", "0", "1"):
        raise ValueError(f"{name} is {value!r}: give 1 for yes or 0 for no")
    return value == "1"


def unknown(names: dict[str, object], known: str) -> str:
    """Return a sentence about unknown arguments, "" if there are none; tools like scrapyd pass some like ``_job``."""
    unknown_names = [name for name in names if not name.startswith("_")]
    return f"unknown argument {', '.join(unknown_names)}: the spider takes {known}" if unknown_names else ""
