"""The command ``pagelets similar``: the pages of a feed whose content resembles that of one page most."""

import argparse
from typing import Final

from scrapy_pagelets.base.display import counted
from scrapy_pagelets.base.errors import CommandError
from scrapy_pagelets.crawler.commands.terminal import show, warn
from scrapy_pagelets.duplicates.sketch import SketchError, lean_minhash, most_similar
from scrapy_pagelets.feed.feed_reader import Feed
from scrapy_pagelets.page import urls

EXAMPLES: Final = (
    "pagelets similar pages.jsonl https://example.com/page",
    "pagelets similar pages.jsonl https://example.com/page --top 3",
)
_ADVICE: Final = "crawl without PAGELETS_DUPLICATES=off and PAGELETS_FIELDS=lean"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("feed", help="JSON lines (.jsonl) or Parquet (.parquet), with the field sketch")
    parser.add_argument("url", help="URL of a page of the feed")
    parser.add_argument("--top", type=int, default=10, metavar="N", help="number of pages (default: %(default)s)")


def run(options: argparse.Namespace) -> None:
    if options.top < 1:
        raise CommandError(f"--top is {options.top}: give the number of pages, from 1")
    feed = Feed(options.feed, ("sketch",), one_of=("sketch",), advice=_ADVICE)
    # A page with several items has a line for each.
    pages = {urls.key(line["url"]): (line["url"], line["sketch"]) for line in feed}
    keys, wanted = list(pages), urls.key(options.url)
    if wanted not in pages:
        why = "either the page is not in the feed, or its content has fewer than five words"
        raise CommandError(f"{options.feed} has no sketch of {options.url}: {why}")
    try:
        minhashes = [lean_minhash(sketch) for _, sketch in pages.values()]
    except SketchError as error:
        raise feed.error(str(error)) from None
    found = most_similar(minhashes, keys.index(wanted), options.top)
    show(f"{counted(len(pages), 'page')}, {len(found) or 'none'} of them similar to {options.url}")
    if found:
        show("")
        show(f"{'similarity':>10}  page")
    for number, similarity in found:
        show(f"{similarity:>10.2f}  {pages[keys[number]][0]}")
    warn(feed.note)
