"""The engine on one machine: statements run on DuckDB, which spills to disk, and page work in worker processes."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Final

import duckdb
import pyarrow as pa
from pyarrow.parquet import ParquetWriter

from scrapy_pagelets.corpus.options import CorpusError
from scrapy_pagelets.corpus.raw_pages import TableFunction
from scrapy_pagelets.corpus.row_groups import whole_groups

#: Rows that a worker gets at once, at least.
_ROWS: Final = 64
#: Rows of a row group: pages are large.
_GROUP: Final = 256
#: Share of the memory for DuckDB; the workers need the rest.
_SHARE: Final = 0.4
_FILE: Final = "256MB"


class EmbeddedEngine:
    """DuckDB and worker processes; see `engines.Engine`.

    Parameters
    ----------
    spill : folder for what does not fit in memory
    workers : number of worker processes
    memory : of DuckDB, as ``4GB``; by default a share of the machine's
    """

    binary = "BLOB"
    round_sources = 64
    round_pages = 2000

    def __init__(self, spill: Path, workers: int = 0, memory: str = "") -> None:
        self._workers = workers or os.cpu_count() or 1
        self._connection = duckdb.connect(":memory:")
        self._pool: ProcessPoolExecutor | None = None
        try:
            self._connection.execute(f"SET memory_limit = '{memory or _default_memory()}'")
        except duckdb.Error as error:
            raise CorpusError(f"--memory {memory} cannot be used, give a size such as 4GB: {error}") from None
        self._connection.execute(f"SET temp_directory = '{_quoted(spill)}'")
        self._connection.execute("SET preserve_insertion_order = false")
        self._connection.execute(f"SET threads = {self._workers}")

    def view(self, name: str, select: str) -> None:
        """Give a name to the result of a statement."""
        self._execute(f"CREATE OR REPLACE TEMP VIEW {name} AS {select}")

    def open(self, name: str, *folders: Path) -> None:
        """Give a name to the rows of all files in some folders."""
        files = ", ".join(f"'{_quoted(folder)}/*.parquet'" for folder in folders)
        self.view(name, f"SELECT * FROM read_parquet([{files}])")

    def write(self, folder: Path, select: str) -> None:
        """Store the result of a statement."""
        target = f"'{_quoted(folder)}' (FORMAT parquet, COMPRESSION zstd, FILE_SIZE_BYTES '{_FILE}')"
        self._execute(f"COPY ({select}) TO {target}")

    def rows(self, select: str) -> list[tuple[Any, ...]]:
        """Return the result of a statement."""
        return self._execute(select).fetchall()

    def _execute(self, statement: str) -> duckdb.DuckDBPyConnection:
        with _failures():
            return self._connection.execute(statement)

    def map(
        self,
        folder: Path,
        select: str,
        function: TableFunction,
        schema: pa.Schema,
        keys: Sequence[str] = (),
        order: Sequence[str] = (),
    ) -> None:
        """Store what a function makes of the rows of a statement; a file for each table that it gets."""
        folder.mkdir(parents=True)
        with _failures():
            by = f" ORDER BY {', '.join([*keys, *order])}" if keys or order else ""
            reader = self._connection.sql(f"SELECT * FROM ({select}) selected{by}").to_arrow_reader(_ROWS)
            running: set[Future[None]] = set()
            number = -1
            try:
                # Without groups each row is a task, for example a file to read.
                for number, table in enumerate(whole_groups(reader, keys, _ROWS if keys else 1)):
                    target = folder / f"part-{number:06d}.parquet"
                    running.add(self._processes().submit(_run, function, table, schema, str(target)))
                    if len(running) > self._workers:
                        running = _collected(running)
                while running:
                    running = _collected(running)
            except BrokenProcessPool:
                self._pool = None
                raise CorpusError(
                    "a worker process was ended, perhaps because there was no memory left: run the same command again, "
                    "with fewer --workers; it continues where it stopped"
                ) from None
        if number < 0:
            _write(iter(()), schema, folder / "part-000000.parquet")

    def _processes(self) -> ProcessPoolExecutor:
        if self._pool is None:  # DuckDB has threads, so processes must not be forked
            self._pool = ProcessPoolExecutor(self._workers, get_context("spawn"))
        return self._pool

    def close(self) -> None:
        """End the worker processes, and close the database."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
        self._connection.close()


@contextmanager
def _failures() -> Iterator[None]:
    """Turn what a full disk or a lack of memory lead to into a sentence."""
    try:
        yield
    except (duckdb.Error, OSError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise CorpusError(
            f"the job cannot go on: {reason}; make room if the disk is full, and run the same command again: it "
            "continues where it stopped"
        ) from None


def _collected(running: set[Future[None]]) -> set[Future[None]]:
    done, others = wait(running, return_when=FIRST_COMPLETED)
    for one in done:
        one.result()
    return others


def _run(function: TableFunction, table: pa.Table, schema: pa.Schema, path: str) -> None:
    """Run a function in a worker process."""
    _write(function(table), schema, Path(path))


def _write(tables: Iterator[pa.Table], schema: pa.Schema, path: Path) -> None:
    with ParquetWriter(path, schema, compression="zstd") as writer:
        for table in tables:
            writer.write_table(table.cast(schema), row_group_size=_GROUP)


def _default_memory() -> str:
    return f"{int(os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') * _SHARE) >> 20}MiB"


def _quoted(path: Path) -> str:
    return str(path).replace("'", "''")
