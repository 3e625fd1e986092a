"""The command ``pagelets chunks``: one line of JSON for each chunk of a feed."""

import argparse
import json
import os
from collections.abc import Iterator
from itertools import chain, islice
from typing import Final

from scrapy_pagelets.base.errors import CommandError
from scrapy_pagelets.crawler.commands.terminal import saving, warn, write
from scrapy_pagelets.feed.feed_reader import Feed
from scrapy_pagelets.feed.feed_schema import FEED

EXAMPLES: Final = (
    "pagelets crawl https://example.com/ -s PAGELETS_CHUNKS=200 -o pages.jsonl",
    "pagelets chunks pages.jsonl -o chunks.jsonl",
    "pagelets chunks pages.jsonl --no-duplicates | head -3",
)
_LEFT_OUT: Final = ("text", "markdown", "html", "sketch", "content_hash")  # what a chunk does not say of its page
#: What it says: the fields of the feed that are a string.
_PAGE: Final = tuple(one.name for one in FEED if one.kind == "string" and not one.listed and one.name not in _LEFT_OUT)
_ADVICE: Final = "crawl with -s PAGELETS_CHUNKS=200 to have chunks of 200 words"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("feed", help="JSON lines (.jsonl) or Parquet (.parquet), made with -s PAGELETS_CHUNKS=...")
    parser.add_argument("-o", "--out", metavar="FILE", help="file to write (default: standard output)")
    parser.add_argument("--no-duplicates", action="store_true", help="leave out near-duplicates of other pages")


def run(options: argparse.Namespace) -> None:
    feed = Feed(options.feed, (*_PAGE, "chunks"), one_of=("chunks",), advice=_ADVICE)
    names = (options.feed, options.out)
    if options.out is not None and all(map(os.path.exists, names)) and os.path.samefile(*names):
        raise CommandError(f"{options.out} is the feed itself: give another file to write")
    lines = _lines(feed, duplicates=not options.no_duplicates)
    if options.out is None:
        for line in lines:
            write(line)
    else:
        first = list(islice(lines, 1))  # the file is not touched if the feed cannot be used
        with saving(options.out), open(options.out, "w", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in chain(first, lines))
    warn(feed.note)


def _lines(feed: Feed, *, duplicates: bool) -> Iterator[str]:
    for page in feed:
        if duplicates or page.get("near_duplicate_of") is None:
            for chunk in page["chunks"]:
                # The URL of the page is ``page``.
                about = {"page" if name == "url" else name: page.get(name) for name in _PAGE}
                yield json.dumps(about | chunk)
