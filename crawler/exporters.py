"""Feeds as JSON lines, and as Parquet files: columns of the feed, others, and one for everything else."""

from __future__ import annotations

import json
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from datetime import date, datetime, time
from itertools import chain
from typing import IO, TYPE_CHECKING, Any, Final, Self

import numpy as np
import orjson
from itemadapter import ItemAdapter, is_item
from scrapy import Spider, signals
from scrapy.crawler import Crawler
from scrapy.exporters import BaseItemExporter, JsonLinesItemExporter
from scrapy.extensions.postprocessing import PostProcessingManager
from scrapy.utils.defer import deferred_from_coro
from scrapy.utils.serialize import ScrapyJSONEncoder

from scrapy_pagelets.base.characters import lazily
from scrapy_pagelets.feed.feed_schema import FEED, VERSION, arrow_type
from scrapy_pagelets.session.scrapy_hooks import mark_failed

if TYPE_CHECKING:
    import pyarrow as pa


EXTRA: Final = "extra"  # the column for values that fit no other column: a JSON object
MAX_FIELDS: Final = 256  # most columns, and struct fields: a dictionary keyed by words would become thousands
_SURROGATES: Final = lazily("[\ud800-\udfff]")
Row = dict[str, Any]
#: Scrapy's encoder has forms of its own for these.
_OPTIONS: Final = orjson.OPT_APPEND_NEWLINE | orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_DATETIME
#: Scrapy's method for the fields of an item; in Scrapy 2.14 its name begins with an underscore.
_NAME: Final = "get_serialized_fields"
_fields_of: Final[Any] = getattr(BaseItemExporter, _NAME, None) or getattr(BaseItemExporter, f"_{_NAME}")


class JsonLinesExporter(JsonLinesItemExporter):
    """Write JSON lines by orjson, which is faster, without blanks between values, and with null for NaN.

    What orjson does not write, such as surrogates, huge integers and keys that are no strings, Scrapy does.
    """

    def export_item(self, item: Any) -> None:
        with suppress(TypeError):
            if (self.encoding or "").lower() in ("utf-8", "utf8") and not self.indent:
                self.file.write(orjson.dumps(dict(_fields_of(self, item)), option=_OPTIONS))
                return
        super().export_item(item)


def schema_of(rows: list[Row], declared: Mapping[str, pa.DataType | None]) -> pa.Schema:
    """The columns of a table, inferred from its first `plain` rows, and from the types that are known in advance."""
    import pyarrow as pa

    names = [name for name in dict.fromkeys(chain(declared, *rows)) if name != EXTRA][:MAX_FIELDS]
    values = {name: [row[name] for row in rows if row.get(name) is not None] for name in names}
    types = {name: _column_type(declared.get(name), values[name]) for name in names}
    columns = [*((name, kind) for name, kind in types.items() if kind is not None), (EXTRA, pa.string())]
    return pa.schema(columns, metadata={"scrapy_pagelets.feed": VERSION})


def batch_of(row: Row, schema: pa.Schema) -> pa.RecordBatch:
    """Return a `plain` row as a batch; values that do not fit their column go into the column ``extra``."""
    import pyarrow as pa

    arrays = {each.name: _array(row.get(each.name), each.type) for each in schema if each.name != EXTRA}
    rest = {name: value for name, value in row.items() if arrays.get(name) is None}
    arrays[EXTRA] = pa.array([_json(rest) if rest else None], pa.string())
    columns = ((arrays[each.name], each.type) for each in schema)
    return pa.record_batch([pa.nulls(1, kind) if array is None else array for array, kind in columns], schema)


def _column_type(declared: pa.DataType | None, values: list[Any]) -> pa.DataType | None:
    """The declared type or, if it fits none of the values, their common type, or that of the first storable one."""
    import pyarrow as pa

    if not values:
        return declared or pa.string()
    if declared is not None and any(_array(value, declared) is not None for value in values):
        return declared
    for sample in (values, *([value] for value in values)):
        with suppress(pa.ArrowException, TypeError, ValueError, OverflowError):
            if (kind := _storable(pa.array(sample).type)) is not None:
                return kind
    return declared


