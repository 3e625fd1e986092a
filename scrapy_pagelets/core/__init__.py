"""The compiled core: the hot loops of the package in Cython and C++.

A function of the core is imported by the module of its subject: `text_of` by `scrapy_pagelets.page.text`, from which
everybody imports it. Its signature stands in a stub (``.pyi``), its docstring beside its code (``.pyx``).

The core imports nothing of the project. The constants and Python functions that it needs are handed over by `give`, in
the modules that define them.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules
from typing import Any, Final, NoReturn

#: Versions of lxml with which the core is tested, as in pyproject.toml: it reads the trees of lxml in memory.
LXML: Final = "lxml>=6.0,<6.2"
#: The modules that were built for this Python.
MODULES: Final = tuple(sorted(module.name for module in iter_modules(__path__)))


class Given(dict[str, Any]):
    """What one module of the core was handed, by name."""

    def __missing__(self, name: str) -> NoReturn:
        raise LookupError(f"the compiled core was not given {name}: import the module that calls `core.give` with it")


def _load() -> dict[str, Any]:
    """Import all modules; return them by name."""
    if not MODULES:
        raise ImportError(
            "The compiled core was not built for this Python: install a C++ compiler, then scrapy-pagelets again."
        )
    try:
        loaded: dict[str, Any] = {name: import_module(f"{__name__}.{name}") for name in MODULES}
    except (ImportError, TypeError, ValueError, AttributeError) as error:  # what Cython raises for another interface
        raise ImportError(
            f"The compiled core does not fit the lxml that is installed: pip install '{LXML}' ({error})."
        ) from error
    for module in loaded.values():
        module.given = Given()
    return loaded


_modules: Final = _load()


def give(module: str, /, **names: Any) -> None:
    """Hand constants and functions to a module of the core, which looks them up when it first needs them.

    Parameters
    ----------
    module : name of the module of the core
    names : by name; no other module may give the same name
    """
    _modules[module].given.update(names)
