"""The command ``pagelets template``: the template of a site as HTML, from a store or a crawl."""

import argparse
import logging
from collections.abc import Iterator
from dataclasses import replace
from logging.handlers import BufferingHandler
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from scrapy_pagelets.base.characters import lazily
from scrapy_pagelets.base.display import counted
from scrapy_pagelets.base.errors import CommandError, StoreError
from scrapy_pagelets.crawler.commands.terminal import require_folder, saving, show, tell, warn, write
from scrapy_pagelets.evidence.site_counts import PageClass
from scrapy_pagelets.evidence.template_html import template_html
from scrapy_pagelets.sites.site_store import FILES, read_sites

EXAMPLES: Final = (
    "pagelets template https://example.com/ > template.html",
    "pagelets template knowledge/ --out templates/",
)
USES_SETTINGS: Final = True
_SETTINGS: Final = {  # settings of the crawl of a site: nothing of it stays but its store
    "PAGELETS_DETECTION": "etdm", "PAGELETS_INDEX": "", "ITEM_PIPELINES": {}, "FEEDS": {}, "JOBDIR": "",
    "LOG_ENABLED": False, "LOG_FILE": None,
}  # fmt: skip
_NAMED: Final = 20  # number of other classes that are named
_UNSAFE: Final = lazily(r"[^\w.#-]")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("source", metavar="STORE-or-URL", help="a PAGELETS_STORE, folder or file, or URL of a page")
    parser.add_argument("--site", metavar="NAME", help="only classes of this site")
    parser.add_argument("--class", dest="number", type=int, metavar="N", help="class of this number (default: largest)")
    parser.add_argument("--out", metavar="FOLDER", help="write the templates of all classes, a file for each of them")


def run(options: argparse.Namespace) -> None:
    if options.out:
        require_folder(options.out)
    path = Path(options.source)
    if options.source.startswith(("http://", "https://")):
        found = _of_url(options.source, options)
    else:
        found = _of_folder(path) if path.is_dir() else _of_store(path)
    classes = _chosen(found, options)
    if options.out:
        _write_all(classes, Path(options.out), options.source)
    else:
        _print_largest(list(classes), options.source)


def _chosen(classes: Iterator[PageClass], options: argparse.Namespace) -> Iterator[PageClass]:
    """The classes that the options name, one at least."""
    sites, found = dict[str, None](), False
    for one in classes:
        site = _site(one)
        sites[site] = None
        if options.site in (None, site) and options.number in (None, one.number + 1):
            found = True
            yield one
    if not sites:
        raise CommandError(f"{options.source} cannot be used: it has no template, crawl the sites again")
    if not found and options.site not in (None, *sites):
        names = ", ".join(list(sites)[:_NAMED]) + (", ..." if len(sites) > _NAMED else "")
        raise CommandError(f"{options.source} has no site {options.site}, but {names}")
    if not found:
        raise CommandError(f"{options.source} has no class of pages with the number {options.number}")


def _print_largest(classes: list[PageClass], source: str) -> None:
    """Print the template of the largest class with a template, and name the other classes on standard error."""
    classes.sort(key=lambda one: -one.pages)
    found = ((number, html) for number, one in enumerate(classes) if (html := _html(one)))
    number, html = next(found, (0, ""))
    if not html:
        raise _nothing(source)
    write(html.rstrip())
    for one in classes[:number][:_NAMED]:
        warn(_without(one))
    others = classes[number + 1 :]
    for one in others[:_NAMED]:
        warn(f"--site {_site(one)} --class {one.number + 1} has {counted(one.pages, 'page')}")
    if len(others) > _NAMED:
        warn(f"and {len(others) - _NAMED} more classes: --out FOLDER writes all templates")


def _write_all(classes: Iterator[PageClass], folder: Path, source: str) -> None:
    written = set()
    for one in classes:
        html, path = _html(one), folder / f"{_UNSAFE.sub('_', one.id)[-100:]}.html"
        if not html:
            warn(_without(one))
        elif path not in written:
            written.add(path)
            with saving(path):
                folder.mkdir(parents=True, exist_ok=True)
                path.write_text(html, encoding="utf-8")
            show(f"{path}: {one.id}, {counted(one.pages, 'page')}")
    if not written:
        raise _nothing(source)


def _site(one: PageClass) -> str:
    return one.id.rpartition("#")[0]


def _html(one: PageClass) -> str:
    """The template of a class as HTML, "" if its pages have too little in common."""
    return "" if one.template is None else template_html(one.template, one.id)


def _without(one: PageClass) -> str:
    why = "only one page of it is known" if one.pages == 1 else f"its {one.pages} pages have too little in common"
    return f"{one.id} has no template: {why}"


def _nothing(source: str) -> CommandError:
    return CommandError(f"{source} has no template: no class of pages has enough in common")


def _of_folder(folder: Path) -> Iterator[PageClass]:
    """The classes of all stores in a folder, the newest store first."""
    stores = sorted(folder.glob(FILES), key=lambda path: -path.stat().st_mtime)
    if not stores:
        raise CommandError(f"{folder} cannot be used: it has no store of sites, {FILES}")
    errors = []
    for path in stores:
        try:
            yield from _of_store(path)
        except StoreError as error:
            errors.append(error)
    if len(errors) == len(stores):
        raise errors[0]
    for problem in errors:
        warn(problem)


def _of_store(path: Path) -> Iterator[PageClass]:
    for _, site in read_sites(path):
        for one in site.classes:
            if one.template is not None:
                yield replace(one, pages=max(one.pages, one.template.voters))


def _of_url(url: str, options: argparse.Namespace) -> Iterator[PageClass]:
    """The classes of a site with pages that link each other, found by a crawl of a page and of pages of its menu."""
    with TemporaryDirectory(prefix="pagelets-") as folder:
        tell(f"loading {url} and pages of its menu")
        problem = _crawl(url, folder, options)
        sites = [site for path in Path(folder).glob(FILES) for _, site in read_sites(path)]
    classes = [one for site in sites for one in site.classes]
    if not classes:
        raise CommandError(f"{url} cannot be used: {problem}")
    found = [(one, template) for one in classes if (template := one.subdigraph_template) is not None]
    if not found:
        raise CommandError(f"{url} has no template: no two pages that link each other were found")
    yield from (replace(one, pages=template.voters) for one, template in found)


def _crawl(url: str, store: str, options: argparse.Namespace) -> str:
    """Crawl a page, and the pages that its template needs, as the project crawls; return the last error of the log."""
    from scrapy.crawler import AsyncCrawlerProcess

    from scrapy_pagelets.crawler.commands.crawling import project_settings
    from scrapy_pagelets.crawler.spiders.site_spider import SiteSpider

    settings = project_settings(options)
    settings.setdict(_SETTINGS | {"PAGELETS_STORE": store}, "cmdline")
    errors = BufferingHandler(1000)
    errors.setLevel(logging.ERROR)
    process = AsyncCrawlerProcess(settings)
    logging.getLogger().addHandler(errors)
    process.crawl(SiteSpider, url=url, pages="1")
    process.start()
    return errors.buffer[-1].getMessage().partition("\n")[0] if errors.buffer else "the crawl found no page"
