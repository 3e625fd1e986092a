"""Feeds as Parquet files, for ``-O cleaned.parquet``."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import IO, TYPE_CHECKING, Any, Final, Self

from scrapy import Spider, signals
from scrapy.crawler import Crawler
from scrapy.exporters import BaseItemExporter
from scrapy.extensions.postprocessing import PostProcessingManager
from scrapy.utils.defer import deferred_from_coro

from scrapy_pagelets.crawler.columns import Columns, Row, feed_types, plain
from scrapy_pagelets.session.scrapy_hooks import mark_failed

if TYPE_CHECKING:
    import pyarrow as pa

BATCH_ITEMS: Final = 256
#: A row group is also written when it reaches this size: pages can be very long.
BATCH_BYTES: Final = 32 << 20


class ParquetItemExporter(BaseItemExporter):
    """Write items to a Parquet file, with a row group every few hundred items.

    Enable it with ``FEED_EXPORTERS = {"parquet": "scrapy_pagelets.crawler.exporters.ParquetItemExporter"}``.

    The columns of the feed, version 1, come first. The other fields of the items follow, with types inferred from the
    first row group. The last column, ``extra``, is a JSON object with the values that do not fit their column and with
    fields that first appear after that row group. A feed column takes the type of the items if no value of the first
    row group has the feed's type. Missing fields are null. Lone surrogates, which UTF-8 cannot encode, become U+FFFD.

    A Parquet file is readable only once it is finished, and cannot be appended to. A crawl whose feed already exists
    therefore stops after its first item with an ERROR line (``-O`` and ``"overwrite": True`` replace the file). Write a
    crawl that may be killed in parts, with ``FEED_EXPORT_BATCH_ITEM_COUNT``. Raises ImportError if pyarrow is not
    installed; ValueError if ``batch_items`` is less than 1, or the file has data.

    Parameters
    ----------
    file : open for writing bytes; the exporter does not close it
    batch_items : number of items in a row group, at least 1
    compression : a Parquet codec: ``zstd``, ``snappy``, ``gzip`` or ``none``
    """

    def __init__(
        self, file: IO[bytes], *, batch_items: int = BATCH_ITEMS, compression: str = "zstd", **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        require_pyarrow()
        if batch_items < 1:
            raise ValueError(f"batch_items is {batch_items}: a row group has at least one item")
        if not isinstance(file, PostProcessingManager) and _has_data(file):
            advice = "Parquet cannot be appended to: use -O, or 'overwrite': True in FEEDS"
            raise ValueError(f"{getattr(file, 'name', 'the feed')} already has data and {advice}")
        self._file = file
        self._batch_items = batch_items
        self._compression = compression
        self._first: list[Row] = []
        self._columns: Columns | None = None
        self._batches: list[pa.RecordBatch] = []
        self._size = 0
        self._writer: Any = None
        self._thread = ThreadPoolExecutor(1, "parquet")
        # The method is private in Scrapy 2.14.
        self._serialized = getattr(self, "get_serialized_fields", None) or getattr(self, "_get_serialized_fields")  # noqa: B009
        self._writing: Future[None] | None = None
        self._fault: OSError | None = None

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
        if self._fault is not None:
            raise self._fault
        row = dict(self._serialized(item))
        if self._columns is not None:
            self._add(self._columns, row)
            return
        self._first.append({name: plain(value) for name, value in row.items()})
        self._size += sum(len(value) for value in row.values() if isinstance(value, str))
        if self._is_full(len(self._first)):
            self._start_file()

    def finish_exporting(self) -> None:
        """Write the last row group and the footer, without which the file is unreadable."""
        try:
            if self._fault is not None:
                raise self._fault
            if self._columns is None:
                self._start_file()
            if self._batches:
                self._write()
            self._wait()
            self._writer.close()
        finally:
            self._thread.shutdown()

    def _is_full(self, items: int) -> bool:
        return items >= self._batch_items or self._size >= BATCH_BYTES

    def _start_file(self) -> None:
        """Infer the columns from the first row group and open the writer."""
        from pyarrow.parquet import ParquetWriter

        first, self._first, self._size = self._first, [], 0
        self._columns = columns = Columns(first, self._declared())
        try:
            self._writer = ParquetWriter(self._file, columns.schema, compression=self._compression)
        except OSError as error:
            self._fault = error
            raise
        for row in first:
            self._add(columns, row)

    def _add(self, columns: Columns, row: Row) -> None:
        batch = columns.batch(row)
        self._batches.append(batch)
        self._size += batch.nbytes
        if self._is_full(len(self._batches)):
            self._write()

    def _write(self) -> None:
        """Write the row group in a thread; one at a time, to bound memory."""
        batches, self._batches, self._size = self._batches, [], 0
        self._wait()
        self._writing = self._thread.submit(self._write_group, batches)

    def _write_group(self, batches: list[pa.RecordBatch]) -> None:
        import pyarrow as pa

        self._writer.write_table(pa.Table.from_batches(batches).combine_chunks())

    def _wait(self) -> None:
        writing, self._writing = self._writing, None
        if writing is not None:
            try:
                writing.result()
            except OSError as error:
                self._fault = error
                raise

    def _declared(self) -> dict[str, pa.DataType | None]:
        """Return the columns known before the first item, with the types of those that belong to the feed."""
        feed, wanted = feed_types(), self.fields_to_export
        if isinstance(wanted, Mapping):
            return {column: feed.get(field) for field, column in wanted.items()}
        return {field: feed.get(field) for field in (feed if wanted is None else wanted)}


def _stop(spider: Spider) -> None:
    """Close the spider while a request is in flight: closing it while ``start()`` yields items hangs (Scrapy 2.19)."""
    engine = spider.crawler.engine
    assert engine is not None
    deferred_from_coro(engine.close_spider_async(reason="parquet_not_writable"))


def require_pyarrow() -> None:
    """Raise an ImportError that says how to install pyarrow, if it is not installed."""
    try:
        import pyarrow.parquet  # noqa: F401
    except ImportError:
        raise ImportError("writing Parquet needs pyarrow: pip install 'scrapy-pagelets[corpus]'") from None


def _has_data(file: IO[bytes]) -> bool:
    try:
        return file.tell() > 0
    except (OSError, AttributeError):  # a pipe
        return False
