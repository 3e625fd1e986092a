"""The engine on a Spark cluster: statements are Spark SQL, page work is `mapInArrow` in the executors."""

import os
import shutil
import socket
import subprocess
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from scrapy_pagelets.base.characters import lazily
from scrapy_pagelets.corpus.engines import Work, whole_groups
from scrapy_pagelets.corpus.inputs import CorpusError

_JAVA: Final = 17  # Spark 4 needs this version of Java
_VERSION: Final = lazily(r'version "(\d+)')
_STANDALONE: Final = lazily(r"spark://([^/]+):(\d+)")
_PATIENCE: Final = 10.0  # seconds to wait for the port of a master
_BATCH: Final = 64  # rows of a batch, which Spark holds in memory as a whole; a function gets so many at least
_SETTINGS: Final[dict[str, Any]] = {
    "spark.sql.execution.arrow.maxRecordsPerBatch": str(_BATCH),
    # Sites are of all sizes: large partitions of a join are divided, and small ones joined.
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.adaptive.skewJoin.enabled": "true",
    "spark.sql.parquet.compression.codec": "zstd",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "true",
    "spark.ui.showConsoleProgress": "false",
}


class SparkEngine:
    """A Spark session, with the methods of `EmbeddedEngine`; CorpusError if it does not start.

    The output folder must be one that all machines see. ``master``: "" for that of spark-submit, or this machine.
    """

    binary = "BINARY"
    round_sources = 10_000
    round_pages = 2_000_000

    def __init__(self, master: str) -> None:
        from pyspark.sql import SparkSession

        # Told at each call; what is used of pandas, which checks only, works.
        warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
        builder: Any = SparkSession.builder.appName("scrapy-pagelets corpus").config(map=_SETTINGS)
        if master:
            builder = builder.master(master)
        try:
            self._session: Any = builder.getOrCreate()
            self._session.sparkContext.setLogLevel("ERROR")
        except Exception as error:  # of Python, or of Java
            raise CorpusError(f"Spark cannot be started: {_first_line(error)}") from None

    def view(self, name: str, select: str) -> None:
        """Give a name to the result of a statement."""
        self._session.sql(select).createOrReplaceTempView(name)

    def open(self, name: str, *folders: Path) -> None:
        """Give a name to the rows of all files in some folders."""
        self._session.read.parquet(*(f"file://{folder.absolute()}" for folder in folders)).createOrReplaceTempView(name)

    def write(self, folder: Path, select: str) -> None:
        """Store the result of a statement."""
        self._store(self._session.sql(select), folder)

    def rows(self, select: str) -> list[tuple[Any, ...]]:
        """Return the result of a statement."""
        return [tuple(row) for row in self._session.sql(select).collect()]

    def map(self, folder: Path, work: Work) -> None:
        """Store what a function makes of the rows of a statement; groups are spread over the executors."""
        from pyspark.sql.pandas.types import from_arrow_schema

        frame = self._session.sql(work.select)
        if work.keys:
            frame = frame.repartition(*work.keys).sortWithinPartitions(*work.keys, *work.order)
        elif not work.many:  # each row is a task, for example a file to read
            frame = frame.repartition(max(1, frame.count()))
        size = _BATCH if work.keys or work.many else 1

        def mapped(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for table in whole_groups(batches, work.keys, size):
                for made in work.function(table):
                    yield from made.cast(work.schema).to_batches(_BATCH)

        self._store(frame.mapInArrow(mapped, from_arrow_schema(work.schema)), folder)

    def _store(self, frame: Any, folder: Path) -> None:
        try:
            frame.write.parquet(f"file://{folder.absolute()}")
        except Exception as error:  # of Python, of Java, or of a task
            advice = "run the same command again, it continues where it stopped"
            raise CorpusError(f"Spark could not write {folder}: {_first_line(error)}; {advice}") from None

    def left_out(self) -> list[str]:
        """None: Spark repeats a task whose process was ended, and fails if that does not help."""
        return []

    def close(self) -> None:
        """End the session."""
        self._session.stop()


def check(master: str) -> None:
    """Raise CorpusError without Java, or if a standalone master does not answer: Spark itself would try for minutes."""
    _check_java()
    if (match := _STANDALONE.match(master)) is None:
        return
    try:
        socket.create_connection((match[1], int(match[2])), _PATIENCE).close()
    except OSError as error:
        why = "it does not answer" if isinstance(error, TimeoutError) else error.strerror or error
        advice = "start it, or give --master local[*] for this machine"
        raise CorpusError(f"there is no Spark cluster at {master}: {why}; {advice}") from None


def _check_java() -> None:
    home = os.environ.get("JAVA_HOME", "")
    java = os.path.join(home, "bin", "java") if home else shutil.which("java")
    advice = f"install Java {_JAVA} or later (Debian: apt-get install openjdk-17-jre-headless), or set JAVA_HOME"
    if not java or not os.path.exists(java):
        raise CorpusError(f"Spark needs Java, and there is none: {advice}")
    try:
        told = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60, check=False).stderr
    except (OSError, subprocess.SubprocessError) as error:
        raise CorpusError(f"Spark needs Java, and {java} does not run ({error}): {advice}") from None
    match = _VERSION.search(told)
    if match is None or int(match[1]) < _JAVA:
        raise CorpusError(f"Spark needs Java {_JAVA}, {java} is {match[1] if match else 'another program'}: {advice}")


def _first_line(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0]
