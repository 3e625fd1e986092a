"""The compiled core: Cython modules that do the same as functions in NumPy and Python, in a tenth of the time.

The core is optional. A function that it replaces is decorated with `compiled`; what it replaces runs if the core was
not built or cannot be loaded, and is the reference that the tests compare it with.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, Final, TypeVar

T = TypeVar("T", bound=Callable[..., Any])

#: Set to ``off``, this environment variable switches the core off.
SWITCH: Final = "SCRAPY_PAGELETS_CORE"
#: The modules that were built for this Python: all of the folder, or none (``setup.py`` sees to that).
MODULES: Final = tuple(sorted(module.name for module in iter_modules(__path__)))


def _load() -> tuple[dict[str, Any], str]:
    """Import all modules, or none; return them by name, and why there are none."""
    if os.environ.get(SWITCH, "").lower() == "off":
        return {}, f"{SWITCH} is off"
    if not MODULES:
        return {}, "it was not built for this Python, which takes a C++ compiler"
    try:
        return {name: import_module(f"{__name__}.{name}") for name in MODULES}, ""
    except (ImportError, TypeError, ValueError, AttributeError) as error:  # built for an lxml of another interface
        return {}, f"it does not fit to what is installed: {error}"


_modules, missing = _load()
#: Why the compiled core is not used; "" if it is.
MISSING: Final = missing


def compiled(module: str) -> Callable[[T], T]:
    """Replace a function by the compiled one of the same name, if there is a core.

    `in_python` gives the decorated one.

    Parameters
    ----------
    module : name of the module of the core
    """

    def replaced(function: T) -> T:
        used: Any = getattr(_modules[module], function.__name__) if module in _modules else function
        used.in_python = function
        return used  # type: ignore[no-any-return]

    return replaced


def in_python(function: T) -> T:
    """The function in NumPy and Python that a compiled one replaces."""
    return function.in_python  # type: ignore[attr-defined, no-any-return]
