"""What commands print: text of pages made visible, and an end without noise when nobody reads on."""

from __future__ import annotations

import os
import sys
from typing import Final, TextIO

from scrapy_pagelets.characters import visible

#: Exit code of a command whose output nobody reads any more, as shells give it: 128 and the number of SIGPIPE.
CLOSED: Final = 141


class OutputClosed(Exception):
    """Raised when what reads our output is gone (``... | head``); `PageletsCommand` ends the command without a word."""


def show(line: str) -> None:
    """Print a line that may hold text of pages or files."""
    write(visible(line))


def complain(sentence: object) -> None:
    """Print a sentence to the standard error."""
    write(visible(str(sentence)), sys.stderr)


def write(line: str, stream: TextIO | None = None) -> None:
    """Print a line whose text of pages is visible already; what the encoding of the terminal lacks is escaped."""
    stream = stream or sys.stdout
    if stream is None:  # closed by the shell
        return
    encoding = stream.encoding or "utf-8"
    try:
        print(line.encode(encoding, "backslashreplace").decode(encoding), file=stream)
    except BrokenPipeError:
        raise _closed(stream) from None


def flush() -> None:
    """Write out what was printed, while errors can still be handled."""
    for stream in filter(None, (sys.stdout, sys.stderr)):
        try:
            stream.flush()
        except BrokenPipeError:
            raise _closed(stream) from None


def _closed(stream: TextIO) -> OutputClosed:
    """The error to raise. Python writes out what is left when it ends: that goes nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
    return OutputClosed()
