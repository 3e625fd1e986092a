"""Pages with labels, given by people or derived from what the pages of a site share.

Source: Chakrabarti, Kumar, Punera 2007 (slides), "Automatically Labeling Data": labels are derived from the site level,
not made by hand; ``docs/algorithms/isotonic-2007.md``. If people have labelled a page, their labels are used instead.
"""

from __future__ import annotations

import bisect
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from scrapy_pagelets.base.arrays import Floats, Ints
from scrapy_pagelets.base.words import words
from scrapy_pagelets.page.nodes import TEXT, NodeTable
from scrapy_pagelets.page.page import Page

TEMPLATE, CONTENT, UNKNOWN = 1, 0, -1
#: Number of folds of the cross-validation; all pages of a family of sites are in one fold.
FOLDS: Final = 6
#: A text on this share of the pages of a site, and on at least three, is template. The slides give no threshold.
_FREQUENT: Final = 0.3


@dataclass(frozen=True)
class Example:
    """A page with labels.

    Attributes
    ----------
    page : the page
    labels : (m,) TEMPLATE, CONTENT or UNKNOWN for each leaf
    family : name of the sites like this one, such as those of one generator; "" if unknown
    """

    page: Page
    labels: Ints
    family: str = ""

    @property
    def site(self) -> str:
        """Name of the site."""
        return self.page.site

    @property
    def fold(self) -> int:
        """Fold in the cross-validation: that of its family."""
        return fold_of(self.family or self.site)


def fold_of(family: str) -> int:
    """Fold of a family of sites, or of a site without one, in the cross-validation."""
    return zlib.crc32(family.encode()) % FOLDS


def by_gold(page: Page, content: str) -> Ints:
    """(m,) labels from the text that people have marked as the content of the page.

    The leaves are located in this text, longest first, each between its neighbours located before it. So a menu entry
    whose words also appear in the content is not mistaken for content.
    """
    gold = f" {' '.join(words(content))} "
    leaves = [words(s) for s in page.nodes.strings]
    labels = np.full(len(leaves), UNKNOWN)
    spans: dict[int, tuple[int, int]] = {}
    placed: list[int] = []
    for leaf in sorted((i for i in range(len(leaves)) if leaves[i]), key=lambda i: (-len(leaves[i]), i)):
        k = bisect.bisect(placed, leaf)
        low = spans[placed[k - 1]][1] - 1 if k else 0
        high = spans[placed[k]][0] + 1 if k < len(placed) else len(gold)
        span = _find(gold, leaves[leaf], low, high)
        labels[leaf] = TEMPLATE if span is None else CONTENT
        if span is not None:
            spans[leaf] = span
            placed.insert(k, leaf)
    return labels


def _find(gold: str, leaf: list[str], low: int, high: int) -> tuple[int, int] | None:
    tries = [leaf]
    if len(leaf) >= 8:  # for a long run, a part is enough: the labelled text may split or join words
        middle = len(leaf) // 2
        tries += [leaf[:6], leaf[-6:], leaf[middle : middle + 6]]
    for part in tries:
        text = f" {' '.join(part)} "
        if (start := gold.find(text, low, high)) >= 0:
            return start, start + len(text)
    return None


def by_sites(pages: Iterable[Page]) -> Iterator[Example]:
    """Yield examples with labels derived from the site level (Chakrabarti, Kumar, Punera 2007).

    Text on the share ``_FREQUENT`` of the pages of a site, and on at least three, is template. Text on a single page,
    and not inside template, is content. The rest is left unlabelled.
    """
    groups: dict[str, list[Page]] = defaultdict(list)
    for page in pages:
        groups[page.site].append(page)
    for group in groups.values():
        counts = Counter(key for page in group for key in set(page.nodes.text.tolist()))
        for page in group:
            yield Example(
                page,
                _by_counts(
                    page.nodes, np.array([counts[key] for key in page.nodes.text.tolist()], np.int64), len(group)
                ),
            )


def _by_counts(nodes: NodeTable, count: Ints, pages: int) -> Ints:
    template = count >= max(3, _FREQUENT * pages)
    words = nodes.total(nodes.spread(nodes.words))
    inside = (nodes.total(nodes.spread(nodes.words * template)) > 0.8 * words) & (nodes.tag != TEXT)
    for rows in nodes.levels[1:]:
        inside[rows] |= inside[nodes.parent[rows]]
    labels = np.where(template, TEMPLATE, np.where((count == 1) & ~inside[nodes.leaves], CONTENT, UNKNOWN))
    return np.where((nodes.words == 0) | (pages < 3), UNKNOWN, labels)


