"""The tables of the corpus job: their schemas, their folders, and what runs statements and functions over them."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
from pyarrow.compute import not_equal
from pyarrow.parquet import write_table

from scrapy_pagelets.base.arrays import Ints
from scrapy_pagelets.corpus.inputs import CorpusOptions
from scrapy_pagelets.feed.feed_schema import FEED, FeedField, arrow_type

WORK: Final = "_work"  # the folder of the tables that do not stay, which is deleted when the job is done
Row = Mapping[str, Any]
TableFunction = Callable[[pa.Table], Iterator[pa.Table]]  # for a worker process, or an executor
_TEXT: Final = pa.string()
_WHOLE: Final = pa.int64()
_NUMBER: Final = pa.float64()
#: What is to be read: a file, or records of it. ``page`` numbers begin with the number of the source.
SOURCES: Final = pa.schema({"source": _WHOLE, "path": _TEXT, "offsets": pa.list_(_WHOLE), "sizes": pa.list_(_WHOLE)})
#: A page as it was received; or, with ``skipped``, what was left out of a source, as JSON.
RAW: Final = pa.schema(
    {"page": _WHOLE, "site": _TEXT, "bucket": pa.int32(), "key": _WHOLE, "url": _TEXT, "fetched_at": _TEXT,
     "content_type": _TEXT, "link": _TEXT, "robots": _TEXT, "body": pa.binary(), "skipped": _TEXT}
)  # fmt: skip
#: What was learnt of a site, or of a part of it.
COUNTS: Final = pa.schema({"site": _TEXT, "part": _WHOLE, "counts": pa.binary()})
#: Resemblance of two pages, the second of which is the earlier one.
PAIRS: Final = pa.schema({"page": _WHOLE, "earlier": _WHOLE, "similarity": _NUMBER, "canonical": pa.bool_()})
KINDS: Final = {  # rows that cleaning a page makes; ``page`` is the number of the page everywhere
    "pagelet": {"page": _WHOLE, "url": _TEXT, "id": pa.int32(), "role": _TEXT, "templateness": _NUMBER,
                "words": pa.int32(), "text": _TEXT, "xpaths": pa.list_(_TEXT)},
    "link": {"page": _WHOLE, "url": _TEXT, "pagelet": pa.int32(), "role": _TEXT, "target_url": _TEXT, "anchor": _TEXT,
             "key": _WHOLE},
    "shingle": {"page": _WHOLE, "pagelet": pa.int32(), "shingle": _WHOLE, "of_site": _WHOLE, "text": _TEXT},
    "origin": {"page": _WHOLE, "url": _TEXT, "site": _TEXT, "key": _WHOLE, "body": _WHOLE, "body_of_site": _WHOLE},
    "content": {"page": _WHOLE, "url": _TEXT, "site": _WHOLE, "address": _WHOLE, "exact": _WHOLE,
                "shingles": pa.binary(), "weights": pa.binary()},
    "band": {"page": _WHOLE, "key": _WHOLE},
    "failure": {"page": _WHOLE, "url": _TEXT, "reason": _TEXT},
}  # fmt: skip


@dataclass(frozen=True)
class Work:
    """A function that is called with the rows of a statement, in other processes."""

    select: str  # the statement
    function: TableFunction  # gets tables of whole groups
    schema: pa.Schema  # of the tables that it yields
    keys: tuple[str, ...] = ()  # columns that are equal within a group; groups come in no particular order
    order: tuple[str, ...] = ()  # columns by which the rows of a group are sorted
    many: bool = False  # without keys, a task may have many rows, in any order, if this is true, else one


def store(folder: Path, table: pa.Table) -> None:
    """Write a table that is in memory."""
    folder.mkdir(parents=True)
    write_table(table, folder / "part-0.parquet", compression="zstd")


def feed_fields(options: CorpusOptions) -> list[FeedField]:
    """The fields of the feed that a job writes, in their order."""
    return [each for each in FEED if not each.optional or each.is_on(options)]


def cleaned_schema(options: CorpusOptions) -> pa.Schema:
    """The table of everything that cleaning makes: ``kind``, and a structure for each kind, null in the other rows."""
    feed = {each.name: arrow_type(each) for each in feed_fields(options)}
    kinds = {"page": {"page": _WHOLE, **feed}, **KINDS}
    return pa.schema({"kind": _TEXT, **{name: pa.struct(columns) for name, columns in kinds.items()}})


def union_rows(rows: Mapping[str, Sequence[Row]], schema: pa.Schema) -> pa.Table:
    """Rows of several kinds as one table of `cleaned_schema`."""
    tables = []
    for kind, some in rows.items():
        if some:
            column = pa.array(some, schema.field(kind).type)
            empty = {name: pa.nulls(len(some), schema.field(name).type) for name in schema.names}
            tables.append(pa.table(empty | {"kind": pa.array([kind] * len(some), _TEXT), kind: column}, schema=schema))
    return pa.concat_tables(tables) if tables else schema.empty_table()


def whole_groups(batches: Iterable[pa.RecordBatch], keys: Sequence[str], size: int) -> Iterator[pa.Table]:
    """Yield tables of at least ``size`` rows that do not divide a group; the last one may be smaller.

    Where they end depends on the rows only. ``batches``: sorted by the ``keys``, columns that are equal within a group;
    without keys each row is a group. ``size``: from 1.

    >>> batches = pa.table({"site": list("aabbbc")}).to_batches(2)
    >>> ["".join(table["site"].to_pylist()) for table in whole_groups(batches, ["site"], 1)]
    ['aa', 'bbb', 'c']
    """
    waiting: list[pa.RecordBatch] = []
    for batch in batches:
        waiting.append(batch)
        if sum(map(len, waiting)) > size:
            table = pa.Table.from_batches(waiting)
            cuts, starts = [0], _starts(table, keys)
            while (place := np.searchsorted(starts, cuts[-1] + size)) < len(starts):
                cuts.append(int(starts[place]))
            for start, end in pairwise(cuts):
                yield table.slice(start, end - start)
            waiting = table.slice(cuts[-1]).to_batches()
    if sum(map(len, waiting)):
        yield pa.Table.from_batches(waiting)


def groups(table: pa.Table, keys: Sequence[str]) -> Iterator[pa.Table]:
    """Yield the groups of a table that is sorted by the keys."""
    for start, end in pairwise([*_starts(table, keys).tolist(), len(table)]):
        yield table.slice(start, end - start)


def _starts(table: pa.Table, keys: Sequence[str]) -> Ints:
    if not keys:
        return np.arange(len(table))
    fresh = np.zeros(len(table), np.bool_)
    fresh[:1] = True
    for key in keys:
        fresh[1:] |= not_equal(table[key][1:], table[key][:-1]).to_numpy()
    return np.flatnonzero(fresh)


def rows_of(table: pa.Table) -> Iterator[dict[str, Any]]:
    """The rows of a table, made one batch at a time."""
    for batch in table.to_batches(32):
        yield from batch.to_pylist()
