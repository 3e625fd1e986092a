"""The house stands: folders, floors, imports and settings are what pyproject.toml and the documents say."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "scrapy_pagelets"
LINKED = ("crawler", "middlewares", "pipelines")
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))

#: What each floor must not import. The ideas are everything in the package but the three linked folders.
FORBIDDEN = {
    "ideas": ("scrapy", "twisted", *(f"scrapy_pagelets.{name}" for name in LINKED)),
    "middlewares": ("scrapy_pagelets.crawler",),
    "pipelines": ("scrapy_pagelets.crawler",),
    "crawler": (),
}
#: The one door upstairs: the package hands out the add-on by name, when it is asked for.
DOORS = {("__init__.py", "scrapy_pagelets.crawler.addon")}


def modules() -> Iterator[Path]:
    """Every module of the package, relative to it, as seen through the links."""
    for folder, folders, files in os.walk(PACKAGE, followlinks=True):
        folders[:] = [name for name in folders if name != "__pycache__"]
        yield from (Path(folder, name).relative_to(PACKAGE) for name in files if name.endswith(".py"))


def source(module: Path) -> str:
    return (PACKAGE / module).read_text(encoding="utf-8")


def floor(module: Path) -> str:
    return module.parts[0] if module.parts[0] in LINKED else "ideas"


def imported(module: Path) -> set[str]:
    """The modules that a module imports anywhere, in functions and for type checkers too."""
    found = set()
    for node in ast.walk(ast.parse(source(module))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module} has a relative import"
            found |= {str(node.module)} | {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in {"import_module", "importlib.import_module"}:
            found |= {arg.value for arg in node.args if isinstance(arg, ast.Constant) and isinstance(arg.value, str)}
    return found


def within(name: str, package: str) -> bool:
    return name == package or name.startswith(package + ".")


def loaded_by(code: str) -> set[str]:
    """The names in ``sys.modules`` after some code ran in a new interpreter, started at the root of the tree."""
    code += "\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stdout.splitlines()[-1]))


def test_links_are_relative():
    if not (ROOT / "scrapy_pagelets" / "crawler").is_symlink():
        pytest.skip("an unpacked sdist holds copies in the place of the links")
    assert {name: os.readlink(PACKAGE / name) for name in LINKED} == {name: f"../{name}" for name in LINKED}


def test_package_list_is_complete():
    folders = {".".join(("scrapy_pagelets", *module.parent.parts)) for module in modules()}
    assert sorted(folders) == sorted(PYPROJECT["tool"]["setuptools"]["packages"])


def test_every_package_has_an_init():
    folders = {module.parent for module in modules()}
    assert [str(folder) for folder in folders if not (PACKAGE / folder / "__init__.py").is_file()] == []


@pytest.mark.parametrize("name", FORBIDDEN)
def test_no_import_goes_up(name):
    assert [
        f"{module} imports {target}"
        for module in modules()
        if floor(module) == name
        for target in imported(module)
        if any(within(target, package) for package in FORBIDDEN[name])
        and not any(str(module) == door and within(target, room) for door, room in DOORS)
    ] == []


def test_every_module_has_one_name():
    names = [".".join(("scrapy_pagelets", *module.with_suffix("").parts)) for module in modules()]
    code = "import importlib\n" + "".join(f"importlib.import_module({name!r})\n" for name in sorted(names))
    loaded = loaded_by(code.replace(".__init__'", "'"))
    assert [name for name in loaded if name.partition(".")[0] in LINKED] == []
    assert "scrapy_pagelets.crawler" in loaded


def test_ideas_load_without_scrapy():
    loaded = loaded_by("import scrapy_pagelets")
    assert "scrapy_pagelets" in loaded
    assert loaded.isdisjoint({"scrapy", "twisted", "sklearn", "scipy", "duckdb", "datasketch"})


def test_scrapy_starts_without_the_heavy_libraries():
    loaded = loaded_by("import scrapy_pagelets, scrapy_pagelets.crawler.commands; scrapy_pagelets.Addon")
    assert "scrapy_pagelets.crawler.commands" in loaded
    assert loaded.isdisjoint({"sklearn", "scipy", "duckdb", "datasketch"})


def settings_in(text: str) -> set[str]:
    return set(re.findall(r"\bPAGELETS_[A-Z0-9_]*[A-Z0-9]\b", text))


def test_every_setting_has_a_default_and_a_paragraph():
    config = settings_in(source(Path("config.py")))
    documented = settings_in((ROOT / "docs" / "settings.md").read_text(encoding="utf-8"))
    used = {name for module in modules() for name in settings_in(source(module))}
    assert config
    assert used - config == set()
    assert config - documented == set()
    assert documented - config == set()
