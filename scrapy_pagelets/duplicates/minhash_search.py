"""Search in the sketches of a feed by datasketch: pages inside of other pages, and the pages most similar to one.

The index of a crawl (`band_index`) finds pages that resemble each other as a whole. An excerpt does not resemble the
page around it, and the most similar page may be below every threshold. Sources of the two indexes: Zhu, Nargesian, Pu,
Miller 2016, *LSH Ensemble: Internet-Scale Domain Search*; Bawa, Condie, Ganesan 2005, *LSH Forest: Self-Tuning Indexes
for Similarity Search*.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from scrapy_pagelets.duplicates.shingles import Hashes
from scrapy_pagelets.duplicates.sketch import PERMUTATIONS

if TYPE_CHECKING:
    from datasketch import LeanMinHash

#: False candidates cost little, because they are verified, and missed ones cannot be made up for.
_WEIGHTS: Final = (0.01, 0.99)
#: The ensemble is made for this part of the least share: at the share itself, and above all at 1, it misses pairs.
_SLACK: Final = 0.9
#: Longest bands of the ensemble: with longer ones it needs more memory, and found no more pairs.
_ROWS: Final = 4
#: Number of candidates that are verified by their shingles: those with the highest estimates.
_VERIFIED: Final = 8
#: Prefix trees of the forest. Texts of resemblance 0.1 meet in one of 32 with probability 0.97.
_TREES: Final = 32
#: Candidates that are compared for each page that is wanted.
_CANDIDATES: Final = 20


class Sketched(NamedTuple):
    """A text and its sketch.

    ``minhash``: see `sketch.lean_minhash`. ``shingles``: see `shingles.shingles`; one at least.
    """

    minhash: LeanMinHash
    shingles: Hashes


def contained(texts: Sequence[Sketched], least: float) -> Iterator[tuple[int, int, float]]:
    """Yield each text that stands inside of a larger one: its number, that of the other, and the share of its shingles.

    The share is exact. Of several larger texts, that with the largest share is named, then the largest. Of equal
    sizes, the first is the larger one. The ensemble may miss pairs, above all if the other is a hundred times as long.

    ``least``: the least share, above 0 to 1.

    >>> from scrapy_pagelets.duplicates.sketch import encode, lean_minhash, minhash
    >>> sets = [np.arange(size, dtype=np.uint32) for size in (100, 20)]
    >>> list(contained([Sketched(lean_minhash(encode(minhash(found))), found) for found in sets], 0.9))
    [(1, 0, 1.0)]
    """
    from datasketch import MinHashLSHEnsemble

    if not texts:
        return
    sizes = [len(text.shingles) for text in texts]
    ensemble = MinHashLSHEnsemble(_SLACK * least, PERMUTATIONS, m=_ROWS, weights=_WEIGHTS)
    ensemble.index([(number, text.minhash, size) for number, (text, size) in enumerate(zip(texts, sizes, strict=True))])
    for number, text in enumerate(texts):
        own = sizes[number], -number
        larger = [other for other in ensemble.query(text.minhash, sizes[number]) if (sizes[other], -other) > own]
        share, _, of = max(
            ((_share(text, texts[other]), sizes[other], -other) for other in _likeliest(number, larger, texts)),
            default=(0.0, 0, 0),
        )
        if share >= least:
            yield number, -of, share


def _likeliest(number: int, others: list[int], texts: Sequence[Sketched]) -> list[int]:
    """The candidates with the highest estimates of the share: ``J / (1 + J) * (|A| + |B|)`` shingles are common."""
    minhash, shingles = texts[number]

    def common(other: int) -> tuple[float, int]:
        resemblance = minhash.jaccard(texts[other].minhash)
        return resemblance / (1 + resemblance) * (len(shingles) + len(texts[other].shingles)), -other

    return sorted(others, key=common, reverse=True)[:_VERIFIED]


def _share(inner: Sketched, outer: Sketched) -> float:
    common = np.intersect1d(inner.shingles, outer.shingles, assume_unique=True)
    return len(common) / len(inner.shingles)


def most_similar(minhashes: Sequence[LeanMinHash], number: int, top: int) -> list[tuple[int, float]]:
    """Return the texts that resemble one of them most, best first, with estimates of the resemblance above 0.

    ``number``: of the text; it is not returned itself. ``top``: how many at most.

    >>> from scrapy_pagelets.duplicates.sketch import encode, lean_minhash, minhash
    >>> starts = (0, 500, 20)
    >>> sets = [np.arange(start, start + 100, dtype=np.uint32) for start in starts]
    >>> most_similar([lean_minhash(encode(minhash(found))) for found in sets], 0, 5)  # in truth 80 / 120
    [(2, 0.703125)]
    """
    from datasketch import MinHashLSHForest

    forest = MinHashLSHForest(PERMUTATIONS, _TREES)
    for other, minhash in enumerate(minhashes):
        if other != number:
            forest.add(other, minhash)
    forest.index()
    wanted = minhashes[number]
    found = [(other, wanted.jaccard(minhashes[other])) for other in forest.query(wanted, top * _CANDIDATES)]
    return sorted(found, key=lambda pair: (-pair[1], pair[0]))[:top]
