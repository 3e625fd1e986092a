"""A real Spark cluster on loopback, for tests: a standalone master and two workers, each with one processor.

As a program it runs a command beside the cluster, and returns the command's exit code::

    python tests/spark_cluster.py -- scrapy pagelets corpus IN OUT --engine spark --master {master}

A cluster that runs already is used if ``PAGELETS_SPARK_MASTER`` has its address.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from threading import Condition, Thread
from typing import IO, Self

import pyspark

ROOT = Path(__file__).resolve().parent.parent
HOME = Path(pyspark.__file__).parent
#: Seconds in which a process of the cluster must be there.
LIMIT = 120
#: Variable with the address of a cluster that runs already.
RUNNING = "PAGELETS_SPARK_MASTER"
_STARTED = r"Asked to launch executor (\S+)/"
#: Little is computed: the optimising compilers, of Java and of Spark, would cost more than they save, as would the
#: verification of Spark's classes.
_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote"
#: They are given as options of Java: a folder with files on the class path, such as that of ``spark-defaults.conf``,
#: rules out an archive of classes.
_SETTINGS = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
    "spark.executor.memory": "1g",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
#: What uses most of the classes that a job uses; its process writes them to an archive when it ends.
_TRAINING = """
import sys
from pyspark.sql import SparkSession
session = SparkSession.builder.master("local[1]").getOrCreate()
session.sparkContext.setLogLevel("ERROR")
def store(name, select):
    session.sql(select).write.parquet(f"file://{sys.argv[1]}/{name}")
    session.read.parquet(f"file://{sys.argv[1]}/{name}").createOrReplaceTempView(name)
store("numbers", "SELECT id, CAST(id AS STRING) AS word, ARRAY(id) AS many FROM RANGE(9)")
store("counts", "SELECT word, COUNT(DISTINCT id) AS count FROM numbers GROUP BY word")
place = "ROW_NUMBER() OVER (PARTITION BY word ORDER BY id)"
store("ranks", f"SELECT id, {place} AS place FROM numbers JOIN counts USING (word)")
frame = session.sql("SELECT id FROM ranks ORDER BY id").repartition("id").sortWithinPartitions("id")
frame.mapInArrow(lambda batches: batches, "id LONG").write.parquet(f"file://{sys.argv[1]}/mapped")
session.sql("SELECT COUNT(*) FROM ranks").collect()
session.stop()
"""


class _Log:
    """The lines that a process writes, as they come."""

    def __init__(self, stream: IO[str]) -> None:
        self.lines: list[str] = []
        self._ended = False
        self._more = Condition()  # of a lock that its holder may take again
        self._thread = Thread(target=self._read, args=[stream], daemon=True)
        self._thread.start()

    def _read(self, stream: IO[str]) -> None:
        with stream:
            for line in stream:
                with self._more:
                    self.lines.append(line)
                    self._more.notify_all()
        with self._more:
            self._ended = True
            self._more.notify_all()

    def matches(self, pattern: str) -> list[re.Match[str]]:
        with self._more:
            return [match for line in self.lines if (match := re.search(pattern, line))]

    def find(self, pattern: str, number: int = 1) -> re.Match[str]:
        """Wait for a line, or for the one that is the given number of its kind."""
        with self._more:
            self._more.wait_for(lambda: self._ended or len(self.matches(pattern)) >= number, LIMIT)
        found = self.matches(pattern)
        assert len(found) >= number, f"{pattern} is not in\n{''.join(self.lines)}"
        return found[number - 1]


def _options(java: str, settings: Mapping[str, str]) -> str:
    """Options of Java's command line, settings of Spark among them."""
    return " ".join([java, *(f'"-D{name}={value}"' for name, value in settings.items())])


class SparkCluster:
    """A master and two workers; ``environment`` is that of programs that use it."""

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="pagelets-spark-"))
        settings = self._folder / "settings"
        settings.mkdir()
        self.environment = {
            **os.environ,
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_CONF_DIR": str(settings),
            "PYSPARK_PYTHON": sys.executable,
            "PYTHONPATH": str(ROOT),
        }
        java = f"{_JAVA} -XX:SharedArchiveFile={self._archive()}"
        self.environment |= {
            "SPARK_DAEMON_JAVA_OPTS": java,
            "SPARK_SUBMIT_OPTS": _options(java, {**_SETTINGS, "spark.executor.extraJavaOptions": java}),
        }
        self._processes: list[subprocess.Popen[str]] = []
        self.workers: list[_Log] = []
        master = self._start("master.Master", "--host", "127.0.0.1", "--port", "0", "--webui-port", "0")
        self.master = master.find(r"Starting Spark master at (spark://\S+)")[1]
        for number in range(2):
            options = ["--host", "127.0.0.1", "--cores", "1", "--memory", "1g", "--webui-port", "0"]
            folder = str(self._folder / f"worker{number}")
            self.workers.append(self._start("worker.Worker", *options, "--work-dir", folder, self.master))
        for worker in self.workers:
            worker.find("Successfully registered with master")

    def _archive(self) -> Path:
        """Archive classes of Spark: to load and link them is half of what a process of a short job costs."""
        archive, folder = self._folder / "classes.jsa", self._folder / "training"
        options = _options(f"{_JAVA} -XX:ArchiveClassesAtExit={archive}", _SETTINGS)
        done = subprocess.run(
            [sys.executable, "-c", _TRAINING, str(folder)],
            env={**self.environment, "SPARK_SUBMIT_OPTS": options},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert done.returncode == 0, done.stdout[-3000:]
        return archive

    def _start(self, name: str, *options: str) -> _Log:
        command = [str(HOME / "bin" / "spark-class"), f"org.apache.spark.deploy.{name}", *options]
        process = subprocess.Popen(command, env=self.environment, stderr=subprocess.PIPE, text=True)
        self._processes.append(process)
        assert process.stderr
        return _Log(process.stderr)

    def executors(self) -> list[int]:
        """How many executors each worker has started."""
        return [len(worker.matches(_STARTED)) for worker in self.workers]

    def kill_executor(self) -> None:
        """Kill the executor that the first worker has started last, and wait until it has started another one."""
        worker, log = self._processes[1].pid, self.workers[0]
        started = log.matches(_STARTED)
        application = started[-1][1].encode()
        children = (path.read_text().split() for path in Path(f"/proc/{worker}/task").glob("*/children"))
        found = [
            int(pid) for pids in children for pid in pids if application in Path(f"/proc/{pid}/cmdline").read_bytes()
        ]
        assert found, f"the first worker has no executor for {started[-1][1]}"
        for pid in found:
            os.kill(pid, signal.SIGKILL)
        log.find(_STARTED, len(started) + 1)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for process in reversed(self._processes):
            process.terminate()
            process.wait()
        shutil.rmtree(self._folder)


def main() -> int:
    if master := os.environ.get(RUNNING):
        return run(master, os.environ)
    with SparkCluster() as cluster:
        return run(cluster.master, cluster.environment)


def run(master: str, environment: Mapping[str, str]) -> int:
    command = sys.argv[sys.argv.index("--") + 1 :]
    line = [part.replace("{master}", master) for part in command]
    return subprocess.run(line, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
