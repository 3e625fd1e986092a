"""Running functions in threads, so that they do not block the reactor."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Final, ParamSpec, TypeVar, cast

from scrapy.utils.asyncio import is_asyncio_available

P = ParamSpec("P")
T = TypeVar("T")
#: What the next function in a thread lets go of.
_unused: Final[deque[object]] = deque()


async def in_thread(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run a function in a thread and return its result, whatever reactor Scrapy uses."""

    def run() -> T:
        _unused.clear()
        return function(*args, **kwargs)

    if is_asyncio_available():
        return await asyncio.to_thread(run)
    from twisted.internet.threads import deferToThread

    return cast(T, await deferToThread(run))


def let_go(*objects: object) -> None:
    """Leave what is no longer used to the next function in a thread: freeing the tree of a page takes a while."""
    _unused.extend(objects)
