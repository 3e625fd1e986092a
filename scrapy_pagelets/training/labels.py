"""Pages with labels, given by people or derived from what the pages of a site share.

Source: Chakrabarti, Kumar, Punera 2007 (slides), "Automatically Labeling Data": labels are derived from the site level,
not made by hand; ``docs/algorithms/isotonic-2007.md``. If people have labelled a page, their labels are used instead.
"""

from __future__ import annotations

import bisect
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from scrapy_pagelets.base.arrays import Floats, Ints
from scrapy_pagelets.base.characters import words
from scrapy_pagelets.page.nodes import TEXT, NodeTable
from scrapy_pagelets.page.page import Page

TEMPLATE, CONTENT, UNKNOWN = 1, 0, -1
#: Number of folds of the cross-validation; all pages of a family of sites are in one fold.
FOLDS: Final = 6
#: A text on this share of the pages of a site, and on at least three, is template. The slides give no threshold.
_FREQUENT: Final = 0.3


@dataclass(frozen=True)
class Example:
    """A page with labels."""

    page: Page
    labels: Ints  # (m,) TEMPLATE, CONTENT or UNKNOWN for each leaf
    family: str = ""  # name of the sites like this one, such as those of one generator; "" if unknown

    @property
    def is_complete(self) -> bool:
        """Whether most words have a label; else, as where facts alone are labelled, their mean says nothing."""
        words = self.page.nodes.words
        return bool(2 * words[self.labels != UNKNOWN].sum() >= words.sum())

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
            count = np.array([counts[key] for key in page.nodes.text.tolist()], np.int64)
            yield Example(page, _by_counts(page.nodes, count, len(group)))


def _by_counts(nodes: NodeTable, count: Ints, pages: int) -> Ints:
    template = count >= max(3, _FREQUENT * pages)
    words = nodes.sum_below(nodes.words)
    inside = (nodes.sum_below(nodes.words * template) > 0.8 * words) & (nodes.tag != TEXT)
    nodes.inherit(inside, np.bitwise_or)
    labels = np.where(template, TEMPLATE, np.where((count == 1) & ~inside[nodes.leaves], CONTENT, UNKNOWN))
    return np.where((nodes.words == 0) | (pages < 3), UNKNOWN, labels)


def template_share(example: Example) -> tuple[Floats, Floats]:
    """(n,) share of template among the labelled words below each node, and (n,) number of labelled words."""
    nodes = example.page.nodes
    words = nodes.words * (example.labels != UNKNOWN)
    below: Floats = nodes.sum_below(words).astype(np.float64)
    template = nodes.sum_below(words * (example.labels == TEMPLATE))
    return template / np.maximum(1, below), below
