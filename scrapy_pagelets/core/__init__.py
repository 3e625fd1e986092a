"""The compiled core: Cython modules that do the same as functions in NumPy and Python, in a tenth of the time.

The core is optional. A function that it replaces is decorated with `compiled`; what it replaces runs if the core was
not built or cannot be loaded, and is the reference that the tests compare it with.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib import import_module
from typing import Any, Final, TypeVar

T = TypeVar("T", bound=Callable[..., Any])

#: Set to ``off``, this environment variable switches the core off.
SWITCH: Final = "SCRAPY_PAGELETS_CORE"
MODULES: Final = ("table", "trees")


def _load() -> tuple[dict[str, Any], str]:
    """Import all modules, or none; return them by name, and why there are none."""
    if os.environ.get(SWITCH, "").lower() == "off":
        return {}, f"{SWITCH} is off"
    try:
        return {name: import_module(f"scrapy_pagelets.core.{name}") for name in MODULES}, ""
    except ImportError as error:  # not built, or built for another version of lxml or Python
        return {}, str(error)


_modules, missing = _load()
#: Why the compiled core is not used; "" if it is.
MISSING: Final = missing


def compiled(module: str) -> Callable[[T], T]:
    """Replace a function by the compiled one of the same name, if there is a core.

    The attribute ``in_python`` of the function that is used is the decorated one.

    Parameters
    ----------
    module : name of the module of the core
    """

    def replaced(function: T) -> T:
        used: Any = getattr(_modules[module], function.__name__) if _modules else function
        used.in_python = function
        return used  # type: ignore[no-any-return]

    return replaced
