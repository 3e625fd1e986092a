"""Make the pictures of the documents: the inspector and the report of three sites, and one page before and after.

The sites are the bundled manual (Apache License 2.0, `tests/site.LICENSE`), and a shop and a newspaper of our own.
Each is crawled by the spider `archive`, with all pagelets. The pictures are JPEG files of less than 200 kilobytes each.

    python -m benchmarks pictures --out docs/images
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.async_api import Browser, Page, async_playwright

from benchmarks.picture_sites import write
from benchmarks.tools import ROOT, last_lines, option_parser, run, table
from scrapy_pagelets.rendering.browser import launch_options

#: Width and height of a picture, in pixels.
_SIZE = {"width": 1280, "height": 800}
_QUALITY = 72


def main(argv: Sequence[str]) -> None:
    parser = option_parser(__name__, __doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "images", help="the folder for the pictures")
    args = parser.parse_args(argv)
    with TemporaryDirectory() as folder:
        pages = dict(sorted(crawled(Path(folder)).items()))
        asyncio.run(draw(args, Path(folder), pages))
    found = sorted(args.out.glob("view-*.jpg")) + sorted(args.out.glob("report-*.jpg"))
    table(["picture", "kilobytes"], [[path.name, path.stat().st_size // 1000] for path in found])


def crawled(folder: Path) -> dict[str, str]:
    """Write and crawl the sites; returns, by the name of a site, the page to show."""
    (folder / "docs").symlink_to(ROOT / "tests" / "site")
    pages = {
        "docs": "common_howto/quick.html",
        "shop": write(folder / "shop", "shop"),
        "news": write(folder / "news", "news"),
    }
    for name, page in pages.items():
        base, feed, store = f"http://{name}.example/", str(folder / f"{name}.jsonl"), str(folder / f"{name}.store")
        settings = ("-s", "PAGELETS_EXPORT=all", "-s", f"PAGELETS_STORE={store}")
        _scrapy(folder, "crawl", "archive", "-a", f"path={folder / name}", "-a", f"base={base}", "-O", feed, *settings)
        source = ("--page", base + page, "--source", str(folder / name), "--base", base, "--store", store)
        _scrapy(folder, "pagelets", "view", feed, *source, "--out", str(folder / f"view-{name}.html"))
        _scrapy(folder, "pagelets", "report", f"{name}.jsonl", "--html", f"report-{name}.html", at=folder)
    return pages


def _scrapy(folder: Path, *arguments: str, at: Path = ROOT) -> None:
    log = folder / "log.txt"
    if run(["scrapy", *arguments], log, at):
        sys.exit(f"scrapy {' '.join(arguments)} failed:\n{last_lines(log)}")


async def draw(args: argparse.Namespace, folder: Path, pages: dict[str, str]) -> None:
    args.out.mkdir(parents=True, exist_ok=True)
    async with async_playwright() as driver:
        browser = await driver.chromium.launch(**launch_options())
        for name in pages:
            tab = await opened(browser, folder / f"view-{name}.html")
            await tab.locator("#list button", has_text="navigation" if name != "news" else "template").first.click()
            await tab.locator("#shown").evaluate("shown => shown.scrollTo(0, 0)")
            await save(tab, args.out / f"view-{name}.jpg")
            await save(await opened(browser, folder / f"report-{name}.html"), args.out / f"report-{name}.jpg")
        tab = await opened(browser, folder / "view-news.html")
        await tab.select_option("#view", "markdown")
        await save(tab, args.out / "view-before-after.jpg")
        await browser.close()


async def opened(browser: Browser, path: Path) -> Page:
    tab = await browser.new_page(viewport={"width": _SIZE["width"], "height": _SIZE["height"]}, color_scheme="light")
    await tab.goto(path.as_uri())
    return tab


async def save(tab: Page, path: Path) -> None:
    await tab.screenshot(path=path, type="jpeg", quality=_QUALITY)
