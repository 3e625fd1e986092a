"""The hashes of the words of pagelets, one after another."""

from __future__ import annotations

import re
from itertools import chain
from typing import Final

import numpy as np

from scrapy_pagelets.base.arrays import Ints
from scrapy_pagelets.base.characters import UNSPACED, caseless
from scrapy_pagelets.papers.shared_pagelets.pagelet_shingles import _GRAM, _LONGEST_WORD, _NUMBER, _token

# Words are not those of `scrapy_pagelets.base.characters`: a single character of a script without spaces says too
# little, so such scripts give runs of three characters.
# Vowel signs and accents of Hebrew, Arabic and Indic scripts are part of a word, although they are not letters.
_MARKS: Final = "\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0900-\u0963\u0966-\u0dff"
_WORD: Final = re.compile(f"[{UNSPACED}]+|(?:(?![{UNSPACED}])[\\w{_MARKS}])+|\0")
_PLAIN_WORD: Final = re.compile(r"\w+|\0")
_NOT_PLAIN: Final = re.compile(f"[{UNSPACED}{_MARKS}]")
_UNSPACED_WORD: Final = re.compile(f"[{UNSPACED}]")
# Maps letters to lower case and separators to a space. Splitting takes a quarter of the time of a regular expression.
_ASCII: Final = {i: chr(i).lower() if chr(i).isalnum() or chr(i) in "_\0" else " " for i in range(128)}
#: A word that separates the runs of text of a page, which are tokenised in one step.
_GAP: Final = " \0 "


def token_hashes(text: str) -> list[int]:
    """Hashes of the words of a text, normalised (NFKC) and case-folded, with each number replaced by 0.

    Text in scripts without spaces gives its runs of three characters. This is decided for each run of characters
    separately, so that an edit changes no other tokens.

    >>> token_hashes("Page 12") == token_hashes("PAGE 7"), len(token_hashes("テンプレート"))
    (True, 4)
    """
    if text.isascii():
        words, plain = text.translate(_ASCII).split(), True
    else:
        text = caseless(text)
        plain = not _NOT_PLAIN.search(text)
        words = (_PLAIN_WORD if plain else _WORD).findall(text)
    if not plain:
        words = list(chain.from_iterable(map(_grams, words)))
    elif max(map(len, words), default=0) > _LONGEST_WORD:
        words = [gram for word in words for gram in (_grams(word) if len(word) > _LONGEST_WORD else (word,))]
    return list(map(_token, words))


def _grams(word: str) -> list[str]:
    """Return the word, or its runs of three characters if it is a text without spaces."""
    if len(word) <= _GRAM or (len(word) <= _LONGEST_WORD and not _UNSPACED_WORD.match(word)):
        return [word]
    word = _NUMBER.sub("0", word)
    return [word[i : i + _GRAM] for i in range(max(1, len(word) - _GRAM + 1))]


def word_tokens(strings: list[str]) -> tuple[Ints, Ints]:
    """(t,) number of the text, and (t,) hash, of each word of some texts, in their order; hashes as in `token_hashes`.

    >>> texts, hashes = word_tokens(["two words", "", "words"])
    >>> texts.tolist(), bool(hashes[1] == hashes[2])
    ([0, 0, 2], True)
    """
    leaves: list[Ints] = []
    columns: list[Ints] = []
    ascii_only = np.fromiter(map(str.isascii, strings), np.bool_, len(strings))
    for group in (np.flatnonzero(ascii_only), np.flatnonzero(~ascii_only)):
        column = np.array(token_hashes(_GAP.join(strings[i] for i in group)), np.int64)
        gap = column == _token("\0")
        leaves.append(group[np.cumsum(gap)[~gap]])
        columns.append(column[~gap])
    leaf = np.concatenate(leaves)
    order = np.argsort(leaf, kind="stable")
    return leaf[order], np.concatenate(columns)[order]
