"""How Sphinx builds these pages: ``make docs`` writes them to ``out/docs``; every warning is an error.

What can be read from the code is read from it when the pages are built: ``<!-- generated: commands -->`` in a page
stands for the options of all commands, as their parsers have them.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
os.environ["COLUMNS"] = "100"  # of the help of commands

import scrapy_pagelets  # noqa: E402 - it is found by the line above
from scrapy_pagelets.crawler.commands.all_commands import add_commands  # noqa: E402
from scrapy_pagelets.papers.methods import METHODS  # noqa: E402
from scrapy_pagelets.session.config import Config, setting_of  # noqa: E402

project = "scrapy-pagelets"
version = release = scrapy_pagelets.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["examples"]
html_theme = "furo"
html_title = f"{project} {version}"
myst_heading_anchors = 4
suppress_warnings = ["misc.highlighting_failure"]  # DuckDB has more syntax than SQL
autodoc_typehints = "none"
autodoc_member_order = "bysource"


def commands() -> Iterator[str]:
    """The help of each command."""
    parser = argparse.ArgumentParser()
    add_commands(parser, "pagelets")
    [subcommands] = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    for name, one in subcommands.choices.items():
        yield f"## {name}\n\n```text\n{one.format_help().strip()}\n```\n"


def default(value: object) -> str:
    """A default as a user would write it."""
    if value == "" or value is None:
        return "none"
    return f"`{','.join(value) if isinstance(value, tuple) else dict(value) if isinstance(value, Mapping) else value}`"


def settings() -> Iterator[str]:
    """Each setting with its default, as a row."""
    yield "| setting | default |\n|---|---|"
    for field in fields(Config):
        name = setting_of(field.name)
        yield f"| [{name}](settings.md#{name.lower()}) | {default(getattr(Config(), field.name))} |"


def segmenters() -> Iterator[str]:
    """Each segmenter with what it does, as a row."""
    yield "| segmenter | what it does |\n|---|---|"
    yield from (f"| `{name}` | {method.about} |" for name, method in METHODS.items())


def public_names() -> Iterator[str]:
    """The docstring of each public name."""
    for name in scrapy_pagelets.__all__:
        kind = "class" if isinstance(getattr(scrapy_pagelets, name), type) else "function"
        members = "   :members:\n" if kind == "class" else ""
        yield f"```{{eval-rst}}\n.. auto{kind}:: scrapy_pagelets.{name}\n{members}```\n"


def other_pages() -> Iterator[str]:
    """The pages that `index.md` does not name."""
    folder = ROOT / "docs"
    named = (folder / "index.md").read_text(encoding="utf-8").splitlines()
    pages = sorted(page.relative_to(folder).with_suffix("").as_posix() for page in folder.rglob("*.md"))
    yield from (page for page in pages if page not in ("index", *named))


GENERATED: dict[str, Callable[[], Iterator[str]]] = {
    "commands": commands,
    "other pages": other_pages,
    "segmenters": segmenters,
    "settings": settings,
    "public names": public_names,
}


def complete(app: object, page: str, source: list[str]) -> None:
    """Put what is generated in its place, and let links to pages above this folder lead to their copies in it."""
    text = re.sub(r"<!-- generated: (.+) -->", lambda found: "\n".join(GENERATED[found[1]]()), source[0])
    source[0] = re.sub(r"\]\((?:\.\./)*(CONTRIBUTING|CHANGELOG)\.md", lambda f: f"](/{f[1].lower()}.md", text)


def setup(app: object) -> None:
    """Called by Sphinx."""
    app.connect("source-read", complete)  # type: ignore[attr-defined]
