"""An index of band keys: which earlier sketches have a band in common with this one."""

from __future__ import annotations

import logging
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from scrapy_pagelets.duplicates.sketch import banding
from scrapy_pagelets.nodes import Ints

logger = logging.getLogger(__name__)

#: Sketches that there is room for at the beginning.
_ROOM: Final = 1024
#: Entries of a chain that are looked at, the last ones first: of thousands of pages that resemble each other, some tell
#: as much as all.
_LONGEST: Final = 64
#: Sketches that are linked at once when the index has grown.
_BLOCK: Final = 1 << 15
_LIMIT: Final = 1 << 31


class BandIndex:
    """Chained hash tables of band keys in temporary files, which the system keeps in memory as long as there is room.

    Sketches are numbered from 0 in the order in which they are added. Nothing outlives the process: an index is made
    again from the sketches, a million in a few seconds. A table for which the disk has no room is kept in memory.

    Parameters
    ----------
    threshold : the resemblance that settles the bands, see `banding`
    folder : for the files; the system's for temporary ones if None
    failed : is called with a sentence if the disk has no room for a table

    Examples
    --------
    >>> index = BandIndex(0.8)
    >>> keys = np.arange(3 * 25, dtype=np.uint32).reshape(3, 25)
    >>> keys[2, :9] = keys[0, :9]
    >>> index.add(keys), [found.tolist() for found in index.query(keys[2:])]
    (0, [[0, 0], [2, 0], [25, 9]])
    """

    def __init__(
        self, threshold: float, folder: Path | None = None, failed: Callable[[str], None] = logger.warning
    ) -> None:
        self._folder = folder
        self._failed = failed
        self._bands = banding(threshold)[0]
        self._count: int = 0
        self._room(_ROOM)

    def __len__(self) -> int:
        """Return the number of sketches."""
        return self._count

    @property
    def nbytes(self) -> int:
        """Size of the tables."""
        return int(self._keys.nbytes + self._next.nbytes + self._heads.nbytes)

    def add(self, keys: NDArray[np.uint32]) -> int:
        """Add sketches; returns the number of the first of them.

        Parameters
        ----------
        keys : (n, bands) see `band_keys`

        Raises
        ------
        OverflowError : if there are more than the numbers of this index reach, 2^31 over the number of bands
        """
        first: int = self._count
        if first + len(keys) > len(self._keys):
            self._grow(first + len(keys))
        self._keys[first : first + len(keys)] = keys
        self._count = first + len(keys)
        self._link(first, self._count)
        return first

    def query(self, keys: NDArray[np.uint32]) -> tuple[Ints, Ints, Ints]:
        """The sketches with a key in common, as pairs: row of ``keys``, number of the sketch, number of common keys.

        Ordered by row; for a row those with the most common keys first, the earlier ones among equals.

        Parameters
        ----------
        keys : (n, bands)
        """
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
        slots: NDArray[np.uint32] = keys & np.uint32(min(len(self._heads), 1 << 32) - 1)
        return slots

    def _link(self, start: int, end: int) -> None:
        """Put the entries of some sketches at the heads of their chains."""
        slots = self._slots(self._keys[start:end].ravel())
        # Numbers are sorted ten times as fast as their indices.
        both = slots.astype(np.int64) * _LIMIT + np.arange(start * self._bands, end * self._bands)
        both.sort()
        slots, entries = np.divmod(both, _LIMIT)
        again = slots[1:] == slots[:-1]
        behind = self._heads[slots]
        behind[1:][again] = entries[:-1][again]
        self._next[entries] = behind
        last = np.concatenate((~again, [True]))
        self._heads[slots[last]] = entries[last]

    def _room(self, sketches: int) -> None:
        if sketches * self._bands >= _LIMIT:
            raise OverflowError(f"the index has no room for {sketches} sketches of {self._bands} bands: use BloomBands")
        self._keys = self._table((sketches, self._bands), np.uint32)
        self._next = self._table((sketches * self._bands,), np.int32)
        self._heads = self._table((1 << (sketches * self._bands - 1).bit_length(),), np.int32)
        self._heads[:] = -1

    def _grow(self, sketches: int) -> None:
        keys = self._keys
        self._room(max(2 * len(keys), sketches))
        self._keys[: self._count] = keys[: self._count]
        for start in range(0, self._count, _BLOCK):
            self._link(start, min(start + _BLOCK, self._count))

    def _table(self, shape: tuple[int, ...], dtype: Any) -> Any:
        try:
            return _mapped(shape, dtype, self._folder)
        except OSError as error:
            self._failed(f"the disk has no room for the index of near-duplicates, which is kept in memory: {error}")
            return np.zeros(shape, dtype)


def _mapped(shape: tuple[int, ...], dtype: Any, folder: Path | None) -> Any:
    """A table in a temporary file.

    Raises
    ------
    OSError : if the disk has no room for it
    """
    if not hasattr(os, "posix_fallocate"):  # macOS
        return np.zeros(shape, dtype)
    with tempfile.TemporaryFile(dir=folder) as file:
        # Without blocks of its own a file takes them when it is written to, and a full disk then kills the process.
        os.posix_fallocate(file.fileno(), 0, int(np.prod(shape)) * np.dtype(dtype).itemsize)
        # As a plain array, whose slices cost a third.
        return np.memmap(file, dtype, "r+", shape=shape).view(np.ndarray)
