"""The instructions that cleaning a page takes, counted by callgrind, which no other process can disturb.

Ten pages of the site in the repository are parsed, and cleaned with their site known, once to warm up and once under
callgrind. The figures are means over the pages, in millions. They depend on the interpreter and the compiler, and vary
by three per mille. A test compares that of cleaning with the one recorded in ``instructions.json``.

    python -m benchmarks instructions
    python -m benchmarks instructions --record     # when a change is worth more instructions
"""

from __future__ import annotations

import gc
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence

from benchmarks.tools import ROOT, option_parser, table
from scrapy_pagelets import Page, Site

RECORD = ROOT / "benchmarks" / "instructions.json"
PAGES = 10
STEPS = ("parse", "clean")


def main(argv: Sequence[str]) -> None:
    parser = option_parser(__name__, __doc__)
    parser.add_argument("--record", action="store_true", help="write the figures down, as what the test allows")
    args = parser.parse_args(argv)
    found = {step: counted(step) for step in STEPS}
    if args.record:
        RECORD.write_text(json.dumps({"interpreter": interpreter(), **found}, indent=2) + "\n", encoding="utf-8")
    recorded = json.loads(RECORD.read_text("utf-8"))
    rows = [[step, f"{found[step]:.2f}", f"{recorded[step]:.2f}"] for step in STEPS]
    table(["millions of instructions a page", "now", "recorded"], rows)


def interpreter() -> str:
    """What the figures depend on."""
    return f"{platform.python_version()}, {platform.python_compiler()}, {platform.machine()}"


def counted(step: str) -> float:
    """Millions of instructions that a step takes for a page."""
    with tempfile.TemporaryDirectory() as folder:
        command = ["valgrind", "--tool=callgrind", "--instr-atstart=no", f"--callgrind-out-file={folder}/out"]
        command += [sys.executable, "-c", f"from benchmarks.instructions import repeat; repeat({step!r})"]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    match = re.search(r"I\s+refs:\s+([\d,]+)", done.stderr)
    if done.returncode or match is None:
        raise RuntimeError(f"callgrind failed: {done.stderr[-500:]}")
    return int(match[1].replace(",", "")) / PAGES / 1e6


def repeat(step: str) -> None:
    """Take a step for all pages twice; callgrind counts the second time."""
    paths = sorted((ROOT / "tests" / "site").rglob("*.html"))[:PAGES]
    pages = [(path.read_bytes(), f"http://example.com/{path.name}") for path in paths]
    of_page: Callable[[bytes, str], object] = Page.parse if step == "parse" else Site.of(pages).clean
    for counts in (False, True):
        if counts:
            gc.collect()
            gc.freeze()  # when Python scans what was loaded before is chance
            control("on")
        for body, url in pages:
            getattr(of_page(body, url), "text", None)
    gc.collect()  # what pages leave in cycles must be freed as well
    control("off")


def control(state: str) -> None:
    """Switch the counting of this process on or off."""
    subprocess.run(["callgrind_control", "-i", state, str(os.getpid())], check=True, capture_output=True)
