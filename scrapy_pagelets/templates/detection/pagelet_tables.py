"""The tables of template detection, PAGELETS and LINKS, as columns.

Source: Bar-Yossef & Rajagopalan 2002, Section 3.2. A page is an integer or a string, one of the two in all tables; a
shingle is a 64-bit integer, 0 for none.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from scrapy_pagelets.nodes import Ints, mix
from scrapy_pagelets.urls import site_of

#: What names a page.
Key = int | str
#: PAGELETS: rows of page, pagelet, shingle.
Pagelets = Iterable[tuple[Key, int, int]] | NDArray[Any]
#: LINKS: rows of source and target.
Links = Iterable[tuple[Key, Key]] | NDArray[Any]

_POSITION: Final = np.int64(0x2545F4914F6CDD1D)


@dataclass(frozen=True, kw_only=True)
class Table:
    """PAGELETS as columns, each row once.

    Attributes
    ----------
    pages : the pages, in their order
    mark : (pages,) equal for duplicate pages
    page, pagelet, shingle : (rows,) in this order; the page as an index into ``pages``
    """

    pages: list[Key]
    mark: Ints
    page: Ints
    pagelet: Ints
    shingle: Ints

    @property
    def original(self) -> Ints:
        """(pages,) the first page of which each is a duplicate, or itself."""
        _, first, same = np.unique(self.mark, return_index=True, return_inverse=True)
        originals: Ints = first[same]
        return originals

    def candidates(self) -> Table:
        """The rows of pages that are no duplicates whose shingle other such pages have, too: TEMPLATE_CANDIDATES."""
        own = (self.original[self.page] == self.page) & (self.shingle != 0)
        page, pagelet, shingle = self.page[own], self.pagelet[own], self.shingle[own]
        shared = owners(shingle, page) > 1
        return replace(self, page=page[shared], pagelet=pagelet[shared], shingle=shingle[shared])

    def links(self, links: Links) -> Ints:
        """(links, 2) different pages that link to each other, as indices of their originals, each pair once."""
        number = {page: i for i, page in enumerate(self.pages)}
        sources, targets = columns(links, 2, "LINKS have two columns, source and target")
        known = [(number[s], number[t]) for s, t in zip(sources, targets, strict=True) if s in number and t in number]
        pairs = np.sort(self.original[np.array(known, np.int64).reshape(-1, 2)], axis=1)
        return np.unique(pairs[pairs[:, 0] != pairs[:, 1]], axis=0)

    def sites(self, sites: Mapping[Key, Hashable] | None) -> list[Hashable]:
        """The site of each page, by default the registrable domain of its URL."""
        try:
            return [site_of(url(page)) if sites is None else sites[page] for page in self.pages]
        except KeyError as error:
            raise ValueError(f"sites does not name the site of the page {error}") from None


def read(pagelets: Pagelets, sketches: Mapping[Key, int] | None = None) -> Table:
    """PAGELETS as columns.

    Parameters
    ----------
    sketches : of whole pages, equal for duplicates; a page without one has no duplicates. By default pages are
        duplicates if their pagelets have the same shingles in the same order

    Raises
    ------
    ValueError : for a table of another form
    """
    names, *numbers = columns(pagelets, 3, "PAGELETS have three columns: page, pagelet and shingle")
    try:
        pages = sorted(set(names))
    except TypeError:
        raise ValueError("the pages of PAGELETS are integers or strings, not both") from None
    number = {page: i for i, page in enumerate(pages)}
    page = np.fromiter(map(number.__getitem__, names), np.int64, len(names))
    page, pagelet, shingle = _distinct(page, *map(_integers, numbers))
    return Table(pages=pages, mark=_marks(pages, page, shingle, sketches), page=page, pagelet=pagelet, shingle=shingle)


def owners(group: Ints, page: Ints) -> Ints:
    """(rows,) number of different pages in the group of each row."""
    _, group = np.unique(group, return_inverse=True)
    counts: Ints = np.bincount(_distinct(group, page)[0])[group]
    return counts


def _distinct(*columns: Ints) -> list[Ints]:
    """The rows of a table in order, each once."""
    order = np.lexsort(columns[::-1])
    columns = tuple(column[order] for column in columns)
    fresh = np.zeros(len(order), np.bool_)
    fresh[:1] = True
    for column in columns:
        fresh[1:] |= column[1:] != column[:-1]
    return [column[fresh] for column in columns]


def columns(rows: Iterable[Any], width: int, form: str) -> list[list[Any]]:
    """The columns of a sequence of rows or of an array, as lists."""
    if isinstance(rows, np.ndarray):
        if rows.ndim != 2 or rows.shape[1] != width:
            raise ValueError(f"{form}; the array has the shape {rows.shape}")
        return [column.tolist() for column in rows.T]
    listed = list(rows)
    if any(len(row) != width for row in listed):
        raise ValueError(f"{form}; a row has another number of them")
    return [list(column) for column in zip(*listed, strict=True)] if listed else [[] for _ in range(width)]


def url(page: Key) -> str:
    """The page, if it is a URL."""
    if not isinstance(page, str):
        raise ValueError(f"the page {page!r} is no URL: name the sites of the pages")
    return page


def _integers(values: list[Any]) -> Ints:
    column = np.array(values) if values else np.zeros(0, np.int64)
    if column.dtype.kind != "i":
        raise ValueError("pagelets and shingles are integers that fit into 64 bits with a sign")
    return column.astype(np.int64)


def _marks(pages: list[Key], page: Ints, shingle: Ints, sketches: Mapping[Key, int] | None) -> Ints:
    if sketches is None:
        return _sequences(page, shingle, len(pages))
    number: dict[tuple[bool, Key], int] = {}
    keys = ((p in sketches, sketches.get(p, p)) for p in pages)
    return np.array([number.setdefault(key, len(number)) for key in keys], np.int64)


def _sequences(page: Ints, shingle: Ints, pages: int) -> Ints:
    """(pages,) hash of the shingles of each page with their positions."""
    starts = np.searchsorted(page, np.arange(pages + 1))
    position = np.arange(len(page)) - starts[page]
    sums = np.concatenate(([0], np.cumsum(mix(mix(shingle) + position * _POSITION))))
    return sums[starts[1:]] - sums[starts[:-1]]
