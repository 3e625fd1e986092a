"""The command ``pagelets diff``: which pages two crawls have in common, and what has changed on them."""

import argparse
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from itertools import islice
from typing import Final

from scrapy_pagelets.base.errors import CommandError, PageletsError
from scrapy_pagelets.base.transactions import writing
from scrapy_pagelets.crawler.commands.terminal import show, warn
from scrapy_pagelets.feed.content_words import WordCounts, content_hash
from scrapy_pagelets.feed.feed_reader import Feed, Line
from scrapy_pagelets.recrawl import version_store
from scrapy_pagelets.recrawl.version_store import Change, PageVersion

EXAMPLES: Final = ("pagelets diff last-week.jsonl pages.jsonl", "pagelets diff last-week.jsonl pages.jsonl --changes 0")
_DIFFERENT, _TROUBLE = 1, 2  # exit codes, as those of ``diff``
_SCHEMA: Final = """
CREATE TABLE old (key INTEGER PRIMARY KEY, url TEXT, hash TEXT, text TEXT);
CREATE TABLE new (key INTEGER PRIMARY KEY, url TEXT, hash TEXT, text TEXT);
"""
_ONLY: Final = "SELECT url FROM {0} WHERE key NOT IN (SELECT key FROM {1}) ORDER BY url"
_BOTH: Final = """
SELECT new.url, old.hash, old.text, new.hash, new.text FROM new JOIN old USING (key)
WHERE old.hash IS NOT new.hash ORDER BY new.url
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    about = "feed, JSON lines (.jsonl, .jsonl.gz) or Parquet (.parquet)"
    parser.add_argument("old", help=f"the earlier {about}")
    parser.add_argument("new", help="the later one")
    shown = "changes to show of each page, 0 for none (default: %(default)s)"
    parser.add_argument("--changes", type=int, default=10, metavar="N", help=shown)


def run(options: argparse.Namespace) -> int:
    """Print what differs; return 0 if nothing does, 1 if something does, 2 if a feed cannot be used."""
    try:
        with closing(sqlite3.connect("", isolation_level=None)) as base:  # a temporary file
            return _print(base, options)
    except PageletsError as error:
        warn(error)
    except sqlite3.Error as error:
        warn(f"the feeds cannot be compared, they need room for temporary files: {error}")
    return _TROUBLE


def _print(base: sqlite3.Connection, options: argparse.Namespace) -> int:
    if options.changes < 0:
        raise CommandError(f"--changes is {options.changes}: give a number of changes, from 0")
    base.executescript(_SCHEMA)
    for table, path in (("old", options.old), ("new", options.new)):
        feed = Feed(path, version_store.COLUMNS, ("text",), version_store.NEEDED)
        with writing(base):  # of lines with the same URL, the last one stays
            base.executemany(f"INSERT OR REPLACE INTO {table} VALUES (?, ?, ?, ?)", map(_row, feed))
        if feed.note:
            warn(f"{path}: {feed.note}")
    new, gone = (_ONLY.format(*tables) for tables in (("new", "old"), ("old", "new")))
    numbers = [_number(base, f"SELECT url FROM {table}") for table in ("old", "new")]
    added, removed = _number(base, new), _number(base, gone)
    changed = sum(1 for _ in _changed(base))
    same = numbers[1] - added - changed
    show(f"{numbers[0]} and {numbers[1]} pages: {added} new, {removed} gone, {changed} changed, {same} the same")
    for title, query in (("new", new), ("gone", gone)):
        _print_list(title, (url for (url,) in base.execute(query)))
    _print_list("changed", _described(base, options.changes))
    return _DIFFERENT if added or removed or changed else 0


def _print_list(title: str, lines: Iterator[str]) -> None:
    for number, line in enumerate(lines):
        if not number:
            show("")
            show(title)
        show(f"  {line}")


def _number(base: sqlite3.Connection, query: str) -> int:
    (number,) = base.execute(f"SELECT count(*) FROM ({query})").fetchone()
    return int(number)


def _row(line: Line) -> tuple[object, ...]:
    page, digest, text = version_store.read_line(line)
    # A feed may hold surrogates, which SQLite refuses.
    url, kept = (one and one.encode("utf-8", "replace").decode() for one in (line["url"], text))
    return page, url, digest, kept


def _changed(base: sqlite3.Connection) -> Iterator[tuple[str, Change, str, str]]:
    """URL, change and both texts of each page that has changed."""
    for url, old_hash, old, new_hash, new in base.execute(_BOTH):
        if None not in (old, new) and content_hash(old) == content_hash(new):
            continue  # only one of the feeds has a hash of its own
        earlier, now = (
            PageVersion(one, None if text is None else WordCounts.of(text))
            for one, text in ((old_hash, old), (new_hash, new))
        )
        if (found := version_store.change(earlier, now)).kind != version_store.SAME:
            yield url, found, old or "", new or ""


def _described(base: sqlite3.Connection, most: int) -> Iterator[str]:
    for url, found, old, new in _changed(base):
        yield f"{'?' if found.share is None else f'{found.share:.2%}'}  {url}"
        if most and old and new:
            listed = version_store.changes(old, new)
            yield from (f"    {line}" for line in islice(listed, most))
            if next(listed, None) is not None:  # to count the others would take long on pages that have changed wholly
                yield "    and more changes"