def _storable(kind: pa.DataType) -> pa.DataType | None:
    """The type under which Parquet can store a column, or None: Parquet has no null type and no empty structs."""
    import pyarrow as pa

    if pa.types.is_null(kind):
        return pa.string()
    if pa.types.is_list(kind):
        value_type = _storable(kind.value_type)
        return None if value_type is None else pa.list_(value_type)
    if pa.types.is_struct(kind):
        fields = {field.name: _storable(field.type) for field in kind}
        return None if None in fields.values() or not 0 < len(fields) <= MAX_FIELDS else pa.struct(fields)
    plain = pa.types.is_primitive(kind) or pa.types.is_string(kind) or pa.types.is_binary(kind)
    return kind if (plain and not pa.types.is_duration(kind)) or pa.types.is_decimal(kind) else None


def _array(value: Any, kind: pa.DataType) -> pa.Array | None:
    """A column of one row; None if Arrow would silently make 1 of 1.5, letters of "abc", or drop struct fields."""
    import pyarrow as pa

    try:
        array = pa.array([value], kind)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return None
    return array if _same(value, array[0].as_py()) else None


def _same(value: Any, back: Any) -> bool:
    """True if Arrow returns a value unchanged, apart from struct fields that it adds as nulls."""
    if value is None or back is None:
        return value is back
    if isinstance(value, dict):
        known = isinstance(back, dict) and value.keys() <= back.keys()
        return known and all(_same(value.get(name), part) for name, part in back.items())
    if isinstance(value, list | tuple):
        return isinstance(back, list) and len(value) == len(back) and all(map(_same, value, back))
    if isinstance(value, int | float) and isinstance(back, int | float):
        equal = value == back or (value != value and back != back)
        return equal and isinstance(value, bool) == isinstance(back, bool)
    same_kind = isinstance(value, datetime) == isinstance(back, datetime)  # datetime is a subclass of date
    return same_kind and isinstance(value, type(back)) and bool(value == back)


def plain(value: Any) -> Any:
    """Copy a value, converting nested items, sets and numpy values to types that Arrow and JSON support."""
    if value is None or isinstance(value, bool | int | float):
        return value.tolist() if isinstance(value, np.generic) else value
    if isinstance(value, str):
        return value if value.isascii() else _SURROGATES.sub("\ufffd", value)
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(part) for part in value]
    if isinstance(value, Mapping) or is_item(value):
        fields = value if isinstance(value, Mapping) else ItemAdapter(value)
        return {plain(str(name)): plain(part) for name, part in fields.items()}
    return plain(value.tolist()) if hasattr(value, "tolist") else value


def _json(value: Row) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, default=_jsonable)
    except ValueError:  # NaN and infinity are not valid JSON: they become strings
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


BATCH_ITEMS: Final = 256
BATCH_BYTES: Final = 32 << 20  # a row group is also written when it reaches this size: pages can be very long


