"""The passage of a text that matches a query best, with the terms marked."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final

from scrapy_pagelets.base.characters import WORD
from scrapy_pagelets.index.terms import terms

_RUN: Final = re.compile(r"\S+")
#: Splits a text into words and the strings between them.
_PIECES: Final = re.compile(f"({WORD.pattern})")
#: Only this many runs of a text are searched, so that a huge text does not delay the answer.
_MAX_RUNS: Final = 20_000


def highlighted(text: str, wanted: Collection[str], words: int = 40, marks: tuple[str, str] = ("**", "**")) -> str:
    r"""The passage with the most distinct terms, on one line, each term between marks.

    Parameters
    ----------
    wanted : terms, see `terms`
    words : length of the passage, in runs without white space

    Examples
    --------
    >>> highlighted("Once upon a time\nbells rang, old BELLS!", ["bells", "old"], words=4)
    '... **bells** rang, **old** **BELLS**!'
    """
    runs = _RUN.findall(text)[:_MAX_RUNS]
    has = [frozenset(terms(run)).intersection(wanted) for run in runs]
    start = _best_start(has, words)
    passage = " ".join(_marked(run, wanted, marks) if has[place] else run for place, run in _part(runs, start, words))
    return "... " * (start > 0) + passage + " ..." * (start + words < len(runs))


def _part(runs: list[str], start: int, words: int) -> list[tuple[int, str]]:
    return list(enumerate(runs))[start : start + words]


def _best_start(has: list[frozenset[str]], words: int) -> int:
    """Start of the passage with the most distinct terms; of several, the one with the most terms, then the first."""
    count, total, best, start = dict[str, int](), 0, (0, 0), 0
    for end, terms_here in enumerate(has):
        for term in terms_here:
            count[term] = count.get(term, 0) + 1
        total += len(terms_here)
        if end >= words:
            for term in has[end - words]:
                count[term] -= 1
            total -= len(has[end - words])
        worth = sum(number > 0 for number in count.values()), total
        if worth > best:
            best, start = worth, max(0, end - words + 1)
    return start


def _marked(run: str, wanted: Collection[str], marks: tuple[str, str]) -> str:
    """A run with its terms between marks; in scripts without spaces, each character is marked by itself."""
    return "".join(
        marks[0] + piece + marks[1] if any(term in wanted for term in terms(piece)) else piece
        for piece in _PIECES.split(run)
    )
