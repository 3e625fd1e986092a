"""The command ``pagelets train``: train a model on archives, or the weights of a segmenter on divided pages."""

import argparse
import asyncio
import gzip
import json
import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from scrapy_pagelets.archives.reader import Record, expand, records
from scrapy_pagelets.archives.resources import Resources
from scrapy_pagelets.base.errors import CommandError
from scrapy_pagelets.crawler.commands.terminal import flush, require_writable, show
from scrapy_pagelets.page.page import Page, decode
from scrapy_pagelets.rendering.browser import Browser, MissingBrowser, RenderError, launch_options, require_playwright
from scrapy_pagelets.rendering.snapshot import page_of
from scrapy_pagelets.training.model_training import train
from scrapy_pagelets.training.training_tables import Example, by_gold, by_sites, thinned

EXAMPLES: Final = (
    "pagelets train crawl.warc.gz --out model.npz",
    "pagelets train --segments pages/ --gold blocks.jsonl --out segmenter.npz",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("archive", nargs="*", help="WARC files, globs, or folders of WARC or HTML files")
    parser.add_argument(
        "--segments", metavar="FOLDER",
        help="train a segmenter instead, on the HTML files of a folder; --gold has a line for each with its `page`, "
        "its `blocks`, each with `xpath` and `level` (1 or 2), and its `split`; pages of the split `test` are left out",
    )  # fmt: skip
    parser.add_argument("--page-level", action="store_true", help="train the page-level classifier of 2007 instead")
    parser.add_argument(
        "--level", choices=("inner", "top"), default="inner",
        help="with --segments, the blocks to learn from: the innermost ones, or those of level 1 (default: inner)",
    )  # fmt: skip
    parser.add_argument(
        "--render", action="store_true",
        help="with --segments, train on rendered pages: a browser renders them without scripts, with the files of the "
        "folder, whose subfolders are named by host; with --page-level, train on rendered pages as well: up to 16 of "
        "each site are rendered with the files of the archives",
    )  # fmt: skip
    parser.add_argument("--base", default="http://", help="what precedes the paths of HTML files (default: http://)")
    parser.add_argument(
        "--gold", nargs="*", default=[], metavar="FILE",
        help="JSON lines (.gz too) with `content` and the page's `url`, or its `path` below the folder of the file; "
        "without this option, labels come from the parts that pages of a site share",
    )  # fmt: skip
    parser.add_argument(
        "--out", required=True, metavar="FILE",
        help="file to write: name it in PAGELETS_MODEL; with --page-level, in PAGELETS_CLASSIFIER; with --segments, in "
        "PAGELETS_SEGMENTER_WEIGHTS",
    )  # fmt: skip
    parser.add_argument(
        "--families", metavar="FILE",
        help="JSON object with the family of each site, such as its generator or kind: the cross-validation leaves out "
        "whole families",
    )  # fmt: skip
    parser.add_argument("--folds", metavar="FOLDER", help="also write models of the cross-validation: fold-0.npz ...")
    parser.add_argument("--trees", type=int, default=300, help="number of trees of each model (default: 300)")


def run(options: argparse.Namespace) -> None:
    """Train, write the result, and print the scores of the cross-validation."""
    if not (options.segments or options.archive):
        raise CommandError("there is nothing to learn from: give archives, or a folder with --segments")
    require_writable(options.out)
    try:
        (_segments if options.segments else _page_level if options.page_level else _model)(options)
    except ImportError as error:  # some say themselves what to install
        needed = "training needs a library: pip install 'scrapy-pagelets[train]'"
        raise CommandError(str(error) if "pip install" in str(error) else needed) from None
    except (ValueError, OSError) as error:
        raise CommandError(str(error)) from None


def _model(options: argparse.Namespace) -> None:
    examples = list(_examples(options))
    _show_size(examples)
    model, folds, figures = train(examples, options.trees, by_people=bool(options.gold))
    replace(model, about={"command": _command(), "figures": figures}).save(options.out)
    _save_folds(folds, options, "fold")
    for name, figure in figures.items():
        show(f"F1 on unseen sites, {name}: {figure:.4f}")
    show(f"model: {options.out}")


def _page_level(options: argparse.Namespace) -> None:
    from scrapy_pagelets.training.paper_training import labelled, train_page_level

    examples = list(labelled([page for _, page in _records(options)]))
    _show_size(examples)
    model, folds = train_page_level([*examples, *(_as_rendered(examples, options) if options.render else ())])
    replace(model, about={"command": _command()} | model.about).save(options.out)
    _save_folds(folds, options, "page_level")
    show(f"model: {options.out}")


def _show_size(examples: Sequence[Example]) -> None:
    show(f"{len(examples)} pages of {len({e.site for e in examples})} sites")
    flush()


def _command() -> str:
    return shlex.join(["scrapy", "pagelets", *sys.argv[1:]])


def _save_folds(models: Sequence[Any], options: argparse.Namespace, name: str) -> None:
    if options.folds:
        Path(options.folds).mkdir(parents=True, exist_ok=True)
        for number, model in enumerate(models):
            model.save(Path(options.folds, f"{name}-{number}.npz"))


def _as_rendered(examples: Sequence[Example], options: argparse.Namespace) -> list[Example]:
    from scrapy_pagelets.training.paper_training import as_rendered

    resources = Resources([source for archive in options.archive for source in expand(archive)], options.base)
    chosen = {example.page.url: example for example in thinned(examples)}
    found = {url: resources.get(url) for url in chosen}
    documents = {url: (chosen[url].page, decode(one[1], one[0] or None)) for url, one in found.items() if one}
    rendered, failed = asyncio.run(_rendered(resources, documents))
    for url, error in failed.items():
        show(f"{url} is not rendered: {error}")
    return [as_rendered(chosen[url], rendered[url]) for url in documents if url in rendered]


def _segments(options: argparse.Namespace) -> None:
    from lxml.etree import XPathError

    from scrapy_pagelets.training.paper_training import read_examples, train_weights

    folder = Path(options.segments)
    try:
        lines = [line for name in options.gold for line in _lines(name, {"page", "blocks"})]
        lines = [line for line in lines if line.get("split") != "test"]
        pages = _pages(folder, [line["page"] for line in lines], render=options.render)
        examples = read_examples(lines, pages.__getitem__, options.level)
        show(f"{len(examples)} pages")
        flush()
        weights = train_weights(examples)
        about = {"command": _command(), "pages": len(examples)}
        replace(weights, about=about | weights.about).save(options.out)
    except (ValueError, TypeError, KeyError, XPathError, OSError, MissingBrowser, RenderError) as error:
        raise CommandError(f"nothing is learnt: {error}") from None
    for name, (rand, information) in weights.about["figures"].items():
        penalty = weights.penalties[name]
        show(f"{name}: adjusted Rand {rand:.3f}, NMI {information:.3f} on unseen pages, lambda {penalty:g}")
    show(f"weights: {options.out}")


def _pages(folder: Path, names: Sequence[str], *, render: bool) -> dict[str, Page]:
    bodies = {name: (folder / name).read_bytes() for name in names}
    pages = {name: Page.parse(body, f"http://{name}") for name, body in bodies.items()}
    if not render:
        return pages
    documents = {name: (pages[name], decode(body)) for name, body in bodies.items()}
    rendered, failed = asyncio.run(_rendered(Resources([str(folder)], "http://"), documents))
    if failed:
        raise next(iter(failed.values()))
    return rendered


async def _rendered(
    resources: Resources, pages: dict[str, tuple[Page, str]]
) -> tuple[dict[str, Page], dict[str, RenderError]]:
    """The same pages, rendered by a browser from their documents, and why others could not be rendered."""
    require_playwright()
    from playwright.async_api import async_playwright

    options = launch_options()
    rendered: dict[str, Page] = {}
    failed: dict[str, RenderError] = {}

    async with async_playwright() as driver:
        browser = Browser(lambda: driver.chromium.launch(**options), scripts=False, timeout=600.0)

        async def render(name: str, page: Page, document: str) -> None:
            try:
                frames = await browser.render(page.url, document, lambda url: asyncio.to_thread(resources.get, url))
                rendered[name] = page_of(frames, page.url, page)
            except RenderError as error:
                failed[name] = error

        await asyncio.gather(*(render(name, *given) for name, given in pages.items()))
        await browser.close()
    return rendered, failed


def _examples(options: argparse.Namespace) -> Iterator[Example]:
    gold, families = _gold(options.gold), _families(options.families)
    pages: list[Page] = []
    for record, page in _records(options):
        if not gold:
            pages.append(page)
        elif (content := gold.get(record.url, gold.get(record.source.replace("/./", "/")))) is not None:
            yield Example(page, by_gold(page, content), families.get(page.site, ""))
    for example in by_sites(pages):
        yield replace(example, family=families.get(example.site, ""))


def _families(name: str | None) -> dict[str, str]:
    if name is None:
        return {}
    with suppress(json.JSONDecodeError):
        families = json.loads(Path(name).read_text(encoding="utf-8"))
        if isinstance(families, dict) and all(isinstance(family, str) for family in families.values()):
            return families
    raise ValueError(f"{name}: a JSON object with the name of a family for each site is needed")


def _records(options: argparse.Namespace) -> Iterator[tuple[Record, Page]]:
    for archive in options.archive:
        for source in expand(archive):
            for record in records(source, options.base):
                content_type = next(iter(record.headers.get("Content-Type", ())), None)
                yield record, Page.parse(record.body, record.url, content_type)


def _gold(files: list[str]) -> dict[str, str]:
    """Content by URL, or by file name for lines with a path."""
    gold: dict[str, str] = {}
    for name in files:
        folder = Path(name).parent
        for line in _lines(name, {"content", "url"}, {"content", "path"}):
            gold[line["url"] if "url" in line else str(folder / line["path"])] = line["content"]
    return gold


def _lines(name: str, *needed: set[str]) -> Iterator[dict[str, Any]]:
    """Yield the lines of a file; each must have all keys of one of the sets."""
    with gzip.open(name, "rt", encoding="utf-8") if name.endswith(".gz") else open(name, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            record = None
            with suppress(json.JSONDecodeError):
                record = json.loads(line)
            if not (isinstance(record, dict) and any(keys <= record.keys() for keys in needed)):
                wanted = " or ".join("`, `".join(sorted(keys)).join("``") for keys in needed)
                raise ValueError(f"{name}, line {number}: a JSON object with {wanted} is needed")
            yield record
