"""Words: runs of letters and digits; scripts without spaces count by character."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

#: Han, kana, hangul and Thai by character, everything else by run.
WORD: Final = re.compile(
    r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\W\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+"
)


def words(text: str) -> list[str]:
    """The words of a text, case folded, in compatibility form.

    >>> words("Café n°\u00a05, 東京")
    ['café', 'n', '5', '東', '京']
    """
    return WORD.findall(unicodedata.normalize("NFKC", text).casefold())
