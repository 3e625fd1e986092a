"""Running functions in threads, so that they do not block the reactor."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import ParamSpec, TypeVar, cast

from scrapy.utils.asyncio import is_asyncio_available

P = ParamSpec("P")
T = TypeVar("T")


async def in_thread(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run a function in a thread and return its result, whatever reactor Scrapy uses."""
    if is_asyncio_available():
        return await asyncio.to_thread(function, *args, **kwargs)
    from twisted.internet.threads import deferToThread

    return cast(T, await deferToThread(function, *args, **kwargs))
