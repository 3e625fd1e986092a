"""The command ``pagelets index``: write a feed to a search index."""

import argparse
from collections.abc import Iterator
from itertools import islice
from typing import Final

from scrapy_pagelets.base.display import counted
from scrapy_pagelets.crawler.commands.terminal import show, warn
from scrapy_pagelets.feed.feed_reader import Feed, pagelets_of_line
from scrapy_pagelets.index.interface import IndexedPage, now, page_of, shown
from scrapy_pagelets.index.targets import kind_of, open_index

EXAMPLES: Final = ("pagelets index pages.jsonl pages.sqlite", "pagelets index pages.jsonl pages.sqlite --purge")
_BATCH: Final = 64  # number of pages to write at once
_COLUMNS: Final = ("title", "language", "fetched_at", "text", "pagelets", "near_duplicate_of", "crawled")
_PAGELET: Final = ("id", "role", "templateness", "text", "words")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("feed", help="JSON lines (.jsonl), Parquet (.parquet), or pages that waited for their index")
    parser.add_argument("index", help="NAME.sqlite, NAME.ndjson, tantivy:FOLDER or postgresql://...")
    parser.add_argument("--purge", action="store_true", help="delete other pages of the feed's sites from the index")


def run(options: argparse.Namespace) -> None:
    feed = Feed(options.feed, _COLUMNS, _PAGELET, one_of=("pagelets", "text"))
    seen, sites, pages, parts = now(), set(), 0, 0
    kind_of(options.index)
    found = _pages(feed)
    batch = list(islice(found, _BATCH))  # reports a bad feed before an index is created
    with open_index(options.index) as index:
        while batch:
            index.upsert(batch)
            sites |= {page.site for page in batch}
            seen = min(seen, *(page.crawled for page in batch))  # pages that waited were crawled earlier
            pages += len(batch)
            parts += sum(len(page.pagelets) for page in batch)
            batch = list(islice(found, _BATCH))
        purged = index.purge(seen, sites) if options.purge else 0
    written = f"{counted(pages, 'page')} with {counted(parts, 'pagelet')}"
    deleted = f", {counted(purged, 'page')} {'was' if purged == 1 else 'were'} deleted" if options.purge else ""
    show(f"{written} {'is' if pages == 1 else 'are'} in {shown(options.index)}{deleted}")
    warn(feed.note)


def _pages(feed: Feed) -> Iterator[IndexedPage]:
    """The pages of a feed, with the time of their crawl if they waited for their index, else with the time now."""
    for line in feed:
        try:
            page = page_of(line | {"pagelets": pagelets_of_line(line)}, str(line.get("crawled") or now()))
        except (ValueError, AttributeError) as error:
            raise feed.error(f"{line['url']} is not a page ({error})") from None
        yield page
