"""Near-duplicates among many texts at once: groups, blocks that many hosts carry, and hosts that are copies."""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations, islice
from tempfile import TemporaryFile
from typing import IO, Final, NamedTuple

import numpy as np
from xxhash import xxh3_64_intdigest

from scrapy_pagelets.duplicates.band_index import BandIndex
from scrapy_pagelets.duplicates.shingles import SIZE, Hashes, jaccard, shingles, tokens
from scrapy_pagelets.duplicates.sketch import band_keys, minhashes
from scrapy_pagelets.duplicates.threshold import Threshold
from scrapy_pagelets.templates.detection.components import Components
from scrapy_pagelets.urls import host_of

#: Texts that are sketched before the index is asked.
_BLOCK: Final = 256
#: Candidates of a text that are compared shingle by shingle.
_VERIFIED: Final = 8
#: A host is a copy of another one if that has so many of its pages, and so large a part of them.
_PAGES: Final = 3
_SHARE: Final = 0.5


class Mirror(NamedTuple):
    """A host whose pages are those of another one.

    Attributes
    ----------
    host, of : ``of`` is the one with more pages, the first one among equals
    pages : number of pages of the host that the other one has as well
    share : of the pages of the host
    """

    host: str
    of: str
    pages: int
    share: float


def near_pairs(
    texts: Iterable[tuple[str, str]], threshold: Threshold | None = None, size: int = SIZE
) -> Iterator[tuple[int, int, float]]:
    """Pairs of near-duplicates: number of a text, of an earlier one, and their resemblance (Jaccard of the shingles).

    The pairs connect whatever a chain of near-duplicates connects, but not every pair of a large group is among them.
    Texts of fewer words than a shingle are in no pair.

    Parameters
    ----------
    texts : the site and the text of each
    size : words of a shingle

    Examples
    --------
    >>> text = "one two three four five"
    >>> list(near_pairs([("a", text), ("a", "six"), ("b", text.upper())]))
    [(2, 0, 1.0)]
    """
    with TemporaryFile() as file:
        yield from _pairs(iter(texts), threshold or Threshold(), size, _Shingles(file))


def _pairs(
    texts: Iterator[tuple[str, str]], threshold: Threshold, size: int, known: _Shingles
) -> Iterator[tuple[int, int, float]]:
    index, first, number = BandIndex(threshold.least), dict[int, int](), 0
    while block := list(islice(texts, _BLOCK)):
        fresh = []
        for site, text in block:
            token = tokens(text)
            if len(token) >= size:
                before = first.setdefault(xxh3_64_intdigest(token.tobytes()), number)
                if before == number:
                    fresh.append(known.add(number, site, shingles(token, size)))
                else:
                    yield number, before, 1.0
            number += 1
        if fresh:
            yield from _near(index, known, fresh, threshold)


class _Shingles:
    """The shingles of texts by their order, in a file."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._ends = array("q", [0])
        self.texts = array("q")
        self.sites = array("Q")

    def add(self, text: int, site: str, shingle: Hashes) -> Hashes:
        self.texts.append(text)
        self.sites.append(xxh3_64_intdigest(site.encode()))
        self._ends.append(self._ends[-1] + self._file.write(shingle.tobytes()))
        return shingle

    def __getitem__(self, place: int) -> Hashes:
        start, end = self._ends[place : place + 2]
        self._file.seek(start)
        found = np.frombuffer(self._file.read(end - start), np.uint32)
        self._file.seek(self._ends[-1])
        return found


def _near(
    index: BandIndex, known: _Shingles, fresh: list[Hashes], threshold: Threshold
) -> Iterator[tuple[int, int, float]]:
    """The pairs of the last texts with earlier ones; the index knows them from now on."""
    keys = band_keys(minhashes(fresh), threshold.least)
    start = index.add(keys)
    compared: Counter[int] = Counter()
    rows, places, _ = index.query(keys)
    for row, place in zip(rows.tolist(), places.tolist(), strict=True):
        if place < start + row and compared[row] < _VERIFIED:
            compared[row] += 1
            similarity = jaccard(fresh[row], known[place])
            if similarity >= threshold.between(known.sites[start + row], known.sites[place]):
                yield known.texts[start + row], known.texts[place], similarity


def near_groups(
    texts: Iterable[tuple[str, str]], threshold: Threshold | None = None, size: int = SIZE
) -> list[list[int]]:
    """Groups of near-duplicates: the connected components of `near_pairs` as ascending numbers of texts, largest first.

    Examples
    --------
    >>> text = "one two three four five"
    >>> near_groups([("a", text), ("a", "six"), ("b", text.upper())])
    [[0, 2]]
    """
    components = Components[int]()
    for one, other, _ in near_pairs(texts, threshold, size):
        components.union(other, one)
    return sorted(map(sorted, components.groups()), key=lambda group: (-len(group), group))


def mirrors(groups: Iterable[Sequence[str]], urls: Iterable[str]) -> list[Mirror]:
    """Sites that were copied as a whole: most pages of one host have a near-duplicate on another.

    Bar-Yossef & Rajagopalan (2002, Section 1) tell mirrors from templates, which pages of one authority share.

    Parameters
    ----------
    groups : of near-duplicates, as URLs of pages
    urls : of all pages
    """
    pages = Counter(map(host_of, dict.fromkeys(urls)))
    common: Counter[tuple[str, str]] = Counter()
    for group in groups:
        hosts = Counter(map(host_of, group))
        for one, other in combinations(sorted(hosts), 2):
            common[one, other] += hosts[one]
            common[other, one] += hosts[other]
    rank = {host: place for place, (host, _) in enumerate(pages.most_common())}
    found = (Mirror(host, of, n, n / pages[host]) for (host, of), n in common.items() if rank[host] > rank[of])
    return sorted((m for m in found if m.pages >= _PAGES and m.share >= _SHARE), key=lambda m: (-m.pages, m))


def spread(groups: Iterable[Sequence[int]], urls: Sequence[str]) -> list[tuple[int, int, int]]:
    """Of groups of blocks, those on several hosts: number of the first block, of pages and of hosts; most hosts first.

    Parameters
    ----------
    urls : of the page of each block
    """
    found = []
    for group in groups:
        on = defaultdict(set)
        for block in group:
            on[host_of(urls[block])].add(urls[block])
        found.append((group[0], sum(map(len, on.values())), len(on)))
    return sorted((row for row in found if row[2] > 1), key=lambda row: (-row[2], -row[1], row[0]))
