"""The command ``pagelets clean``: a page as Markdown; a folder or an archive as a feed."""

import argparse
import gc
import json
import os
import sys
from pathlib import Path
from typing import Final

from scrapy_pagelets.archives.folders import is_warc
from scrapy_pagelets.base.errors import CommandError
from scrapy_pagelets.crawler.commands.terminal import STDOUT, add_output, saving, write

EXAMPLES: Final = (
    "pagelets clean page.html",
    "pagelets clean - --url https://example.com/page < page.html",
    "pagelets clean mirror/ --base https://example.com/ -o mirror.jsonl",
)
USES_SETTINGS: Final = True
_FORMATS: Final = {".json": "json", ".jsonl": "json", ".html": "html", ".txt": "text"}  # by the end of a file's name


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "source", metavar="FILE|FOLDER|WARC|-",
        help="an HTML file, or - for standard input, is printed; all pages of a folder or an archive become a feed",
    )  # fmt: skip
    parser.add_argument("--url", default="", help="of one page: its address, to which its links are relative")
    formats = ("markdown", "text", "html", "json")
    parser.add_argument("--format", choices=formats, help="of one page (default: as -o is named, or markdown)")
    parser.add_argument("--base", default="", metavar="URL", help="of a folder: what precedes the paths of its files")
    add_output(parser, STDOUT)


def run(options: argparse.Namespace) -> int:
    source = options.source
    if source.startswith(("http://", "https://")):
        raise CommandError(f"{source} is an address: {options.script} crawl {source} --pages 1")
    is_page = source == STDOUT or (os.path.isfile(source) and not is_warc(source))
    if is_page and options.given:
        raise CommandError("-s is for a folder or an archive: one page is cleaned with the default settings")
    if is_page and options.base:
        raise CommandError("--base is for a folder: --url gives the address of one page")
    if is_page:
        gc.disable()  # imports make much that stays: to collect garbage would take a tenth of the time
        try:
            _print(_read(source), options)
        finally:
            gc.enable()
        return 0
    if options.format or options.url:
        raise CommandError("--format and --url are for one page: a folder or an archive becomes a feed; see -o")
    from scrapy_pagelets.archives.reader import ArchiveError, expand
    from scrapy_pagelets.crawler.commands.crawling import crawl
    from scrapy_pagelets.crawler.spiders.archive import ArchiveSpider
    from scrapy_pagelets.crawler.spiders.start_pages import beginning

    try:
        expand(source)
        beginning("--base", options.base)
    except (ArchiveError, ValueError) as error:
        raise CommandError(str(error)) from None
    return crawl(ArchiveSpider, options, path=source, base=options.base)


def _read(source: str) -> bytes:
    try:
        if source == STDOUT:
            if sys.stdin is None:
                raise CommandError("standard input is closed: give a file, or pipe a page into the command")
            return sys.stdin.buffer.read()
        return Path(source).read_bytes()
    except OSError as error:
        raise CommandError(f"{source} cannot be read: {error.strerror}") from None


def _print(body: bytes, options: argparse.Namespace) -> None:
    from scrapy_pagelets.archives.unpacking import why_no_page
    from scrapy_pagelets.feed.cleaning import clean
    from scrapy_pagelets.page.limits import TooLarge

    if problem := why_no_page(body):
        raise CommandError(f"{options.source} {problem}")
    try:
        page = clean(body, options.url)
    except TooLarge as error:
        raise CommandError(f"{options.source} cannot be cleaned: {error}") from None
    form = options.format or _FORMATS.get(Path(options.out).suffix.lower(), "markdown")
    text = json.dumps(page.fields, ensure_ascii=False) if form == "json" else getattr(page, form)
    if options.out == STDOUT:
        write(text)
        return
    with saving(options.out):
        Path(options.out).write_text(f"{text}\n", encoding="utf-8")
