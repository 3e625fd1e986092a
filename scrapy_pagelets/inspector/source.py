"""Where the inspector finds a page: on the web, in a file, or in a feed and the archive that it was made from."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any, Final

from scrapy_pagelets.archives.reader import expand, records
from scrapy_pagelets.archives.resources import Resources
from scrapy_pagelets.feed.feed_reader import Feed, Line, content_text
from scrapy_pagelets.page.limits import Limits
from scrapy_pagelets.page.page import decode

_FEEDS: Final = (".jsonl", ".jl", ".jsonl.gz", ".jl.gz", ".parquet")
_COLUMNS: Final = ("title", "text", "template", "pagelets", "near_duplicate_of", "similarity")
#: Pages of a feed that a message names.
_NAMED: Final = 5
#: Words and white space, so that a word is never divided.
_PIECE: Final = re.compile(r"\s+|\S+")
#: Pieces of each text that are compared; the time grows with the square at worst.
_MOST: Final = 20_000


@dataclass(frozen=True, eq=False)
class PageSource:
    """A page to inspect.

    Attributes
    ----------
    url : of the page
    document : its HTML; None if it has to be fetched
    resources : its style sheets and pictures; None if they have to be fetched
    line : what a feed says of it
    twin : the page that it nearly repeats, see `compare_texts`
    """

    url: str
    document: str | None = None
    resources: Resources | None = None
    line: Line | None = None
    twin: dict[str, Any] | None = None


def is_address(name: str) -> bool:
    """Return whether a page is named by its address on the web."""
    return name.startswith(("http://", "https://"))


def source_of(
    name: str, limits: Limits, page: str | None = None, archive: str | None = None, base: str = ""
) -> PageSource:
    """Find a page.

    Parameters
    ----------
    name : an address, an HTML file, or a feed
    limits : of the page
    page : the URL of the page in the feed; None if the feed has one page only
    archive : HTML file, archive or folder that the page of the feed is in; None if it is still on the web
    base : prefix of the URLs of its files, as for `reader.records`

    Raises
    ------
    ValueError : if there is no such file or page
    FeedError : if the feed cannot be read
    """
    is_feed = name.lower().endswith(_FEEDS) and not is_address(name)
    if not is_feed and (page or archive or base):
        raise ValueError("--page, --source and --base are for feeds, and it is none")
    if is_address(name):
        return PageSource(name)
    path = Path(name).absolute()
    if path.is_dir():
        raise ValueError("it is a folder: give one of its files, or the feed of a crawl")
    if not path.is_file():
        raise ValueError("there is no such file; an address begins with http:// or https://")
    if not is_feed:
        return _of_file(path, limits)
    source = _of_feed(name, page)
    return source if archive is None else _in_archive(source, archive, limits, base)


def _of_file(path: Path, limits: Limits) -> PageSource:
    document = decode(path.read_bytes())
    limits.check(document)
    return PageSource(path.as_uri(), document, Resources([str(path.parent), str(Path.cwd())]))


def feed_of(name: str) -> Feed:
    """Open a feed with the fields that are shown."""
    return Feed(name, _COLUMNS, ("id", "text", "role", "templateness", "xpaths"), one_of=("pagelets", "text"))


def _of_feed(name: str, url: str | None) -> PageSource:
    line: Line | None = None
    others: list[str] = []
    for found in feed_of(name):
        if url in (None, found["url"]) and line is None:
            line = found
        elif len(others) < _NAMED:
            others.append(found["url"])
    if line is None:
        raise ValueError(f"the feed has no page {url}; it has {', '.join(others)}")
    if url is None and others:
        raise ValueError(f"the feed has several pages: choose one with --page, such as {line['url']}")
    return PageSource(line["url"], line=line, twin=_twin(name, line))


def _twin(name: str, line: Line) -> dict[str, Any] | None:
    url = line.get("near_duplicate_of")
    if not url:
        return None
    other = next((found for found in Feed(name, _COLUMNS, one_of=("pagelets", "text")) if found["url"] == url), None)
    return None if other is None else compare_texts(url, content_text(line), content_text(other))


def _in_archive(source: PageSource, archive: str, limits: Limits, base: str) -> PageSource:
    path = Path(archive)
    if path.is_file() and path.suffix.lower() in (".html", ".htm"):
        return replace(_of_file(path.absolute(), limits), url=source.url, line=source.line, twin=source.twin)
    sources = expand(archive)
    for one in sources:
        for record in records(one, base, quiet=True):
            if record.url == source.url:
                document = decode(record.body, _charset(record.headers))
                limits.check(document)
                return replace(source, document=document, resources=Resources(sources, base))
    advice = "" if base else "; if the spider archive had a base, give it with --base"
    raise ValueError(f"{archive} has no page {source.url}{advice}")


def _charset(headers: Mapping[str, Any]) -> str | None:
    declared = headers.get("Content-Type")
    return declared[0] if declared else None


def compare_texts(url: str, own: str, other: str) -> dict[str, Any]:
    """The parts of two texts that are the same, or differ, in order; and whether all of the texts was compared.

    Parameters
    ----------
    url : of the near-duplicate
    own, other : the texts of the page and of the near-duplicate

    Examples
    --------
    >>> compare_texts("http://example.com/b", "We open at nine.", "We open at ten.")["parts"]
    [['same', 'We open at ', 'We open at '], ['changed', 'nine.', 'ten.']]
    """
    one, two = (_PIECE.findall(text) for text in (own, other))
    whole = max(len(one), len(two)) <= _MOST
    one, two = one[:_MOST], two[:_MOST]
    start = _alike(one, two)  # most of two near-duplicates needs no search
    end = _alike(one[start:][::-1], two[start:][::-1])
    first, last = ("".join(pieces) for pieces in (one[:start], one[len(one) - end :]))
    one, two = (pieces[start : len(pieces) - end] for pieces in (one, two))
    parts = [
        ["same" if kind == "equal" else "changed", "".join(one[a:b]), "".join(two[c:d])]
        for kind, a, b, c, d in SequenceMatcher(None, one, two, autojunk=False).get_opcodes()
    ]
    around = [[["same", text, text]] if text else [] for text in (first, last)]
    return {"url": url, "parts": [*around[0], *parts, *around[1]], "whole": whole}


def _alike(one: list[str], two: list[str]) -> int:
    """The number of pieces with which both texts begin."""
    differ = (number for number, (mine, theirs) in enumerate(zip(one, two, strict=False)) if mine != theirs)
    return next(differ, min(len(one), len(two)))
