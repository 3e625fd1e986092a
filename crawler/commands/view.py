"""The command ``pagelets view``: a page with its pagelets, what is stripped, and why, as one HTML file."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from scrapy_pagelets.base.errors import CommandError, ConfigError
from scrapy_pagelets.crawler.commands.terminal import require_writable, show, terminal_width, warn
from scrapy_pagelets.decision.model import load
from scrapy_pagelets.feed.feed_reader import FeedError
from scrapy_pagelets.feed.page_record import RecordOptions
from scrapy_pagelets.feed.pagelet import Pagelet
from scrapy_pagelets.page.page import Page, parse
from scrapy_pagelets.papers import page_level
from scrapy_pagelets.papers.methods import CLASSIFIER
from scrapy_pagelets.rendering.browser import Browser, MissingBrowser, RenderError, launch_options, require_playwright
from scrapy_pagelets.rendering.snapshot import page_of
from scrapy_pagelets.rules.host_rules import Rules, read
from scrapy_pagelets.session.config import Config
from scrapy_pagelets.sites.site_cache import SiteCache
from scrapy_pagelets.sites.site_store import SiteStore

if TYPE_CHECKING:
    import playwright.async_api as playwright
    from playwright.async_api import FloatRect

    from scrapy_pagelets.inspector.contents import Inspected, Picture
    from scrapy_pagelets.inspector.inspection import PageSource

EXAMPLES: Final = (
    "pagelets view page.html --no-picture --out page-view.html",
    "pagelets view pages.jsonl --page https://example.com/ --no-picture",
)
USES_SETTINGS: Final = True
_MAX_HEIGHT: Final = 16_000  # largest height of a picture of a page, in pixels
_REQUEST: Final = "APIRequestContext.get: "  # how Playwright begins to say that an address cannot be loaded
#: Options of the browser's screenshot, by the suffix of the file to write.
_JPEG: Final = {"type": "jpeg", "quality": 40}
_PICTURES: Final[dict[str, dict[str, Any]]] = {".png": {"type": "png"}, ".jpg": _JPEG, ".jpeg": _JPEG}
_TEXT: Final = 80  # characters of a pagelet in the list


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("page", metavar="URL-or-file", help="address of a page, an HTML file, or a feed")
    parser.add_argument("--page", dest="of_feed", metavar="URL", help="the page of the feed")
    parser.add_argument("--source", metavar="FILE", help="HTML file, archive or folder with the page of the feed")
    parser.add_argument("--base", default="", metavar="URL", help="what precedes the paths of files in the source")
    parser.add_argument("--store", metavar="FOLDER", help="what a crawl has learnt (its PAGELETS_STORE or JOBDIR)")
    parser.add_argument("--rules", metavar="FILE", help="rules to apply, instead of those of PAGELETS_RULES")
    parser.add_argument("--method", help="segmentation method (default: that of PAGELETS_SEGMENTER)")
    parser.add_argument("--segments", type=int, metavar="N", help="wanted number of segments, for methods that take it")
    parser.add_argument("--whole", action="store_true", help="do not divide pagelets of both content and template")
    parser.add_argument("--no-scripts", action="store_true", help="do not run the scripts of the page")
    parser.add_argument("--no-picture", action="store_true", help="only the text of a file or a feed; needs no browser")
    parser.add_argument("--out", default="pagelets.html", metavar="FILE", help=".html, .png or .jpg (%(default)s)")


def run(options: argparse.Namespace) -> None:
    if _suffix(options.out) not in (".html", ".htm", *_PICTURES):
        raise CommandError(f"--out is {options.out}: give a file that ends in .html, .png or .jpg")
    if options.no_picture and _suffix(options.out) in _PICTURES:
        raise CommandError(f"--out is {options.out}, a picture, which --no-picture excludes: give a file in .html")
    require_writable(options.out)
    try:
        asyncio.run(_write(options))
    except (ConfigError, FeedError):
        raise
    except (MissingBrowser, RenderError, ImportError, OSError, ValueError) as error:
        said = str(error)
        hint = "; or use --no-picture" if isinstance(error, MissingBrowser) else ""
        if said.startswith(_REQUEST):
            said, hint = said.removeprefix(_REQUEST), "; check the URL and whether the site is up"
        raise CommandError(f"{options.page} cannot be shown: {said}{hint}") from None


def _suffix(name: str) -> str:
    return Path(name).suffix.lower()


async def _write(options: argparse.Namespace) -> None:
    from scrapy_pagelets.inspector.contents import contents, html_file
    from scrapy_pagelets.inspector.inspection import source_of

    config = Config.from_settings(options.settings)
    rules = read(name) if (name := options.rules or config.rules) else Rules()
    load(config.model)
    if config.detection == CLASSIFIER:
        page_level.load(config.classifier)
    source = source_of(options.page, config.limits, options.of_feed, options.source, options.base)
    if not options.no_picture:
        require_playwright()
    page, picture, notes = await _load(options, config, source)
    if page is not None:
        page = rules.mark(page)
        if selectors := rules.without_element():
            notes.append(f"These selectors match nothing on this page: {'; '.join(selectors)}.")
        if hosts := rules.without_page():
            notes.append(f"These rules are for other hosts: {'; '.join(hosts)}.")
    inspected = _inspected(options, config, page, source)
    inspected = replace(inspected, notes=[*inspected.notes, *notes], twin=source.twin, picture=picture)
    html = html_file(contents(inspected), picture.jpeg if picture else b"")
    if _suffix(options.out) in _PICTURES:
        await _draw(options.out, html)
    else:
        Path(options.out).write_text(html, encoding="utf-8")
    for line in listing(inspected.pagelets):
        show(line[: terminal_width()])
    for note in inspected.notes:
        warn(note)
    show(f"written: {options.out}")


def listing(pagelets: Sequence[Pagelet]) -> Iterator[str]:
    """The pagelets of a page, a line each."""
    yield "id, role, templateness, words and text of each pagelet:"
    for one in pagelets:
        text = " ".join(one.text[:_TEXT].split())
        yield f"{one.id:4} {one.role:10} {one.templateness:.2f} {one.words:6,} {text}"


async def _load(
    options: argparse.Namespace, config: Config, source: PageSource
) -> tuple[Page | None, Picture | None, list[str]]:
    """The page, its picture, and what cannot be shown; no page if all that is left of it is in the feed."""
    if options.no_picture:
        if source.html is None and source.line is None:
            advice = f"save it first (curl -L -o page.html {source.url}), or name the feed of a crawl with --page URL"
            raise ValueError(f"--no-picture loads no page: {advice}")
        return None if source.html is None else Page.from_root(parse(source.html), source.url), None, []
    try:
        page, picture = await _rendered(source, config, scripts=not options.no_scripts)
    except RenderError as error:
        if source.html is not None:
            page = Page.from_root(parse(source.html), source.url)
            return page, None, [f"The browser cannot show the page ({error}): only its text is shown."]
        if source.line is None:
            raise
        gone = f"The page cannot be fetched any more ({error}): only what the feed has of it is shown."
        return None, None, [f"{gone} If an archive or a folder has the page, name it with --source."]
    return page, picture, [] if picture else ["The browser cannot draw the page: only its text is shown."]


async def _rendered(source: PageSource, config: Config, *, scripts: bool) -> tuple[Page, Picture | None]:
    from playwright.async_api import Error, async_playwright

    from scrapy_pagelets.inspector.contents import Picture

    picture: Picture | None = None
    own: Page | None = None

    async def look(shown: playwright.Page) -> None:
        nonlocal picture
        size = "[innerWidth, Math.max(innerHeight, document.documentElement.scrollHeight)]"
        width, whole = await shown.evaluate(size)
        height = min(whole, _MAX_HEIGHT)
        clip: FloatRect = {"x": 0, "y": 0, "width": width, "height": height}
        with suppress(Error):  # a page may be too large to be drawn in time
            jpeg = await shown.screenshot(full_page=True, clip=clip, type="jpeg", quality=70)
            picture = Picture(jpeg, width, height, whole)

    async def received(response: playwright.Response) -> None:
        nonlocal own
        if response.status >= 400 and source.line is not None:  # the page is not there
            raise RenderError("failed", f"the server answers {response.status}")
        body, kind = await response.body(), await response.header_value("content-type")
        own = await asyncio.to_thread(Page.parse, body, source.url, kind, config.limits)

    resources = source.resources
    lookup = None if resources is None else lambda url: asyncio.to_thread(resources.get, url)
    async with async_playwright() as driver:
        browser = Browser(lambda: driver.chromium.launch(**launch_options()), scripts=scripts, timeout=60.0)
        try:
            frames = await browser.render(source.url, source.html, lookup, look=look, received=received)
        finally:
            await browser.close()
    return page_of(frames, source.url, own, config.limits), picture


def _inspected(options: argparse.Namespace, config: Config, page: Page | None, source: PageSource) -> Inspected:
    from scrapy_pagelets.inspector.inspection import by_feed, by_site, from_feed

    if page is None:
        assert source.line is not None
        return from_feed(source.line)
    store = options.store or config.store
    if store and not list(Path(store).glob("pagelets-sites-*.sqlite")):
        raise ValueError(f"the folder {store} has no store of sites: give the PAGELETS_STORE or JOBDIR of a crawl")
    method = options.method or config.segmenter
    given: dict[str, Any] = config.segmenter_options if method == config.segmenter else {}
    wanted = {"segments": options.segments} if options.segments else {}
    record_options = RecordOptions(segmenter=method, segmenter_options=given | wanted)
    with closing(SiteStore(Path(store) if store else None, load(config.model))) as kept:
        sites = SiteCache(
            kept, config.model, detection=config.detection, strict=config.strict, classifier=config.classifier
        )
        sites.learn(page)
        if source.line is not None:
            return by_feed(page, source.line, sites, stored=bool(store))
        return by_site(page, sites, record_options, whole=options.whole)


async def _draw(name: str, written: str) -> None:
    from playwright.async_api import async_playwright

    from scrapy_pagelets.rendering.browser import HEIGHT, WIDTH

    async with async_playwright() as driver:
        browser = await driver.chromium.launch(**launch_options())
        try:
            shown = await browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
            await shown.route("**/*", lambda route: route.fulfill(body=written, content_type="text/html"))
            await shown.goto("http://pagelets.invalid/#plain")
            await shown.screenshot(path=name, full_page=True, **_PICTURES[_suffix(name)])
        finally:
            await browser.close()
