"""Folders, layers, imports and settings are what pyproject.toml and the documents say."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import networkx as nx
import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "scrapy_pagelets"
LINKED = ("crawler", "middlewares", "pipelines")
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))

#: The layers, from the lowest. An import never goes up. The algorithms are everything in the package but the others.
LAYERS = ("algorithms", "session", "probing", "middlewares", "crawler")
#: In the layer of the middlewares: neither imports the other.
PIPELINES = "pipelines"
#: The one exception: the package imports the add-on when somebody asks for it by name.
EXCEPTIONS = {("scrapy_pagelets", "scrapy_pagelets.crawler.addon"), ("scrapy_pagelets", "scrapy_pagelets.crawler")}
#: Where a crawl or a command begins.
ENTRIES = ("scrapy_pagelets", "scrapy_pagelets.crawler.addon", "scrapy_pagelets.crawler.settings",
           "scrapy_pagelets.crawler.commands", "scrapy_pagelets.crawler.spiders.site",
           "scrapy_pagelets.crawler.spiders.archive")  # fmt: skip
#: Deprecated aliases: paths that documents of an earlier version name.
DEPRECATED = {"scrapy_pagelets.crawler.report", "scrapy_pagelets.links.tables"}
#: Commands, spiders and pipelines have the names of what they are about.
ADAPTERS = ("scrapy_pagelets.crawler.commands.", "scrapy_pagelets.crawler.spiders.", "scrapy_pagelets.pipelines.")


def modules() -> Iterator[Path]:
    """Every module of the package, relative to it, as seen through the links."""
    for folder, folders, files in os.walk(PACKAGE, followlinks=True):
        folders[:] = [name for name in folders if name != "__pycache__"]
        yield from (Path(folder, name).relative_to(PACKAGE) for name in files if name.endswith(".py"))


def source(module: Path) -> str:
    return (PACKAGE / module).read_text(encoding="utf-8")


def name_of(module: Path) -> str:
    return ".".join(("scrapy_pagelets", *module.with_suffix("").parts)).removesuffix(".__init__")


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
        pytest.skip("an unpacked sdist has copies instead of the links")
    assert {name: os.readlink(PACKAGE / name) for name in LINKED} == {name: f"../{name}" for name in LINKED}


def test_package_list_is_complete():
    folders = {".".join(("scrapy_pagelets", *module.parent.parts)) for module in modules()}
    assert sorted(folders) == sorted(PYPROJECT["tool"]["setuptools"]["packages"])


def test_every_package_has_an_init():
    folders = {module.parent for module in modules()}
    assert [str(folder) for folder in folders if not (PACKAGE / folder / "__init__.py").is_file()] == []


def graph() -> nx.DiGraph:
    """Which modules import which, by name; a component that is named in a string is imported as well."""
    names = {name_of(module): module for module in modules()}
    found = nx.DiGraph()
    found.add_nodes_from(names)
    for name, module in names.items():
        targets = {target if target in names else target.rpartition(".")[0] for target in imported(module)}
        targets -= {target.rpartition(".")[0] for target in targets}  # `from package import module` is no import of it
        strings = {node.value for node in ast.walk(ast.parse(source(module))) if isinstance(node, ast.Constant)}
        paths = {text for text in strings if isinstance(text, str) and text.startswith("scrapy_pagelets.")}
        targets |= {path if path in names else path.rpartition(".")[0] for path in paths}
        found.add_edges_from((name, target) for target in targets & names.keys() if (name, target) not in EXCEPTIONS)
    found.remove_edges_from(list(nx.selfloop_edges(found)))
    return found


def package_of(name: str) -> str:
    """The package below our own that a module is in; "" for a module that is directly in ours."""
    parts = name.split(".")
    return parts[1] if len(parts) > 2 or (PACKAGE / parts[-1] / "__init__.py").is_file() else ""


def layer(name: str) -> int:
    return LAYERS.index("middlewares") if package_of(name) == PIPELINES else _index(package_of(name))


def _index(name: str) -> int:
    return LAYERS.index(name) if name in LAYERS else 0


def test_no_import_goes_up():
    edges = graph().edges
    assert [f"{one} imports {other}" for one, other in edges if layer(one) < layer(other)] == []
    beside = {"middlewares", PIPELINES}
    assert [f"{one} imports {other}" for one, other in edges if {package_of(one), package_of(other)} == beside] == []


def test_algorithms_do_not_import_scrapy():
    assert [
        f"{module} imports {target}"
        for module in modules()
        if layer(name_of(module)) == 0
        for target in imported(module)
        if within(target, "scrapy") or within(target, "twisted")
    ] == []


def test_there_is_no_circle_of_modules_or_of_packages():
    modules_in_circles = [circle for circle in nx.strongly_connected_components(graph()) if len(circle) > 1]
    assert modules_in_circles == []
    packages = nx.DiGraph(
        (package_of(one), package_of(other)) for one, other in graph().edges if package_of(one) and package_of(other)
    )
    packages.remove_edges_from(list(nx.selfloop_edges(packages)))
    assert [circle for circle in nx.strongly_connected_components(packages) if len(circle) > 1] == []


def test_every_module_is_reached_from_a_crawl_or_a_command():
    reached = set().union(*(nx.descendants(graph(), entry) | {entry} for entry in ENTRIES))
    packages = {name_of(module) for module in modules() if module.name == "__init__.py"}
    assert set(graph()) - packages - reached == DEPRECATED


def test_no_two_modules_have_one_name():
    names = [name_of(module) for module in modules() if module.name != "__init__.py"]
    ours = Counter(name.rpartition(".")[2] for name in names if not name.startswith(ADAPTERS))
    assert [name for name, count in ours.items() if count > 1] == []


def test_no_two_public_classes_have_one_name():
    found = Counter(
        node.name
        for module in modules()
        for node in ast.parse(source(module)).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    assert [name for name, count in found.items() if count > 1] == []


def test_middlewares_holds_middlewares():
    files = [module for module in modules() if module.parts[0] == "middlewares" and module.name != "__init__.py"]
    assert files
    for module in files:
        classes = [node.name for node in ast.parse(source(module)).body if isinstance(node, ast.ClassDef)]
        assert [name for name in classes if name.endswith("Middleware")], module


def test_every_module_has_one_name():
    names = [".".join(("scrapy_pagelets", *module.with_suffix("").parts)) for module in modules()]
    code = "import importlib\n" + "".join(f"importlib.import_module({name!r})\n" for name in sorted(names))
    loaded = loaded_by(code.replace(".__init__'", "'"))
    assert [name for name in loaded if name.partition(".")[0] in LINKED] == []
    assert "scrapy_pagelets.crawler" in loaded


def test_algorithms_load_without_scrapy():
    loaded = loaded_by("import scrapy_pagelets")
    assert "scrapy_pagelets" in loaded
    assert loaded.isdisjoint({"scrapy", "twisted", "sklearn", "scipy", "duckdb", "datasketch"})


def test_the_schema_of_the_feed_loads_without_libraries():
    loaded = loaded_by("import scrapy_pagelets.feed.feed_schema")
    assert "scrapy_pagelets.feed.feed_schema" in loaded
    assert loaded.isdisjoint({"scrapy", "pyarrow", "numpy", "lxml"})


def test_scrapy_starts_without_the_heavy_libraries():
    loaded = loaded_by("import scrapy_pagelets, scrapy_pagelets.crawler.commands; scrapy_pagelets.Addon")
    assert "scrapy_pagelets.crawler.commands" in loaded
    assert loaded.isdisjoint({"sklearn", "scipy", "duckdb", "datasketch"})


def settings_in(text: str) -> set[str]:
    return set(re.findall(r"\bPAGELETS_[A-Z0-9_]*[A-Z0-9]\b", text))


def test_every_setting_has_a_default_and_a_paragraph():
    config = settings_in(source(Path("session/config.py")))
    documented = settings_in((ROOT / "docs" / "settings.md").read_text(encoding="utf-8"))
    used = {name for module in modules() for name in settings_in(source(module))}
    assert config
    assert used - config == set()
    assert config - documented == set()
    assert documented - config == set()
