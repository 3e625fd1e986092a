"""What is remembered, bounded by bytes: results of functions, by arguments or in an object, and the last keys."""

from collections.abc import Callable
from functools import wraps
from sys import getsizeof
from typing import Any, Final, TypeVar, cast

from scrapy_pagelets.core.counter import RecentKeys as RecentKeys

T = TypeVar("T", bound=Callable[..., Any])
MOST_BYTES: Final = 16 << 20  # bytes that a cache may have; then it begins anew
_LARGEST: Final = 64_000  # bytes of the entries that are kept: a larger one would take the place of hundreds
_ENTRY: Final = 100  # bytes of an entry beside its key and its value


def cached(function: T) -> T:
    """Keep what a function returns, which is never None, for each of its positional arguments."""
    known: dict[tuple[Any, ...], Any] = {}
    left = MOST_BYTES

    @wraps(function)
    def remembered(*key: Any) -> Any:
        nonlocal left
        found = known.get(key)
        if found is None:
            found = function(*key)
            size = _ENTRY + _size(key) + _size(found)
            if size > _LARGEST:
                return found
            if size > left:
                known.clear()
                left = MOST_BYTES
            left -= size
            known[key] = found
        return found

    return cast(T, remembered)


def _size(value: Any) -> int:
    """Bytes of a value, of what it has in it, and of what tuples in it have in them."""
    if not isinstance(value, tuple):
        return getsizeof(value)
    inner = [sum(map(getsizeof, part)) for part in value if isinstance(part, tuple)]
    return getsizeof(value) + sum(map(getsizeof, value)) + sum(inner)


Holder = TypeVar("Holder")
R = TypeVar("R")


def once(function: Callable[[Holder], R]) -> Callable[[Holder], R]:
    """Let an object that never changes keep what a function returns for it, never the object itself, in any thread."""
    name = f"{function.__module__}.{function.__name__}"

    @wraps(function)
    def kept(one: Holder) -> R:
        facts = vars(one)
        if name not in facts:
            facts[name] = function(one)
        return facts[name]  # type: ignore[no-any-return]

    return kept
