"""Learn sites, or parts of large sites, from tables of raw pages, and add up the counts of the parts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa

from scrapy_pagelets.corpus.engines import COUNTS, groups, rows_of
from scrapy_pagelets.corpus.inputs import CorpusOptions
from scrapy_pagelets.decision.site import Site
from scrapy_pagelets.evidence.evidence import CLASSES, Column
from scrapy_pagelets.evidence.site_counts import SiteCounts
from scrapy_pagelets.page.page import Page
from scrapy_pagelets.rules.host_rules import Rules
from scrapy_pagelets.rules.rules_file import read
from scrapy_pagelets.sites.site_store import pack, unpack

#: Tables of a site, and those whose last columns count the pages of each class.
_TABLES: Final = ("text", "path", "placed", "exact", "links", "target", "shape")
_BY_CLASS: Final = ("text", "path")


class PageParser:
    """Parse raw pages, and mark what the rules of the user name; the rules are read in the process that needs them."""

    def __init__(self, options: CorpusOptions) -> None:
        self._limits = options.limits
        self._path = options.rules
        self._rules: Rules | None = None

    def __call__(self, row: dict[str, Any]) -> Page:
        """Parse a row of the schema ``RAW``.

        Raises
        ------
        TooLarge : if the page exceeds the limits
        """
        if self._rules is None:
            self._rules = read(self._path) if self._path else Rules()
        return self._rules.mark(Page.parse(row["body"], row["url"], row["content_type"], self._limits))


def learn(site: Site, pages: Iterable[Page]) -> None:
    """Count pages with their site, each URL and each text once, as `Site.learn` does; no template tree is made."""
    for page in pages:
        if page.key not in site.learnt.seen:
            site.count(page, site.model.page_evidence(page).odds)


class LearnParts:
    """Learn the pages of each part of a site; the rows are sorted by site, part and page."""

    def __init__(self, options: CorpusOptions) -> None:
        self._options = options
        self._parse = PageParser(options)

    def __call__(self, table: pa.Table) -> Iterator[pa.Table]:
        """Yield a table of the schema ``COUNTS`` for each part."""
        for part in groups(table, ("site", "part")):
            name, number = part["site"][0].as_py(), part["part"][0].as_py()
            site = Site(name, self._options.model)
            learn(site, self._pages(part))
            yield pa.Table.from_pylist([{"site": name, "part": number, "counts": pack(site.arrays())}], COUNTS)

    def _pages(self, part: pa.Table) -> Iterator[Page]:
        for row in rows_of(part):
            try:
                yield self._parse(row)
            except Exception:  # reported when the page is cleaned
                continue


class MergeParts:
    """Add up the counts of the parts of each site; the rows are sorted by site and part."""

    def __call__(self, table: pa.Table) -> Iterator[pa.Table]:
        """Yield a table of the schema ``COUNTS`` for each site."""
        for parts in groups(table, ("site",)):
            name = parts["site"][0].as_py()
            counts = merge_counts(name, [counts_of(name, content.as_py()) for content in parts["counts"]])
            yield pa.Table.from_pylist([{"site": name, "part": 0, "counts": pack(counts.arrays())}], COUNTS)


def counts_of(name: str, content: bytes) -> SiteCounts:
    """Restore the counts of a site."""
    return SiteCounts.from_arrays(name, unpack(content))


def merge_counts(name: str, parts: Sequence[SiteCounts]) -> SiteCounts:
    """The counts of a site from those of its parts: the sums of all counts, by class.

    Exact but for two things: a page in one part that is a copy of a page in another counts twice, and the first pages
    of each part have "new" texts that another part may have as well. Classes of two parts are one if their outlines
    fit, as for pages.

    Parameters
    ----------
    name : of the site
    parts : at least one, in the order of their pages
    """
    whole = parts[0]
    for part in parts[1:]:
        whole = _add_counts(name, whole, part)
    return whole


def _add_counts(name: str, one: SiteCounts, other: SiteCounts) -> SiteCounts:
    one, numbers = _add_classes(name, one, other)
    columns, more = one.arrays(), other.arrays()
    columns["pages"] = columns["pages"] + more["pages"]
    for table in _TABLES:
        sums = more[f"{table}_sums"]
        if table in _BY_CLASS:
            sums = _renumber_classes(sums, numbers)
        columns |= _add_tables(table, columns, more[f"{table}_keys"], sums)
    pages = columns["template_pages"].copy()
    np.add.at(pages, numbers, more["template_pages"])
    columns["template_pages"] = pages
    columns["seen"], columns["seen_template"] = _join_pages(columns, more, numbers)
    columns["bodies"] = np.array(list(dict.fromkeys([*columns["bodies"].tolist(), *more["bodies"].tolist()])), np.int64)
    return SiteCounts.from_arrays(name, columns)


def _add_classes(name: str, one: SiteCounts, other: SiteCounts) -> tuple[SiteCounts, list[int]]:
    """The first counts with the classes of the second ones, and the number that each of these has there."""
    numbers = []
    for known in other.classes:
        found = one.fitting(known.outline)
        if found is None:
            columns = one.arrays()
            outline = np.fromiter(known.outline, np.int64, len(known.outline))
            columns["outline"] = np.concatenate([columns["outline"], outline])
            columns["outline_sizes"] = np.append(columns["outline_sizes"], len(outline))
            columns["template_pages"] = np.append(columns["template_pages"], 0)
            one = SiteCounts.from_arrays(name, columns)
            found = one.classes[-1]
        numbers.append(found.number)
    return one, numbers


def _renumber_classes(sums: Column, numbers: Sequence[int]) -> Column:
    """Sums whose last columns, one for each class, have the numbers of the other counts."""
    renumbered = sums.copy()
    renumbered[:, -CLASSES:] = 0
    for old, new in enumerate(numbers):
        renumbered[:, new - CLASSES] += sums[:, old - CLASSES]
    return renumbered


def _add_tables(table: str, columns: dict[str, Column], keys: Column, sums: Column) -> dict[str, Column]:
    every = np.concatenate([columns[f"{table}_keys"], keys])
    distinct, place = np.unique(every, return_inverse=True)
    total = np.zeros((len(distinct), sums.shape[1]), np.float32)
    np.add.at(total, place, np.vstack([columns[f"{table}_sums"], sums]))
    return {f"{table}_keys": distinct, f"{table}_sums": total}


def _join_pages(columns: dict[str, Column], more: dict[str, Column], numbers: Sequence[int]) -> tuple[Column, Column]:
    classes = dict(zip(columns["seen"].tolist(), columns["seen_template"].tolist(), strict=True))
    for key, number in zip(more["seen"].tolist(), more["seen_template"].tolist(), strict=True):
        classes.setdefault(key, numbers[number])
    return np.fromiter(classes, np.int64, len(classes)), np.array(list(classes.values()), np.int8)
