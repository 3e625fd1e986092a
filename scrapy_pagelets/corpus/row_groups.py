"""Divide a stream of Arrow batches into tables of whole groups."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

import numpy as np
import pyarrow as pa

from scrapy_pagelets.base.arrays import Ints


def whole_groups(batches: Iterable[pa.RecordBatch], keys: Sequence[str], size: int) -> Iterator[pa.Table]:
    """Yield tables of at least ``size`` rows that do not divide a group; the last one may be smaller.

    Where the tables end depends on the rows only, not on the batches in which they come.

    Parameters
    ----------
    batches : sorted by the keys
    keys : columns that are equal within a group; none if each row is a group
    size : least number of rows, from 1

    Examples
    --------
    >>> batches = pa.table({"site": list("aabbbc")}).to_batches(2)
    >>> ["".join(table["site"].to_pylist()) for table in whole_groups(batches, ["site"], 1)]
    ['aa', 'bbb', 'c']
    """
    waiting: list[pa.RecordBatch] = []
    for batch in batches:
        waiting.append(batch)
        if sum(map(len, waiting)) > size:
            table = pa.Table.from_batches(waiting)
            cuts = _cuts(table, keys, size)
            for start, end in zip([0, *cuts], cuts, strict=False):
                yield table.slice(start, end - start)
            waiting = table.slice(cuts[-1] if cuts else 0).to_batches()
    if sum(map(len, waiting)):
        yield pa.Table.from_batches(waiting)


def groups(table: pa.Table, keys: Sequence[str]) -> Iterator[pa.Table]:
    """Yield the groups of a table that is sorted by the keys."""
    starts = [*_starts(table, keys).tolist(), len(table)]
    for start, end in pairwise(starts):
        yield table.slice(start, end - start)


def _cuts(table: pa.Table, keys: Sequence[str], size: int) -> list[int]:
    cuts = [0]
    starts = _starts(table, keys)
    while (place := np.searchsorted(starts, cuts[-1] + size)) < len(starts):
        cuts.append(int(starts[place]))
    return cuts[1:]


def _starts(table: pa.Table, keys: Sequence[str]) -> Ints:
    """Rows at which a group begins."""
    if not keys:
        return np.arange(len(table))
    fresh = np.zeros(len(table), np.bool_)
    fresh[:1] = True
    for key in keys:
        column = table[key].combine_chunks().dictionary_encode()
        column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
        numbers = column.indices.to_numpy(zero_copy_only=False)
        fresh[1:] |= numbers[1:] != numbers[:-1]
    return np.flatnonzero(fresh)
