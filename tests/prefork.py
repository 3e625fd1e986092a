"""Start commands as forks of a process that has imported Scrapy and the project, as most of a crawl is that.

A fork is a process like any other: a child of the one that starts it, with arguments, environment, folder and streams
of its own, and it ends as a program ends, except that modules are not taken apart. It cannot freeze or unfreeze what
is there, as a crawl of ours does; and models are loaded. No reactor is imported before.
Two processes with hash seeds of their own are forked in turn, so that two crawls still iterate over sets in different
orders.
"""

from __future__ import annotations

import atexit
import ctypes
import gc
import json
import os
import runpy
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import warnings
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.metadata import entry_points
from itertools import cycle
from pathlib import Path
from pkgutil import iter_modules
from typing import Any, Final, NoReturn

#: What every crawl imports: Scrapy's commands, components of these settings, dependencies, and our own components.
_COMPONENTS: Final = (
    "DOWNLOADER_MIDDLEWARES_BASE", "DOWNLOAD_HANDLERS_BASE", "EXTENSIONS_BASE", "SPIDER_MIDDLEWARES_BASE",
)  # fmt: skip
_MODULES: Final = (
    "scrapy.cmdline", "scrapy.core.engine", "scrapy.core.scheduler", "scrapy.core.downloader.handlers.http11",
    "scrapy.dupefilters", "scrapy.logformatter", "scrapy.pqueues", "scrapy.squeues", "scrapy.statscollectors",
    "scrapy_poet.commands", "lxml.html", "numpy", "scipy.optimize", "rich.live", "protego",
)  # fmt: skip
_OURS: Final = ("crawler", "crawler.spiders", "middlewares", "pipelines")
#: Variables that an interpreter, or a library, reads when it starts.
_EARLY: Final = ("PYTHON", "SCRAPY_PAGELETS_", "LD_", "LC_", "LANG", "TZ", "MALLOC_", "GLIBC_", "OPENBLAS_", "OMP_")
#: Warnings are errors. Of linear algebra's threads, nothing would be left in a fork.
_WARNINGS: Final = "PYTHONWARNINGS"
_GIVEN: Final = {_WARNINGS: "error"}
_ONE_THREAD: Final = {"OPENBLAS_NUM_THREADS": "1"}
#: Libraries that complain at the end of a process about what is left of them.
_COUNTING: Final = {"duckdb"}
_MESSAGE: Final = 1 << 20
_PR_SET_CHILD_SUBREAPER: Final = 36


class _Server:
    """A process that waits to be forked; it is started when it is needed, and ends with this one."""

    environment: Final = {**os.environ, **_GIVEN}

    def __init__(self) -> None:
        self._connection: socket.socket | None = None

    def fork(self, command: Mapping[str, Any], streams: Sequence[int]) -> int:
        """Return the number of a new child of this process that runs a command."""
        connection = self._connection = self._connection or self._started()
        with _adopting():
            socket.send_fds(connection, [json.dumps(command).encode()], streams)
            return int(connection.recv(_MESSAGE))

    def _started(self) -> socket.socket:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            process = subprocess.Popen(
                [sys.executable, __file__, str(theirs.fileno())],
                env=self.environment | _ONE_THREAD,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
            )
        atexit.register(process.wait)
        atexit.register(ours.close)
        return ours


class _adopting:
    """While it is entered, this process becomes the parent of a grandchild whose parent ends."""

    def __init__(self) -> None:
        self._call = ctypes.CDLL(None, use_errno=True).prctl

    def __enter__(self) -> None:
        self._set(1)

    def __exit__(self, *_: object) -> None:
        self._set(0)

    def _set(self, value: int) -> None:
        if self._call(_PR_SET_CHILD_SUBREAPER, value, 0, 0, 0):
            raise OSError(ctypes.get_errno(), "prctl")


_servers: Final = cycle([_Server(), _Server()])
_lock: Final = threading.Lock()


class ForkedScrapy(subprocess.Popen[str]):
    """The process of a ``scrapy`` command; it is given the command line of one that is started as usual."""

    def _execute_child(self, args: list[str], *more: Any) -> None:
        cwd, env, *_ = more[4:]
        read_in, _, _, written_out, _, written_err = pipes = more[9:15]
        streams = [number if end == -1 else end for number, end in enumerate((read_in, written_out, written_err))]
        with _lock:
            self.pid = next(_servers).fork({"line": args, "cwd": os.fspath(cwd), "environment": env}, streams)
        self._child_created = True
        self._close_pipe_fds(*pipes)  # type: ignore[attr-defined]


