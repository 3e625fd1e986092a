"""Folders, rooms, imports and settings are what pyproject.toml and the documents say."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import networkx as nx
import pytest

from scrapy_pagelets.crawler.commands.all_commands import COMMANDS

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "scrapy_pagelets"
LINKED = ("crawler", "middlewares", "pipelines")
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))

#: Each room with a sentence on it, from the ground; an import never goes up. The package itself is one, `__init__.py`.
ROOMS = dict(
    re.findall(r"^\| `(\w+)` \| (.+) \|$", (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"), re.MULTILINE)
)
FLOORS = {room: floor for floor, room in enumerate(ROOMS)}
#: The one exception: the package imports the add-on when somebody asks for it by name.
EXCEPTIONS = {("scrapy_pagelets", "scrapy_pagelets.crawler.addon"), ("scrapy_pagelets", "scrapy_pagelets.crawler")}
#: Attributes of named tuples, and of lxml's elements in Cython, that are public in spite of their names.
PUBLIC = {"_asdict", "_c_node", "_doc", "_fields", "_make", "_replace"}
#: Where a crawl or a command begins.
ENTRIES = ("scrapy_pagelets", "scrapy_pagelets.crawler.addon", "scrapy_pagelets.crawler.settings",
           "scrapy_pagelets.crawler.commands", "scrapy_pagelets.crawler.console",
           "scrapy_pagelets.crawler.spiders.site_spider",
           "scrapy_pagelets.crawler.spiders.archive", "scrapy_pagelets.crawler.monitors")  # fmt: skip


def files(*suffixes: str) -> Iterator[Path]:
    """The files of the package with some suffixes, relative to it, as seen through the links."""
    for folder, folders, names in os.walk(PACKAGE, followlinks=True):
        folders[:] = [name for name in folders if name != "__pycache__"]
        yield from (Path(folder, name).relative_to(PACKAGE) for name in names if name.endswith(suffixes))


def modules() -> Iterator[Path]:
    """Every module in Python."""
    yield from files(".py")


def compiled_sources() -> Iterator[Path]:
    """Every module in Cython, and what such modules share."""
    yield from files(".pyx", ".pxd")


def source(module: Path) -> str:
    return (PACKAGE / module).read_text(encoding="utf-8")


@cache
def nodes_of(module: Path) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(ast.parse(source(module))))


def name_of(module: Path) -> str:
    return ".".join(("scrapy_pagelets", *module.with_suffix("").parts)).removesuffix(".__init__")


def imported(module: Path) -> set[str]:
    """The modules that a module imports anywhere, in functions and for type checkers too."""
    if module.suffix != ".py":
        found = set(re.findall(r"^\s*(?:from|c?import)\s+([\w.]+)", source(module), re.MULTILINE))
        for package, names in re.findall(r"^\s*from\s+([\w.]+)\s+c?import\s+(.+)", source(module), re.MULTILINE):
            found |= {f"{package}.{name.split()[0]}" for name in names.split(",") if name.strip()}
        return found
    found = set()
    for node in nodes_of(module):
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


@cache
def graph() -> nx.DiGraph:
    """Which modules import which, by name; a component that is named in a string is imported as well."""
    names = {name_of(module) for module in (*modules(), *compiled_sources())}
    found = nx.DiGraph()
    found.add_nodes_from(names)
    for module in (*modules(), *compiled_sources()):
        name = name_of(module)
        targets = {target if target in names else target.rpartition(".")[0] for target in imported(module)}
        targets -= {target.rpartition(".")[0] for target in targets}  # `from package import module` is no import of it
        strings = (
            {node.value for node in nodes_of(module) if isinstance(node, ast.Constant)} if is_python(module) else ()
        )
        paths = {text for text in strings if isinstance(text, str) and text.startswith("scrapy_pagelets.")}
        targets |= {path if path in names else path.rpartition(".")[0] for path in paths}
        found.add_edges_from((name, target) for target in targets & names if (name, target) not in EXCEPTIONS)
    found.remove_edges_from(list(nx.selfloop_edges(found)))
    return found


def is_python(module: Path) -> bool:
    return module.suffix == ".py"


def room_of(name: str) -> str:
    """The room that a module is in."""
    parts = name.split(".")
    return parts[1] if parts[1:] and parts[1] in FLOORS else parts[0]


def test_the_table_of_rooms_has_each_room_and_its_sentence():
    folders = {module.parts[0] for module in modules() if len(module.parts) > 1}
    assert set(ROOMS) == folders | {"scrapy_pagelets"}
    for room, sentence in ROOMS.items():
        module = Path("__init__.py") if room == "scrapy_pagelets" else Path(room, "__init__.py")
        docstring = ast.get_docstring(ast.parse(source(module))) or ""
        assert " ".join(docstring.partition("\n\n")[0].split()) == sentence, f"of {room} in CONTRIBUTING.md"


def test_no_import_goes_up():
    edges = [(one, other, room_of(one), room_of(other)) for one, other in graph().edges]
    assert [f"{one} imports {other}" for one, other, low, high in edges if FLOORS[low] < FLOORS[high]] == []
    beside = {"middlewares", "pipelines"}
    assert [f"{one} imports {other}" for one, other, here, there in edges if {here, there} == beside] == []


def test_algorithms_do_not_import_scrapy():
    assert [
        f"{module} imports {target}"
        for module in (*modules(), *compiled_sources())
        if FLOORS[room_of(name_of(module))] < FLOORS["session"]
        for target in imported(module)
        if within(target, "scrapy") or within(target, "twisted")
    ] == []


def test_there_is_no_circle_of_modules_or_of_rooms():
    rooms = nx.DiGraph((room_of(one), room_of(other)) for one, other in graph().edges)
    rooms.remove_edges_from(list(nx.selfloop_edges(rooms)))
    for found in (graph(), rooms):
        assert [circle for circle in nx.strongly_connected_components(found) if len(circle) > 1] == []


def private(names: Iterable[str]) -> set[str]:
    return {name for name in names if name.startswith("_") and not name.endswith("__")} - PUBLIC


def private_attributes(module: Path) -> set[str]:
    """The private attributes that a module gives to classes and their objects."""
    if not is_python(module):
        return private(re.findall(r"\bself\.(_\w+)", source(module)))
    found = {
        node.attr for node in nodes_of(module) if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
    }
    for member in (member for node in nodes_of(module) if isinstance(node, ast.ClassDef) for member in node.body):
        if isinstance(member, ast.FunctionDef | ast.AsyncFunctionDef):
            found.add(member.name)
        for target in [*getattr(member, "targets", ()), getattr(member, "target", None)]:
            found |= {target.id} if isinstance(target, ast.Name) else set()
    return private(found)


def private_reads(module: Path) -> set[str]:
    """The private attributes that a module reads, of whatever object."""
    if not is_python(module):
        return private(re.findall(r"\.(_\w+)", source(module)))
    return private(node.attr for node in nodes_of(module) if isinstance(node, ast.Attribute))


def private_imports(module: Path) -> set[str]:
    """The full names of what is private in our modules, and is imported from them or read of them."""
    found: set[str] = set()
    ours: dict[str, str] = {}
    for node in nodes_of(module):
        if isinstance(node, ast.ImportFrom) and within(str(node.module), "scrapy_pagelets"):
            ours |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
            found |= {f"{node.module}.{name}" for name in private(alias.name for alias in node.names)}
    for node in nodes_of(module):
        if isinstance(node, ast.Attribute) and private([node.attr]) and ours.get(ast.unparse(node.value)) in graph():
            found.add(f"{ours[ast.unparse(node.value)]}.{node.attr}")
    return found


def test_no_room_uses_a_private_name_of_another():
    sources = {module: room_of(name_of(module)) for module in (*modules(), *compiled_sources())}
    attributes: dict[str, set[str]] = {room: set() for room in ROOMS}
    for module, room in sources.items():
        attributes[room] |= private_attributes(module)
    found = [
        f"{module} imports {name}"
        for module, room in sources.items()
        for name in (private_imports(module) if is_python(module) else ())
        if room_of(name) != room
    ]
    found += [
        f"{module} reads {name} of {other}"
        for module, room in sources.items()
        for name in private_reads(module) - attributes[room]
        for other in ROOMS
        if name in attributes[other]
    ]
    assert found == []


def test_every_module_is_reached_from_a_crawl_or_a_command():
    commands = {module for _, module in COMMANDS.values()}
    reached = set().union(*(nx.descendants(graph(), entry) | {entry} for entry in (*ENTRIES, *commands)))
    packages = {name_of(module) for module in modules() if module.name == "__init__.py"}
    compiled = {name_of(module) for module in compiled_sources()}  # `core` imports all that were built
    assert set(graph()) - packages - compiled - reached == set()


def test_module_names_say_which_module_is_meant():
    """The command ``search`` and the function that it calls may share one."""
    stems = Counter(module.stem for module in modules() if module.name != "__init__.py")
    assert [stem for stem, count in stems.items() if count > 1] == ["search"]


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


def test_sqlite_gets_its_options_by_name():
    """Python 3.13 warns of others, and 3.15 refuses them."""
    opened = [
        (module, node)
        for module in modules()
        for node in nodes_of(module)
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "sqlite3.connect"
    ]
    assert opened
    assert [module for module, node in opened if len(node.args) > 1] == []


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


def test_the_template_of_pages_that_link_each_other_needs_no_scipy():
    loaded = loaded_by(
        "from scrapy_pagelets import Page\n"
        "from scrapy_pagelets.evidence.etdm import extract\n"
        "import scrapy_pagelets.middlewares.subdigraph\n"
        "pages = [b'<p><b>a</b><i>b</i><p><b>c', b'<p>d<p><b>e</b>f']\n"
        "one, other = (Page.parse(page, 'http://a.test/').nodes for page in pages)\n"
        "assert extract(one, [other])[0].any()"
    )
    assert "scrapy_pagelets.core.assignment" in loaded
    assert "scipy" not in loaded


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
