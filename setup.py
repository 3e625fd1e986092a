"""Build the compiled core, if it can be built; everything else stands in pyproject.toml."""

from __future__ import annotations

import sys
from pathlib import Path

from setuptools import Extension, setup

CORE = Path("scrapy_pagelets", "core")
FLAGS = ["/O2", "/std:c++17"] if sys.platform == "win32" else ["-O3", "-std=c++17", "-g0"]


def extensions() -> list[Extension]:
    """The modules of the core; none without Cython or lxml's headers, as in a build without isolation."""
    try:
        import lxml
        from Cython.Build import cythonize
    except ImportError:
        return []
    modules = [
        Extension(
            f"scrapy_pagelets.core.{path.stem}",
            [str(path)],
            include_dirs=[str(CORE), *lxml.get_include()],
            depends=[str(header) for header in sorted(CORE.glob("*.hpp"))],
            extra_compile_args=FLAGS,
            language="c++",
            optional=True,  # without a compiler, the package is installed without the core
        )
        for path in sorted(CORE.glob("*.pyx"))
    ]
    return cythonize(modules, language_level=3)


setup(ext_modules=extensions())
