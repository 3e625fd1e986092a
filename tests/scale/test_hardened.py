"""The core built with the address sanitizer and that of undefined behaviour: its tests, and fuzzed pages."""

import shutil
import subprocess
import sys

import pytest
from hypothesis.configuration import storage_directory
from hypothesis.internal.charmap import charmap
from hypothesis.internal.conjecture.providers import _get_local_constants

from tests.builds import ROOT, copy_of_the_project, modules, run

#: About ten seconds with sanitizers.
PAGES = 150


def library(name):
    """The path of a library of the compiler."""
    return subprocess.run(["cc", f"-print-file-name={name}"], capture_output=True, check=True, text=True).stdout.strip()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="preloads the sanitizers of GCC")
def test_no_sanitizer_finds_a_fault_and_fuzzed_pages_come_out_as_with_the_core_that_is_used(tmp_path):
    folder = copy_of_the_project(tmp_path / "project")
    build = {"SCRAPY_PAGELETS_SANITIZERS": "address,undefined"}
    done = run(folder, "setup.py", "-q", "build_ext", "--inplace", "-j2", **build)
    assert done.returncode == 0, done.stdout[-3000:]
    built = modules(folder)
    assert built
    assert all(b"__asan_init" in path.read_bytes() for path in folder.glob("scrapy_pagelets/core/*.so"))
    checked = {
        "LD_PRELOAD": library("libasan.so"),
        "PYTHONMALLOC": "malloc",  # so that the sanitizer knows the bounds of Python's objects
        # Python itself frees little when it ends; and two callers of malloc are enough to find the place.
        "ASAN_OPTIONS": "detect_leaks=0:malloc_context_size=2",
        "UBSAN_OPTIONS": "print_stacktrace=1",
    }
    loaded = run(folder, "-c", "from scrapy_pagelets import core; print(core.MODULES)", **checked)
    assert loaded.stdout == f"{tuple(sorted(built))}\n"
    tests = [f"tests/core/{path.name}" for path in folder.glob("tests/core/test_core_*.py")]
    # To make tables of all characters, and of the constants of all modules, takes many times as long with sanitizers.
    charmap()
    _get_local_constants()
    for name in ("unicode_data", "constants"):
        made = storage_directory(name).path
        shutil.copytree(made, folder / ".hypothesis" / name, ignore=shutil.ignore_patterns(".tmp-*"))
    # Pages of so many nodes take half a minute; and code that runs many times as long gets fewer examples.
    few = ("-k", "not 70000 and not long-", "--hypothesis-profile", "quick")
    done = run(folder, "-m", "pytest", "-q", "-p", "no:cacheprovider", *few, *tests, **checked)
    assert done.returncode == 0, done.stdout[-6000:]

    fuzzed = run(folder, "-m", "tests.fuzzed_pages", str(PAGES), **checked)
    assert fuzzed.returncode == 0, fuzzed.stdout[-6000:]
    pages = fuzzed.stdout.splitlines()
    assert len(pages) == PAGES
    plain = run(tmp_path, "-m", "tests.fuzzed_pages", str(PAGES), PYTHONPATH=str(ROOT))
    assert pages == plain.stdout.splitlines()
