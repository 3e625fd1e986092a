"""Put the parts of a feed together that the processes of a shared crawl have written."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from scrapy_pagelets.base.transactions import whole_file
from scrapy_pagelets.feed.feed_reader import FeedError, unlisted


class MergedParts(NamedTuple):
    """What was written and what was left out.

    Attributes
    ----------
    lines : number of lines of the merged feed
    doubled : number of lines left out because another part has the page
    cut : names of the parts whose last line was cut when their process was killed; it was left out
    """

    lines: int
    doubled: int
    cut: list[str]


def merge(parts: Sequence[Path], feed: Path, field: str = "url") -> MergedParts:
    """Write a feed that has each page once.

    A process that was killed may have written pages that others have then written again. Of a page that several parts
    have, the part with the most lines of it counts, the first one among equals: the lines of a page of which a spider
    makes several items belong together. Lines without a URL are all kept. Parts are read in the order of their names,
    so the result depends on nothing else. The feed is complete when it appears under its name.

    Parameters
    ----------
    parts : JSON lines; FeedError if one cannot be read, or has a line before the last one that is not a JSON object
    field : name of the field with the URL
    """
    parts = sorted(parts)
    cut = [path.name for path in parts if _is_cut(path)]
    counts: dict[str | None, tuple[int, int]] = {}
    for number, path in enumerate(parts):
        of_part = Counter(url for _, url in _lines(path, field))
        for url, count in of_part.items():
            if count > counts.get(url, (0, 0))[0]:
                counts[url] = count, number
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
    return MergedParts(lines, doubled, cut)


def _is_cut(path: Path) -> bool:
    """True if the last line has no end."""
    with _opened(path) as file:
        return bool(file.seek(0, os.SEEK_END) and file.seek(-1, os.SEEK_END) >= 0 and file.read() != b"\n")


def _lines(path: Path, field: str) -> Iterator[tuple[bytes, str | None]]:
    """Each whole line of a part, and the URL in it."""
    with _opened(path) as file:
        for number, line in enumerate(file, 1):
            if not line.endswith(b"\n"):
                return
            try:
                item = json.loads(line)
                url = unlisted(item.get(field))
            except (ValueError, AttributeError, RecursionError) as error:
                raise FeedError(f"{path} cannot be merged: line {number} is not a JSON object ({error})") from None
            yield line, url if isinstance(url, str) else None


def _opened(path: Path) -> Any:
    try:
        return path.open("rb")
    except OSError as error:
        raise FeedError(f"{path} cannot be read: {error.strerror}") from None
