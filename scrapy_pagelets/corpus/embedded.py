"""The engine on one machine: statements run on DuckDB, which spills to disk, and page work in worker processes."""

import gc
import json
import os
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from multiprocessing import get_context, parent_process
from pathlib import Path
from threading import Thread
from typing import Any, Final

import duckdb
import pyarrow as pa
from pyarrow.parquet import ParquetWriter

from scrapy_pagelets.corpus.engines import RAW, Work, whole_groups
from scrapy_pagelets.corpus.inputs import CorpusError

#: Least number of rows that a worker gets at once, with groups and without; a row without a group takes little time.
_ROWS: Final = 64
_MANY: Final = 512
_GROUP: Final = 16 << 20  # bytes of a row group, before compression: a row may be a large page, or a link
_RAW_GROUP: Final = 4 << 20  # the same of pages as received: a round reads the groups that have pages of it
_SHARE: Final = 0.4  # share of the memory for DuckDB; the workers need the rest
_FILE: Final = "256MB"
_ROW_GROUP: Final = "64MB"  # of DuckDB's tables; each thread keeps one in memory, by default of 122,880 rows
#: Allocations, and collections of the generation before, after which a worker process collects garbage: with Python's
#: 700, most collections scan the pages of a site that wait to be cleaned. As in a crawl (``crawler.extensions``).
_THRESHOLDS: Final = (10_000, 10, 10)
_NAMES: Final = ("url", "path", "site")  # columns that name a row, of which the first present one counts
_LEFT_OUT: Final = "left-out.jsonl"  # file beside the spilled rows that names the rows that are left out


_Task = tuple[Work, pa.Table, Path]  # a table for a worker process, and the file for what the function makes of it


class EmbeddedEngine:
    """DuckDB and worker processes, which run statements and functions over tables: folders of Parquet files.

    ``spill``: folder for what exceeds the memory. ``memory``: of DuckDB, as ``4GB``; "" for a share of the machine's.
    """

    binary = "BLOB"  # name of the SQL type of bytes
    round_sources = 64  # number of sources after which the result is written for good
    round_pages = 2000  # and of pages

    def __init__(self, spill: Path, workers: int = 0, memory: str = "") -> None:
        self._workers = workers or os.cpu_count() or 1
        self._left_out = spill.with_name(_LEFT_OUT)
        self._connection = duckdb.connect(":memory:")
        self._pool: ProcessPoolExecutor | None = None
        share = int(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") * _SHARE) >> 20
        try:
            self._connection.execute(f"SET memory_limit = '{memory or f'{share}MiB'}'")
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
        options = f"FORMAT parquet, COMPRESSION zstd, FILE_SIZE_BYTES '{_FILE}', ROW_GROUP_SIZE_BYTES '{_ROW_GROUP}'"
        self._execute(f"COPY ({select}) TO '{_quoted(folder)}' ({options})")

    def rows(self, select: str) -> list[tuple[Any, ...]]:
        """Return the result of a statement."""
        return self._execute(select).fetchall()

    def _execute(self, statement: str) -> duckdb.DuckDBPyConnection:
        with _failures():
            return self._connection.execute(statement)

    def map(self, folder: Path, work: Work) -> None:
        """Store what a function makes of the rows of a statement; `left_out` names those that end their process."""
        folder.mkdir(parents=True)
        with _failures():
            by = f" ORDER BY {', '.join([*work.keys, *work.order])}" if work.keys else ""
            reader = self._connection.sql(f"SELECT * FROM ({work.select}) selected{by}").to_arrow_reader(_ROWS)
            running: dict[Future[None], _Task] = {}
            number = -1
            size = _ROWS if work.keys else _MANY if work.many else 1  # one row is, for example, a file to read
            for number, table in enumerate(whole_groups(reader, work.keys, size)):
                task = work, table, folder / f"part-{number:06d}.parquet"
                running[self._submitted(task)] = task
                if len(running) > self._workers:
                    self._collect(running)
            while running:
                self._collect(running)
        if number < 0:
            _write(iter(()), work.schema, folder / "part-000000.parquet")

    def left_out(self) -> list[str]:
        """Names of the rows that ended their process, in this run or one before: URLs, paths of sources, or sites."""
        with suppress(FileNotFoundError):
            return [json.loads(line) for line in self._left_out.read_text(encoding="utf-8").splitlines()]
        return []

    def _submitted(self, task: _Task) -> Future[None]:
        while True:
            if self._pool is None:  # DuckDB has threads, so processes must not be forked
                self._pool = ProcessPoolExecutor(self._workers, get_context("spawn"), _begin_to_work)
            with suppress(BrokenProcessPool):
                return self._pool.submit(_run, *task)
            self._pool = None

    def _collect(self, running: dict[Future[None], _Task]) -> None:
        """Wait until a task is done, and take all finished tasks out of the running ones."""
        for one in wait(running, return_when=FIRST_COMPLETED).done:
            task = running.pop(one)
            if isinstance(one.exception(), BrokenProcessPool):
                self._run_alone(*task)
            else:
                one.result()

    def _run_alone(self, work: Work, whole: pa.Table, target: Path) -> None:
        """Run a task whose process has ended without the rows that are to blame."""
        survivors, waiting = [], [whole]
        while waiting:
            table = waiting.pop()
            if _survives((work, table, target)):
                survivors.append(table)
            elif len(table) > 1:
                middle = len(table) // 2
                waiting += [table.slice(middle), table.slice(0, middle)]
            else:
                name = next((str(table[column][0]) for column in _NAMES if column in table.column_names), "a row")
                with self._left_out.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(name) + "\n")
        rest = pa.concat_tables([whole.slice(0, 0), *survivors])
        if len(survivors) != 1 and not _survives((work, rest, target)):
            raise CorpusError(
                f"worker processes end on {len(rest)} rows together, perhaps because there is no memory left: run the "
                "same command again, with fewer --workers; it continues where it stopped"
            )

    def close(self) -> None:
        """End the worker processes, and close the database."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
        self._connection.close()


def _begin_to_work() -> None:
    """Prepare a worker process, which ends with its parent process even if the parent is killed."""
    gc.set_threshold(*_THRESHOLDS)
    Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)  # it may wait for tasks that nobody sends any more


@contextmanager
def _failures() -> Iterator[None]:
    """Turn what a full disk or a lack of memory lead to into a sentence."""
    try:
        yield
    except (duckdb.Error, OSError) as error:
        reason = str(error).strip().partition("\n")[0]
        advice = "make room if the disk is full, and run the same command again: it continues where it stopped"
        raise CorpusError(f"the job cannot go on: {reason}; {advice}") from None


def _survives(task: _Task) -> bool:
    """Run a task in a process of its own; return False if that process was ended."""
    with ProcessPoolExecutor(1, get_context("spawn"), _begin_to_work) as pool:
        try:
            pool.submit(_run, *task).result()
        except BrokenProcessPool:
            return False
    return True


def _run(work: Work, table: pa.Table, target: Path) -> None:
    _write(work.function(table), work.schema, target)


def _write(tables: Iterator[pa.Table], schema: pa.Schema, path: Path) -> None:
    size = _RAW_GROUP if schema.equals(RAW) else _GROUP
    with ParquetWriter(path, schema, compression="zstd") as writer:
        for table in tables:
            writer.write_table(table.cast(schema), row_group_size=max(1, size * len(table) // max(1, table.nbytes)))


def _quoted(path: Path) -> str:
    return str(path).replace("'", "''")
