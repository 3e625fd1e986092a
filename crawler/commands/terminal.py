"""Output of commands: its options; control characters of pages are made visible; a closed pipe ends them silently."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock, Timer
from typing import TYPE_CHECKING, Final, TextIO

from scrapy_pagelets.base.characters import visible
from scrapy_pagelets.base.errors import CommandError

if TYPE_CHECKING:
    from rich.live import Live

#: Exit codes, as in shells, of a command whose output was closed, and after Ctrl-C: 128 plus the number of the signal.
CLOSED: Final = 141
INTERRUPTED: Final = 130
STDOUT: Final = "-"  # name of the feed that is standard output
_PATIENCE: Final = 2.0  # seconds after which a command tells that it works


class OutputClosed(Exception):
    """Raised when the reader of the output is gone (``... | head``); `run_command` then ends silently."""


def show(line: str) -> None:
    """Print a line that may contain text of pages or files, with control characters made visible."""
    write(visible(line))


def warn(sentence: object) -> None:
    """Print a sentence to standard error, nothing if it is empty."""
    if text := str(sentence):
        write(visible(text), sys.stderr)


def write(line: str, stream: TextIO | None = None) -> None:
    """Print a line whose control characters are visible already; escape what the terminal's encoding lacks."""
    stream = stream or sys.stdout
    if stream is None:  # closed by the shell
        return
    if stream.isatty():
        _line.end()
    encoding = stream.encoding or "utf-8"
    try:
        print(line.encode(encoding, "backslashreplace").decode(encoding), file=stream)
    except OSError as error:
        raise _failed(stream, error) from None


def terminal_width() -> int | None:
    """Characters that fit into a line of the terminal; None if the output is none."""
    from shutil import get_terminal_size  # which loads all its compressions

    return get_terminal_size().columns if sys.stdout is not None and sys.stdout.isatty() else None


def flush() -> None:
    """Flush the output while errors can still be handled."""
    for stream in filter(None, (sys.stdout, sys.stderr)):
        try:
            stream.flush()
        except OSError as error:
            raise _failed(stream, error) from None


def _failed(stream: TextIO, error: OSError) -> Exception:
    discard(stream)
    if isinstance(error, BrokenPipeError):
        return OutputClosed()
    name = "standard error" if stream is sys.stderr else "standard output"
    return CommandError(f"{name} cannot be written: {error.strerror}")


def discard(stream: TextIO) -> None:
    """Discard what is written to a stream from now on, and what Python would flush at its end."""
    devnull = os.open(os.devnull, os.O_WRONLY)
    os.dup2(devnull, stream.fileno())
    os.close(devnull)


class _WorkingLine:
    """A line on the terminal's standard error, which says what a command does until it prints something."""

    def __init__(self) -> None:
        self.about = ""
        self._since = 0.0
        self._lock = Lock()
        self._timer: Timer | None = None
        self._live: Live | None = None

    def begin(self) -> None:
        self._since = time.monotonic()
        self._timer = Timer(_PATIENCE, self._show)
        self._timer.daemon = True
        self._timer.start()

    def end(self) -> None:
        with self._lock:
            if self._timer is not None:
                self._timer.cancel()
            if self._live is not None:
                self._live.stop()
            self._timer = self._live = None

    def _show(self) -> None:
        from rich.console import Console
        from rich.live import Live
        from rich.text import Text

        console = Console(file=sys.stderr)
        with self._lock:
            if self._timer is None or console.is_dumb_terminal:
                return
            self._live = Live(
                console=console, transient=True, redirect_stdout=False, redirect_stderr=False,
                get_renderable=lambda: Text(f"{self.about} · {time.monotonic() - self._since:.0f} s", style="dim"),
            )  # fmt: skip
            self._live.start()


_line: Final = _WorkingLine()


@contextmanager
def working(about: str) -> Iterator[None]:
    """While it is entered, a terminal shows what is being done, if that takes long."""
    if sys.stderr is not None and sys.stderr.isatty():
        _line.about = about
        _line.begin()
    try:
        yield
    finally:
        _line.end()


def tell(about: str) -> None:
    """Say on the working line, if there is one, what is being done."""
    _line.about = visible(about)


def require_writable(name: str) -> None:
    """Raise a CommandError if a file cannot be written, before there is much work for it."""
    from scrapy_pagelets.base.transactions import why_not_writable  # which loads SQLite

    if problem := why_not_writable(name):
        raise CommandError(f"{name} cannot be written: {problem}")


def require_folder(name: str) -> None:
    """Raise a CommandError if a folder can neither be written to nor be made."""
    from pathlib import Path  # which starts do without

    path = Path(name).absolute()
    nearest = next(one for one in (path, *path.parents) if one.exists())
    if not nearest.is_dir():
        raise CommandError(f"{name} cannot be written: {nearest} is no folder")
    if not os.access(nearest, os.W_OK):
        raise CommandError(f"{name} cannot be written: Permission denied")


@contextmanager
def saving(name: object) -> Iterator[None]:
    """Say in a sentence why a file cannot be written, if it cannot."""
    try:
        yield
    except OSError as error:
        raise CommandError(f"{name} cannot be written: {error.strerror or error}") from None


def add_output(parser: argparse.ArgumentParser, default: str) -> None:
    """Add the options of commands that run a spider, which say where it writes."""
    parser.add_argument(
        "-o", "--out", metavar="FILE", default=default,
        help="file to write, replaced if it exists; a feed is named .jsonl, .parquet, .json or .csv; - is standard "
        "output (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument("--log", metavar="FILE", help="of a feed: file for Scrapy's log (default: warnings are shown)")
