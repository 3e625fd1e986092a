"""The build: the package is installed with the whole core or without any of it, and says which in one line."""

import subprocess
import sys
import tarfile
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import pytest

from tests.builds import ROOT, copy_of_the_project, modules, run

SOURCES = {
    path.name for path in (ROOT / "scrapy_pagelets" / "core").iterdir() if path.suffix in {".hpp", ".pxd", ".pyx"}
}
LAST = max(path.stem for path in (ROOT / "scrapy_pagelets" / "core").glob("*.pyx"))
BUILD = ("setup.py", "-q", "build_ext", "--inplace")
#: A compiler that works until it comes to the last module.
HALF_WAY = f"""#!/bin/sh
case "$*" in *{LAST}.cpp*) echo "no space left" >&2; exit 1 ;; esac
for argument; do last=$argument; done
: > "$last"
"""


@pytest.fixture
def project(tmp_path):
    return copy_of_the_project(tmp_path / "project")


def core_of(folder):
    """Why the core of a copy is not used, as it says itself."""
    done = run(folder, "-c", "from scrapy_pagelets import core; print(core.__file__); print(core.MISSING)")
    file, missing = done.stdout.splitlines()
    assert Path(file).is_relative_to(folder)
    return missing


def lines_of(done):
    return [line for line in done.stdout.splitlines() if "scrapy-pagelets" in line]


def test_without_a_compiler_one_line_says_so_and_everything_runs_in_python(project):
    earlier = project / "scrapy_pagelets" / "core" / (LAST + EXTENSION_SUFFIXES[0])
    earlier.touch()
    done = run(project, *BUILD, CC="/no/compiler", CXX="/no/compiler")
    assert done.returncode == 0
    assert len(lines_of(done)) == 1
    assert "/no/compiler" in lines_of(done)[0]
    assert modules(project) == set()
    assert "C++ compiler" in core_of(project)
    cleaned = "from scrapy_pagelets import Page, Site; page = Page.parse(b'<p>one two', 'http://a.b/'); print("
    cleaned += "Site('a.b').templateness(page))"
    assert run(project, "-c", cleaned).returncode == 0


def test_a_compiler_that_fails_half_way_leaves_no_half_core(project, tmp_path):
    compiler = tmp_path / "compiler"
    compiler.write_text(HALF_WAY, encoding="ascii")
    compiler.chmod(0o755)
    done = run(project, *BUILD, CC=str(compiler), CXX=str(compiler))
    assert done.returncode == 0
    assert len(lines_of(done)) == 1
    assert modules(project) == set()
    assert core_of(project)


def test_a_build_that_requires_the_core_fails_without_a_compiler(project):
    done = run(project, *BUILD, CC="/no/compiler", CXX="/no/compiler", SCRAPY_PAGELETS_CORE="required")
    assert done.returncode != 0
    assert modules(project) == set()


def test_the_core_can_be_left_out(project):
    done = run(project, *BUILD, SCRAPY_PAGELETS_CORE="off")
    assert done.returncode == 0
    assert len(lines_of(done)) == 1
    assert modules(project) == set()


def test_an_archive_of_the_sources_has_the_core_and_nothing_that_was_built(project):
    folder = project / "scrapy_pagelets" / "core"
    for name in ("table.cpp", "table.so", "table.pyd"):
        (folder / name).touch()
    assert run(project, "setup.py", "-q", "sdist").returncode == 0
    with tarfile.open(next((project / "dist").glob("*.tar.gz"))) as archive:
        names = {Path(name) for name in archive.getnames()}
    found = {name.name for name in names if name.parts[-3:-1] == ("scrapy_pagelets", "core")}
    assert found == {*SOURCES, "__init__.py"}
    assert {"setup.py", "Makefile", "run"} <= {name.name for name in names}


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads ELF files")
def test_only_functions_that_are_chosen_at_run_time_need_a_newer_processor():
    """AVX is used in clones for AVX2, which the loader takes where the processor has it, and AVX-512 in `add_wide`."""
    from scrapy_pagelets import core

    for name in core.MODULES:
        file = str(sys.modules[f"scrapy_pagelets.core.{name}"].__file__)
        code = subprocess.run(
            ["objdump", "-d", "--no-show-raw-insn", file], stdout=subprocess.PIPE, check=True, text=True
        )
        function = ""
        for line in code.stdout.splitlines():
            function = line if line.endswith(">:") else function
            if "add_wide" in function:  # called where the processor has them, see ``wide_trees.hpp``
                continue
            assert "%ymm" not in line or ".avx2" in function, f"{function} of {name} needs AVX"
            assert "%zmm" not in line, f"{function} of {name} needs AVX-512"
