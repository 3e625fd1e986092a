"""The command ``pagelets merge``: one feed out of the parts of a shared crawl."""

import argparse
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from scrapy_pagelets.base.display import counted
from scrapy_pagelets.base.transactions import whole_file
from scrapy_pagelets.crawler.commands.terminal import saving, show, warn
from scrapy_pagelets.feed.feed_reader import FeedError, loaded, unlisted

EXAMPLES: Final = (
    "pagelets merge part-1.jsonl part-2.jsonl -o pages.jsonl",
    "pagelets merge part-*.jsonl -o pages.jsonl --field url",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("parts", nargs="+", metavar="PART", help="JSON lines that one process has written")
    parser.add_argument("-o", "--out", required=True, metavar="FEED", help="the merged feed, replaced if it exists")
    parser.add_argument("--field", default="url", help="field with the URL of a page (default: %(default)s)")


def run(options: argparse.Namespace) -> None:
    out, parts = Path(options.out), sorted({Path(part) for part in options.parts})
    if out in parts:
        raise FeedError(f"{out} is one of the parts: give the merged feed another name")
    with saving(out):
        lines, doubled = _merge(parts, out, options.field)
    for path in parts:
        with _opened(path) as file:
            if file.seek(0, os.SEEK_END) and file.seek(-1, os.SEEK_END) >= 0 and file.read() != b"\n":
                warn(f"the last line of {path.name} is cut, its process was killed: left out")
    whole = f"{counted(lines, 'line')} of {counted(len(parts), 'part')}"
    show(f"{whole}, {doubled:,} left out that another part has")


def _merge(parts: Sequence[Path], feed: Path, field: str) -> tuple[int, int]:
    """Write a feed that has each page once; return the numbers of its lines, and of those that another part has.

    Processes may have written a page twice if one was killed. Of such a page, the part with the most lines counts, the
    first among equals: several items of a page belong together. Lines without a URL are all kept.
    """
    counts: dict[str | None, tuple[int, int]] = {}
    for number, path in enumerate(parts):
        of_part = Counter(url for _, url in _lines(path, field))
        for url, count in of_part.items():
            if count > counts.get(url, (0, 0))[0]:
                counts[url] = count, number
    if not any(counts):
        raise FeedError(f"nothing can be merged: no line of the parts has {field}; --field names what has the URL")
    lines = doubled = 0
    with whole_file(feed) as new, new.open("wb") as file:
        for number, path in enumerate(parts):
            for line, url in _lines(path, field):
                if url is None or counts[url][1] == number:
                    file.write(line)
                    lines += 1
                else:
                    doubled += 1
        file.flush()
        os.fsync(file.fileno())
    return lines, doubled


def _lines(path: Path, field: str) -> Iterator[tuple[bytes, str | None]]:
    with _opened(path) as file:
        for number, line in enumerate(file, 1):
            if not line.endswith(b"\n"):
                return
            try:
                url = unlisted(loaded(number, line).get(field))
            except FeedError as error:
                raise FeedError(f"{path} cannot be merged: {error}") from None
            yield line, url if isinstance(url, str) else None


def _opened(path: Path) -> Any:
    try:
        return path.open("rb")
    except OSError as error:
        raise FeedError(f"{path} cannot be read: {error.strerror}") from None
