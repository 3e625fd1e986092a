"""The evidence of a site about a page: the fragments that its pages share, and the classifier's log odds on them.

Sources: Bar-Yossef & Rajagopalan 2002, Definition 4 (fragments shared by pages of one authority); Alarte et al. 2014,
Definition 3.3 (nodes shared by the pages of a template); Chakrabarti, Kumar, Punera 2007 (page fragments counted by
distinct page).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray
from xxhash import xxh3_64_intdigest

from scrapy_pagelets.base.arrays import Bools, Floats, Ints, mix
from scrapy_pagelets.base.caches import once
from scrapy_pagelets.core import counter, give
from scrapy_pagelets.core.counter import LossyCounter as LossyCounter
from scrapy_pagelets.core.counter import commonest as commonest
from scrapy_pagelets.core.counter import count_page as count_page
from scrapy_pagelets.core.counter import countable_parts as countable_parts
from scrapy_pagelets.core.counter import differing as differing
from scrapy_pagelets.core.counter import evidence_of as evidence_of
from scrapy_pagelets.core.counter import link_sets as link_sets
from scrapy_pagelets.core.counter import mostly_links as mostly_links
from scrapy_pagelets.core.counter import pages_alike as pages_alike
from scrapy_pagelets.page.nodes import TAG, NodeTable, attributes_at, rows_tagged
from scrapy_pagelets.page.page import Page

_MOST: Final = 1000  # pictures of a page that count
_LONGEST: Final = 2000  # characters of an address: others are inline data
_SALT: Final = 0x50696374757265  # distinguishes addresses of pictures from those of links


@once
def pictures_of(page: Page) -> tuple[Ints, Ints]:
    """(k,) rows of the pictures of a page that have an address, and hashes of these and of places without ranks."""
    nodes = page.nodes
    rows = rows_tagged(nodes, TAG["img"])[:_MOST]
    sources = attributes_at(nodes, rows, "src") if rows else []
    known = [(row, src) for row, src in zip(rows, sources, strict=True) if src and len(src) < _LONGEST]
    at = np.array([row for row, _ in known], np.int64)
    hashes = np.array([xxh3_64_intdigest(src.encode("utf-8", "replace"), _SALT) >> 1 for _, src in known], np.int64)
    return at, mix(nodes.shape[at] * 31 + hashes)


Column = NDArray[Any]
Sums = NDArray[np.float32]
CAPACITY: Final = 60_000  # a table with more keys than this drops those on the fewest pages
_GIANT: Final = CAPACITY // 8  # rows at the beginning and at the end of a giant page that are counted
Tables = Mapping[str, LossyCounter]  # the tables of `Counts`, by name
_SEPARATE: Final = 3  # pages that a family needs, see `Counts.family`
#: A page is of its site's family if this share of the other pages is of its class, or has three of its texts at their
#: places, or five anywhere: pages of all sites have a text such as "Home".
_COMMON: Final = 0.4
_ODDS: Final = 7  # first column of the table of paths with log odds, see `_of_rows`
CLASSIFIERS: Final = 2  # number of page-level classifiers whose log odds are averaged, see `model.PageEvidence`
_NONE: Final = np.zeros(0, np.int64)
CLASSES: Final = 8  # maximum number of page classes of a site
_BY_CLASS: Final = ("text", "path")  # tables whose last columns count the pages of each class
#: Number of columns of each table of `Counts`; `target` has pictures as well. The first column counts pages, and `text`
#: and `path` also have one for each class.
WIDTHS: Final = {
    "text": 1 + CLASSES,
    "path": _ODDS + CLASSIFIERS + CLASSES,
    "placed": 1,
    "exact": 1,
    "links": 1,
    "target": 1,
    "shape": 1 + CLASSIFIERS,
    "told": 1,
}


@dataclass(slots=True, kw_only=True, eq=False)
class Keys:
    """The fragments of a page as columns of 64-bit hashes."""

    text: Ints  # (m,) run of text with its digits as they are, wherever it appears
    placed: Ints  # (m,) run of text with its path; here and in ``exact`` all digits are alike
    value: Floats  # (m,) number from -1 to 1 by ``text``, to compute how much it varies at a place
    path: Ints  # (n,) path of the node
    shape: Ints  # (n,) path without ranks among siblings
    exact: Ints  # (n,) all text below the node
    #: (n,) set of link targets below the node; 0 for fewer than two. Links to the page itself are included, so a menu
    #: has the same hash on all its pages
    links: Ints
    target: Ints  # (links,) link target, 0 for the page itself


keys_of = once(counter.keys_of)  # the hashes stay with the page


@dataclass(slots=True, kw_only=True, eq=False)
class Fragments:
    """The contribution of a page to the counts."""

    keys: Keys  # hashes of the fragments
    odds: Floats  # (n, CLASSIFIERS) log odds of the page-level classifiers
    linked: Bools  # (n,) whether most words of the row are link text
    #: (m,) words of the leaves; (n,) first leaf of each row, and the leaf after its last one
    words: Ints
    first: Ints
    last: Ints
    leaves: Ints  # (m,) rows of the leaves
    seen: Bools  # (n,) whether the row counts
    links: Bools  # (links,) whether the link counts
    pictures: Ints  # (k,) distinct hashes of the pictures

    @classmethod
    def of(cls, nodes: NodeTable, keys: Keys, odds: Floats, pictures: Ints = _NONE) -> Self:
        """Collect the fragments of a page.

        ``odds``: (n, CLASSIFIERS) log odds of the page-level classifiers. ``pictures``: hashes of its pictures.
        """
        seen, links = countable_parts(nodes)
        return cls(
            keys=keys,
            odds=odds,
            linked=mostly_links(nodes),
            words=nodes.words,
            first=nodes.first_leaf,
            last=nodes.last_leaf,
            leaves=nodes.leaves,
            seen=seen,
            links=links,
            pictures=np.array(sorted({*pictures.tolist()}), np.int64),
        )


@dataclass(slots=True, kw_only=True, eq=False)
class SiteEvidence:
    """The evidence of the other pages of a site about a page. Shares are of pages of the site, or of a page class."""

    pages: int  # number of other pages that count as those of the site: those of its family
    #: (m,) share of the pages with the text; share with the text at the same path
    text: Floats
    placed: Floats
    #: (m,) number of different texts at the same path, divided by the number of pages that have the path
    variants: Floats
    #: (m,) how likely two of the pages differ in the text at the path, digits as they are: the Gini-Simpson index
    values: Floats
    class_text: Floats  # (m,) share of the pages of the class with the text
    #: (n,) share of the pages with the fragment
    path: Floats
    exact: Floats
    links: Floats
    class_path: Floats  # (n,) share of the pages of the class with the path
    linked: Floats  # (n,) of the pages with the node, the share on which most of its words are link text
    #: (n,) share of new words, which no earlier page had, below the node; mean number of them on a page
    fresh: Floats
    mass: Floats
    #: (n, CLASSIFIERS) mean log odds of the same node, and of nodes of the same shape; NaN if there are none
    odds: Floats
    shape_odds: Floats
    target: Floats  # (links,) share of the pages that link to the target


class Counts:
    """Counts of fragments by distinct page, and sums of the classifiers' log odds by path."""

    def __init__(self) -> None:
        self.pages = 0  # number of pages counted
        #: sums by hash of a fragment, for each kind of fragments
        self.tables = {name: LossyCounter(width) for name, width in WIDTHS.items()}

    @property
    def size(self) -> int:
        """Number of entries of all tables."""
        return sum(map(len, self.tables.values()))

    def add(self, fragments: Fragments, number: int) -> None:
        """Count a page of the class with a number."""
        self.pages += 1
        count_page(self.tables, fragments, number)
        if len(fragments.pictures):
            self.tables["target"].add(fragments.pictures, np.ones(1))

    def merge(self, other: Self, numbers: Sequence[int]) -> None:
        """Add the counts of other pages; ``numbers``: for each of their classes, its number here."""
        self.pages += other.pages
        for name, table in self.tables.items():
            keys, sums = other.tables[name].items()
            if name in _BY_CLASS:
                by_class = sums[:, -CLASSES:].copy()
                sums[:, -CLASSES:] = 0
                for old, new in enumerate(numbers):
                    sums[:, new - CLASSES] += by_class[:, old]
            table.add(keys, sums)

    def arrays(self) -> dict[str, Column]:
        """All tables as columns, for `from_arrays`."""
        columns: dict[str, Column] = {"pages": np.array([self.pages])}
        for name, table in self.tables.items():
            columns[f"{name}_keys"], columns[f"{name}_sums"] = table.items()
        return columns

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Column]) -> Self:
        """Restore the tables from the result of ``arrays``."""
        counts = cls()
        counts.pages = int(arrays["pages"][0])
        for name, table in counts.tables.items():
            table.add(arrays[f"{name}_keys"], arrays[f"{name}_sums"])
        return counts

    def evidence(
        self,
        nodes: NodeTable,
        keys: Keys,
        odds: Floats,
        number: int,
        of_class: int,
        known: bool,
        *,
        mixed: bool = False,
    ) -> SiteEvidence:
        """The evidence of the other pages about a page.

        ``odds``: (n, CLASSIFIERS) log odds of the page-level classifiers. ``number``: number of the page's class.
        ``of_class``: number of pages of the class. ``known``: whether the page itself has been counted. ``mixed``:
        whether the class may have pages of other looks.
        """
        family = self.family(nodes, keys, of_class, known, mixed=mixed)
        separate = family < self.pages
        return evidence_of(
            self.tables, family, nodes, keys, odds, number, min(of_class, family), known, separate=separate
        )

    def family(self, nodes: NodeTable, keys: Keys, of_class: int, known: bool, *, mixed: bool = False) -> int:
        """Count the pages that show what is template on a page: all of its site, or only those of the same look.

        One host may have many sites, below paths or in the course of time, whose pages say nothing about each other.
        Definition 3 of Bar-Yossef & Rajagopalan 2002: the pages of a template share the same look and feel. A page
        without such others is judged by itself: `known`, 0 or 1, is returned.

        ``of_class``, ``known``, ``mixed``: see `evidence`.
        """
        if of_class >= self.pages or not nodes.words.any():
            return self.pages
        texts = commonest(self.tables["text"], keys.text, nodes.words)
        places = commonest(self.tables["placed"], keys.placed, nodes.words)
        third, fifth = (int(column[min(n, (len(column) + 1) // 2) - 1]) for n, column in ((3, places), (5, texts)))
        alike = third if mixed else of_class
        if texts[0] > of_class and max(third, fifth, alike) - known >= _COMMON * (self.pages - known):
            return self.pages
        return alike if alike >= _SEPARATE else int(known)


give("counter", Keys=Keys, SiteEvidence=SiteEvidence, CAPACITY=CAPACITY, GIANT=_GIANT)
