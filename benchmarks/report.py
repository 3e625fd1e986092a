"""What the report costs on large feeds: time and memory of the command, bytes of the file, and time until it is shown.

The feed has pages of many sites and templates, with long texts in Chinese and long addresses, so that the report names
as much as it ever does. A browser shows the file when all of it is laid out, with all details closed or open.

    python -m benchmarks report
    python -m benchmarks report --pages 10000 1000000
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any, Final

from playwright.async_api import async_playwright

from benchmarks.inspector import waited
from benchmarks.tools import option_parser, table
from scrapy_pagelets.rendering.browser import launch_options

SITES: Final = 500
TEMPLATES: Final = 25
#: Texts that each template has, those of them that are on a page, and characters of each.
TEXTS: Final = 30
ON_PAGE: Final = 8
LONG: Final = 200


def main(argv: Sequence[str]) -> None:
    parser = option_parser(__name__, __doc__)
    parser.add_argument("--pages", type=int, nargs="+", default=[10_000, 100_000], help="pages of the feeds")
    args = parser.parse_args(argv)
    with TemporaryDirectory() as folder:
        rows = [row(Path(folder), pages) for pages in args.pages]
    table(
        ["pages", "feed, MB", "seconds", "megabytes of memory", "file, kilobytes", "seconds to show", "all open"], rows
    )


def row(folder: Path, pages: int) -> list[object]:
    feed, out = folder / "feed.jsonl", folder / "report.html"
    with feed.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(page(number), ensure_ascii=False) + "\n" for number in range(pages))
    command = [sys.executable, "-m", "scrapy", "pagelets", "report", str(feed), "--html", str(out)]
    start = perf_counter()
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        usage = waited(process)
    seconds = perf_counter() - start
    size, kilobytes = os.path.getsize(feed) // 1_000_000, os.path.getsize(out) // 1000
    return [f"{pages:,}", size, f"{seconds:.1f}", usage.ru_maxrss // 1000, kilobytes, *asyncio.run(opened(out))]


def page(number: int) -> dict[str, Any]:
    site = f"site-{number % SITES}.example"
    kind = number // SITES % TEMPLATES
    texts = [f"{site} {kind} {(number + text) % TEXTS} ".ljust(LONG, "字") for text in range(ON_PAGE)]
    return {
        "url": f"http://{site}/{number}/{'path/' * 40}",
        "template": {"id": f"{site}#{kind}", "pages": 20, "share": 0.5},
        "near_duplicate_of": f"http://{site}/{number % 997}/{'path/' * 40}" if number % 3 == 0 else None,
        "pagelets": list(pagelets(texts, number)),
    }


def pagelets(texts: Sequence[str], number: int) -> Iterator[dict[str, Any]]:
    """What is stripped, and a content that half of the pages share; of some pages nothing is left."""
    for text in texts:
        yield {"id": 0, "role": "template", "templateness": 0.9, "text": text, "words": 10}
    if number % 50:
        text = "a notice of the site" if number % 2 else f"the text of page {number} ".ljust(LONG, "文")
        yield {"id": 1, "role": "content", "templateness": 0.1, "text": text, "words": 300}


async def opened(path: Path) -> list[str]:
    """Seconds until a browser has laid the file out, and until it has done so with all details open."""
    async with async_playwright() as driver:
        browser = await driver.chromium.launch(**launch_options())
        tab = await browser.new_page()
        times = []
        for script in (None, "document.querySelectorAll('details').forEach(one => one.open = true)"):
            start = perf_counter()
            if script is None:
                await tab.goto(path.as_uri())
            else:
                await tab.evaluate(script)
            await tab.evaluate("new Promise(done => requestAnimationFrame(() => setTimeout(done)))")
            times.append(f"{perf_counter() - start:.2f}")
        await browser.close()
    return times
