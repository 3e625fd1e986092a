"""The build: it needs a compiler, and says so in one sentence; an archive of the sources has all that it needs."""

import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from tests.builds import ROOT, copy_of_the_project, modules, run

FOLDER = ROOT / "scrapy_pagelets" / "core"
SOURCES = {path.name for path in FOLDER.iterdir() if path.suffix in {".hpp", ".pxd", ".pyi", ".pyx"}}
LAST = max(path.stem for path in FOLDER.glob("*.pyx"))
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


@pytest.mark.parametrize("compiler", ["missing", "half way"])
def test_a_build_that_fails_says_in_one_sentence_what_it_needs(project, tmp_path, compiler):
    path = tmp_path / "compiler"
    if compiler == "half way":
        path.write_text(HALF_WAY, encoding="ascii")
        path.chmod(0o755)
    done = run(project, *BUILD, CC=str(path), CXX=str(path))
    assert done.returncode != 0
    [line] = [line for line in done.stdout.splitlines() if "scrapy-pagelets" in line]
    assert line.startswith(
        "scrapy-pagelets needs a C++17 compiler and the headers of Python to be built from its sources"
    )
    assert str(path) in line
    assert modules(project / "scrapy_pagelets") == set()


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


def test_an_editable_installation_shows_no_notice(project):
    for path in (project / "scrapy_pagelets" / "core").glob("*.pyx"):
        path.unlink()  # only what setuptools says is of interest
    build = "from setuptools.build_meta import build_editable; build_editable('.')"
    done = run(project, "-c", build)
    assert done.returncode == 0, done.stdout
    assert "Editable install will be performed" in done.stdout  # setuptools has said its part
    assert "Editable installation" not in done.stdout


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