class ParquetItemExporter(BaseItemExporter):
    """Write items to a Parquet file, with a row group every few hundred items.

    The columns of the feed come first, then the other fields of the items, with types inferred from the first row
    group; so is that of a feed column of which no value has the feed's type. The last column, ``extra``, is a JSON
    object with the values that do not fit, and with later fields. Lone surrogates become U+FFFD.

    A file is readable only once it is finished, and not appended to: a crawl whose feed exists stops with an ERROR
    line. Raises ImportError without pyarrow; ValueError if ``batch_items`` is less than 1, or the file, which the
    exporter does not close, has data. ``compression``: ``zstd``, ``snappy``, ``gzip`` or ``none``.
    """

    def __init__(
        self, file: IO[bytes], *, batch_items: int = BATCH_ITEMS, compression: str = "zstd", **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        require_pyarrow()
        if batch_items < 1:
            raise ValueError(f"batch_items is {batch_items}: a row group has at least one item")
        position = 0
        with suppress(OSError, AttributeError):  # a pipe has none
            position = file.tell()
        if position and not isinstance(file, PostProcessingManager):
            advice = "Parquet cannot be appended to: use -O, or 'overwrite': True in FEEDS"
            raise ValueError(f"{getattr(file, 'name', 'the feed')} already has data and {advice}")
        self._file = file
        self._batch_items = batch_items
        self._compression = compression
        self._rows: list[Row] = []
        self._size = 0
        self._writer: Any = None
        self._thread = ThreadPoolExecutor(1, "parquet")
        self._writing: Future[Any] = Future()  # the last write: if it has failed, each later call raises its error
        self._writing.set_result(None)

    @classmethod
    def from_crawler(cls, crawler: Crawler, file: IO[bytes], **kwargs: Any) -> Self:
        """Create an exporter; if that fails, stop the crawl, because every item would be lost."""
        try:
            return cls(file, **kwargs)
        except (ImportError, ValueError):
            crawler.signals.connect(_stop, signals.request_reached_downloader)
            crawler.signals.connect(mark_failed, signals.engine_stopped)
            raise

    def export_item(self, item: Any) -> None:
        """Add a snapshot of the item to the current row group; OSError if the file could not be written, ever since."""
        if self._writing.done():
            self._writing.result()
        row = {name: plain(value) for name, value in _fields_of(self, item)}
        self._rows.append(row)
        self._size += len(repr(row))
        if len(self._rows) >= self._batch_items or self._size >= BATCH_BYTES:
            self._write()

    def finish_exporting(self) -> None:
        """Write the last row group and the footer, without which the file is unreadable."""
        try:
            if self._rows or self._writer is None:
                self._write()
            self._writing.result()
            self._writer.close()
        finally:
            self._thread.shutdown()

    def _write(self) -> None:
        """Write the row group in a thread; one at a time, to bound memory."""
        rows, self._rows, self._size = self._rows, [], 0
        self._writing.result()
        if self._writer is None:  # whether the file can be opened is known at once
            self._writing = self._thread.submit(self._opened, rows)
            self._writer = self._writing.result()
        if rows:
            self._writing = self._thread.submit(self._write_group, rows)

    def _opened(self, rows: list[Row]) -> Any:
        from pyarrow.parquet import ParquetWriter

        return ParquetWriter(self._file, schema_of(rows, self._declared()), compression=self._compression)

    def _write_group(self, rows: list[Row]) -> None:
        import pyarrow as pa

        batches = [batch_of(row, self._writer.schema) for row in rows]
        self._writer.write_table(pa.Table.from_batches(batches).combine_chunks())

    def _declared(self) -> dict[str, pa.DataType | None]:
        """Return the columns known before the first item, with the types of those that belong to the feed."""
        feed = {field.name: arrow_type(field) for field in FEED if not field.optional}
        wanted = self.fields_to_export
        if isinstance(wanted, Mapping):
            return {column: feed.get(field) for field, column in wanted.items()}
        return {field: feed.get(field) for field in (feed if wanted is None else wanted)}


def _stop(spider: Spider) -> None:
    """Close the spider while a request is in flight: closing it while ``start()`` yields items hangs (Scrapy 2.19)."""
    deferred_from_coro(spider.crawler.engine.close_spider_async(reason="parquet_not_writable"))


def require_pyarrow() -> None:
    """Raise an ImportError that says how to install pyarrow, if it is not installed."""
    try:
        import pyarrow.parquet  # noqa: F401
    except ImportError:
        raise ImportError("writing Parquet needs pyarrow: pip install 'scrapy-pagelets[corpus]'") from None
