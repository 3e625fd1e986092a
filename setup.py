"""Build the compiled core, if it can be built; everything else stands in pyproject.toml."""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

CORE = Path("scrapy_pagelets", "core")
#: For all processors of a kind: what needs a newer one is chosen when it runs. No fused multiplication and addition: it
#: would round once where NumPy rounds twice.
FLAGS = ["/O2", "/std:c++17"] if sys.platform == "win32" else ["-O3", "-std=c++17", "-g0", "-ffp-contract=off"]
LINK_FLAGS = []
#: Of a build that checks itself, for the tests: ``address,undefined``. It is not optimised, which would take minutes;
#: functions in lxml's headers that nobody calls are left out by the linker, because they need libxml2.
if SANITIZERS := os.environ.get("SCRAPY_PAGELETS_SANITIZERS"):
    FLAGS = ["-O0", "-std=c++17", "-g", "-ffp-contract=off", "-ffunction-sections", "-D_GLIBCXX_ASSERTIONS"]
    FLAGS += [f"-fsanitize={SANITIZERS}"]
    LINK_FLAGS = [f"-fsanitize={SANITIZERS}", "-Wl,--gc-sections"]
#: ``off``: the core is not built; ``required``: a build without it is an error.
WANTED = os.environ.get("SCRAPY_PAGELETS_CORE", "").lower()
WITHOUT = "scrapy-pagelets is built without its compiled core, and so is slower: %s"


class BuildCore(build_ext):
    """Build all modules of the core, or none. With Cython installed, setuptools calls it for the ``.pyx`` files."""

    def run(self) -> None:
        """Build; go on without the core if there is no compiler, or if it fails."""
        if WANTED == "off":
            return self.discard("SCRAPY_PAGELETS_CORE is off")
        inplace = self.inplace
        self.parallel = self.parallel or os.cpu_count()
        try:
            import lxml

            self.include_dirs += [str(CORE), *lxml.get_include()]
            super().run()
        except Exception as error:  # anything that a compiler, a linker or Cython finds missing or wrong
            self.inplace = inplace
            if WANTED == "required":
                raise
            self.discard(error)

    def discard(self, reason: object) -> None:
        """Remove what was built now or earlier: half a core, or one of other sources, is worse than none."""
        for inplace in {False, self.inplace}:
            self.inplace = inplace
            for extension in self.extensions:
                with contextlib.suppress(FileNotFoundError):
                    os.remove(self.get_ext_fullpath(extension.name))
        self.extensions = []
        print(WITHOUT % reason)


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
