"""The commands of the console script ``pagelets`` and of ``scrapy pagelets``, which are the same."""

from importlib import import_module
from typing import Any


def __getattr__(name: str) -> Any:
    """The command of Scrapy, which asks for it here; the console script starts without Scrapy."""
    if name != "PageletsCommand":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module("scrapy_pagelets.crawler.scrapy_command").PageletsCommand
