"""What a browser costs: the walk through pages of several sizes, and pages per second of an archive.

The walk: a page of the bundled site, with its body repeated until it has a given number of elements, is walked in the
browser and then built into a `Page`; the figures are medians of the repetitions. Pages per second: pages of a folder,
rendered concurrently, with style sheets and images from the folder. Seconds of two machines cannot be compared.

    python -m benchmarks rendering
    python -m benchmarks rendering --archive .data/segments/random --pages 40
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter

from lxml import etree
from playwright.async_api import Page as Shown
from playwright.async_api import Playwright, async_playwright

from benchmarks.tools import option_parser, table
from scrapy_pagelets import Page
from scrapy_pagelets.archives.reader import expand, records
from scrapy_pagelets.archives.resources import Resources
from scrapy_pagelets.page.page import decode, parse
from scrapy_pagelets.rendering.browser import Browser, launch_options
from scrapy_pagelets.rendering.page_load import Lookup
from scrapy_pagelets.rendering.page_load import walk as walk_through
from scrapy_pagelets.rendering.snapshot import Frame, page_of

PAGE = Path(__file__).parent.parent / "tests" / "site" / "reference" / "apache.html"
URL = "http://example.com/page.html"


def main(argv: Sequence[str]) -> None:
    parser = option_parser(__name__, __doc__)
    parser.add_argument("--elements", default="1850,9200", help="sizes of the pages for the walk")
    parser.add_argument("--repetitions", type=int, default=7)
    parser.add_argument("--archive", type=Path, help="a folder whose first level names the hosts")
    parser.add_argument("--pages", type=int, default=40, help="number of pages of the folder, at equal distances")
    args = parser.parse_args(argv)
    asyncio.run(measure(args))


async def measure(args: argparse.Namespace) -> None:
    async with async_playwright() as driver:
        rows = [await walk(driver, int(n), args.repetitions) for n in args.elements.split(",")]
        print("milliseconds, median of", args.repetitions)
        table(["elements", "rows", "kilobytes", "walk", "page and layout", "plain parse and nodes"], rows)
        if args.archive:
            rows = [await throughput(driver, args.archive, args.pages, scripts) for scripts in (False, True)]
            print()
            table(["scripts", "pages", "requests", "pages per second"], rows)


def enlarged(elements: int) -> str:
    """The page with the content of its body repeated until it has about that many elements."""
    root = parse(PAGE.read_text(encoding="utf-8"))
    body = root.find("body")
    assert body is not None
    content = "".join(etree.tostring(child, encoding="unicode", method="html") for child in body)
    return f"<!DOCTYPE html><html><body>{content * max(1, round(elements / len(list(body.iter()))))}</body></html>"


async def none(url: str) -> None:
    """Find no resource: style sheets are left out."""


async def walk(driver: Playwright, elements: int, repetitions: int) -> list[object]:
    browser = Browser(lambda: driver.chromium.launch(**launch_options()), scripts=False, timeout=60)
    document = enlarged(elements)
    walking: list[float] = []
    making: list[float] = []
    parsing: list[float] = []

    async def look(shown: Shown) -> None:
        for _ in range(repetitions):
            start = perf_counter()
            [(_, _, walked)] = await walk_through(shown)
            walking.append(perf_counter() - start)
            start = perf_counter()
            page_of([Frame(-1, 0, walked)], URL)
            making.append(perf_counter() - start)
            start = perf_counter()
            Page.parse(document.encode(), URL)
            parsing.append(perf_counter() - start)

    frames = await browser.render(URL, document, none, look=look)
    await browser.close()
    page = page_of(frames, URL)
    size = len(frames[0].walked) // 1000
    times = [f"{1000 * statistics.median(seconds):.0f}" for seconds in (walking, making, parsing)]
    return [len(page.root.xpath("//*")), len(page.nodes), size, *times]


async def throughput(driver: Playwright, folder: Path, pages: int, scripts: bool) -> list[object]:
    browser = Browser(lambda: driver.chromium.launch(**launch_options()), scripts=scripts)
    found = [record for source in expand(str(folder)) for record in records(source, "http://")]
    sample = found[:: max(1, len(found) // pages)][:pages]
    resources = Resources(expand(str(folder)), "http://")
    asked = 0

    async def lookup(url: str) -> tuple[str, bytes] | None:
        nonlocal asked
        asked += 1
        return await asyncio.to_thread(resources.get, url)

    await browser.render(URL, "", lookup)
    start = perf_counter()
    await asyncio.gather(*(rendered(browser, record.url, decode(record.body), lookup) for record in sample))
    seconds = perf_counter() - start
    await browser.close()
    return ["on" if scripts else "off", len(sample), asked, f"{len(sample) / seconds:.1f}"]


async def rendered(browser: Browser, url: str, document: str, lookup: Lookup) -> None:
    frames = await browser.render(url, document, lookup)
    await asyncio.to_thread(page_of, frames, url)
