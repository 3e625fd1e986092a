"""A page and its near-duplicate side by side."""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from typing import Any, Final

#: Words and white space, so that a word is never divided.
_PIECE: Final = re.compile(r"\s+|\S+")
#: Pieces of each text that are compared; the time grows with the square at worst.
_MOST: Final = 20_000


def compared(url: str, own: str, other: str) -> dict[str, Any]:
    """The parts of two texts that are the same, or differ, in order; and whether all of the texts was compared.

    Parameters
    ----------
    url : of the near-duplicate
    own, other : the texts of the page and of the near-duplicate

    Examples
    --------
    >>> compared("http://example.com/b", "We open at nine.", "We open at ten.")["parts"]
    [['same', 'We open at ', 'We open at '], ['changed', 'nine.', 'ten.']]
    """
    one, two = (_PIECE.findall(text) for text in (own, other))
    whole = max(len(one), len(two)) <= _MOST
    one, two = one[:_MOST], two[:_MOST]
    start = _alike(one, two)  # most of two near-duplicates needs no search
    end = _alike(one[start:][::-1], two[start:][::-1])
    first, last = ("".join(pieces) for pieces in (one[:start], one[len(one) - end :]))
    one, two = (pieces[start : len(pieces) - end] for pieces in (one, two))
    parts = [
        ["same" if kind == "equal" else "changed", "".join(one[a:b]), "".join(two[c:d])]
        for kind, a, b, c, d in SequenceMatcher(None, one, two, autojunk=False).get_opcodes()
    ]
    around = [[["same", text, text]] if text else [] for text in (first, last)]
    return {"url": url, "parts": [*around[0], *parts, *around[1]], "whole": whole}


def _alike(one: list[str], two: list[str]) -> int:
    """The number of pieces with which both texts begin."""
    differ = (number for number, (mine, theirs) in enumerate(zip(one, two, strict=False)) if mine != theirs)
    return next(differ, min(len(one), len(two)))
