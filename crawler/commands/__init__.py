"""The commands of the console script ``pagelets`` and of ``scrapy pagelets``, which are the same."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from scrapy_pagelets.crawler.commands.all_commands import COMMANDS, Parser, add_commands, run_command

__all__ = ["COMMANDS", "Parser", "add_commands", "run_command"]


def __getattr__(name: str) -> Any:
    """The command of Scrapy, which asks for it here; the console script starts without Scrapy."""
    if name != "PageletsCommand":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module("scrapy_pagelets.crawler.scrapy_command").PageletsCommand
