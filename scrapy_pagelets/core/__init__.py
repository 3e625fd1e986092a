"""The compiled core: Cython modules that do the same as functions in NumPy and Python, in a tenth of the time.

The core is optional. A function that it replaces is decorated with `compiled`; what it replaces runs if the core was
not built or cannot be loaded, and is the reference that the tests compare it with.

The core imports nothing of the project. The constants and Python functions that it needs are handed over by `give`, in
the modules that define them.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, Final, NoReturn, TypeVar

T = TypeVar("T", bound=Callable[..., Any])

#: Set to ``off``, this environment variable switches the core off.
SWITCH: Final = "SCRAPY_PAGELETS_CORE"
#: The modules that were built for this Python: all of the folder, or none (``setup.py`` sees to that).
MODULES: Final = tuple(sorted(module.name for module in iter_modules(__path__)))


class Given(dict[str, Any]):
    """What one module of the core was handed, by name."""

    def __missing__(self, name: str) -> NoReturn:
        raise LookupError(f"the compiled core was not given {name}: import the module that calls `core.give` with it")


def _load() -> tuple[dict[str, Any], str]:
    """Import all modules, or none; return them by name, and why there are none."""
    if os.environ.get(SWITCH, "").lower() == "off":
        return {}, f"{SWITCH} is off"
    if not MODULES:
        return {}, "it was not built for this Python, which takes a C++ compiler"
    try:
        loaded: dict[str, Any] = {name: import_module(f"{__name__}.{name}") for name in MODULES}
    except (ImportError, TypeError, ValueError, AttributeError) as error:  # built for an lxml of another interface
        return {}, f"it does not fit to what is installed: {error}"
    for module in loaded.values():
        module.given = Given()
    return loaded, ""


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


def give(module: str, /, **names: Any) -> None:
    """Hand constants and functions to a module of the core, which looks them up when it first needs them.

    Parameters
    ----------
    module : name of the module of the core
    names : by name; no other module may give the same name
    """
    if module in _modules:
        _modules[module].given.update(names)


def in_python(function: T) -> T:
    """The function in NumPy and Python that a compiled one replaces."""
    return function.in_python  # type: ignore[attr-defined, no-any-return]
