"""Where functions run: in threads, so that they do not block the reactor, unless they are short."""

import asyncio
import sys
from collections import defaultdict, deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from ctypes import CDLL
from functools import partial
from itertools import count
from math import inf
from time import thread_time
from typing import Any, Final, ParamSpec, TypeVar, cast

from scrapy.utils.asyncio import is_asyncio_available

P = ParamSpec("P")
T = TypeVar("T")
#: Several threads that compute would only contend for the interpreter's lock, with each other and with the reactor.
_computing: Final = ThreadPoolExecutor(1, thread_name_prefix="pagelets")
_unused: Final[deque[object]] = deque()  # what the next function that computes lets go of
GIVE_BACK: Final = 5_000  # functions that compute, after which freed memory is given back: that takes 40 ms or more
_calls: Final = count(1)
#: ``malloc_trim`` of the GNU C library, None for another one.
_malloc_trim: Final = getattr(CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
_SHORT: Final = 0.01  # seconds of CPU time that a function may take in the reactor's thread
_PATIENCE: Final = 10  # times that a short function waits for those in the thread, before it goes there as well


class _Pace:
    """The CPU time that a function takes for a page, as far as the last pages tell."""

    _MEMORY: Final = 0.95  # what all pages before count for, beside the next one

    def __init__(self) -> None:
        self._seconds = self._size = 0.0

    def add(self, size: int, seconds: float) -> None:
        self._seconds = self._MEMORY * self._seconds + seconds
        self._size = self._MEMORY * self._size + size

    def expected(self, size: int) -> float:
        """The seconds for a page of this size; infinite before the first page."""
        return self._seconds * size / self._size if self._size else inf


_paces: Final[defaultdict[str, _Pace]] = defaultdict(_Pace)
_queued: Final[set[asyncio.Future[Any]]] = set()  # what waits for the thread that computes, or runs in it


async def _in_turn(function: Callable[[], T]) -> T:
    if not is_asyncio_available():
        return await in_waiting_thread(function)
    running: asyncio.Future[T] = asyncio.get_running_loop().run_in_executor(_computing, function)
    _queued.add(running)
    try:
        return await running
    finally:
        _queued.discard(running)


async def until_free() -> None:
    """Wait until the thread has nothing to do: a page begins after the others, so that few are in memory at a time."""
    while _queued:
        await asyncio.wait(_queued)


async def _count_call() -> None:
    """Count a function that is about to compute; now and then, give freed memory back to the system before."""
    if not next(_calls) % GIVE_BACK and _malloc_trim is not None:  # unasked, the library keeps what is between blocks
        await _in_turn(partial(_malloc_trim, 0))


async def in_thread(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run a function that computes, and waits for nothing, in the thread where these take turns; return its result."""
    await _count_call()
    return await _in_turn(partial(_timed, _Pace(), 0, partial(function, *args, **kwargs)))


async def in_thread_if_long(size: int, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run a function of a page of ``size`` bytes that only computes: a short one here, a long one in the thread.

    A short function costs less than a change of threads, so it waits until the thread is free and then runs here.
    """
    await _count_call()
    pace = _paces[getattr(function, "__qualname__", type(function).__name__)]
    run = partial(_timed, pace, size, partial(function, *args, **kwargs))
    for _ in range(_PATIENCE if pace.expected(size) <= _SHORT else 0):
        if not _queued:
            return run()
        await asyncio.wait(_queued)
    return await _in_turn(run)


async def in_waiting_thread(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run a function that waits for a server or another process in a thread of its own, and return its result."""
    run = partial(function, *args, **kwargs)
    if is_asyncio_available():
        return await asyncio.get_running_loop().run_in_executor(None, run)
    from twisted.internet.threads import deferToThread

    return cast(T, await deferToThread(run))


def _timed(pace: _Pace, size: int, function: Callable[[], T]) -> T:
    started = thread_time()
    try:
        _unused.clear()
        return function()
    finally:
        pace.add(size, thread_time() - started)


def let_go(*objects: object) -> None:
    """Leave what is no longer used to the next function that computes: freeing the tree of a page takes a while."""
    _unused.extend(objects)
