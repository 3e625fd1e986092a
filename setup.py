"""Build the compiled core; everything else stands in pyproject.toml."""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.errors import BaseError, CCompilerError

CORE = Path("scrapy_pagelets", "core")
#: For all processors of a kind: what needs a newer one is chosen when it runs. No fused multiplication and addition: it
#: would round once where NumPy rounds twice.
FLAGS = ["/O2", "/std:c++17"] if sys.platform == "win32" else ["-O3", "-std=c++17", "-g0", "-ffp-contract=off"]
LINK_FLAGS = []
#: Of a build that checks itself, for the tests: ``address,undefined``. It is not optimised, which would take minutes;
#: checks of pointers that the address sanitizer makes, too, are left out, a fifth of the time; functions in lxml's
#: headers that nobody calls are left out by the linker, because they need libxml2.
if SANITIZERS := os.environ.get("SCRAPY_PAGELETS_SANITIZERS"):
    FLAGS = ["-O0", "-std=c++17", "-g0", "-ffp-contract=off", "-ffunction-sections", "-D_GLIBCXX_ASSERTIONS"]
    FLAGS += [f"-fsanitize={SANITIZERS}", "-fno-sanitize=null,object-size,vptr"]
    LINK_FLAGS = [f"-fsanitize={SANITIZERS}", "-Wl,--gc-sections"]
NEEDED = (
    "scrapy-pagelets needs a C++17 compiler and the headers of Python to be built from its sources "
    "(Debian and Ubuntu: apt-get install g++ python3-dev): %s"
)


# A notice about the folders of a working tree, which pip shows as a warning.
warnings.filterwarnings("ignore", r"Editable installation")


class BuildCore(build_ext):
    """Build the modules of the core. With Cython installed, setuptools calls it for the ``.pyx`` files."""

    def run(self) -> None:
        """Build; what a compiler or a linker finds missing ends it with one sentence."""
        import lxml

        self.parallel = self.parallel or os.cpu_count()
        self.include_dirs += [str(CORE), *lxml.get_include()]
        try:
            super().run()
        except (BaseError, CCompilerError) as error:
            raise SystemExit(NEEDED % error) from error


setup(
    cmdclass={"build_ext": BuildCore},
    ext_modules=[
        Extension(
            f"scrapy_pagelets.core.{path.stem}",
            [str(path)],
            depends=[str(header) for header in (*sorted(CORE.glob("*.hpp")), *sorted(CORE.glob("*.pxd")))],
            extra_compile_args=FLAGS,
            extra_link_args=LINK_FLAGS,
            language="c++",
        )
        for path in sorted(CORE.glob("*.pyx"))
    ],
)
