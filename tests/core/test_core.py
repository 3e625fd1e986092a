"""The compiled core as a whole: it is built, it is given what it asks for, and it says what it needs."""

import ast
import doctest
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections import Counter
from importlib import import_module
from pathlib import Path

import pytest

from scrapy_pagelets import core
from scrapy_pagelets.core import LXML
from tests.crawling import ROOT

FOLDER = ROOT / "scrapy_pagelets" / "core"


def givers() -> list[Path]:
    """The modules that hand something to the core."""
    given = re.compile(r"^from scrapy_pagelets.core import .*\bgive$", re.MULTILINE)
    sources = (ROOT / "scrapy_pagelets").rglob("*.py")
    return [path for path in sources if given.search(path.read_text(encoding="utf-8"))]


def test_the_core_is_built():
    assert set(core.MODULES) == {path.stem for path in FOLDER.glob("*.pyx")}


def test_the_core_imports_nothing_of_the_project_and_names_what_it_was_not_given():
    code = """
import sys
from lxml import etree
from scrapy_pagelets.core import table
print([name for name in sys.modules if name.startswith("scrapy_pagelets.") and "core" not in name])
table.flatten(etree.fromstring("<p>One</p>"), False)
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.stdout == "[]\n"
    assert "LookupError: the compiled core was not given BY_CHARACTER: import the module" in done.stderr


def test_the_core_is_given_what_it_asks_for_each_name_once():
    given: Counter[tuple[str, str]] = Counter()
    for path in givers():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "give":
                given.update((ast.literal_eval(node.args[0]), str(keyword.arg)) for keyword in node.keywords)
    asked = {
        (path.stem, name)
        for path in FOLDER.glob("*.pyx")
        for name in re.findall(r'\bgiven\["(\w+)"\]', path.read_text(encoding="utf-8"))
    }
    assert set(given) == asked
    assert [name for name, count in given.items() if count > 1] == []


@pytest.mark.parametrize("module", core.MODULES)
def test_the_examples_in_docstrings_run(module):
    for path in givers():
        import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))
    found = doctest.testmod(import_module(f"scrapy_pagelets.core.{module}"))
    assert found.failed == 0


def test_the_stubs_name_what_there_is_with_a_docstring():
    for path in FOLDER.glob("*.pyi"):
        module = import_module(f"scrapy_pagelets.core.{path.stem}")
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                assert getattr(module, node.name).__doc__, f"{node.name} in {path.name}"


def error_of(code: str, folder: Path) -> str:
    """The last line of what code says that runs with the modules of a folder before all others."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(folder), str(ROOT)))}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=120)
    return done.stderr.splitlines()[-1]


def test_an_lxml_of_another_interface_is_refused_with_the_versions_that_fit(tmp_path):
    (tmp_path / "lxml").mkdir()
    for name in ("__init__", "etree"):
        (tmp_path / "lxml" / f"{name}.py").touch()
    error = error_of("import scrapy_pagelets.core", tmp_path)
    assert error.startswith("ImportError: The compiled core does not fit the lxml that is installed: ")
    assert f"pip install '{LXML}'" in error


def test_the_versions_of_lxml_are_those_of_the_project():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert LXML in project["project"]["dependencies"]
    assert LXML in project["build-system"]["requires"]


def test_a_package_without_its_core_says_what_to_do(tmp_path):
    (tmp_path / "core").mkdir()
    shutil.copy(FOLDER / "__init__.py", tmp_path / "core")
    error = error_of("import core", tmp_path)
    assert error.startswith("ImportError: The compiled core was not built for this Python: install a C++ compiler")
