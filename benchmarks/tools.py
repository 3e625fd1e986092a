"""Helpers of the benchmarks: tables, the folders they need, the functions of the referee (the evaluation scripts)."""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from scrapy_pagelets.base.arrays import Floats
from scrapy_pagelets.training.training_tables import fold_of

ROOT = Path(__file__).resolve().parent.parent


def table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Print rows below a head: the first column aligned left, the others right."""
    cells = [list(head), *([_cell(value) for value in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for number, row in enumerate(cells):
        print(
            "  ".join(
                [row[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True))]
            ).rstrip()
        )
        if not number:
            print("  ".join("-" * width for width in widths))


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def option_parser(module: str, description: str | None) -> argparse.ArgumentParser:
    """A parser of the options of a suite, given its module's name and docstring."""
    return argparse.ArgumentParser(
        f"python -m {module.replace('.', ' ')}",
        description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def need(path: Path, what: str) -> Path:
    """Return the path, or exit with a message if it does not exist."""
    if not path.exists():
        sys.exit(f"{path} does not exist: {what}")
    return path


def sites_below(data: Path) -> Path:
    """Return the folder of the sites in the data."""
    return need(data / "sites", "the benchmarks need a folder of sites below --data, with sites.json and gold.jsonl.gz")


def names(only: str) -> set[str]:
    """Split a comma-separated list of names."""
    return {name.strip() for name in only.split(",") if name.strip()}


def fold(site: str, *, by_site: bool = False) -> int:
    """Fold of a site, or of the host of a page, in the cross-validation of ``train.sh``, or in one without families."""
    return fold_of(site if by_site else families().get(site, site))


def families() -> dict[str, str]:
    """The family of each site that has one, such as those of one generator."""
    found: dict[str, str] = json.loads((ROOT / "benchmarks" / "families.json").read_text(encoding="utf-8"))
    return found


def log_odds(templateness: Floats) -> Floats:
    """Log odds of probabilities."""
    within = np.clip(templateness, 1e-9, 1 - 1e-9)
    return np.log(within / (1 - within))


def referee(folder: Path, name: str = "score") -> ModuleType:
    """Load the referee's ``score.py``, or another program of its folder."""
    path = need(folder / f"{name}.py", "name the folder of the referee (score.py and crawl_sites.py) with --referee")
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run(command: Sequence[str], log: Path | None = None, folder: Path = ROOT) -> int:
    """Run a command in a folder, with the ``scrapy`` beside this Python; return its exit code."""
    path = os.pathsep.join((os.path.dirname(sys.executable), os.environ.get("PATH", "")))
    environment = os.environ | {"PATH": path}
    if log is None:
        return subprocess.call(command, cwd=folder, env=environment)
    with open(log, "w", encoding="utf-8") as file:
        return subprocess.call(command, cwd=folder, env=environment, stdout=file, stderr=file)


def last_lines(log: Path, count: int = 3) -> str:
    """Return the last lines of a log."""
    return "\n".join(log.read_text(encoding="utf-8").splitlines()[-count:])
