"""Reading of feeds: JSON lines (also compressed by gzip) or Parquet, with a check of each line for the fields needed.

``PAGELETS_FIELDS`` can rename or omit fields, and feeds may come from other tools. So a command uses the fields that
are there, and names those that are missing.
"""

import gzip
import json
import math
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from scrapy_pagelets.base.characters import words
from scrapy_pagelets.base.display import shortened
from scrapy_pagelets.base.errors import DOCS, PageletsError
from scrapy_pagelets.feed.feed_schema import CHUNK, FEED, LINK, PAGELET, TEMPLATE, FeedField

Line = dict[str, Any]
Names = Sequence[str]
_Check = tuple[Callable[[Any], bool], str]
_LIMIT: Final = 2**31  # numbers from here on do not fit into an index
_TEXT: Final[_Check] = (lambda value: isinstance(value, str), "a string")
_LIST: Final[_Check] = (lambda value: isinstance(value, list), "a list")
_OBJECT: Final[_Check] = (lambda value: isinstance(value, dict), "an object")
_WHOLE: Final[_Check] = (lambda value: type(value) is int and 0 <= value < _LIMIT, "a whole number")
_NUMBER: Final[_Check] = (lambda value: type(value) in (int, float) and math.isfinite(value), "a number")
CONTENT: Final = "content"  # role of pagelets that are not template
_CHECKS: Final = {"string": _TEXT, "integer": _WHOLE, "number": _NUMBER, "object": _OBJECT}
_MAX_FIELDS: Final = 8  # that an error lists
_MAX_CHARACTERS: Final = 60  # of each name and value in messages


def _checks(fields: Iterable[FeedField]) -> dict[str, _Check]:
    return {field.name: _LIST if field.listed else _CHECKS[field.kind] for field in fields}


#: All fields are optional here; a line for an index may also say when its page was ``crawled``.
_FIELDS: Final = _checks(FEED) | {"crawled": _TEXT}
#: No command reads the number of pages, and other tools may write it as 3.0.
_TEMPLATE: Final = _checks(field for field in TEMPLATE if field.name != "pages")
_PAGELET: Final = _checks(PAGELET)
_LINK: Final = _checks(LINK)
_CHUNK: Final = _checks(CHUNK)


class FeedError(PageletsError, ValueError):
    """Raised for a file that is not a feed, or lacks what a command needs; the message says what and where."""


_ADVICE: Final = f"fields need the names of {DOCS}/feed.md: crawl without PAGELETS_FIELDS, or rename them"


@dataclass(eq=False)
class Feed:
    """The lines of a feed, checked; each is a page with its ``url``."""

    path: str
    columns: Names  # the fields to check and return; from Parquet, no others are read
    pagelet: Names = ()  # the fields that each pagelet must have
    one_of: Names = ("pagelets",)  # a page must have at least one of these fields, lines without any are left out
    advice: str = _ADVICE  # what to do if no line has any of them
    left_out: int = field(default=0, init=False)  # number of lines that were left out

    def __iter__(self) -> Iterator[Line]:
        """Yield the pages; FeedError if the file cannot be read, has no page, or a line that is no page."""
        pages, self.left_out, first = 0, 0, ""
        try:
            for number, line in self._read():
                pages += 1
                checked = self._checked(number, line)
                if any(checked.get(name) is not None for name in self.one_of):
                    yield checked
                else:
                    first = first or _names_of_fields(line)
                    self.left_out += 1
        except OSError as error:
            raise self.error(error.strerror or str(error)) from None
        except (EOFError, zlib.error):
            raise self.error("it is compressed, and damaged or incomplete") from None
        except FeedError as error:
            raise self.error(str(error)) from None
        if not pages:
            raise self.error("it has no pages")
        if self.left_out == pages:
            raise self.error(f"no line has {' or '.join(self.one_of)}, the first one has {first}; {self.advice}")

    def error(self, problem: str) -> FeedError:
        """Return an error whose message names the file."""
        return FeedError(f"{self.path} cannot be used: {problem}")

    @property
    def note(self) -> str:
        """A sentence about the lines that were left out; empty if there are none."""
        lines = "line has" if self.left_out == 1 else "lines have"
        return f"{self.left_out} {lines} no {' or '.join(self.one_of)}: left out" if self.left_out else ""

    def _read(self) -> Iterator[tuple[int, Line]]:
        """The lines that are not blank, with their numbers."""
        if self.path.endswith(".parquet"):
            yield from enumerate(_read_parquet(self.path, ("url", *self.columns)), 1)
            return
        with gzip.open(self.path) if self.path.endswith(".gz") else open(self.path, "rb") as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    yield number, loaded(number, line)

    def _checked(self, number: int, line: Line) -> Line:
        where = f"line {number} is not a page"
        present = [name for name in ("url", *self.columns) if line.get(name) is not None]
        page = {name: line[name] if _FIELDS.get(name) == _LIST else unlisted(line[name]) for name in present}
        if "url" not in page:
            raise FeedError(f"{where}, it has no url, but {_names_of_fields(line)}; {_ADVICE}")
        _check(page, _FIELDS, where)
        if (template := page.get("template")) is not None:
            _check(template, _TEMPLATE, where, "template.")
        for pagelet in page.get("pagelets", ()):
            _check_part(pagelet, _PAGELET, self.pagelet, where, "pagelet")
            for link in pagelet.get("links") or ():
                _check_part(link, _LINK, list(_LINK), where, "link")
        for chunk in page.get("chunks", ()):
            _check_part(chunk, _CHUNK, list(_CHUNK), where, "chunk")
        return page


