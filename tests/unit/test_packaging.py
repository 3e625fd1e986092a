"""The image, and what CI tests with the oldest and the newest dependencies."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

from tests.crawling import ROOT

HADOLINT = shutil.which("hadolint", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def instructions(name):
    joined = DOCKERFILE.replace("\\\n", " ")
    return re.findall(rf"^{name} (.+)$", joined, re.MULTILINE)


def test_the_image_is_slim_and_runs_as_no_root():
    assert {image.split()[0] for image in instructions("FROM")} == {"python:3.13-slim"}
    last = DOCKERFILE.rpartition("FROM ")[2]
    assert re.search(r"^USER [1-9]\d*$", last, re.MULTILINE)
    assert "g++" not in last  # compilers stay in the stage that builds


def test_the_dockerfile_has_no_fault_that_a_linter_knows():
    """Where Docker is missing, the image is not built: the linter reads how it would be."""
    assert HADOLINT, "hadolint is not installed: it is in the extra dev"
    done = subprocess.run([HADOLINT, "--no-color", ROOT / "Dockerfile"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


def test_the_image_keeps_no_caches():
    for command in instructions("RUN"):
        assert "apt-get install" not in command or "rm -rf /var/lib/apt/lists/*" in command
        assert "pip install" not in command or "--no-cache-dir" in command


def test_what_the_image_copies_is_all_that_a_build_needs():
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").split()
    assert ignored[0] == "*"
    kept = {line[1:] for line in ignored if line.startswith("!")}
    assert {path for path in kept if not (ROOT / path).exists()} == set()
    packages = {folder.split("/")[0] for folder in PYPROJECT["tool"]["setuptools"]["package-dir"].values()}
    needed = {"pyproject.toml", "setup.py", PYPROJECT["project"]["readme"], *PYPROJECT["project"]["license-files"]}
    assert packages | needed <= kept


def test_the_oldest_dependencies_of_tox_are_those_of_the_project():
    oldest = PYPROJECT["tool"]["tox"]["env"]["oldest"]["deps"]
    pinned = dict(line.split("==") for line in oldest)
    lowest = dict(line.partition(",")[0].split(">=") for line in PYPROJECT["project"]["dependencies"])
    assert {name: version.rstrip(".*") for name, version in pinned.items()} == lowest


def test_tox_builds_the_core_in_the_checkout_whose_tests_it_runs():
    assert PYPROJECT["tool"]["tox"]["env_run_base"]["package"] == "editable"


def test_ci_runs_the_environments_of_tox():
    ci = (ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
    environments = set(re.findall(r"tox: (\w+)", ci)) | set(re.findall(r"- tox: (\w+)", ci))
    assert environments == set(PYPROJECT["tool"]["tox"]["env_list"])
    assert "continue-on-error: ${{ matrix.tox == 'master' }}" in ci
