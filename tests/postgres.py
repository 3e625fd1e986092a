"""A PostgreSQL server of our own, for tests: its data in a folder, a port of loopback, no password."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Self

import psycopg

#: Debian keeps the programs of the server out of the path.
_FOLDERS = "/usr/lib/postgresql/*/bin"
_OPTIONS = {
    "listen_addresses": "127.0.0.1",
    "fsync": "off",
    "max_connections": "20",
    "shared_buffers": "16MB",
    "max_wal_senders": "0",
    "wal_level": "minimal",
}


@cache
def programs() -> Path:
    """The folder of the server's programs."""
    if (found := shutil.which("initdb")) is not None:
        return Path(found).resolve().parent
    folders = sorted(Path("/").glob(_FOLDERS[1:]), key=lambda folder: float(folder.parent.name))
    assert folders, "PostgreSQL is not installed: apt-get install postgresql"
    return folders[-1]


class PostgresServer:
    """A server that can be stopped, killed and started again; root runs it as the user ``postgres``."""

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="pagelets-postgres-"))
        self._as: list[str] = []
        if os.geteuid() == 0:
            shutil.chown(self._folder, "postgres", "postgres")
            self._as = ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups"]
        self._run("initdb", "-D", self._data, "-U", "pagelets", "-A", "trust", "-E", "UTF8", "--no-locale", "-N")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]

    @property
    def _data(self) -> str:
        return str(self._folder / "data")

    def database(self, name: str) -> str:
        """A new, empty database; returns its address."""
        with psycopg.connect(self._address("postgres"), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}".encode())
        return self._address(name)

    def _address(self, database: str) -> str:
        return f"postgresql://pagelets@127.0.0.1:{self.port}/{database}"

    @property
    def runs(self) -> bool:
        return Path(self._data, "postmaster.pid").exists()

    def start(self) -> None:
        options = " ".join(f"-c {name}={value}" for name, value in _OPTIONS.items())
        options += f" -p {self.port} -k {self._folder}"
        self._run("pg_ctl", "-D", self._data, "-l", str(self._folder / "log"), "-w", "-o", options, "start")

    def stop(self) -> None:
        self._run("pg_ctl", "-D", self._data, "-w", "-m", "fast", "stop")

    def kill(self) -> None:
        """End the server as a power failure would, but for what the disk has."""
        self._run("pg_ctl", "-D", self._data, "-w", "-m", "immediate", "stop")

    def _run(self, program: str, *arguments: str, check: bool = True) -> None:
        command = [*self._as, str(programs() / program), *arguments]
        # Output goes to a file: the server keeps what it inherits open.
        with open(self._folder / "commands", "ab") as log:
            done = subprocess.run(command, cwd=self._folder, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        assert not check or not done.returncode, (self._folder / "commands").read_text()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self.runs:
            self._run("pg_ctl", "-D", self._data, "-w", "-m", "immediate", "stop", check=False)
        shutil.rmtree(self._folder)
