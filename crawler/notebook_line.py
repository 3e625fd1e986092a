"""The line of a notebook's cell that tells of a running crawl."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any, Self


class NotebookLine:
    """An output of a cell that changes, in place of the last line of a terminal, see `live_line.LiveLine`.

    Parameters
    ----------
    display : ``IPython.display.display``
    """

    def __init__(self, display: Any) -> None:
        self._display = display
        self._shown: Any = None

    @classmethod
    def here(cls) -> Self | None:
        """The line of the cell that runs; None outside of a notebook."""
        if "IPython" not in sys.modules:
            return None
        shell = import_module("IPython").get_ipython()
        return cls(import_module("IPython.display").display) if hasattr(shell, "kernel") else None

    def show(self, line: str) -> None:
        """Make the output, or change it."""
        content = {"text/plain": line}
        if self._shown is None:
            self._shown = self._display(content, raw=True, display_id=True)
        else:
            self._shown.update(content, raw=True)
