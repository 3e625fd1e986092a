"""Sketches: MinHash signatures of shingles with the values and the byte format of datasketch, and their bands.

The values equal those of a ``datasketch.MinHash`` with the scheme below. `encode` writes a sketch into a feed, and
`lean_minhash` reads it for datasketch, by which `contained` and `most_similar` search in a whole feed. Sources: Broder
1997, *On the Resemblance and Containment of Documents*; for bands, Leskovec, Rajaraman & Ullman, *Mining of Massive
Datasets*, Section 3.4; Zhu, Nargesian, Pu, Miller 2016, *LSH Ensemble: Internet-Scale Domain Search*; Bawa, Condie,
Ganesan 2005, *LSH Forest: Self-Tuning Indexes for Similarity Search*.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from scrapy_pagelets.base.arrays import Ints, band_hashes, mix
from scrapy_pagelets.base.errors import PageletsError
from scrapy_pagelets.core import give
from scrapy_pagelets.core.contents import minhash as minhash
from scrapy_pagelets.core.contents import minhashes as minhashes
from scrapy_pagelets.duplicates.shingles import Hashes

if TYPE_CHECKING:
    from datasketch import LeanMinHash

SCHEME: Final = "affine32"
PERMUTATIONS: Final = 128
#: Our own, not the 1 that datasketch takes by default: it refuses to compare sketches of two seeds, so that ours are
#: never compared with those of other hashes.
SEED: Final = 1_348_560_748
_CODE: Final = 1  # datasketch's number of the scheme
_HEADER: Final = struct.Struct("<qiB")
_MISSED: Final = 0.001  # accepted share of pairs at the threshold that have no band in common


@cache
def _permutations() -> tuple[Hashes, Hashes]:
    """(128, 1) odd factors and summands, modulo 2^32."""
    # As datasketch draws them. It is not asked: it imports SciPy, which would slow the start of every crawl.
    random = np.random.RandomState(SEED)
    factor = random.randint(0, 1 << 31, PERMUTATIONS, dtype=np.uint32) * np.uint32(2) + np.uint32(1)
    summand = random.randint(0, 1 << 32, PERMUTATIONS, dtype=np.uint32)
    return factor[:, None], summand[:, None]


def encode(sketch: Hashes) -> str:
    """Return a sketch with its seed and scheme in hexadecimal digits."""
    return (_HEADER.pack(SEED, -len(sketch), _CODE) + sketch.astype("<u4").tobytes()).hex()


class SketchError(PageletsError, ValueError):
    """Raised for a sketch that is none of this version; the message says what it is."""


def lean_minhash(sketch: str) -> LeanMinHash:
    """Read a sketch of a feed as a ``datasketch.LeanMinHash``; SketchError if it is damaged, or from before 0.3."""
    from datasketch import LeanMinHash

    try:
        packed = bytes.fromhex(sketch)
        seed, size, code = _HEADER.unpack_from(packed)
        values = np.frombuffer(packed, "<u4", offset=_HEADER.size).reshape(-size)
    except (ValueError, struct.error):
        raise SketchError("a sketch is damaged: crawl the pages again") from None
    if (seed, -size, code) != (SEED, PERMUTATIONS, _CODE):
        raise SketchError("its sketches are of another version of this package: crawl the pages again")
    return LeanMinHash(seed=seed, hashvalues=values.astype(np.uint32), scheme=SCHEME)


@cache
def banding(threshold: float) -> tuple[int, int]:
    """Return the number of bands b, and of values per band r, that find pairs from a threshold of resemblance on.

    A pair of resemblance J has a band in common with probability ``1 - (1 - J^r)^b``. The result has the largest r that
    misses at most one pair in a thousand at the threshold. Verification removes other candidates.

    >>> banding(0.8), banding(0.5), banding(1.0)
    ((25, 5), (64, 2), (1, 128))
    """
    for rows in range(PERMUTATIONS, 1, -1):
        bands = PERMUTATIONS // rows
        if (1 - threshold**rows) ** bands <= _MISSED:
            return bands, rows
    return PERMUTATIONS, 1


def band_keys(sketches: Hashes, threshold: float, salt: Ints | int = 0) -> Hashes:
    """(n, bands) keys of the bands of (n, 128) sketches; if salts are equal, two with a common key are candidates."""
    bands, rows = banding(threshold)
    start = np.arange(bands)[None, :] + mix(np.atleast_1d(salt))[:, None]
    keys = band_hashes(sketches, bands, rows, start)
    return (keys.view(np.uint64) >> np.uint64(32)).astype(np.uint32)


give("contents", permutations=_permutations)
LEAST: Final = 0.1  # sketches cannot distinguish smaller resemblances from none


class Threshold(NamedTuple):
    """Least resemblances (Jaccard of the shingles) of near-duplicates, on one site and on two sites, from 0.1 to 1.

    Pages of one site may resemble each other without being duplicates: releases of a manual, classes of an interface.
    Similar pages on two sites are copies, perhaps with small changes.
    """

    within: float = 0.8
    across: float = 0.65

    @property
    def least(self) -> float:
        """The smaller threshold: pairs with less resemblance are never near-duplicates."""
        return min(self)

    def between(self, one: object, other: object) -> float:
        """Return the threshold for a text of each of these sites."""
        return self.within if one == other else self.across


_WEIGHTS: Final = (0.01, 0.99)  # false candidates are verified, missed ones are lost
_SLACK: Final = 0.9  # the ensemble is made for this part of the share: at the share itself, it misses pairs
_ROWS: Final = 4  # longest bands of the ensemble: with longer ones it needs more memory, and found no more pairs
_VERIFIED: Final = 8  # number of candidates that are verified by their shingles: those with the highest estimates
#: Prefix trees of the forest. Texts of resemblance 0.1 meet in one of 32 with probability 0.97.
_TREES: Final = 32
_CANDIDATES: Final = 20  # candidates that are compared for each page that is wanted


class Sketched(NamedTuple):
    """A text and its sketch."""

    minhash: LeanMinHash  # see `lean_minhash`
    shingles: Hashes  # see `shingles.shingles`; one at least


def contained(texts: Sequence[Sketched], least: float) -> Iterator[tuple[int, int, float]]:
    """Yield each text that stands inside of a larger one: its number, that of the other, and the share of its shingles.

    The share, ``least`` or more, is exact. Of several larger texts, that with the largest share is named, then the
    largest. Of equal sizes, the first is the larger one. The ensemble may miss pairs of very different lengths.
    """
    from datasketch import MinHashLSHEnsemble

    sizes = [len(text.shingles) for text in texts]
    ensemble = MinHashLSHEnsemble(_SLACK * least, PERMUTATIONS, m=_ROWS, weights=_WEIGHTS)
    ensemble.index([(number, text.minhash, size) for number, (text, size) in enumerate(zip(texts, sizes, strict=True))])
    for number, text in enumerate(texts):
        own = sizes[number], -number
        larger = [other for other in ensemble.query(text.minhash, sizes[number]) if (sizes[other], -other) > own]
        shares = [
            (len(np.intersect1d(text.shingles, texts[other].shingles, assume_unique=True)) / sizes[number], other)
            for other in _likeliest(number, larger, texts)
        ]
        share, of = max(shares, key=lambda one: (one[0], sizes[one[1]], -one[1]), default=(0.0, 0))
        if share >= least:
            yield number, of, share


def _likeliest(number: int, others: list[int], texts: Sequence[Sketched]) -> list[int]:
    """The candidates with the highest estimates of the share: ``J / (1 + J) * (|A| + |B|)`` shingles are common."""
    minhash, shingles = texts[number]

    def common(other: int) -> tuple[float, int]:
        resemblance = minhash.jaccard(texts[other].minhash)
        return resemblance / (1 + resemblance) * (len(shingles) + len(texts[other].shingles)), -other

    return sorted(others, key=common, reverse=True)[:_VERIFIED]


def most_similar(minhashes: Sequence[LeanMinHash], number: int, top: int) -> list[tuple[int, float]]:
    """Return the ``top`` texts most like that of a number, best first, with estimates of the resemblance above 0."""
    from datasketch import MinHashLSHForest

    forest = MinHashLSHForest(PERMUTATIONS, _TREES)
    for other, added in enumerate(minhashes):
        if other != number:
            forest.add(other, added)
    forest.index()
    wanted = minhashes[number]
    found = [(other, wanted.jaccard(minhashes[other])) for other in forest.query(wanted, top * _CANDIDATES)]
    return sorted(found, key=lambda pair: (-pair[1], pair[0]))[:top]
