"""Indexes of band keys: tables that find the earlier sketches with a common band, and Bloom filters in fixed memory.

Source of the filters, for corpora whose tables do not fit: Khan et al. 2024, *LSHBloom: Memory-efficient, Extreme-scale
Document Deduplication* (arXiv 2411.04257); Bloom 1970, *Space/Time Trade-offs in Hash Coding with Allowable Errors*.
"""

import logging
import os
import tempfile
from collections.abc import Callable
from math import ceil, log
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from scrapy_pagelets.base.arrays import Bools, Ints, mix
from scrapy_pagelets.duplicates.sketch import band_keys, banding

logger = logging.getLogger(__name__)
_CAPACITY: Final = 1024  # initial capacity, in sketches
_LONGEST: Final = 64  # entries read from a chain, the last first: of thousands of like pages, a few suffice
#: Sketches that are linked at once after the index has grown: with more, the arrays in between take tens of megabytes,
#: which the process keeps, and no less time.
_BLOCK: Final = 1 << 10
_LIMIT: Final = 1 << 31  # entries are numbered by 32-bit integers
_BYTE: Final = 8


class BandIndex:
    """Chained hash tables of band keys of sketches, which are numbered from 0 in the order in which they are added.

    They are temporary files. ``threshold``: determines the bands, see `banding`. ``folder``: for the files; None for
    the system's. ``failed`` is called with a sentence if a table stays in memory for lack of room.
    """

    def __init__(
        self, threshold: float, folder: Path | None = None, failed: Callable[[str], None] = logger.warning
    ) -> None:
        self._folder = folder
        self._failed = failed
        self._bands = banding(threshold)[0]
        self._count: int = 0
        self._allocate(_CAPACITY)

    def __len__(self) -> int:
        return self._count

    @property
    def nbytes(self) -> int:
        """Size of the tables in bytes."""
        return int(self._keys.nbytes + self._next.nbytes + self._heads.nbytes)

    def add(self, keys: NDArray[np.uint32]) -> int:
        """Add (n, bands) `band_keys`; return the number of the first one. OverflowError from 2^31 / bands on."""
        first, earlier = self._count, self._keys
        if first + len(keys) > len(earlier):
            self._allocate(max(2 * len(earlier), first + len(keys)))
            self._keys[:first] = earlier[:first]
            for start in range(0, first, _BLOCK):
                self._link(start, min(start + _BLOCK, first))
        self._keys[first : first + len(keys)] = keys
        self._count = first + len(keys)
        self._link(first, self._count)
        return first

    def query(self, keys: NDArray[np.uint32]) -> tuple[Ints, Ints, Ints]:
        """Rows of (n, bands) keys, sketches that have some of them, and how many: by row, the most first, by sketch."""
        wanted, row = keys.ravel(), np.repeat(np.arange(len(keys)), self._bands)
        at = self._heads[self._slots(wanted)]
        column, pairs = self._keys.reshape(-1), [np.zeros(0, np.int64)]
        for _ in range(_LONGEST):
            live = at >= 0
            if not live.any():
                break
            wanted, row, at = wanted[live], row[live], at[live]
            same = column[at] == wanted
            pairs.append(row[same] * _LIMIT + at[same] // self._bands)
            at = self._next[at]
        pair, common = np.unique(np.concatenate(pairs), return_counts=True)
        row, number = pair // _LIMIT, pair % _LIMIT
        order = np.lexsort((number, -common, row))
        return row[order], number[order], common[order]

    def _slots(self, keys: NDArray[np.uint32]) -> NDArray[np.uint32]:
        return np.asarray(keys & np.uint32(min(len(self._heads), 1 << 32) - 1))

    def _link(self, start: int, end: int) -> None:
        """Prepend the entries of some sketches to their chains."""
        slots = self._slots(self._keys[start:end].ravel())
        # Sorting combined values is ten times as fast as argsort.
        both = slots.astype(np.int64) * _LIMIT + np.arange(start * self._bands, end * self._bands)
        both.sort()
        slots, entries = np.divmod(both, _LIMIT)
        again = slots[1:] == slots[:-1]
        behind = self._heads[slots]
        behind[1:][again] = entries[:-1][again]
        self._next[entries] = behind
        last = np.concatenate((~again, [True]))
        self._heads[slots[last]] = entries[last]

    def _allocate(self, sketches: int) -> None:
        if sketches * self._bands >= _LIMIT:
            raise OverflowError(f"{sketches} sketches of {self._bands} bands exceed the index: use BloomBands")
        self._keys = self._table((sketches, self._bands), np.uint32)
        self._next = self._table((sketches * self._bands,), np.int32)
        # Between 0.8 and 1.6 entries for each chain, when the table is full.
        self._heads = self._table((1 << (sketches * self._bands - 1).bit_length() - 1,), np.int32)
        self._heads[:] = -1

    def _table(self, shape: tuple[int, ...], dtype: Any) -> Any:
        """A table in a temporary file; in memory if the disk has no room for it."""
        if not hasattr(os, "posix_fallocate"):  # macOS
            return np.zeros(shape, dtype)
        try:
            with tempfile.TemporaryFile(dir=self._folder) as file:
                # Reserve the blocks now: writing to a sparse mapped file on a full disk would kill the process.
                os.posix_fallocate(file.fileno(), 0, int(np.prod(shape)) * np.dtype(dtype).itemsize)
                # Slicing a plain array takes a third of the time of slicing a memmap.
                return np.memmap(file, dtype, "r+", shape=shape).view(np.ndarray)
        except OSError as error:
            self._failed(f"the disk has no room for the index of near-duplicates, which stays in memory: {error}")
            return np.zeros(shape, dtype)


class BloomBands:
    """One Bloom filter per band: they tell whether a text has a near-duplicate, but not which, nor its resemblance.

    ``capacity``: number of texts that they are made for. ``threshold``: see `banding`. ``error``: share of new texts
    that are taken for near-duplicates when full, beside those slightly below the threshold.
    """

    def __init__(self, capacity: int, threshold: float = 0.8, error: float = 1e-4) -> None:
        self._threshold = threshold
        bands = banding(threshold)[0]
        one = -log(1 - (1 - error) ** (1 / bands)) / log(2)  # distributes the error over the bands
        self._probes = max(1, round(one))
        self.bits = np.zeros((bands, ceil(capacity * one / log(2) / _BYTE)), np.uint8)  # (bands, bytes) the filters

    def add(self, sketches: NDArray[np.uint32]) -> Bools:
        """Add (n, 128) sketches; return (n,) whether each is near an earlier one, rows before it included."""
        # (n, bands, probes) bit positions of each sketch, by double hashing (Kirsch & Mitzenmacher 2006).
        step = mix(band_keys(sketches, self._threshold).astype(np.int64)) | 1
        start = mix(step)
        probes = (start[:, :, None] + step[:, :, None] * np.arange(self._probes)).view(np.uint64)
        places = (probes % np.uint64(self.bits.shape[1] * _BYTE)).astype(np.int64)
        band, near = np.arange(len(self.bits))[:, None], []
        for byte, bit in zip(places // _BYTE, np.left_shift(1, places % _BYTE).astype(np.uint8), strict=True):
            near.append((self.bits[band, byte] & bit != 0).all(1).any())
            np.bitwise_or.at(self.bits, (band, byte), bit)
        return np.array(near, np.bool_)