def unlisted(value: Any) -> Any:
    """A value without the list around it, which an ``ItemLoader`` without output processors adds."""
    return value[0] if isinstance(value, list) and len(value) == 1 and value[0] is not None else value


#: Scrapy writes such a file for ``-O feed.json``.
_LISTED: Final = "it begins a list of JSON: a feed has an object in each line, as -O feed.jsonl writes it"


def loaded(number: int, line: bytes) -> Line:
    """The object in a line of JSON lines; a FeedError names the line that has none."""
    where = f"line {number} is not a page"
    try:
        value = json.loads(line.decode("utf-8-sig" if number == 1 else "utf-8"))
    except (ValueError, RecursionError) as error:
        raise FeedError(f"{where}, {_why_unread(error)}") from None
    if not isinstance(value, dict):
        raise FeedError(f"{where}, {_LISTED if isinstance(value, list) else 'it has no url'}")
    return value


def _why_unread(error: ValueError | RecursionError) -> str:
    if isinstance(error, UnicodeDecodeError):
        return "it is not UTF-8"
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    if isinstance(error, json.JSONDecodeError):
        if error.doc.startswith("["):
            return _LISTED
        is_cut = error.doc.startswith("{") and not error.doc.endswith("\n")
        return "it is cut off, as crawls that were killed leave it: delete this line" if is_cut else "it is not JSON"
    return str(error)


def content_text(line: Line) -> str:
    """The text of a page; if the feed omits it, that of its content pagelets."""
    if (text := line.get("text")) is not None:
        return str(text)
    return "\n\n".join(pagelet["text"] for pagelet in line.get("pagelets") or () if pagelet.get("role") == CONTENT)


def pagelets_of_line(line: Line) -> list[dict[str, Any]]:
    """The pagelets of a page; if the feed omits them, its text as a single pagelet."""
    if (listed := line.get("pagelets")) is not None:
        return list(listed)
    text = line.get("text") or ""
    whole = {"id": 0, "role": CONTENT, "templateness": 0.0, "text": text, "words": len(words(text))}
    return [{**whole, "xpaths": [], "links": []}] if text.strip() else []


def _check_part(part: Any, checks: dict[str, _Check], needed: Names, where: str, kind: str) -> None:
    if not isinstance(part, dict):
        raise FeedError(f"{where}: a {kind} is {shortened(repr(part), _MAX_CHARACTERS)}, not an object")
    if missing := [name for name in needed if part.get(name) is None]:
        raise FeedError(f"{where}: a {kind} has no {missing[0]}, but {_names_of_fields(part)}")
    _check(part, checks, where, f"{kind}.")


def _check(record: Line, checks: dict[str, _Check], where: str, prefix: str = "") -> None:
    for name, (fits, kind) in checks.items():
        value = record.get(name)
        if value is not None and not fits(value):
            raise FeedError(f"{where}: {prefix}{name} is {shortened(repr(value), _MAX_CHARACTERS)}, not {kind}")


def _read_parquet(path: str, columns: Sequence[str]) -> Iterator[Line]:
    try:
        from pyarrow import ArrowException
        from pyarrow.parquet import ParquetFile
    except ImportError:
        raise FeedError("reading Parquet needs pyarrow: pip install 'scrapy-pagelets[corpus]'") from None
    try:
        with ParquetFile(path) as file:
            present = [name for name in columns if name in file.schema_arrow.names]
            chosen = present if "url" in present and len(present) > 1 else None  # all columns, for the error message
            for batch in file.iter_batches(64, columns=chosen):
                yield from batch.to_pylist()
    except ArrowException as error:
        raise FeedError(str(error).partition("\n")[0]) from None


def _names_of_fields(line: Line) -> str:
    names = [str(name) for name, value in line.items() if value is not None]
    more = " and others" if len(names) > _MAX_FIELDS else ""
    return f"only {', '.join(name[:_MAX_CHARACTERS] for name in names[:_MAX_FIELDS])}{more}" if names else "no fields"
