"""Copies of the project, in which builds leave nothing behind for others."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
#: Cython checks the age of its own files, and makes them again if need be.
BUILT = shutil.ignore_patterns("*.so", "*.pyd", "__pycache__", "*.egg-info", "build", "dist", "out", ".*")


def copy_of_the_project(folder: Path) -> Path:
    """Copy the project without what builds leave behind, but for what Cython made of the sources, if that is newer."""
    shutil.copytree(ROOT, folder, symlinks=True, ignore=BUILT)
    shutil.copytree(ROOT / ".ci", folder / ".ci")
    return folder


def run(folder: Path, *command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a command of Python in a copy of the project; its output is text, errors among it."""
    return subprocess.run(
        [sys.executable, *command],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder), **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=1800,
    )


def modules(folder: Path) -> set[str]:
    """The names of the modules of the core that are built in a folder or below it."""
    found = (*folder.rglob("*.so"), *folder.rglob("*.pyd"))
    return {path.name.partition(".")[0] for path in found if path.parent.name == "core"}
