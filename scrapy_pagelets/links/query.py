"""The words of a query, and where they stand in a text and around its links."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import Final, NamedTuple

from scrapy_pagelets.base.characters import WORD, caseless, without_controls, words
from scrapy_pagelets.base.errors import QueryError

_WINDOW: Final = 50  # characters on either side of a link that describe its target (Clever: 50 bytes)
#: Up to this number of terms, a text is first searched for any of them before it is split into words: most have none.
_FEW: Final = 20


class QueryMatches(NamedTuple):
    """The occurrences of query terms in a text."""

    terms: frozenset[str]  # the terms that occur
    matches: int  # number of occurrences of all terms
    near: list[int]  # number of occurrences in the window of each link


class Query:
    """The words of a query. Quotes, operators, order and repetition are ignored; QueryError if it has no word.

    >>> sorted(Query('"Classical guitar" OR guitar*').terms)
    ['classical', 'guitar', 'or']
    """

    def __init__(self, text: str) -> None:
        self.terms = frozenset(words(without_controls(text)))
        if not self.terms:
            raise QueryError("the query has no words: give some letters or digits")

    def find(self, text: str, anchors: Sequence[str] = ()) -> QueryMatches:
        """Find the terms in a text and in the windows of its links, given by their ``anchors`` in document order.

        A window is the anchor text and 50 characters on either side (Chakrabarti et al. 1998). An empty anchor, or one
        that is not in the text, is placed at the end of the previous one.
        """
        flat = _folded(text)
        may_match = len(self.terms) > _FEW or any(term in flat for term in self.terms)
        matches = [match for match in WORD.finditer(flat) if match[0] in self.terms] if may_match else []
        if not matches:
            return QueryMatches(frozenset(), 0, [0] * len(anchors))
        starts, ends = [match.start() for match in matches], [match.end() for match in matches]
        near = [
            max(0, bisect_right(ends, last + _WINDOW) - bisect_left(starts, first - _WINDOW))
            for first, last in _places(flat, anchors)
        ]
        return QueryMatches(frozenset(match[0] for match in matches), len(matches), near)


def _folded(text: str) -> str:
    """Normalise a text as ``words`` does, and fold its white space."""
    return " ".join(caseless(text).split())


def _places(flat: str, anchors: Sequence[str]) -> list[tuple[int, int]]:
    """Start and end of each anchor in the text."""
    places, end = [], 0
    for anchor in map(_folded, anchors):
        start = flat.find(anchor, end)
        start, end = (end, end) if start < 0 else (start, start + len(anchor))
        places.append((start, end))
    return places
