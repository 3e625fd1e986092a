"""What a word is: a run of letters and digits, or a single character of a script without spaces.

Page texts, queries, near-duplicates and indexes use this definition. `scrapy_pagelets.index.terms` and
`scrapy_pagelets.papers.shared_pagelets.pagelet_shingles` build a variant from the ranges below, and say why.
"""

from __future__ import annotations

import re
from typing import Final

from scrapy_pagelets.base.characters import normalised

# Ranges of scripts, for character classes of regular expressions.
THAI: Final = "\u0e00-\u0e7f"
LAO: Final = "\u0e80-\u0eff"
MYANMAR: Final = "\u1000-\u109f"
KHMER: Final = "\u1780-\u17ff"
KANA: Final = "\u3040-\u30ff"
#: Ideographs of Extension A, the common ones, those for compatibility, and those beyond the basic plane.
HAN_A, HAN, HAN_COMPATIBLE, HAN_RARE = "\u3400-\u4dbf", "\u4e00-\u9fff", "\uf900-\ufaff", "\U00020000-\U0003ffff"
#: The first two, and the symbols of the Book of Changes between them.
IDEOGRAPHS: Final = "\u3400-\u9fff"
HANGUL: Final = "\uac00-\ud7af"

#: Scripts in which each character counts as a word.
BY_CHARACTER: Final = THAI + KANA + IDEOGRAPHS + HANGUL
#: One character of these scripts, or a run of other letters and digits.
WORD: Final = re.compile(rf"[{BY_CHARACTER}]|[^\W{BY_CHARACTER}]+")


def words(text: str) -> list[str]:
    """Return the words of a text, case-folded and in compatibility form (NFKC).

    >>> words("Café n°\u00a05, 東京")
    ['café', 'n', '5', '東', '京']
    """
    return WORD.findall(caseless(text))


def caseless(text: str) -> str:
    """Return a text in compatibility form (NFKC), without differences between upper and lower case.

    >>> caseless("ＳＴＲＡẞＥ")
    'strasse'
    """
    return normalised("NFKC", text).casefold()
