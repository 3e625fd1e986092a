"""Terms of texts, defined once for all indexes and for queries.

Words are those of `scrapy_pagelets.base.characters`, except that they include combining marks and end at an underscore,
as in the tokenizers of search engines. In scripts without spaces each character is a term, and a query for a word is a
query for consecutive characters.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from itertools import pairwise
from typing import Final

from scrapy_pagelets.base.characters import BY_CHARACTER, caseless, normalised

#: Accents of Latin, Greek and Cyrillic letters. Marks of other scripts distinguish words and stay.
_ACCENTS: Final = re.compile("[\u0300-\u036f]+")
#: Longer terms are truncated: hardly any word is that long, and databases refuse them.
_LONGEST: Final = 64
#: Letters and separators that every Unicode tokenizer classifies as we do.
_LETTERS: Final = "0-9A-Za-zÀ-ÖØ-Þà-öø-ıĴ-ľŁ-ňŊ-ž"
_BETWEEN: Final = "\\0-/:-@\\[-`{-\x7f\xa0-\xa9\xab-\xb1\xb4\xb6-\xb8\xbb\xbf×÷\u2010-\u2027\u2030-\u205e€"
_PLAIN: Final = re.compile(f"(?:[{_LETTERS}]{{1,{_LONGEST}}}+(?![{_LETTERS}])|[{_BETWEEN}]++)*+")


def terms(text: str) -> list[str]:
    """Return the terms of a text in order: words in compatibility form, without case and accents.

    Examples
    --------
    >>> terms("Café n°\u00a05, foo_bar, 東京")
    ['cafe', 'n', '5', 'foo', 'bar', '東', '京']
    """
    return [term[:_LONGEST] for term in _expression().findall(folded(text))]


def phrases(query: str) -> list[list[str]]:
    """Return the distinct phrases of a query: single terms, or consecutive characters of a script without spaces.

    >>> phrases("Tokyo tokyo 東京 AND")
    [['tokyo'], ['東', '京'], ['and']]
    """
    text = folded(query)
    matches = list(_expression().finditer(text))
    groups = [[match] for match in matches[:1]]
    for before, match in pairwise(matches):
        adjacent = before.end() == match.start() and _is_alone(before[0]) and _is_alone(match[0])
        groups[-1].append(match) if adjacent else groups.append([match])
    return [list(phrase) for phrase in dict.fromkeys(tuple(m[0][:_LONGEST] for m in group) for group in groups)]


def is_plain(text: str) -> bool:
    """True if any tokenizer that removes case and accents splits a text into the same terms.

    >>> is_plain("Tokyo’s Café"), is_plain("東京 Tower"), is_plain("A" * 65)
    (True, False, False)
    """
    return _PLAIN.fullmatch(text) is not None


def folded(text: str) -> str:
    """Return a text in compatibility form (NFKC), without case and accents."""
    if text.isascii():
        return text.lower()
    bare = _ACCENTS.sub("", normalised("NFKD", text))
    return caseless(bare)


def _is_alone(term: str) -> bool:
    return len(term) == 1 and re.match(f"[{BY_CHARACTER}]", term) is not None


@cache
def _expression() -> re.Pattern[str]:
    r"""The pattern of a term in a folded text. Python's ``\w`` lacks combining marks, which Indic words contain."""
    codes = [chr(code) for code in range(0x10000)]
    alone = re.compile(f"[{BY_CHARACTER}]")
    marks = "".join(one for one in codes if unicodedata.category(one)[0] == "M" and not alone.match(one))
    signs = "".join(one for one in codes if alone.match(one) and unicodedata.category(one)[0] not in "LMN")
    return re.compile(rf"(?![{signs}])[{BY_CHARACTER}]|(?:[^\W_{BY_CHARACTER}]|[{marks}])+")
