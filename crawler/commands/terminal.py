"""Output of commands: control characters of pages are made visible, and a closed pipe ends a command silently."""

from __future__ import annotations

import os
import sys
from shutil import get_terminal_size
from typing import Final, TextIO

from scrapy_pagelets.base.characters import visible

#: Exit code of a command whose output was closed, as in shells: 128 plus the number of SIGPIPE.
CLOSED: Final = 141


class OutputClosed(Exception):
    """Raised when the reader of the output is gone (``... | head``); `PageletsCommand` then ends silently."""


def show(line: str) -> None:
    """Print a line that may contain text of pages or files, with control characters made visible."""
    write(visible(line))


def warn(sentence: object) -> None:
    """Print a sentence to standard error."""
    write(visible(str(sentence)), sys.stderr)


def write(line: str, stream: TextIO | None = None) -> None:
    """Print a line whose control characters are visible already; escape what the terminal's encoding lacks."""
    stream = stream or sys.stdout
    if stream is None:  # closed by the shell
        return
    encoding = stream.encoding or "utf-8"
    try:
        print(line.encode(encoding, "backslashreplace").decode(encoding), file=stream)
    except BrokenPipeError:
        raise _closed(stream) from None


def terminal_width() -> int | None:
    """Characters that fit into a line of the terminal; None if the output is none."""
    return get_terminal_size().columns if sys.stdout is not None and sys.stdout.isatty() else None


def flush() -> None:
    """Flush the output while errors can still be handled."""
    for stream in filter(None, (sys.stdout, sys.stderr)):
        try:
            stream.flush()
        except BrokenPipeError:
            raise _closed(stream) from None


def _closed(stream: TextIO) -> OutputClosed:
    """Return the error to raise. Discard what Python would flush at its end."""
    devnull = os.open(os.devnull, os.O_WRONLY)
    os.dup2(devnull, stream.fileno())
    os.close(devnull)
    return OutputClosed()
