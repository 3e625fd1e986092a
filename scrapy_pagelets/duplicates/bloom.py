"""Bloom filters of bands: they detect near-duplicates in fixed memory, for corpora whose band index does not fit.

Source: Khan et al. 2024, *LSHBloom: Memory-efficient, Extreme-scale Document Deduplication* (arXiv 2411.04257); Bloom
1970, *Space/Time Trade-offs in Hash Coding with Allowable Errors*.
"""

from __future__ import annotations

from math import ceil, log
from pathlib import Path
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from scrapy_pagelets.base.arrays import Bools, Ints, mix
from scrapy_pagelets.duplicates.sketch import SCHEME, SketchError, band_keys, banding

_BYTE: Final = 8


class BloomBands:
    """One Bloom filter per band: they tell whether a text has a near-duplicate, but not which, nor its resemblance.

    Parameters
    ----------
    capacity : number of texts for which the filters are sized
    threshold : least resemblance of near-duplicates, see `banding`
    error : share of new texts that are reported as near-duplicates once the capacity is reached, in addition to those
        whose resemblance to an earlier text is slightly below the threshold; between 0 and 1

    Attributes
    ----------
    bits : (bands, bytes) the filters

    Raises
    ------
    ValueError : for a capacity, threshold or error out of range

    Examples
    --------
    >>> filters = BloomBands(1000)
    >>> sketches = np.arange(256, dtype=np.uint32).reshape(2, 128)
    >>> filters.add(sketches).tolist(), filters.add(sketches[1:]).tolist()
    ([False, False], [True])
    """

    def __init__(self, capacity: int, threshold: float = 0.8, error: float = 1e-4) -> None:
        if capacity < 1 or not 0 < threshold <= 1 or not 0 < error < 1:
            raise ValueError(
                f"capacity {capacity}, threshold {threshold}, error {error}: give a capacity from 1, a threshold above"
                " 0 to 1, and an error between 0 and 1"
            )
        self.capacity, self.threshold, self.error = capacity, threshold, error
        bands = banding(threshold)[0]
        one = -log(1 - (1 - error) ** (1 / bands)) / log(2)  # distributes the error over the bands
        self._probes = max(1, round(one))
        self.bits = np.zeros((bands, ceil(capacity * one / log(2) / _BYTE)), np.uint8)

    def add(self, sketches: NDArray[np.uint32]) -> Bools:
        """Add texts; return (n,) whether each is a near-duplicate of an earlier one, including the rows before it.

        Parameters
        ----------
        sketches : (n, 128)
        """
        return np.array([self._add(places) for places in self._places(sketches)], np.bool_)

    def _places(self, sketches: NDArray[np.uint32]) -> Ints:
        """(n, bands, probes) bit positions of each sketch, by double hashing (Kirsch & Mitzenmacher 2006)."""
        keys = band_keys(sketches, self.threshold).astype(np.int64)
        step = mix(keys) | 1
        start = mix(step)
        probes = (start[:, :, None] + step[:, :, None] * np.arange(self._probes)).view(np.uint64)
        return (probes % np.uint64(self.bits.shape[1] * _BYTE)).astype(np.int64)

    def _add(self, places: Ints) -> bool:
        band = np.arange(len(self.bits))[:, None]
        byte, bit = places // _BYTE, np.left_shift(1, places % _BYTE).astype(np.uint8)
        seen = bool((self.bits[band, byte] & bit != 0).all(1).any())
        np.bitwise_or.at(self.bits, (band, byte), bit)
        return seen

    def save(self, path: Path) -> None:
        """Write the filters to a file, whose name ends in ``.npz``."""
        np.savez(
            path, bits=self.bits, scheme=SCHEME, capacity=self.capacity, threshold=self.threshold, error=self.error
        )

    @classmethod
    def load(cls, path: Path) -> Self:
        """Load filters from a file.

        Raises
        ------
        SketchError : if the file is for sketches of another scheme
        """
        with np.load(path) as file:
            if (scheme := str(file["scheme"])) != SCHEME:
                raise SketchError(f"{path} is for sketches of the scheme {scheme}, not {SCHEME}: create it again")
            numbers: list[Any] = [file[name].item() for name in ("capacity", "threshold", "error")]
            filters = cls(*numbers)
            filters.bits = file["bits"]
        return filters
