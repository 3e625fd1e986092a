"""The command ``scrapy pagelets index``: a feed into a search index."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from typing import Any, Final

from scrapy_pagelets.crawler.feed_report import FeedError, pages
from scrapy_pagelets.index.base import IndexAway, IndexUnusable, PageRefused
from scrapy_pagelets.index.documents import IndexedPage, now, page_of
from scrapy_pagelets.index.targets import open_index, shown

#: Pages that are written at once.
_BATCH: Final = 64
_COLUMNS: Final = ("url", "title", "language", "fetched_at", "pagelets", "near_duplicate_of", "crawled")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument("feed", help="JSON lines (.jsonl) or Parquet (.parquet), or pages that wait for their index")
    parser.add_argument("index", help="NAME.sqlite, NAME.ndjson, tantivy:FOLDER or postgresql://...")
    parser.add_argument("--purge", action="store_true", help="delete other pages of the feed's sites from the index")


def run(options: argparse.Namespace) -> int:
    """Fill the index; returns the exit code."""
    try:
        pages, pagelets, purged = _fill(options)
    except FeedError as error:
        print(f"{options.feed} cannot be used: {error}", file=sys.stderr)
        return 1
    except (IndexUnusable, IndexAway, PageRefused) as error:
        print(error, file=sys.stderr)
        return 1
    print(f"{pages} pages with {pagelets} pagelets are in {shown(options.index)}", end="")
    print(f", {purged} pages were deleted" if options.purge else "")
    return 0


def _fill(options: argparse.Namespace) -> tuple[int, int, int]:
    """Numbers of pages, of their pagelets, and of pages that were deleted."""
    seen, sites, pages, pagelets = now(), set(), 0, 0
    with open_index(options.index) as index:
        for batch in _batches(options.feed):
            index.upsert(batch)
            sites |= {page.site for page in batch}
            seen = min(seen, *(page.crawled for page in batch))  # pages that waited were seen before
            pages += len(batch)
            pagelets += sum(len(page.pagelets) for page in batch)
        return pages, pagelets, index.purge(seen, sites) if options.purge else 0


def _batches(path: str) -> Iterator[list[IndexedPage]]:
    batch = []
    for page in _pages(path):
        batch.append(page)
        if len(batch) == _BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


def _pages(path: str) -> Iterator[IndexedPage]:
    """The pages of a feed, seen now; pages that waited for their index were seen when a crawl has seen them."""
    for number, line in enumerate(pages(path, _COLUMNS), 1):
        try:
            page = page_of(line, _crawled(line))
        except (ValueError, AttributeError) as error:
            raise FeedError(f"line {number} is not a page ({error})") from None
        yield page


def _crawled(line: dict[str, Any]) -> str:
    return str(line.get("crawled") or now())
