"""Facts of a page that several parts of the package ask for: each is computed once."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TypeVar

O = TypeVar("O")
R = TypeVar("R")


def once(function: Callable[[O], R]) -> Callable[[O], R]:
    """Let an object keep what a function returns for it, as with `functools.cached_property`.

    Two threads that ask at the same time may both compute it.

    Parameters
    ----------
    function : of one object that never changes and has a ``__dict__``, such as a page or a node table
    """
    name = f"{function.__module__}.{function.__name__}"

    @wraps(function)
    def kept(one: O) -> R:
        facts = vars(one)
        if name not in facts:
            facts[name] = function(one)
        result: R = facts[name]
        return result

    return kept
