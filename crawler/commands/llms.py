"""The command ``pagelets llms``: llms.txt and llms-full.txt of a feed."""

import argparse
from pathlib import Path
from typing import Final

from scrapy_pagelets.base.display import counted
from scrapy_pagelets.base.errors import CommandError
from scrapy_pagelets.crawler.commands.terminal import show, warn
from scrapy_pagelets.feed.feed_reader import Feed
from scrapy_pagelets.llms.llms_txt import COLUMNS, FULL, LIST, NEEDED, outline_of, write

EXAMPLES: Final = (
    "pagelets crawl https://example.com/ -s PAGELETS_FORMATS=text,markdown -o pages.jsonl",
    "pagelets llms pages.jsonl",
    "pagelets llms pages.jsonl -o site/",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("feed", help="JSON lines (.jsonl) or Parquet (.parquet), best with the field markdown")
    about = "folder of the files, or of a folder for each host if there are several (default: the working directory)"
    parser.add_argument("-o", "--out", metavar="FOLDER", default=".", help=about)


def run(options: argparse.Namespace) -> None:
    feed = Feed(options.feed, COLUMNS, ("text",), NEEDED)
    outline = outline_of(feed)
    if not outline.hosts:
        raise CommandError(f"{options.feed} has no page with content: nothing is written")
    try:
        folders = write(feed, outline, Path(options.out))
    except OSError as error:
        name = str(error.filename or options.out).removesuffix(".new")  # its name until it is whole
        raise CommandError(f"{name} cannot be written: {error.strerror or error}") from None
    pages = sum(map(len, outline.hosts.values()))
    show(f"{counted(pages, 'page')}: {LIST} and {FULL} are in {', '.join(map(str, folders))}")
    for sentence in (*outline.notes(), feed.note):
        warn(sentence)
