"""The command ``scrapy pagelets report``: what was stripped, per site and template, from a feed."""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from scrapy_pagelets.urls import site_of


class FeedError(ValueError):
    """Raised for a file that is no feed; the message says why."""


@dataclass
class Row:
    """What is known of the pages of one template."""

    pages: int = 0
    chrome: float = 0.0
    kept: int = 0
    empty: int = 0

    def add(self, line: dict[str, Any]) -> None:
        """Count a page."""
        kept = sum(pagelet["words"] for pagelet in line["pagelets"] or () if pagelet["role"] == "content")
        self.pages += 1
        self.chrome += (line["template"] or {}).get("share") or 0.0
        self.kept += kept
        self.empty += not kept


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument("feed", help="JSON lines (.jsonl) or Parquet (.parquet), as the spiders write them")


def run(options: argparse.Namespace) -> int:
    """Print the table; returns the exit code."""
    try:
        table = count(options.feed)
    except FeedError as error:
        print(f"{options.feed} is no feed: {error}", file=sys.stderr)
        return 1
    for line in lines(table):
        print(line)
    return 0


def count(path: str) -> dict[str, dict[str, Row]]:
    """The rows of a feed by site and template.

    Raises
    ------
    FeedError : if the file is none
    """
    table: dict[str, dict[str, Row]] = defaultdict(lambda: defaultdict(Row))
    number = 0
    try:
        for line in read(path, ("url", "template", "pagelets")):
            template = (line["template"] or {}).get("id") or "no template"
            table[site_of(line["url"])][template].add(line)
            number += 1
    except OSError as error:
        raise FeedError(error.strerror or str(error)) from None
    except (KeyError, TypeError, AttributeError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise FeedError(f"line {number + 1} is not a page ({type(error).__name__}: {error})") from None
    if not table:
        raise FeedError("it has no pages")
    return {site: dict(rows) for site, rows in table.items()}


def read(path: str, columns: Sequence[str]) -> Iterator[dict[str, Any]]:
    """The lines of a feed; of Parquet the columns named, where there are such."""
    if path.endswith(".parquet"):
        yield from _read_parquet(path, columns)
        return
    with open(path, encoding="utf-8") as file:
        yield from (json.loads(line) for line in file if line.strip())


def _read_parquet(path: str, columns: Sequence[str]) -> Iterator[dict[str, Any]]:
    try:
        from pyarrow import ArrowException
        from pyarrow.parquet import ParquetFile
    except ImportError:
        raise FeedError("reading Parquet needs pyarrow: pip install 'scrapy-pagelets[corpus]'") from None
    try:
        with ParquetFile(path) as file:
            known = [name for name in columns if name in file.schema_arrow.names]
            for batch in file.iter_batches(64, columns=known):
                yield from batch.to_pylist()
    except ArrowException as error:
        raise FeedError(str(error).partition("\n")[0]) from None


def lines(table: dict[str, dict[str, Row]]) -> Iterator[str]:
    """The table as text; the sites and templates with the most pages first."""
    width = max(len(name) for site, rows in table.items() for name in (site, *(f"  {t}" for t in rows)))
    yield f"{'site and template':<{width}}  {'pages':>7}  {'chrome':>7}  {'words kept':>10}  {'empty':>6}"
    for site, rows in sorted(table.items(), key=lambda found: -_sum(found[1]).pages):
        yield _line(site, _sum(rows), width)
        for template, row in sorted(rows.items(), key=lambda found: -found[1].pages):
            yield _line(f"  {template}", row, width)


def _sum(rows: dict[str, Row]) -> Row:
    found = Row()
    for row in rows.values():
        found.pages += row.pages
        found.chrome += row.chrome
        found.kept += row.kept
        found.empty += row.empty
    return found


def _line(name: str, row: Row, width: int) -> str:
    chrome, kept = row.chrome / row.pages, row.kept / row.pages
    return f"{name:<{width}}  {row.pages:>7}  {chrome:>7.0%}  {kept:>10.0f}  {row.empty:>6}"
