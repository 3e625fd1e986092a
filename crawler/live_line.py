"""The last line of a terminal, which changes while the log scrolls above it."""

from __future__ import annotations

import logging
from typing import IO, Any, Final, Self

from rich.console import Console
from rich.live import Live
from rich.text import Text


class LiveLine:
    """A line below the log of this process.

    Parameters
    ----------
    console : of the terminal that the log is written to
    """

    #: The terminal has one last line, whatever the number of crawls in the process.
    _taken: bool = False

    def __init__(self, console: Console) -> None:
        self._live = Live(
            console=console, auto_refresh=False, transient=True, redirect_stdout=False, redirect_stderr=False
        )
        self._streams: dict[logging.StreamHandler[Any], IO[str]] = {}

    @classmethod
    def of(cls, stream: IO[str] | None) -> Self | None:
        """The line of a stream; None if it is no terminal, or has a line already."""
        if stream is None or not stream.isatty() or cls._taken:
            return None
        console = Console(file=stream)
        return None if console.is_dumb_terminal else cls(console)

    def begin(self) -> None:
        """Draw the line, and let the log scroll above it."""
        LiveLine._taken = True
        above = _Above(self._live.console)
        for handler in logging.getLogger().handlers:
            if isinstance(handler, logging.StreamHandler) and handler.stream is self._live.console.file:
                self._streams[handler] = handler.setStream(above) or handler.stream
        self._live.start()

    def show(self, line: str) -> None:
        """Change the line."""
        self._live.update(Text(line, style="bold", no_wrap=True, overflow="ellipsis"), refresh=True)

    def end(self) -> None:
        """Remove the line, and give the log its stream back."""
        self._live.stop()
        for handler, stream in self._streams.items():
            handler.setStream(stream)
        LiveLine._taken = False


class _Above:
    """A stream that writes above the live line."""

    def __init__(self, console: Console) -> None:
        self._console: Final = console

    def write(self, text: str) -> int:
        if stripped := text.rstrip("\n"):
            self._console.print(Text.from_ansi(stripped), soft_wrap=True)
        return len(text)

    def flush(self) -> None:
        self._console.file.flush()
