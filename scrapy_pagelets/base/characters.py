r"""Characters, words and patterns: what is removed from texts or escaped in them, and what a word is.

A page may contain characters that control terminals, are forbidden in XML, or end a line for some readers. A word is a
run of letters and digits, or a single character of a script without spaces; `scrapy_pagelets.index.interface` and
`scrapy_pagelets.papers.shared_pagelets.pagelet_shingles` build a variant from the ranges of scripts, and say why.
"""

import re
from collections.abc import Iterable
from typing import Any, Final, Literal, cast
from unicodedata import combining, normalize
from urllib.parse import quote

#: C0, DEL and C1 except tab and line feed; line separators that only some readers honour; characters that no encoding
#: or no XML document can hold.
_CLASS: Final = "\0-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufffe\uffff"
_CONTROL: Final = re.compile(f"[{_CLASS}]")
#: Invisible control characters between two letters or digits, as in doubly encoded UTF-8: they separate words.
_BETWEEN: Final = re.compile("(?<=\\w)[\0-\x08\x0e-\x1b\x7f-\x84\x86-\x9f]+(?=\\w)")
_BREAKS: Final = frozenset("\v\f\r\x85\u2028\u2029")
#: Marks on one letter from which on they stay in their order, and the distance of the characters that are looked at.
_MARKS: Final = re.compile("([^\\w\\0-\\x7f]{100,})")
_STRIDE: Final = 50
_JOINERS: Final = frozenset("\xad\u200c\u200d")  # harmless: the soft hyphen, joiners within words


def readable(text: str) -> str:
    r"""Remove all control characters except tab and line feed from a text.

    Line breaks become a line feed, word separators a space, and noncharacters (lone surrogates, U+FFFE and U+FFFF)
    U+FFFD. All others are dropped.
    """
    if not _CONTROL.search(text):
        return text
    return _CONTROL.sub(_replacement, _BETWEEN.sub(" ", text.replace("\r\n", "\n")))


def _replacement(match: re.Match[str]) -> str:
    character = match[0]
    if character in _BREAKS:
        return "\n"
    if character.isspace():
        return " "
    return "\ufffd" if character > "\u2029" else ""


def normalised(form: Literal["NFC", "NFKC", "NFKD"], text: str) -> str:
    r"""Return a text in a form of Unicode; marks that follow each other by the hundred stay as they are.

    Python sorts the marks on a letter in quadratic time: a megabyte of them takes an hour. No letter has more than 30
    (Unicode Standard Annex 15, 13).
    """
    if not any(map(combining, text[::_STRIDE])):
        return normalize(form, text)
    return "".join(part if number % 2 else normalize(form, part) for number, part in enumerate(_MARKS.split(text)))


def may_have(text: str, parts: Iterable[str]) -> bool:
    """Return False if a text surely has none of some lower-case parts, faster than a pattern of so many tells."""
    return not text.isascii() or any(map(text.lower().__contains__, parts))


def without_controls(text: str) -> str:
    """Replace each control character of a text that a user typed by a space."""
    return _CONTROL.sub(" ", text)


def quoted(url: str) -> str:
    """Percent-encode the control characters of a URL, as a browser does when it requests it."""
    return url if url.isprintable() else _CONTROL.sub(lambda match: quote(match[0], errors="replace"), url)


def visible(text: str) -> str:
    """A text for a line of a terminal or log: white space becomes a space, what is invisible, as U+202E, escapes."""
    return text if text.isprintable() else "".join(map(_escaped, text))


def _escaped(character: str) -> str:
    if character.isprintable() or character in _JOINERS:
        return character
    if character.isspace():
        return " "
    return character.encode("unicode_escape").decode("ascii")


# Ranges of scripts, for character classes of regular expressions.
THAI, LAO, MYANMAR, KHMER = "\u0e00-\u0e7f", "\u0e80-\u0eff", "\u1000-\u109f", "\u1780-\u17ff"
KANA, HANGUL = "\u3040-\u30ff", "\uac00-\ud7af"
#: Ideographs of Extension A, the common ones, those for compatibility, and those beyond the basic plane.
HAN_A, HAN, HAN_COMPATIBLE, HAN_RARE = "\u3400-\u4dbf", "\u4e00-\u9fff", "\uf900-\ufaff", "\U00020000-\U0003ffff"
IDEOGRAPHS: Final = "\u3400-\u9fff"  # the first two, and the symbols of the Book of Changes between them
#: Scripts that write no space between words.
UNSPACED: Final = THAI + LAO + MYANMAR + KHMER + KANA + HAN_A + HAN + HAN_COMPATIBLE + HAN_RARE
BY_CHARACTER: Final = THAI + KANA + IDEOGRAPHS + HANGUL  # scripts in which each character counts as a word
WORD: Final = re.compile(rf"[{BY_CHARACTER}]|[^\W{BY_CHARACTER}]+")  # a character of these, or a run of others


def words(text: str) -> list[str]:
    """Return the words of a text, case-folded and in compatibility form (NFKC)."""
    return WORD.findall(caseless(text))


def caseless(text: str) -> str:
    """Return a text in compatibility form (NFKC), without differences between upper and lower case."""
    return normalised("NFKC", text).casefold()


class _Lazy:
    """Stands for a compiled expression, and takes over its methods when the first one is asked for."""

    def __init__(self, pattern: str, flags: int) -> None:
        self.pattern = pattern
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # copies ask for them
            raise AttributeError(name)
        compiled = re.compile(self.pattern, self._flags)
        for method in ("search", "match", "fullmatch", "split", "findall", "finditer", "sub"):
            setattr(self, method, getattr(compiled, method))
        return getattr(compiled, name)


def lazily(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """Return a regular expression that is compiled when a method is first used; others take only its methods."""
    return cast("re.Pattern[str]", _Lazy(pattern, flags))
