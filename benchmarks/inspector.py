"""What the inspector costs on large pages: time, memory and bytes of the command, and time until a browser shows it.

The pages: one of the bundled site, with its body repeated until it has nearly as many nodes as PAGELETS_MAX_NODES
allows; a list of links; paragraphs of 10 MB; one text of 10 MB. Seconds of two machines cannot be compared.

    python -m benchmarks inspector
    python -m benchmarks inspector --no-picture
"""

from __future__ import annotations

import argparse
import asyncio
import os
import resource
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

from playwright.async_api import async_playwright

from benchmarks.rendering import enlarged
from benchmarks.tools import option_parser, table
from scrapy_pagelets.rendering.browser import launch_options

_SENTENCES = "All there is to say of the matter. " * 30


def main(argv: Sequence[str]) -> None:
    parser = option_parser(__name__, __doc__)
    parser.add_argument("--no-picture", action="store_true", help="without a browser, as the option of the command")
    parser.add_argument("--scale", type=float, default=1.0, help="size of the pages, as a multiple")
    args = parser.parse_args(argv)
    with TemporaryDirectory() as folder:
        rows = [row(Path(folder), name, page, args) for name, page in pages(args.scale).items()]
    table(["page", "megabytes", "seconds", "megabytes of memory", "file, kilobytes", "seconds to show"], rows)


def pages(scale: float) -> dict[str, str]:
    return {
        "95,000 nodes": enlarged(round(95_000 * scale)),
        "45,000 links": "".join(f"<li><a href=/{n}>Entry {n}</a>" for n in range(round(45_000 * scale))),
        "paragraphs": "".join(f"<h2>Part {n}</h2><p>{_SENTENCES}" for n in range(round(9_500 * scale))),
        "one text": f"<h1>One</h1><pre>{'word ' * round(2_000_000 * scale)}",
    }


def row(folder: Path, name: str, page: str, args: argparse.Namespace) -> list[object]:
    source, out = folder / "page.html", folder / "out.html"
    source.write_text(f"<!DOCTYPE html><title>{name}</title>{page}", encoding="utf-8")
    command = [sys.executable, "-m", "scrapy", "pagelets", "view", str(source), "--out", str(out)]
    start = perf_counter()
    with subprocess.Popen([*command, *(["--no-picture"] * args.no_picture)], stdout=subprocess.DEVNULL) as process:
        usage = waited(process)
    seconds = perf_counter() - start
    shown = asyncio.run(opened(out))
    megabytes, kilobytes = source.stat().st_size / 1e6, out.stat().st_size // 1000
    return [name, f"{megabytes:.1f}", f"{seconds:.1f}", usage.ru_maxrss // 1000, kilobytes, f"{shown:.1f}"]


def waited(process: subprocess.Popen[bytes]) -> resource.struct_rusage:
    """Wait for a command; returns what it has used, without the browser."""
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"the command failed with {process.returncode}")
    return usage


async def opened(path: Path) -> float:
    """Seconds until the text by pagelet is laid out."""
    async with async_playwright() as driver:
        browser = await driver.chromium.launch(**launch_options())
        tab = await browser.new_page()
        start = perf_counter()
        await tab.goto(path.as_uri())
        await tab.select_option("#view", "text")
        await tab.evaluate("document.body.offsetHeight")
        seconds = perf_counter() - start
        await browser.close()
    return seconds
