"""Split text into words: runs of letters and digits, or single characters in scripts without spaces."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

#: One character of Han, kana, hangul or Thai, or a run of other letters and digits.
WORD: Final = re.compile(
    r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\W\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+"
)


def words(text: str) -> list[str]:
    """Return the words of a text, case-folded and in compatibility form (NFKC).

    >>> words("Café n°\u00a05, 東京")
    ['café', 'n', '5', '東', '京']
    """
    return WORD.findall(unicodedata.normalize("NFKC", text).casefold())
