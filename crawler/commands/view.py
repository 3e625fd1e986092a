"""The command ``scrapy pagelets view``: draw the pagelets of a page over a picture of it by a browser."""

from __future__ import annotations

import argparse
import asyncio
from base64 import b64encode
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from scrapy_pagelets.crawler.commands.terminal import show
from scrapy_pagelets.errors import CommandError
from scrapy_pagelets.session.config import Config

if TYPE_CHECKING:
    import playwright.async_api as playwright

    from scrapy_pagelets.page import Page
    from scrapy_pagelets.rules.host_rules import Rules
    from scrapy_pagelets.segmentation.pagelet import Pagelet

#: Colour of a role.
_COLORS: Final = {"content": "#1a7f37", "navigation": "#0969da", "template": "#bc4c00"}
_TIMEOUT: Final = 60.0
#: Options of the browser's screenshot, by the suffix of the file to write.
_PICTURES: Final[dict[str, dict[str, Any]]] = {
    ".png": {"type": "png"},
    ".jpg": {"type": "jpeg", "quality": 40},
    ".jpeg": {"type": "jpeg", "quality": 40},
}
_PAGES: Final = (".html", ".htm")
#: Largest height of a picture, in pixels.
_MAX_HEIGHT: Final = 16000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command to its parser."""
    parser.add_argument("page", metavar="URL-or-file", help="address of a page, or an HTML file")
    parser.add_argument("--method", default="pagelets", help="segmentation method (default: pagelets)")
    parser.add_argument("--segments", type=int, metavar="N", help="wanted number of segments, for methods that take it")
    parser.add_argument(
        "--whole", action="store_true", help="do not divide pagelets that have both content and template"
    )
    parser.add_argument("--no-scripts", action="store_true", help="do not run the scripts of the page")
    parser.add_argument(
        "--out",
        default="pagelets.html",
        metavar="FILE",
        help="file to write: .html, .png or .jpg (default: pagelets.html)",
    )


def run(options: argparse.Namespace) -> None:
    """Render the page, cut it into pagelets, and draw them."""
    from scrapy_pagelets.rendering.browser import MissingBrowser, RenderError, require_playwright
    from scrapy_pagelets.rules.host_rules import Rules
    from scrapy_pagelets.rules.rules_file import read

    if _suffix(options.out) not in (*_PAGES, *_PICTURES):
        raise CommandError(f"--out is {options.out}: give a file that ends in .html, .png or .jpg")
    name = Config.from_settings({"PAGELETS_RULES": options.settings.get("PAGELETS_RULES")}).rules
    rules = read(name) if name else Rules()
    try:
        require_playwright()
        asyncio.run(_view(options, rules))
    except (MissingBrowser, RenderError, ImportError, OSError, ValueError) as error:
        raise CommandError(f"{options.page} cannot be shown: {error}") from None


async def _view(options: argparse.Namespace, rules: Rules) -> None:
    from playwright.async_api import async_playwright

    from scrapy_pagelets.rendering.browser import Browser, launch_options
    from scrapy_pagelets.rendering.snapshot import page_of

    url, document, lookup = _source(options.page)
    picture = b""

    async def look(shown: playwright.Page) -> None:
        nonlocal picture
        picture = await shown.screenshot(full_page=True, type="jpeg", quality=80)

    async with async_playwright() as driver:
        browser = Browser(
            lambda: driver.chromium.launch(**launch_options()), scripts=not options.no_scripts, timeout=_TIMEOUT
        )
        frames = await browser.render(url, document, lookup, look=look)
        page = rules.mark(page_of(frames, url))
        pagelets = _pagelets(page, options)
        drawn = _drawn(page, pagelets, picture)
        if _suffix(options.out) in _PICTURES:
            await browser.render("http://pagelets.invalid/", drawn, _nothing, look=lambda p: _write(p, options.out))
        else:
            Path(options.out).write_text(drawn, encoding="utf-8")
        await browser.close()
    for pagelet in pagelets:
        show(f"{pagelet.id:4} {pagelet.role:10} {pagelet.templateness:.2f} {pagelet.words:5} {pagelet.text[:60]!r}")
    show(f"picture: {options.out}")


def _suffix(name: str) -> str:
    return Path(name).suffix.lower()


def _source(name: str) -> tuple[str, str | None, Any]:
    """URL, document and resources of a file; for a page on the web, the URL only."""
    from scrapy_pagelets.archives.resources import Resources
    from scrapy_pagelets.limits import Limits
    from scrapy_pagelets.page import decode

    if name.startswith(("http://", "https://")):
        return name, None, None
    path = Path(name).absolute()
    if not path.is_file():
        raise ValueError("there is no such file; an address begins with http:// or https://")
    resources = Resources([str(path.parent), str(Path.cwd())])

    async def lookup(url: str) -> tuple[str, bytes] | None:
        return await asyncio.to_thread(resources.get, url)

    document = decode(path.read_bytes())
    Limits().check(document)
    return path.as_uri(), document, lookup


async def _nothing(_: str) -> None:
    """Find no resource: the page contains all its resources."""


def _pagelets(page: Page, options: argparse.Namespace) -> list[Pagelet]:
    from scrapy_pagelets.segmentation.pagelet import segment
    from scrapy_pagelets.templates.site import Site

    site = Site(page.site)
    site.learn(page)
    wanted = {"segments": options.segments} if options.segments else {}
    templateness, _ = page.marks.applied(page.nodes, site.templateness(page))
    return segment(page, templateness, options.method, whole=options.whole, **wanted)


def _drawn(page: Page, pagelets: list[Pagelet], picture: bytes) -> str:
    """An HTML page, without other files, that shows the picture and the boxes of the pagelets."""
    assert page.layout is not None
    width, height = page.layout.page_width, min(page.layout.page_height, _MAX_HEIGHT)
    boxes = "".join(_box(page, pagelet) for pagelet in pagelets)
    image = b64encode(picture).decode()
    return f"""<!DOCTYPE html>
<html><head><meta charset="utf-8"><title>{escape(page.title or page.url)}</title><style>
html {{ overflow: auto }}
body {{ margin: 0; position: relative; width: {width}px; height: {height}px; overflow: hidden }}
img {{ position: absolute; left: 0; top: 0; width: {width}px }}
div {{ position: absolute; box-sizing: border-box; border: 2px solid; border-radius: 3px }}
b {{ position: absolute; right: 0; top: 0; padding: 0 4px; color: white; font: bold 13px sans-serif }}
</style></head><body><img src="data:image/jpeg;base64,{image}" alt="">
{boxes}</body></html>
"""


def _box(page: Page, pagelet: Pagelet) -> str:
    """HTML of boxes around the parts of a pagelet, with its number."""
    from scrapy_pagelets.text import roots

    layout = page.layout
    assert layout is not None
    color = _COLORS.get(pagelet.role, "#8250df")
    about = escape(f"{pagelet.id} {pagelet.role} {pagelet.templateness:.2f}, {pagelet.words} words", quote=True)
    frames = []
    for row in roots(page.nodes, pagelet.index):
        if layout.visible[row]:
            x, y, width, height = (float(c[row]) for c in (layout.x, layout.y, layout.width, layout.height))
            frames.append(
                f'<div title="{about}" style="left:{x:.0f}px;top:{y:.0f}px;width:{width:.0f}px;height:{height:.0f}px;'
                f'border-color:{color};background:{color}1a"><b style="background:{color}">{pagelet.id}</b></div>\n'
            )
    return "".join(frames)


async def _write(shown: playwright.Page, name: str) -> None:
    await shown.screenshot(path=name, full_page=True, **_PICTURES[_suffix(name)])
