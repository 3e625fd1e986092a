"""The words of class names, ids, roles and short headings, as hashes: what a lexicon is made of.

No language or class name is hard-coded: training learns the lexicon from pages with labels.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Final

from xxhash import xxh3_64_intdigest

from scrapy_pagelets.base.caches import MOST_BYTES, cached
from scrapy_pagelets.base.characters import words as words_of
from scrapy_pagelets.core import give
from scrapy_pagelets.page.looks import Look

#: By hash of a class, id or role token, or of words of a heading, the log odds that the text below it is template.
Lexicon = Mapping[int, float]
#: Longer headings, in words or characters, name the subject of a text and not its function.
_HEADING_WORDS, _HEADING_CHARACTERS = 6, 60
_ASCII_LETTERS: Final = re.compile(r"[A-Za-z]+").findall


@cached
def look_tokens(look: Look) -> tuple[int, ...]:
    """Hashes of the words of id, class and role; ``main-menu`` gives ``main``, ``menu`` and ``main-menu``."""
    _, name, classes, role = look
    names = set()
    for token in filter(None, (name, *classes.split(), role)):
        words = _alphabetic(token.lower())
        names.update(words)
        if len(words) > 1:
            names.add("-".join(words))
    return tuple(sorted(xxh3_64_intdigest(t.encode("utf-8", "replace")) for t in names if len(t) > 1))


def _alphabetic(text: str) -> list[str]:
    """The runs of letters in a text. Many pages have a new id for each heading, so ASCII is taken in one step."""
    if text.isascii():
        return _ASCII_LETTERS(text)
    return "".join(c if c.isalpha() else " " for c in text).split()


def heading_tokens(text: str) -> tuple[int, ...]:
    """Hashes of the words of a short heading, of pairs of adjacent words, and of the whole heading."""
    return _heading_tokens(text) if len(text) < _HEADING_CHARACTERS else ()


@cached
def _heading_tokens(text: str) -> tuple[int, ...]:
    words = words_of(text)
    if not 0 < len(words) <= _HEADING_WORDS:
        return ()
    phrases = {*words, *map(" ".join, pairwise(words)), " ".join(words)}
    return tuple(sorted(xxh3_64_intdigest(f"heading {phrase}".encode("utf-8", "replace")) for phrase in phrases))


def heading_odds(text: str, lexicon: Lexicon) -> float:
    """The log odds of largest magnitude among the words of a heading."""
    return max((lexicon.get(token, 0.0) for token in heading_tokens(text)), key=abs, default=0.0)


def look_odds(look: Look, lexicon: Lexicon) -> float:
    """The sum of the log odds of the tokens of a look."""
    return sum(lexicon.get(token, 0.0) for token in look_tokens(look))


def own_tokens_of(look: Look, own_tokens: Sequence[int]) -> int:
    """Which of some tokens a look has, as bits."""
    own = set(look_tokens(look))
    if own.isdisjoint(own_tokens):
        return 0
    return sum(1 << number for number, token in enumerate(own_tokens) if token in own)


def _facts_of(look: Look, lexicon: Lexicon, own_tokens: Sequence[int]) -> tuple[float, int]:
    return look_odds(look, lexicon), own_tokens_of(look, own_tokens)


give("features", facts_of=_facts_of, heading_odds=heading_odds, MOST_BYTES=MOST_BYTES)
