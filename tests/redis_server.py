"""A Redis server of our own, for tests: its data in a folder, a port of loopback."""

from __future__ import annotations

import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

import redis

_LIMIT = 30


class RedisServer:
    """A server that can be stopped and started again; its data outlive that."""

    def __init__(self) -> None:
        assert shutil.which("redis-server"), "Redis is not installed: apt-get install redis-server"
        self._folder = Path(tempfile.mkdtemp(prefix="pagelets-redis-"))
        self._process: subprocess.Popen[bytes] | None = None
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.client = redis.Redis(port=self.port)

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> None:
        options = ["--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(self._folder)]
        options += ["--save", "", "--appendonly", "yes", "--appendfsync", "always"]
        self._process = subprocess.Popen(["redis-server", *options], stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + _LIMIT
        while not self._answers():
            assert time.monotonic() < deadline, "Redis does not start"

    def _answers(self) -> bool:
        try:
            return bool(self.client.ping())
        except redis.ConnectionError:
            return False

    def stop(self) -> None:
        """End the server as a power failure would, but for what the disk has."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    @contextmanager
    def lost(self) -> Iterator[None]:
        """Lose what is written in this context, and be restarted at its end."""
        log, kept = self._folder / "appendonlydir", self._folder / "kept"
        shutil.copytree(log, kept)
        yield
        self.stop()
        shutil.rmtree(log)
        kept.rename(log)
        self.start()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.client.close()
        self.stop()
        shutil.rmtree(self._folder)
