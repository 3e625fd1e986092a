"""Run a benchmark: ``python -m benchmarks SUITE [options]``, from the root of the project.

Every module of this folder with a function ``main(argv)`` is a suite, under its own name.
"""

from __future__ import annotations

import argparse
import ast
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

FOLDER = Path(__file__).parent


def main() -> int | None:
    parser = argparse.ArgumentParser(
        "python -m benchmarks", description="Run a benchmark; each has options of its own: SUITE --help."
    )
    parser.add_argument("--list", action="store_true", help="print the names of all suites, and what they measure")
    parser.add_argument("suite", nargs="?", help="name of a suite, followed by its options")
    args, options = parser.parse_known_args(sys.argv[1:2])
    known = dict(suites())
    if args.list:
        width = max(map(len, known))
        print("\n".join(f"{name:{width}}  {about}" for name, about in known.items()))
        return None
    if args.suite not in known or options:
        parser.error(f"name a suite, one of {', '.join(known)}")
    status: int | None = import_module(f"benchmarks.{args.suite}").main(sys.argv[2:])
    return status


def suites() -> Iterator[tuple[str, str]]:
    """Each suite and the first line of its description; none is imported, because some need optional libraries."""
    for path in sorted(FOLDER.glob("*.py")):
        module = ast.parse(path.read_text(encoding="utf-8"))
        functions = {node.name for node in module.body if isinstance(node, ast.FunctionDef)}
        if "main" in functions and path.stem != "__main__":
            yield path.stem, (ast.get_docstring(module) or "").partition("\n")[0]


if __name__ == "__main__":
    sys.exit(main())
