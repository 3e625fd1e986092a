"""Near-duplicates in a whole collection: groups, blocks that appear on many hosts, and mirrored hosts."""

from array import array
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from itertools import combinations, islice
from tempfile import TemporaryFile
from typing import IO, Any, Final, NamedTuple, TypeVar

import numpy as np
from xxhash import xxh3_64_intdigest

from scrapy_pagelets.duplicates.band_index import BandIndex
from scrapy_pagelets.duplicates.shingles import SIZE, Hashes, jaccard, shingles, word_hashes
from scrapy_pagelets.duplicates.sketch import Threshold, band_keys, minhashes
from scrapy_pagelets.page.urls import host_of

T = TypeVar("T", bound=Hashable)
_BLOCK: Final = 256  # texts that are sketched before each query of the index
_VERIFIED: Final = 8  # number of candidates of a text that are verified by their shingles
_PAGES: Final = 3  # a host is a mirror of another one that has at least this number of its pages
_SHARE: Final = 0.5  # and this share


class Mirror(NamedTuple):
    """A host whose pages are also on another host."""

    #: host, of: the mirror and the original, which is the host with more pages, or the first one among equals
    host: str
    of: str
    pages: int  # number of pages of the mirror that the original has as well
    share: float  # share of these among the pages of the mirror


def near_pairs(texts: Iterable[tuple[str, str]], threshold: Threshold) -> Iterator[tuple[int, int, float]]:
    """Yield pairs of near-duplicates: number of a text, of an earlier one, and their resemblance (Jaccard of shingles).

    The pairs suffice to connect each group, but are not all pairs of a large one. Texts with fewer words than a shingle
    are left out. ``texts``: the site and the text of each document.
    """
    remaining = iter(texts)
    index, first, number = BandIndex(threshold.least), dict[int, int](), 0
    with TemporaryFile() as file:
        known = _Shingles(file)
        while block := list(islice(remaining, _BLOCK)):
            fresh = []
            for site, text in block:
                token = word_hashes(text)
                if len(token) >= SIZE:
                    before = first.setdefault(xxh3_64_intdigest(token.tobytes()), number)
                    if before == number:
                        fresh.append(known.add(number, site, shingles(token)))
                    else:
                        yield number, before, 1.0
                number += 1
            if fresh:
                yield from _near(index, known, fresh, threshold)


class _Shingles:
    """The shingles of texts, in a file; texts are numbered in the order in which they are added."""

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
        shingle = np.frombuffer(self._file.read(end - start), np.uint32)
        self._file.seek(self._ends[-1])
        return shingle


def _near(
    index: BandIndex, known: _Shingles, fresh: list[Hashes], threshold: Threshold
) -> Iterator[tuple[int, int, float]]:
    """Add new texts to the index; yield their pairs with earlier ones."""
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


def near_groups(texts: Iterable[tuple[str, str]], threshold: Threshold) -> list[list[int]]:
    """Return groups of near-duplicates, as ascending numbers: the components of `near_pairs`, largest first."""
    groups = connected((one, other) for one, other, _ in near_pairs(texts, threshold))
    return sorted(map(sorted, groups), key=lambda group: (-len(group), group))


def connected(pairs: Iterable[tuple[T, T]]) -> list[list[T]]:
    """Return the groups that pairs connect; groups, and the members of each, in the order in which they are named."""
    from scipy.cluster.hierarchy import DisjointSet

    found: Any = DisjointSet()
    place: dict[T, int] = {}
    for one, other in pairs:
        for member in (one, other):
            found.add(member)
            place.setdefault(member, len(place))
        found.merge(one, other)
    return [sorted(group, key=place.__getitem__) for group in found.subsets()]


def mirrors(groups: Iterable[Sequence[str]], urls: Iterable[str]) -> list[Mirror]:
    """Find hosts most of whose pages, ``urls``, are near another host's (Bar-Yossef & Rajagopalan 2002, Section 1)."""
    pages = Counter(map(host_of, dict.fromkeys(urls)))
    common: Counter[tuple[str, str]] = Counter()
    for group in groups:
        hosts = Counter(map(host_of, group))
        for one, other in combinations(sorted(hosts), 2):
            common[one, other] += hosts[one]
            common[other, one] += hosts[other]
    rank = {host: place for place, (host, _) in enumerate(pages.most_common())}
    pairs = (Mirror(host, of, n, n / pages[host]) for (host, of), n in common.items() if rank[host] > rank[of])
    return sorted((m for m in pairs if m.pages >= _PAGES and m.share >= _SHARE), key=lambda m: (-m.pages, m))


def on_several_hosts(groups: Iterable[Sequence[int]], urls: Sequence[str]) -> list[tuple[int, int, int]]:
    """The groups of blocks on several hosts, by the URLs of their pages: first block, numbers of pages and of hosts."""
    rows = []
    for group in groups:
        pages_by_host = defaultdict(set)
        for block in group:
            pages_by_host[host_of(urls[block])].add(urls[block])
        rows.append((group[0], sum(map(len, pages_by_host.values())), len(pages_by_host)))
    return sorted((row for row in rows if row[2] > 1), key=lambda row: (-row[2], -row[1], row[0]))
