"""The time that the add-on costs when Scrapy starts, in a fresh process each.

Compared are processes that import Scrapy alone, and with the package; the start of a command (``scrapy version``),
which imports the command of the package wherever it is installed; and a crawl without any request, with and without the
add-on. Kinds take turns. Wall time and CPU time of the process and its children count, the fastest of the repetitions.
The first round of several is not counted: it warms the caches of the system. ``--modules`` lists what takes longest to
import.

``--scripts FOLDER`` compares the console scripts ``pagelets clean`` and ``trafilatura -f`` instead, on a page of the
bundled site and of every fourth site: the folder is ``bin`` of a virtual environment that has both, installed as users
do.

    python -m benchmarks startup
    python -m benchmarks startup --modules 15
    python -m benchmarks startup --scripts /tmp/both/bin
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean, median
from time import perf_counter

from benchmarks.tools import ROOT, option_parser, sites_below, table

IMPORT = [sys.executable, "-c"]
CRAWL = """
import scrapy
from scrapy.crawler import CrawlerProcess
class Idle(scrapy.Spider):
    name = "idle"
    async def start(self):
        if False:
            yield
process = CrawlerProcess({"LOG_LEVEL": "ERROR", "ADDONS": %s})
process.crawl(Idle)
process.start()
"""
KINDS = {
    "Python": [*IMPORT, "pass"],
    "import scrapy": [*IMPORT, "import scrapy.crawler"],
    "import scrapy, the add-on": [*IMPORT, "import scrapy.crawler, scrapy_pagelets; scrapy_pagelets.Addon"],
    "scrapy version": [sys.executable, "-m", "scrapy", "version"],
    "a crawl of no page": [*IMPORT, CRAWL % "{}"],
    "the same with the add-on": [*IMPORT, CRAWL % "{'scrapy_pagelets.Addon': 500}"],
}


def main(argv: Sequence[str]) -> None:
    parser = option_parser(__name__, __doc__)
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--modules", type=int, default=0, metavar="N", help="list the N slowest imports of the add-on")
    parser.add_argument("--scripts", type=Path, metavar="FOLDER", help="compare pagelets and trafilatura of a folder")
    parser.add_argument("--data", type=Path, default=Path(".data"))
    args = parser.parse_args(argv)
    if args.modules:
        imports(args.modules)
        return
    if args.scripts:
        scripts(args.scripts.absolute(), args.data, args.repetitions)
        return
    best: dict[str, tuple[float, float]] = {}
    warming = args.repetitions > 1
    for turn in range(args.repetitions + warming):
        for kind, command in KINDS.items():
            found = measured(command)
            if turn >= warming:
                best[kind] = min(found, best.get(kind, found))
    first = next(iter(best.values()))
    rows = [
        [kind, f"{1000 * seconds:.0f}", f"{1000 * cpu:.0f}", f"{cpu / first[1]:.1f}"]
        for kind, (seconds, cpu) in best.items()
    ]
    table(["", "ms", "CPU ms", "x Python's own"], rows)


def measured(command: Sequence[str], page: Path | None = None) -> tuple[float, float]:
    """Seconds and CPU seconds of a process, which may get a page through a pipe."""
    body = page.read_text(encoding="utf-8", errors="replace") if page else None
    before, start = os.times(), perf_counter()
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, input=body, encoding="utf-8")
    seconds, after = perf_counter() - start, os.times()
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{done.stderr[-500:]}")
    children = (after.children_user + after.children_system) - (before.children_user + before.children_system)
    return seconds, children


def scripts(folder: Path, data: Path, repetitions: int) -> None:
    """Print the CPU time that each of two scripts takes for a page that it gets through a pipe."""
    found = (min(site.rglob("*.html"), default=None) for site in sorted(sites_below(data).iterdir())[::4])
    rows, ratios = [], []
    for page in filter(None, (ROOT / "tests" / "site" / "index.html", *found)):
        commands = [folder / "pagelets", "clean", "-"], [folder / "trafilatura", "-f", "--markdown"]
        ours, theirs = (min(measured(list(map(str, one)), page)[1] for _ in range(repetitions)) for one in commands)
        ratios.append(ours / theirs)
        rows.append([page.parent.name, f"{page.stat().st_size:,}", f"{ours:.2f}", f"{theirs:.2f}", f"{ratios[-1]:.2f}"])
    table(["a page of", "bytes", "pagelets clean, s", "trafilatura -f, s", "ratio"], rows)
    print(f"{len(ratios)} pages: ratio {fmean(ratios):.2f} in the mean, {median(ratios):.2f} in the median")


def imports(count: int) -> None:
    """Print what takes longest when the add-on crawls no page, as Python's import timer tells it."""
    command = [sys.executable, "-X", "importtime", *KINDS["the same with the add-on"][1:]]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    lines = (line.removeprefix("import time:").split("|") for line in done.stderr.splitlines() if "|" in line)
    found = [(int(own), int(whole), name.strip()) for own, whole, name in lines if own.strip().isdigit()]
    rows = [[name, f"{own / 1000:.1f}", f"{whole / 1000:.1f}"] for own, whole, name in sorted(found)[::-1][:count]]
    table(["module", "own ms", "ms with what it imports"], rows)
