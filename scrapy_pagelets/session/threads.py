"""Running functions in threads, so that they do not block the reactor."""

from __future__ import annotations

import asyncio
from collections import defaultdict, deque
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from itertools import count
from time import thread_time
from typing import Final, ParamSpec, TypeVar, cast

from scrapy.utils.asyncio import is_asyncio_available

from scrapy_pagelets.session.garbage import give_back

P = ParamSpec("P")
T = TypeVar("T")
#: Several threads that compute would only contend for the interpreter's lock, with each other and with the reactor.
_computing: Final = ThreadPoolExecutor(1, thread_name_prefix="pagelets")
#: Seconds of CPU time of what was computed in this process, by the class or function that was called.
computed: Final[defaultdict[str, float]] = defaultdict(float)
#: What the next function that computes lets go of.
_unused: Final[deque[object]] = deque()
#: Functions that compute, some for each page, after which freed memory is given back: that takes some ten milliseconds.
GIVE_BACK: Final = 5_000
_calls: Final = count(1)


async def in_thread(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run a function that computes in the thread for that, and return its result, whatever reactor Scrapy uses.

    All such functions take turns; one that waits for a server would keep the others waiting, see `in_waiting_thread`.
    """

    def run() -> T:
        started = thread_time()
        try:
            _unused.clear()
            if not next(_calls) % GIVE_BACK:
                give_back()
            return function(*args, **kwargs)
        finally:
            computed[_owner(function)] += thread_time() - started

    return await _run(_computing, run)


async def in_waiting_thread(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run a function that waits for a server or another process in a thread of its own, and return its result."""
    return await _run(None, lambda: function(*args, **kwargs))


async def _run(executor: Executor | None, function: Callable[[], T]) -> T:
    if is_asyncio_available():
        return await asyncio.get_running_loop().run_in_executor(executor, function)
    from twisted.internet.threads import deferToThread

    return cast(T, await deferToThread(function))


def _owner(function: Callable[..., object]) -> str:
    """The class of a method, or the name of a function."""
    return getattr(function, "__qualname__", type(function).__name__).partition(".")[0]


def let_go(*objects: object) -> None:
    """Leave what is no longer used to the next function that computes: freeing the tree of a page takes a while."""
    _unused.extend(objects)
