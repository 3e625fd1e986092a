"""The command ``scrapy pagelets report``: what was stripped, per site and template, and which content repeats."""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from scrapy_pagelets.crawler.commands.terminal import show, warn
from scrapy_pagelets.feed_reader import CONTENT, Feed, pagelets
from scrapy_pagelets.urls import site_of

#: A content pagelet repeats if at least this many pages of a site have it, and at least this share of them.
_LEAST: Final = 3
_SHARE: Final = 0.1
#: Shorter pagelets, in words, may repeat by chance and are not counted.
_WORDS: Final = 4
_DIGITS: Final = str.maketrans("123456789", "0" * 9)


@dataclass
class Row:
    """The counts of the pages of one template."""

    pages: int = 0
    chrome: float = 0.0
    kept: int = 0
    empty: int = 0
    repeated: int = 0

    def add(self, line: dict[str, Any]) -> None:
        """Add a page to the counts."""
        kept = sum(pagelet["words"] for pagelet in _content(line))
        self.pages += 1
        self.chrome += (line.get("template") or {}).get("share") or 0.0
        self.kept += kept
        self.empty += not kept


@dataclass
class Contents:
    """The content pagelets of a site, as the table PAGELETS of template detection.

    Attributes
    ----------
    table : (page, pagelet, shingle) of each pagelet
    words : number of words of each pagelet, and the row that counts its page
    """

    table: list[tuple[int, int, int]] = field(default_factory=list)
    words: list[tuple[int, Row]] = field(default_factory=list)

    def add(self, line: dict[str, Any], row: Row) -> None:
        """Add the content pagelets of a page."""
        page = self.table[-1][0] + 1 if self.table else 0
        for pagelet in _content(line):
            self.table.append((page, len(self.words), _shingle(pagelet)))
            self.words.append((pagelet["words"], row))

    def count_repeated(self) -> None:
        """Count the words of pagelets that many pages share: Bar-Yossef & Rajagopalan 2002, Figure 4."""
        from scrapy_pagelets.templates.detection.batch import local_templates

        for template in local_templates(self.table, least=_LEAST, share=_SHARE):
            for _, pagelet in template.pagelets:
                words, row = self.words[pagelet]
                row.repeated += words


def _content(line: dict[str, Any]) -> list[dict[str, Any]]:
    return [pagelet for pagelet in pagelets(line) if pagelet["role"] == CONTENT]


def _shingle(pagelet: dict[str, Any]) -> int:
    """Hash of the text without case and digits; 0 if the text is too short."""
    from xxhash import xxh3_64_intdigest

    folded = " ".join(pagelet["text"].split()).casefold().translate(_DIGITS)
    return xxh3_64_intdigest(folded.encode("utf-8", "replace")) >> 1 if pagelet["words"] >= _WORDS else 0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command to its parser."""
    parser.add_argument("feed", help="JSON lines (.jsonl) or Parquet (.parquet), as the spiders write them")


def run(options: argparse.Namespace) -> None:
    """Print the table."""
    feed = feed_of(options.feed)
    for line in lines(count(feed)):
        show(line)
    if feed.note:
        warn(feed.note)


def count(feed: Feed) -> dict[str, dict[str, Row]]:
    """Count the pages of a feed by site and template.

    Raises
    ------
    FeedError : if the file is not a feed
    """
    table: dict[str, dict[str, Row]] = defaultdict(lambda: defaultdict(Row))
    contents: dict[str, Contents] = defaultdict(Contents)
    for line in feed:
        template = (line.get("template") or {}).get("id") or "no template"
        site = site_of(line["url"])
        table[site][template].add(line)
        contents[site].add(line, table[site][template])
    for content in contents.values():
        content.count_repeated()
    return {site: dict(rows) for site, rows in table.items()}


def feed_of(path: str) -> Feed:
    """Open a feed with the fields that are counted."""
    return Feed(path, ("template", "pagelets", "text"), ("role", "text", "words"), one_of=("pagelets", "text"))


def lines(table: dict[str, dict[str, Row]]) -> Iterator[str]:
    """The lines of the table; sites and templates with the most pages come first."""
    width = max(len(name) for site, rows in table.items() for name in (site, *(f"  {t}" for t in rows)))
    head = f"{'site and template':<{width}}  {'pages':>7}  {'chrome':>7}  {'words kept':>10}  {'empty':>6}"
    yield f"{head}  {'repeated':>8}"
    for site, rows in sorted(table.items(), key=lambda item: -_sum(item[1]).pages):
        yield _line(site, _sum(rows), width)
        for template, row in sorted(rows.items(), key=lambda item: -item[1].pages):
            yield _line(f"  {template}", row, width)


def _sum(rows: dict[str, Row]) -> Row:
    total = Row()
    for row in rows.values():
        total.pages += row.pages
        total.chrome += row.chrome
        total.kept += row.kept
        total.empty += row.empty
        total.repeated += row.repeated
    return total


def _line(name: str, row: Row, width: int) -> str:
    chrome, kept = row.chrome / row.pages, row.kept / row.pages
    repeated = row.repeated / max(1, row.kept)
    return f"{name:<{width}}  {row.pages:>7}  {chrome:>7.0%}  {kept:>10.0f}  {row.empty:>6}  {repeated:>8.0%}"
