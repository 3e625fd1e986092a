"""Templates by Definition 4 of Bar-Yossef & Rajagopalan 2002, literally: equal shingles and connected pages."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping
from itertools import groupby
from typing import NamedTuple

import networkx

from scrapy_pagelets.papers.shared_pagelets.incremental import Key

#: PAGELETS: rows of page, pagelet, shingle (0 for none). LINKS: rows of source and target.
Pagelets = Iterable[tuple[Key, int, int]]
Links = Iterable[tuple[Key, Key]]


class RepeatedPagelet(NamedTuple):
    """A template: pagelets with the same shingle on two pages or more."""

    shingle: int  # shingle of all pagelets
    pagelets: tuple[tuple[Key, int], ...]  # (page, pagelet) of each, in order

    @property
    def pages(self) -> list[Key]:
        """The distinct owners of the pagelets, in order."""
        return list(dict.fromkeys(page for page, _ in self.pagelets))


def local_templates(
    pagelets: Pagelets, *, sketches: Mapping[Key, int] | None = None, least: int = 2
) -> list[RepeatedPagelet]:
    """Figure 4: the pagelets with equal shingles. Pages with equal sketches are duplicates, of which the first counts.

    Without sketches, pages are duplicates if their pagelets have the same shingles in the same order.
    """
    rows = sorted(set(pagelets))
    if sketches is None:
        of_page = {page: tuple(row[1:] for row in group) for page, group in groupby(rows, lambda row: row[0])}
        numbers = {mark: number for number, mark in enumerate(dict.fromkeys(of_page.values()))}
        sketches = {page: numbers[mark] for page, mark in of_page.items()}
    by_shingle, _ = _originals(rows, sketches)
    return _templates(((shingle, pages) for shingle, pages in by_shingle.items()), rows, least)


def global_templates(
    pagelets: Pagelets,
    links: Links,
    *,
    sites: Mapping[Key, Hashable] | None = None,
    sketches: Mapping[Key, int] | None = None,
    least: int = 2,
) -> list[RepeatedPagelet]:
    """Figure 5: the pagelets with equal shingles on pages that links, or their site, connect; see `local_templates`."""
    rows, links = sorted(set(pagelets)), list(links)
    by_shingle, original = _originals(rows, sketches or {})
    found = []
    for shingle, pages in by_shingle.items():
        graph = networkx.Graph()
        graph.add_nodes_from(pages)
        ends = ((original.get(one), original.get(other)) for one, other in links)
        graph.add_edges_from((one, other) for one, other in ends if one in pages and other in pages)
        if sites is not None:
            graph.add_edges_from((original[p], ("site", sites[p])) for p in original if original[p] in pages)
        found += [(shingle, pages & part) for part in networkx.connected_components(graph)]
    return _templates(found, rows, least)


def _originals(
    rows: list[tuple[Key, int, int]], sketches: Mapping[Key, int]
) -> tuple[dict[int, set[Key]], dict[Key, Key]]:
    """The original pages of each shingle, and the original of each page."""
    first: dict[object, Key] = {}
    original = {page: first.setdefault(sketches.get(page, ("page", page)), page) for page, _, _ in rows}
    by_shingle: defaultdict[int, set[Key]] = defaultdict(set)
    for page, _, shingle in rows:
        if shingle and original[page] == page:
            by_shingle[shingle].add(page)
    return by_shingle, original


def _templates(
    groups: Iterable[tuple[int, set[Key]]], rows: list[tuple[Key, int, int]], least: int
) -> list[RepeatedPagelet]:
    """The groups of pages that are large enough, with their pagelets."""
    owned: defaultdict[tuple[int, Key], list[tuple[Key, int]]] = defaultdict(list)
    for page, pagelet, shingle in rows:
        owned[shingle, page].append((page, pagelet))
    return sorted(
        RepeatedPagelet(shingle, tuple(place for page in sorted(pages) for place in owned[shingle, page]))
        for shingle, pages in groups
        if len(pages) >= least
    )