def template_share(example: Example) -> tuple[Floats, Floats]:
    """(n,) share of template among the labelled words below each node, and (n,) number of labelled words."""
    nodes = example.page.nodes
    words = nodes.words * (example.labels != UNKNOWN)
    below: Floats = nodes.total(nodes.spread(words)).astype(np.float64)
    template = nodes.total(nodes.spread(words * (example.labels == TEMPLATE)))
    return template / np.maximum(1, below), below


def importance(example: Example) -> Floats:
    """(m,) weight of each leaf: its share of the labelled words, so that all pages count alike; 0 without a label."""
    weight = np.where(example.labels == UNKNOWN, 0, example.page.nodes.words).astype(np.float64)
    share: Floats = weight / max(1.0, weight.sum())
    return share


#: Roles of text that is neither right nor wrong in the content; it stays unlabelled.
_NEUTRAL: Final = ("metadata", "contents", "hidden")
#: How far two readings of a page may part before they meet again, and how many equal words show that they do.
_REACH, _ALIKE = 400, 3
#: Characters that a run of text may have besides the fact that it tells.
_BESIDE: Final = 25


def by_roles(page: Page, runs: Iterable[tuple[str, str]]) -> Ints:
    """(m,) labels from the role and the text of each run of a page, in document order, as people have given them."""
    roles = roles_of(page, runs)
    known = [UNKNOWN if role in ("", *_NEUTRAL) else CONTENT if role == "content" else TEMPLATE for role in roles]
    return np.array(known, np.int64)


def roles_of(page: Page, runs: Iterable[tuple[str, str]]) -> list[str]:
    """Return the role of each leaf: that of most of its words, "" if none of them is found in the runs."""
    told = [(word, role) for role, text in runs for word in words(text)]
    read = [(word, leaf) for leaf, text in enumerate(page.nodes.strings) for word in words(text)]
    votes: list[Counter[str]] = [Counter() for _ in page.nodes.strings]
    for i, j in aligned([word for word, _ in read], [word for word, _ in told]):
        votes[read[i][1]][told[j][1]] += 1
    return [vote.most_common(1)[0][0] if vote else "" for vote in votes]


def aligned(one: Sequence[str], other: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield the places of equal words of two readings of a page, in order.

    Examples
    --------
    >>> list(aligned("a b c d".split(), "a x b c d".split()))
    [(0, 0), (1, 2), (2, 3), (3, 4)]
    """
    i = j = 0
    while i < len(one) and j < len(other):
        if one[i] == other[j]:
            yield i, j
            i, j = i + 1, j + 1
        else:
            i, j = _meeting(one, other, i, j)


def _meeting(one: Sequence[str], other: Sequence[str], i: int, j: int) -> tuple[int, int]:
    """The nearest places from which on some words are equal; the next ones if there are none near."""
    places: dict[tuple[str, ...], int] = {}
    for k in range(j, min(j + _REACH, len(other))):
        places.setdefault(tuple(other[k : k + _ALIKE]), k)
    met = []
    for k in range(i, min(i + _REACH, len(one))):
        if (place := places.get(tuple(one[k : k + _ALIKE]))) is not None:
            met.append((k - i + place - j, k, place))
    return min(met)[1:] if met else (i + 1, j + 1)


def by_facts(page: Page, values: Iterable[str]) -> Ints:
    """(m,) labels from facts of the page, such as a price: runs that tell one, and their labels, are content.

    All other runs stay unlabelled.
    """
    folded = [_letters(text) for text in page.nodes.strings]
    wanted = [value for value in map(_letters, values) if value]
    labels = np.full(len(folded), UNKNOWN)
    for leaf, text in enumerate(folded):
        if any(value in text and len(text) <= len(value) + _BESIDE for value in wanted):
            labels[leaf] = CONTENT
            if leaf and (page.nodes.strings[leaf - 1][-1:] == ":" or page.nodes.strings[leaf][:1] == ":"):
                labels[leaf - 1] = CONTENT
    return labels


def _letters(text: str) -> str:
    return "".join(character for character in text.casefold() if character.isalnum())
