"""Add up the counts of parts of a site that were learnt apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from scrapy_pagelets.evidence.evidence import CLASSES, Column
from scrapy_pagelets.evidence.site_counts import SiteCounts

#: Tables of a site, and those whose last columns count the pages of each class.
_TABLES: Final = ("text", "path", "placed", "exact", "links", "target", "shape")
_BY_CLASS: Final = ("text", "path")


def merged(name: str, parts: Sequence[SiteCounts]) -> SiteCounts:
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
        whole = _added(name, whole, part)
    return whole


def _added(name: str, one: SiteCounts, other: SiteCounts) -> SiteCounts:
    one, numbers = _with_classes_of(name, one, other)
    columns, more = one.arrays(), other.arrays()
    columns["pages"] = columns["pages"] + more["pages"]
    for table in _TABLES:
        sums = more[f"{table}_sums"]
        if table in _BY_CLASS:
            sums = _renumbered(sums, numbers)
        columns |= _sum_of_tables(table, columns, more[f"{table}_keys"], sums)
    pages = columns["template_pages"].copy()
    np.add.at(pages, numbers, more["template_pages"])
    columns["template_pages"] = pages
    columns["seen"], columns["seen_template"] = _joined_pages(columns, more, numbers)
    columns["bodies"] = np.array(list(dict.fromkeys([*columns["bodies"].tolist(), *more["bodies"].tolist()])), np.int64)
    return SiteCounts.from_arrays(name, columns)


def _with_classes_of(name: str, one: SiteCounts, other: SiteCounts) -> tuple[SiteCounts, list[int]]:
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


def _renumbered(sums: Column, numbers: Sequence[int]) -> Column:
    """Sums whose last columns, one for each class, have the numbers of the other counts."""
    renumbered = sums.copy()
    renumbered[:, -CLASSES:] = 0
    for old, new in enumerate(numbers):
        renumbered[:, new - CLASSES] += sums[:, old - CLASSES]
    return renumbered


def _sum_of_tables(table: str, columns: dict[str, Column], keys: Column, sums: Column) -> dict[str, Column]:
    every = np.concatenate([columns[f"{table}_keys"], keys])
    distinct, place = np.unique(every, return_inverse=True)
    total = np.zeros((len(distinct), sums.shape[1]), np.float32)
    np.add.at(total, place, np.vstack([columns[f"{table}_sums"], sums]))
    return {f"{table}_keys": distinct, f"{table}_sums": total}


def _joined_pages(columns: dict[str, Column], more: dict[str, Column], numbers: Sequence[int]) -> tuple[Column, Column]:
    classes = dict(zip(columns["seen"].tolist(), columns["seen_template"].tolist(), strict=True))
    for key, number in zip(more["seen"].tolist(), more["seen_template"].tolist(), strict=True):
        classes.setdefault(key, numbers[number])
    return np.fromiter(classes, np.int64, len(classes)), np.array(list(classes.values()), np.int8)
