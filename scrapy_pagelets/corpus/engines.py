"""What the corpus job needs of an engine; DuckDB with worker processes, and Spark, are such engines."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, Protocol

import pyarrow as pa
from pyarrow.parquet import write_table

from scrapy_pagelets.corpus.raw_pages import TableFunction

#: The tables that stay, and the folder of all others, which is deleted when the job is done.
RESULTS: Final = ("pages", "pagelets", "links", "templates", "duplicates")
WORK: Final = "_work"
#: The end of the name of a folder that is being written.
_UNFINISHED: Final = ".part"


class Engine(Protocol):
    """Runs statements and functions over tables, which are folders of Parquet files.

    Attributes
    ----------
    binary : name of the SQL type of bytes
    round_sources, round_pages : number of sources, and of pages, after which the result is written for good
    """

    binary: str
    round_sources: int
    round_pages: int

    def view(self, name: str, select: str) -> None:
        """Give a name to the result of a statement, without storing it."""

    def open(self, name: str, *folders: Path) -> None:
        """Give a name to the rows of all Parquet files in some folders."""

    def write(self, folder: Path, select: str) -> None:
        """Store the result of a statement as Parquet files in a folder."""

    def map(
        self,
        folder: Path,
        select: str,
        function: TableFunction,
        schema: pa.Schema,
        keys: Sequence[str] = (),
        order: Sequence[str] = (),
        many: bool = False,
    ) -> None:
        """Store what a function makes of the rows of a statement.

        Parameters
        ----------
        function : gets tables of whole groups, and runs in other processes
        schema : of the tables that it yields
        keys : columns that are equal within a group; groups come one after the other, in no particular order
        order : columns by which the rows of a group are sorted
        many : without keys, each row is a task, unless it is said that a task may have many rows, in any order
        """

    def rows(self, select: str) -> list[tuple[Any, ...]]:
        """Return the result of a statement with few rows."""

    def left_out(self) -> list[str]:
        """Names of the rows that could not be worked on because they end the process that does."""

    def close(self) -> None:
        """End what the engine has started."""


class TableFolders:
    """The folders of the tables of a job. A folder with its final name is complete; anything else is written again.

    Parameters
    ----------
    out : the output folder
    """

    def __init__(self, out: Path) -> None:
        self.out = out
        self.work = out / WORK

    def folder(self, name: str) -> Path:
        """The folder of a table; of a part of one, ``NAME/PART``."""
        return (self.out if name in RESULTS else self.work) / name

    def exists(self, name: str) -> bool:
        """Return True if the table, or the part, is complete."""
        return self.folder(name).is_dir()

    def begin(self, name: str) -> Path:
        """Return a path for the files of a table that is to be written; nothing is there."""
        path = self.folder(name)
        unfinished = path.with_name(path.name + _UNFINISHED)
        unfinished.parent.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(unfinished, ignore_errors=True)
        return unfinished

    def finish(self, name: str) -> None:
        """Give a table that was written its final name."""
        path = self.folder(name)
        os.replace(path.with_name(path.name + _UNFINISHED), path)

    def parts(self, name: str) -> list[Path]:
        """The folders of the complete parts of a table."""
        return sorted(path for path in self.folder(name).glob("*") if path.suffix != _UNFINISHED)


def store(folder: Path, table: pa.Table) -> None:
    """Write a table that is in memory."""
    folder.mkdir(parents=True)
    write_table(table, folder / "part-0.parquet", compression="zstd")
