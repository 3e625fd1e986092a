r"""Control characters: out of the text of pages, and in sight where such text is printed.

A page may hold any character, raw or as ``&#27;``. Some of them steer terminals, are forbidden in XML, or end a line
for one reader of JSON lines and not for another.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final
from urllib.parse import quote

#: C0, DEL and C1 but for tab and line feed; what parts lines only for some; what no encoding, and no XML, takes.
_CLASS: Final = "\0-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufffe\uffff"
_ODD: Final = re.compile(f"[{_CLASS}]")
#: A text without any: to match it whole takes half the time of a search for one.
_EVEN: Final = re.compile(f"[^{_CLASS}]*")
#: Those that nobody sees, between two letters or digits: there they part words, as in UTF-8 that was encoded twice.
_BETWEEN: Final = re.compile("(?<=\\w)[\0-\x08\x0e-\x1b\x7f-\x84\x86-\x9f]+(?=\\w)")
_BREAKS: Final = frozenset("\v\f\r\x85\u2028\u2029")
#: Not printable to Python, and harmless: a soft hyphen, and what joins or parts the letters of a word.
_JOINERS: Final = frozenset("\xad\u200c\u200d")


def is_readable(texts: Iterable[str]) -> bool:
    """True if ``readable`` would change none of the texts."""
    return _EVEN.fullmatch("".join(texts)) is not None


def readable(text: str) -> str:
    r"""A text without control characters but tab and line feed.

    What breaks lines becomes a line feed, what parts words a space, what stands for nothing (lone surrogates, U+FFFE
    and U+FFFF) U+FFFD; all others are left out.

    >>> readable("a\x1b[2J\u2028b\x80\x99c\r\n\ud800")
    'a[2J\nb c\n�'
    """
    if not _ODD.search(text):
        return text
    return _ODD.sub(_read, _BETWEEN.sub(" ", text.replace("\r\n", "\n")))


def _read(found: re.Match[str]) -> str:
    character = found[0]
    if character in _BREAKS:
        return "\n"
    if character.isspace():
        return " "
    return "\ufffd" if character > "\u2029" else ""


def parted(text: str) -> str:
    r"""A text that somebody has typed, with a space in the place of each control character.

    >>> parted("old\0bell\udcff")
    'old bell '
    """
    return _ODD.sub(" ", text)


def quoted(url: str) -> str:
    r"""A URL with its control characters as a browser asks for them.

    >>> quoted("http://h/\x1b[2J\u2028")
    'http://h/%1B[2J%E2%80%A8'
    """
    return url if url.isprintable() else _ODD.sub(lambda found: quote(found[0], errors="replace"), url)


def visible(text: str) -> str:
    r"""A text for one line of a terminal or a log: white space is a space, what cannot be seen is escaped.

    Marks that turn the direction of writing (U+202E) are escaped as well: they would reorder what follows.

    >>> print(visible("a\x1b[2J\tb \x9b\u202eخ"))
    a\x1b[2J b \x9b\u202eخ
    """
    return text if text.isprintable() else "".join(map(_seen, text))


def _seen(character: str) -> str:
    if character.isprintable() or character in _JOINERS:
        return character
    if character.isspace():
        return " "
    return character.encode("unicode_escape").decode("ascii")
