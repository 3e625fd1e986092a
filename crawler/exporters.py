"""Feeds as Parquet files, for ``-O cleaned.parquet``."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import date, datetime, time
from typing import IO, TYPE_CHECKING, Any, Self

import numpy as np
from itemadapter import ItemAdapter, is_item
from scrapy import Spider, signals
from scrapy.exporters import BaseItemExporter
from scrapy.extensions.postprocessing import PostProcessingManager
from scrapy.utils.defer import deferred_from_coro
from scrapy.utils.serialize import ScrapyJSONEncoder

if TYPE_CHECKING:
    import pyarrow as pa
    from scrapy.crawler import Crawler

FEED_VERSION = "1"
EXTRA = "extra"
BATCH_ITEMS = 256
BATCH_BYTES = 32 << 20  # a row group of very long pages is written earlier

MOST_FIELDS = 256  # a dictionary with words for keys would become thousands of columns
_EXACT = 2**53  # integers up to here are floats without loss
_SURROGATES = re.compile("[\ud800-\udfff]")

Row = dict[str, Any]
Fits = Callable[[Any], bool]


class ParquetItemExporter(BaseItemExporter):
    """Writes items to a Parquet file, a row group every few hundred items.

    Switched on by ``FEED_EXPORTERS = {"parquet": "scrapy_pagelets.crawler.exporters.ParquetItemExporter"}``.

    The columns are those of the feed, version 1, then the other fields of the items, whose types are inferred from the
    first row group, then ``extra``: a JSON object with the fields that do not fit their column, and those without one,
    because they came later. A feed column takes a foreign item's type where no value of the first row group has the
    feed's. Fields that an item lacks are null. Lone surrogates, which UTF-8 cannot hold, become U+FFFD.

    Parquet is readable only when it was finished, and cannot be appended to. So a crawl whose feed already exists stops
    after its first item with an ERROR line (``-O`` and ``"overwrite": True`` replace the file), and a crawl that may be
    killed is better written in parts, with ``FEED_EXPORT_BATCH_ITEM_COUNT``.

    Parameters
    ----------
    file
        Open for writing bytes; it is not closed.
    batch_items
        Items of a row group, at least 1.
    compression
        Any that Parquet knows: ``zstd``, ``snappy``, ``gzip``, ``none``.

    Raises
    ------
    ImportError
        pyarrow is not installed.
    ValueError
        ``batch_items`` is less than 1, or the file has data.
    """

    def __init__(
        self, file: IO[bytes], *, batch_items: int = BATCH_ITEMS, compression: str = "zstd", **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        _require_pyarrow()
        if batch_items < 1:
            raise ValueError(f"batch_items is {batch_items}: a row group has at least one item")
        if not isinstance(file, PostProcessingManager) and _has_data(file):
            name = getattr(file, "name", "the feed")
            raise ValueError(
                f"{name} already has data and Parquet cannot be appended to: use -O, or 'overwrite': True in FEEDS"
            )
        self._sink = _Sink(file)
        self._batch_items = batch_items
        self._compression = compression
        self._first: list[Row] = []
        self._table: _Table | None = None
        self._batches: list[pa.RecordBatch] = []
        self._size = 0
        self._writer: Any = None
        self._thread = ThreadPoolExecutor(1, "parquet")
        self._writing: Future[None] | None = None

    @classmethod
    def from_crawler(cls, crawler: Crawler, file: IO[bytes], **kwargs: Any) -> Self:
        """Stop a crawl whose items could not be written, rather than lose every one of them."""
        try:
            return cls(file, **kwargs)
        except (ImportError, ValueError):
            crawler.signals.connect(_stop, signals.request_reached_downloader)
            raise

    def export_item(self, item: Any) -> None:
        """Keep what the item is now until its row group is full."""
        row = dict(self.get_serialized_fields(item))
        if self._table is not None:
            self._add(self._table, row)
            return
        self._first.append({name: _plain(value) for name, value in row.items()})
        self._size += sum(len(value) for value in row.values() if isinstance(value, str))
        if self._is_full(len(self._first)):
            self._settle()

    def finish_exporting(self) -> None:
        """Write the last row group and what makes the file readable."""
        try:
            if self._table is None:
                self._settle()
            if self._batches:
                self._write()
            self._wait()
            if self._writer is not None:  # None: it could not be opened, which was told
                self._writer.close()
        finally:
            self._thread.shutdown()

    def _is_full(self, items: int) -> bool:
        return items >= self._batch_items or self._size >= BATCH_BYTES

    def _settle(self) -> None:
        from pyarrow.parquet import ParquetWriter

        first, self._first, self._size = self._first, [], 0
        self._table = table = _Table(first, self._declared())
        self._writer = ParquetWriter(self._sink, table.schema, compression=self._compression)
        for row in first:
            self._add(table, row)

    def _add(self, table: _Table, row: Row) -> None:
        batch = table.batch(row)
        self._batches.append(batch)
        self._size += batch.nbytes
        if self._is_full(len(self._batches)):
            self._write()

    def _write(self) -> None:
        """Let a thread write the row group; one at a time, for memory is bounded."""
        batches, self._batches, self._size = self._batches, [], 0
        self._wait()
        self._writing = self._thread.submit(self._write_group, batches)

    def _write_group(self, batches: list[pa.RecordBatch]) -> None:
        import pyarrow as pa

        self._writer.write_table(pa.Table.from_batches(batches).combine_chunks())

    def _wait(self) -> None:
        writing, self._writing = self._writing, None
        if writing is not None:
            writing.result()

    def _declared(self) -> dict[str, pa.DataType | None]:
        """Give the columns known before the first item, with the types of those that belong to the feed."""
        feed = feed_types()
        if self.fields_to_export is None:
            return dict(feed)
        if isinstance(self.fields_to_export, Mapping):
            return {column: feed.get(field) for field, column in self.fields_to_export.items()}
        return {field: feed.get(field) for field in self.fields_to_export}


def _stop(spider: Spider) -> None:
    """Close while a request is on its way: closing in the middle of items of ``start()`` never ends (Scrapy 2.19)."""
    engine = spider.crawler.engine
    assert engine is not None
    deferred_from_coro(engine.close_spider_async(reason="parquet_not_writable"))


def feed_types() -> dict[str, pa.DataType]:
    """Give the columns of the feed, version 1, and their types."""
    import pyarrow as pa

    link = pa.struct({"url": pa.string(), "anchor": pa.string()})
    pagelet = pa.struct(
        {
            "id": pa.int32(),
            "xpaths": pa.list_(pa.string()),
            "role": pa.string(),
            "templateness": pa.float64(),
            "text": pa.string(),
            "words": pa.int32(),
            "links": pa.list_(link),
        }
    )
    return {
        "url": pa.string(),
        "title": pa.string(),
        "language": pa.string(),
        "fetched_at": pa.string(),
        "text": pa.string(),
        "pagelets": pa.list_(pagelet),
        "template": pa.struct({"id": pa.string(), "pages": pa.int32(), "share": pa.float64()}),
        "near_duplicate_of": pa.string(),
        "similarity": pa.float64(),
        "sketch": pa.string(),
    }


def _require_pyarrow() -> None:
    try:
        import pyarrow.parquet  # noqa: F401
    except ImportError:
        raise ImportError("writing Parquet needs pyarrow: pip install scrapy-pagelets[corpus]") from None


def _has_data(file: IO[bytes]) -> bool:
    try:
        return file.tell() > 0
    except (OSError, AttributeError):  # a pipe
        return False


class _Sink:
    """What Arrow wants of a file, over files that cannot tell their position; it leaves them open."""

    closed = False

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._written = 0

    def write(self, data: Any) -> int:
        self._file.write(bytes(data))
        self._written += len(data)
        return len(data)

    def tell(self) -> int:
        return self._written

    def flush(self) -> None:
        self._file.flush()

    def close(self) -> None:
        self.flush()


class _Table:
    """The columns, settled by the first rows."""

    def __init__(self, rows: list[Row], declared: Mapping[str, pa.DataType | None]) -> None:
        import pyarrow as pa

        types = {name: _column_type(declared.get(name), _values(rows, name)) for name in _names(rows, declared)}
        self.types = {name: kind for name, kind in types.items() if kind is not None}
        self._fits = {name: _fits(kind) for name, kind in self.types.items()}
        columns = [*self.types.items(), (EXTRA, pa.string())]
        self.schema = pa.schema(columns, metadata={"scrapy_pagelets.feed": FEED_VERSION})

    def batch(self, row: Row) -> pa.RecordBatch:
        import pyarrow as pa

        fitted = self._fitted(row)
        return pa.record_batch([pa.array([fitted.get(field.name)], field.type) for field in self.schema], self.schema)

    def _fitted(self, row: Row) -> Row:
        """Move what does not fit its column to the column for the rest."""
        fitted: Row = {}
        extra: Row = {}
        for name, value in row.items():
            fits = self._fits.get(name, _is_none)
            if not fits(value):
                value = _plain(value)
            (fitted if fits(value) else extra)[name] = value
        return {**fitted, EXTRA: _json(extra) if extra else None}


def _names(rows: list[Row], declared: Iterable[str]) -> list[str]:
    names = dict.fromkeys(declared)
    for row in rows:
        names |= dict.fromkeys(row)
    return [name for name in names if name != EXTRA][:MOST_FIELDS]


def _values(rows: list[Row], name: str) -> list[Any]:
    return [row[name] for row in rows if row.get(name) is not None]


# Types


def _column_type(declared: pa.DataType | None, values: list[Any]) -> pa.DataType | None:
    """Give the declared type, wide enough for the values; the type of the values where it fits none; else None."""
    import pyarrow as pa

    if not values:
        return declared or pa.string()
    if declared is not None and all(map(_fits(declared), values)):
        return declared
    seen = _inferred(values)
    if declared is None or seen is None:
        return declared or seen
    wide = _widened(declared, seen)
    return wide if any(map(_fits(wide), values)) else seen


def _inferred(values: list[Any]) -> pa.DataType | None:
    """Give the type of all values or, where they do not agree, of the first that has one."""
    import pyarrow as pa

    for sample in (values, *([value] for value in values)):
        try:
            found = _storable(pa.array(sample).type)
        except (pa.ArrowException, TypeError, ValueError, OverflowError):
            continue
        if found is not None:
            return found
    return None


def _storable(kind: pa.DataType) -> pa.DataType | None:
    """Give what Parquet can hold: not every type, no structure without fields, and no column without a type."""
    import pyarrow as pa

    if pa.types.is_null(kind):
        return pa.string()
    if pa.types.is_list(kind):
        value_type = _storable(kind.value_type)
        return None if value_type is None else pa.list_(value_type)
    if pa.types.is_struct(kind):
        fields = {field.name: _storable(field.type) for field in kind}
        return None if None in fields.values() or not 0 < len(fields) <= MOST_FIELDS else pa.struct(fields)
    plain = pa.types.is_primitive(kind) or pa.types.is_string(kind) or pa.types.is_binary(kind)
    return kind if (plain and not pa.types.is_duration(kind)) or pa.types.is_decimal(kind) else None


def _widened(declared: pa.DataType, seen: pa.DataType) -> pa.DataType:
    import pyarrow as pa

    if pa.types.is_list(declared) and pa.types.is_list(seen):
        return pa.list_(_widened(declared.value_type, seen.value_type))
    if pa.types.is_struct(declared) and pa.types.is_struct(seen):
        fields = {field.name: field.type for field in declared}
        for field in seen:
            fields[field.name] = _widened(fields[field.name], field.type) if field.name in fields else field.type
        return pa.struct(fields)
    return declared


# Values. Arrow itself is too obliging: it makes 1.5 an integer, "abc" a list of letters, and drops unknown fields


def _fits(kind: pa.DataType) -> Fits:
    import pyarrow as pa

    if pa.types.is_struct(kind):
        fields = {field.name: _fits(field.type) for field in kind}
        return lambda value: (
            value is None
            or (isinstance(value, dict) and all(name in fields and fields[name](part) for name, part in value.items()))
        )
    if pa.types.is_list(kind):
        fits = _fits(kind.value_type)
        return lambda value: value is None or (isinstance(value, list | tuple) and all(map(fits, value)))
    leaf = _fits_leaf(kind)
    return lambda value: value is None or leaf(value)


def _fits_leaf(kind: pa.DataType) -> Fits:
    import pyarrow as pa

    types = pa.types
    if types.is_string(kind):
        return lambda value: isinstance(value, str) and _is_utf8(value)
    if types.is_integer(kind):
        end = 1 << (kind.bit_width - 1)
        return lambda value: _is_integer(value) and -end <= value < end
    if types.is_floating(kind):
        return lambda value: isinstance(value, float) or (_is_integer(value) and -_EXACT <= value <= _EXACT)
    if types.is_timestamp(kind):
        return lambda value: isinstance(value, datetime) and (value.tzinfo is None) == (kind.tz is None)
    if types.is_date(kind):
        return lambda value: isinstance(value, date) and not isinstance(value, datetime)
    return lambda value: _converts(value, kind)


def _is_utf8(value: str) -> bool:
    if value.isascii():
        return True
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_none(value: Any) -> bool:
    return value is None


def _converts(value: Any, kind: pa.DataType) -> bool:
    import pyarrow as pa

    try:
        return bool(pa.scalar(value, kind).as_py() == value)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return False


def _plain(value: Any) -> Any:
    """Copy, and turn nested items, sets and numpy values into what Arrow and JSON know."""
    if value is None or isinstance(value, bool | int | float):
        return value.tolist() if isinstance(value, np.generic) else value
    if isinstance(value, str):
        return value if value.isascii() else _SURROGATES.sub("\ufffd", value)
    if isinstance(value, Mapping):
        return _plain_mapping(value)
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(part) for part in value]
    if is_item(value):
        return _plain_mapping(ItemAdapter(value))
    return _plain(value.tolist()) if hasattr(value, "tolist") else value


def _plain_mapping(value: Mapping[Any, Any]) -> dict[str, Any]:
    return {_plain(str(name)): _plain(part) for name, part in value.items()}


def _json(value: Row) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, default=_jsonable)
    except ValueError:  # NaN and infinity are no JSON: they become strings
        loose = json.dumps(value, default=_jsonable)
        return json.dumps(json.loads(loose, parse_constant=str), ensure_ascii=False)


def _jsonable(value: Any) -> Any:
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    try:
        return ScrapyJSONEncoder().default(value)
    except TypeError:
        return str(value)
