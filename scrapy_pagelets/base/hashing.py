"""Hashes of whole columns of integers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


def mix(x: Ints) -> Ints:
    """Scramble 64-bit integers bijectively (the finaliser of splitmix64)."""
    z = x.astype(np.uint64)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return (z ^ (z >> np.uint64(31))).astype(np.int64)


def band_hashes(sketches: NDArray[Any], bands: int, rows: int, start: Ints) -> Ints:
    """(n, bands) hash of each band of some sketches; the values beyond the last band do not count.

    Source: Leskovec, Rajaraman & Ullman, *Mining of Massive Datasets*, Section 3.4.

    Parameters
    ----------
    sketches : (n, values) at least ``bands * rows`` values each
    bands, rows : number of bands, and of values in each
    start : (n, bands) or (1, bands) what the hashes begin with, different for each band, so that only bands with the
        same number agree

    Examples
    --------
    >>> sketches = np.array([[1, 2, 3, 4], [1, 2, 4, 3]])
    >>> one, other = band_hashes(sketches, 2, 2, np.arange(2)[None, :])
    >>> (one == other).tolist()
    [True, False]
    """
    parts = sketches[:, : bands * rows].reshape(len(sketches), bands, rows).astype(np.int64, copy=False)
    hashes = start
    for row in range(rows):
        hashes = mix(hashes * 31 + parts[:, :, row])
    return hashes
