"""Regular expressions that are compiled when they are first used: the package has hundreds, and a page needs few."""

from __future__ import annotations

import re
from typing import Any, cast


class _Lazy:
    """Stands for a compiled expression, and takes over its methods when the first one is asked for."""

    def __init__(self, pattern: str, flags: int) -> None:
        self.pattern = pattern
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # copies ask for them
            raise AttributeError(name)
        compiled = re.compile(self.pattern, self._flags)
        for method in ("search", "match", "fullmatch", "split", "findall", "finditer", "sub"):
            setattr(self, method, getattr(compiled, method))
        return getattr(compiled, name)


def lazily(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """Return a regular expression that is compiled when one of its methods is first used; others take only its methods.

    >>> words = lazily("[a-z]+", re.IGNORECASE)
    >>> words.findall("Green tea"), words.fullmatch("2")
    (['Green', 'tea'], None)
    """
    return cast("re.Pattern[str]", _Lazy(pattern, flags))
