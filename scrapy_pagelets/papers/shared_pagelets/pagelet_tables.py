"""The tables of template detection, PAGELETS and LINKS, as columns.

Source: Bar-Yossef & Rajagopalan 2002, Section 3.2. All pages are integers, or all are strings. A shingle is a signed
64-bit integer, 0 for none.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from scrapy_pagelets.base.arrays import Ints, mix
from scrapy_pagelets.page.urls import site_of

#: Name of a page.
Key = int | str
#: PAGELETS: rows of page, pagelet, shingle.
Pagelets = Iterable[tuple[Key, int, int]] | NDArray[Any]
#: LINKS: rows of source and target.
Links = Iterable[tuple[Key, Key]] | NDArray[Any]

_POSITION: Final = np.int64(0x2545F4914F6CDD1D)


@dataclass(frozen=True, kw_only=True)
class Table:
    """PAGELETS as columns, without repeated rows.

    Attributes
    ----------
    pages : the pages, sorted
    mark : (pages,) number that is equal for duplicate pages
    page, pagelet, shingle : (rows,) sorted by these columns; the page is an index into ``pages``
    """

    pages: list[Key]
    mark: Ints
    page: Ints
    pagelet: Ints
    shingle: Ints

    @property
    def original(self) -> Ints:
        """(pages,) the first of the duplicates of each page, which may be the page itself."""
        _, first, same = np.unique(self.mark, return_index=True, return_inverse=True)
        originals: Ints = first[same]
        return originals

    def candidates(self) -> Table:
        """TEMPLATE_CANDIDATES: the rows, without those of duplicate pages, whose shingle is on several pages."""
        own = (self.original[self.page] == self.page) & (self.shingle != 0)
        page, pagelet, shingle = self.page[own], self.pagelet[own], self.shingle[own]
        shared = owners(shingle, page) > 1
        return replace(self, page=page[shared], pagelet=pagelet[shared], shingle=shingle[shared])

    def links(self, links: Links) -> Ints:
        """(links, 2) distinct pairs of pages of which one links to the other, as indices of their originals."""
        number = {page: i for i, page in enumerate(self.pages)}
        sources, targets = columns(links, 2, "LINKS have two columns, source and target")
        known = [(number[s], number[t]) for s, t in zip(sources, targets, strict=True) if s in number and t in number]
        pairs = np.sort(self.original[np.array(known, np.int64).reshape(-1, 2)], axis=1)
        return np.unique(pairs[pairs[:, 0] != pairs[:, 1]], axis=0)

    def sites(self, sites: Mapping[Key, Hashable] | None) -> list[Hashable]:
        """Return the site of each page, by default the registrable domain of its URL."""
        try:
            return [site_of(url(page)) if sites is None else sites[page] for page in self.pages]
        except KeyError as error:
            raise ValueError(f"sites lacks the site of the page {error}") from None


def read(pagelets: Pagelets, sketches: Mapping[Key, int] | None = None) -> Table:
    """Read PAGELETS as columns.

    Parameters
    ----------
    sketches : sketches of whole pages, equal for duplicates; a page without one has no duplicates. By default, pages
        are duplicates if their pagelets have the same shingles in the same order

    Raises
    ------
    ValueError : if the table has another form
    """
    names, *numbers = columns(pagelets, 3, "PAGELETS have three columns: page, pagelet and shingle")
    try:
        pages = sorted(set(names))
    except TypeError:
        raise ValueError("the pages of PAGELETS must be all integers or all strings") from None
    number = {page: i for i, page in enumerate(pages)}
    page = np.fromiter(map(number.__getitem__, names), np.int64, len(names))
    page, pagelet, shingle = _distinct(page, *map(_integers, numbers))
    return Table(pages=pages, mark=_marks(pages, page, shingle, sketches), page=page, pagelet=pagelet, shingle=shingle)


def owners(group: Ints, page: Ints) -> Ints:
    """(rows,) number of distinct pages in the group of each row."""
    _, group = np.unique(group, return_inverse=True)
    counts: Ints = np.bincount(_distinct(group, page)[0])[group]
    return counts


def _distinct(*columns: Ints) -> list[Ints]:
    """Sort the rows of a table and remove repeated ones."""
    order = np.lexsort(columns[::-1])
    columns = tuple(column[order] for column in columns)
    fresh = np.zeros(len(order), np.bool_)
    fresh[:1] = True
    for column in columns:
        fresh[1:] |= column[1:] != column[:-1]
    return [column[fresh] for column in columns]


def columns(rows: Iterable[Any], width: int, form: str) -> list[list[Any]]:
    """Return the columns of a sequence of rows or of an array as lists; ``form`` begins the message of errors."""
    if isinstance(rows, np.ndarray):
        if rows.ndim != 2 or rows.shape[1] != width:
            raise ValueError(f"{form}; the array has the shape {rows.shape}")
        return [column.tolist() for column in rows.T]
    listed = list(rows)
    if any(len(row) != width for row in listed):
        raise ValueError(f"{form}; a row has another number of columns")
    return [list(column) for column in zip(*listed, strict=True)] if listed else [[] for _ in range(width)]


def url(page: Key) -> str:
    """Return the page if it is a URL, else raise ValueError."""
    if not isinstance(page, str):
        raise ValueError(f"the page {page!r} is not a URL: give the sites of the pages")
    return page


def _integers(values: list[Any]) -> Ints:
    column = np.array(values) if values else np.zeros(0, np.int64)
    if column.dtype.kind != "i":
        raise ValueError("pagelets and shingles must be signed 64-bit integers")
    return column.astype(np.int64)


def _marks(pages: list[Key], page: Ints, shingle: Ints, sketches: Mapping[Key, int] | None) -> Ints:
    if sketches is None:
        return _sequences(page, shingle, len(pages))
    number: dict[tuple[bool, Key], int] = {}
    keys = ((p in sketches, sketches.get(p, p)) for p in pages)
    return np.array([number.setdefault(key, len(number)) for key in keys], np.int64)


def _sequences(page: Ints, shingle: Ints, pages: int) -> Ints:
    """(pages,) hash of the sequence of shingles of each page."""
    starts = np.searchsorted(page, np.arange(pages + 1))
    position = np.arange(len(page)) - starts[page]
    sums = np.concatenate(([0], np.cumsum(mix(mix(shingle) + position * _POSITION))))
    return sums[starts[1:]] - sums[starts[:-1]]