def popen(
    line: list[str],
    *,
    cwd: Path,
    stdout: int = subprocess.PIPE,
    stderr: int = subprocess.PIPE,
    more: Mapping[str, str] | None = None,
) -> subprocess.Popen[str]:
    """Start ``PYTHON -m MODULE ...`` with ``more`` in its environment; as usual where a fork could be different."""
    environment = {**os.environ, **_GIVEN, "NO_COLOR": "1", "COLUMNS": "200", **(more or {})}
    usual = not sys.platform.startswith("linux") or any(
        stream >= 0 and os.isatty(stream) for stream in (stdout, stderr)
    )
    kind = subprocess.Popen[str] if usual or _early(environment) != _early(_Server.environment) else ForkedScrapy
    return kind(line, cwd=cwd, env=environment, stdout=stdout, stderr=stderr, text=True, encoding="utf-8")


def _early(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if name.startswith(_EARLY) and name != _WARNINGS}


def serve(connection: socket.socket) -> None:
    """Fork for each command that is received; return in the fork, prepared to run it."""
    while True:
        message, streams, _, _ = socket.recv_fds(connection, _MESSAGE, 3)
        if not message:
            os._exit(0)
        number = fork_without_parent()
        if number == 0:
            connection.close()
            become(json.loads(message), streams)
            return
        for stream in streams:
            os.close(stream)
        connection.send(str(number).encode())


def fork_without_parent() -> int:
    """Fork as `os.fork`, but the parent of the new process has ended."""
    read, write = os.pipe()
    if (between := os.fork()) == 0:
        if number := os.fork():
            os.write(write, str(number).encode())
            os._exit(0)
        os.close(read)
        os.close(write)
        return 0
    os.waitpid(between, 0)
    os.close(write)
    with open(read, "rb") as pipe:
        return int(pipe.read())


def become(command: Mapping[str, Any], streams: Sequence[int]) -> None:
    """Make this process one that was started with a command line of the form ``PYTHON -m MODULE ...``."""
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.chdir(command["cwd"])
    os.environ.clear()
    os.environ.update(command["environment"])
    tempfile.tempdir = None
    sys.orig_argv[:] = command["line"]
    sys.argv[:] = command["line"][2:]
    warnings._processoptions(command["environment"][_WARNINGS].split(","))  # type: ignore[attr-defined]
    sys.path.insert(0, os.getcwd())
    # What was there before stays frozen, and nothing else: the collection at the end looks at what is new.
    gc.freeze = gc.unfreeze = lambda: None


def modules(package: str) -> list[str]:
    """The names of the modules of a package."""
    return [module.name for module in iter_modules(import_module(package).__path__, f"{package}.")]


def named(components: Mapping[Any, Any]) -> set[str]:
    """The modules of components, which are keys of a setting with orders, or values of one with schemes."""
    return {name.rpartition(".")[0] for pair in components.items() for name in pair if "." in str(name)}


def prepare() -> None:
    """Import what every crawl imports, and load what every crawl of ours loads."""
    sys.path.pop(0)  # the folder of this file
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # which a terminal sends to all: the end of the connection counts
    settings = vars(import_module("scrapy.settings.default_settings"))
    components = [name for setting in _COMPONENTS for name in named(settings[setting])]
    packages = ("scrapy.commands", *(f"scrapy_pagelets.{name}" for name in _OURS))
    for name in (*_MODULES, *components, *(module for package in packages for module in modules(package))):
        import_module(name)
    entry_points()  # reads all folders of packages
    import_module("scrapy_pagelets.crawler.extensions").prepare(
        import_module("scrapy_pagelets.session.config").Config()
    )
    assert "twisted.internet.reactor" not in sys.modules, "the command installs the reactor"
    assert len(os.listdir("/proc/self/task")) == 1, "a process with threads is not forked"
    gc.collect()
    gc.freeze()  # a fork need not look at what was there before


def run() -> Any:
    """Run the command; return the exit code, if it says one."""
    if not hasattr(sys.modules.get(sys.argv[0]), "__path__"):
        sys.modules.pop(sys.argv[0], None)  # imported before, it is run as the main module now
    try:
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
    except SystemExit as end:
        return end.code
    return None


def end(code: Any) -> NoReturn:
    """End with an exit code; what is left open, but in no module, causes warnings as at the end of any program.

    To take all modules apart, most of which are shared with other forks, would take as long as a short crawl.
    """
    if sys.modules.keys() & _COUNTING or isinstance(code, str):
        sys.exit(code)
    gc.collect()
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:
        sys.exit(code)  # which complains
    os._exit(code or 0)


if __name__ == "__main__":
    prepare()
    serve(socket.socket(fileno=int(sys.argv[1])))
    end(run())
