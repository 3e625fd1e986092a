"""The command ``pagelets merge``: one feed out of the parts of a shared crawl."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Final

from scrapy_pagelets.base.display import counted
from scrapy_pagelets.crawler.commands.terminal import show, warn
from scrapy_pagelets.feed.feed_reader import FeedError
from scrapy_pagelets.shared.merging import merge

EXAMPLES: Final = (
    "pagelets merge part-1.jsonl part-2.jsonl -o pages.jsonl",
    "pagelets merge part-*.jsonl -o pages.jsonl --field url",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command to its parser."""
    parser.add_argument("parts", nargs="+", metavar="PART", help="JSON lines that one process has written")
    parser.add_argument("-o", "--out", required=True, metavar="FEED", help="the merged feed, replaced if it exists")
    parser.add_argument("--field", default="url", help="field with the URL of a page (default: %(default)s)")


def run(options: argparse.Namespace) -> None:
    """Write the feed, and say what was left out."""
    out, parts = Path(options.out), {Path(part) for part in options.parts}
    if out in parts:
        raise FeedError(f"{out} is one of the parts: give the merged feed another name")
    try:
        merged = merge(sorted(parts), out, options.field)
    except OSError as error:
        raise FeedError(f"{out} cannot be written: {error.strerror}") from None
    for name in merged.cut:
        warn(f"the last line of {name} is cut, its process was killed: left out")
    whole = f"{counted(merged.lines, 'line')} of {counted(len(parts), 'part')}"
    show(f"{whole}, {merged.doubled:,} left out that another part has")
