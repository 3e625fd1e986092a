"""Bands in Bloom filters: whether such a text was met before, in fixed memory, for corpora whose index does not fit.

Source: Khan et al. 2024, *LSHBloom: Memory-efficient, Extreme-scale Document Deduplication* (arXiv 2411.04257); Bloom
1970, *Space/Time Trade-offs in Hash Coding with Allowable Errors*.
"""

from __future__ import annotations

from math import ceil, log
from pathlib import Path
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from scrapy_pagelets.duplicates.sketch import SCHEME, SketchError, band_keys, banding
from scrapy_pagelets.nodes import Bools, Ints, mix

_BYTE: Final = 8


class BloomBands:
    """A Bloom filter for each band: says that a near-duplicate was met, but not which, nor how near it is.

    Parameters
    ----------
    capacity : number of texts that it should take
    threshold : resemblance from which texts should be recognised, see `banding`
    error : share of new texts that are taken for known ones once the capacity is reached, beside those that resemble a
        known one somewhat less than the threshold; between 0 and 1

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
        one = -log(1 - (1 - error) ** (1 / bands)) / log(2)  # each band has its part of the error
        self._probes = max(1, round(one))
        self.bits = np.zeros((bands, ceil(capacity * one / log(2) / _BYTE)), np.uint8)

    def add(self, sketches: NDArray[np.uint32]) -> Bools:
        """(n,) whether each text is a near-duplicate of one before, of those that are added with it as well.

        Parameters
        ----------
        sketches : (n, 128)
        """
        return np.array([self._add(places) for places in self._places(sketches)], np.bool_)

    def _places(self, sketches: NDArray[np.uint32]) -> Ints:
        """(n, bands, probes) the bits of each sketch, by double hashing (Kirsch & Mitzenmacher 2006)."""
        keys = band_keys(sketches, self.threshold).astype(np.int64)
        step = mix(keys) | 1
        start = mix(step)
        probes = (start[:, :, None] + step[:, :, None] * np.arange(self._probes)).view(np.uint64)
        return (probes % np.uint64(self.bits.shape[1] * _BYTE)).astype(np.int64)

    def _add(self, places: Ints) -> bool:
        band = np.arange(len(self.bits))[:, None]
        byte, bit = places // _BYTE, np.left_shift(1, places % _BYTE).astype(np.uint8)
        known = bool((self.bits[band, byte] & bit != 0).all(1).any())
        np.bitwise_or.at(self.bits, (band, byte), bit)
        return known

    def save(self, path: Path) -> None:
        """Write the filters to a file, which ends in ``.npz``."""
        np.savez(
            path, bits=self.bits, scheme=SCHEME, capacity=self.capacity, threshold=self.threshold, error=self.error
        )

    @classmethod
    def load(cls, path: Path) -> Self:
        """The filters of a file.

        Raises
        ------
        SketchError : if they were made of sketches of another scheme
        """
        with np.load(path) as file:
            if (scheme := str(file["scheme"])) != SCHEME:
                raise SketchError(f"{path} has sketches of the scheme {scheme}, not {SCHEME}: make it again")
            numbers: list[Any] = [file[name].item() for name in ("capacity", "threshold", "error")]
            filters = cls(*numbers)
            filters.bits = file["bits"]
        return filters
