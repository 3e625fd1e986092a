"""Pages of archives: WARC files and folders of HTML files, one after the other or one by one."""

from __future__ import annotations

import codecs
import glob
import io
import itertools
import logging
import os
import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Self
from urllib.parse import quote

if TYPE_CHECKING:
    from fastwarc.stream_io import WarcReader
    from fastwarc.warc import WarcRecord

logger = logging.getLogger(__name__)

MAX_BODY = 64 << 20  # no page is larger; a compression bomb is

_WARC_NAME = re.compile(r"\.warc(\.(gz|zst|zstd))?$", re.IGNORECASE)
_HTML_SUFFIXES = frozenset({".html", ".htm", ".xhtml", ".shtml", ".php", ".aspx"})
_HTML_TYPES = frozenset({"text/html", "application/xhtml+xml"})
# What a browser takes for HTML where no type is declared (WHATWG MIME Sniffing, 7.1), after comments and declarations.
_HTML_START = re.compile(
    rb"(?>\s|<!--(?>.*?-->)|<\?xml[^>]*>)*+<"
    rb"(?:!doctype\s+html|html|head|script|iframe|h1|div|font|table|a|style|title|b|body|br|p)[\s>/]",
    re.IGNORECASE | re.DOTALL,
)
_SNIFFED = 8192
_ROOT = "/./"  # parts the folder from the path that makes the URL, as in rsync --relative
_DICTIONARY = b"\x5d\x2a\x4d\x18"  # a zstd file whose members cannot be read without the dictionary at its start
_GIVE = "give a WARC file, a glob in quotes, or a folder of WARC or HTML files"


class ArchiveError(ValueError):
    """Raised when an archive cannot be read as it was asked for; the message says what to do."""


@dataclass(frozen=True, slots=True)
class Record:
    """One page of an archive.

    Attributes
    ----------
    url
        Where the page was fetched from.
    headers
        Names in title case (``Content-Type``), without those that told how the body was packed, for it is unpacked.
    status
        Always 200: other responses are no pages.
    body
        The page, neither chunked nor compressed.
    fetched_at
        ISO 8601 in UTC, to the second, or None where the archive does not tell.
    source, offset
        Opaque: what :func:`read` needs to find this page again.
    """

    url: str
    headers: dict[str, list[str]]
    status: int
    body: bytes
    fetched_at: str | None
    source: str
    offset: int


class _Skip(Exception):
    """A record that is no page; its only argument is the reason under which it is counted."""


def expand(path: str) -> list[str]:
    """List the sources of a path: each is a WARC file, a folder of HTML files, or one HTML file.

    A folder gives every WARC file below it, and itself when it holds HTML files.

    Parameters
    ----------
    path
        A file, a folder, or a glob (``**`` is any depth).

    Raises
    ------
    ArchiveError
        Nothing is there, what is there is no archive, or FastWARC is needed and not installed.

    Examples
    --------
    >>> expand("nowhere.warc.gz")
    Traceback (most recent call last):
    ...
    scrapy_pagelets.archives.ArchiveError: nowhere.warc.gz does not exist: give a WARC file, a glob in quotes, \
or a folder of WARC or HTML files
    """
    known = os.path.normpath(os.path.expanduser(path)) if path else ""
    if os.path.exists(known):
        found = _sources(known, os.path.dirname(known))
    elif glob.has_magic(known):
        found = _globbed(known)
    else:
        raise ArchiveError(f"{path or 'the empty path'} does not exist: {_GIVE}")
    if not found:
        raise ArchiveError(f"{path} holds neither WARC nor HTML files: {_GIVE}")
    if any(map(_is_warc, found)):
        _require_fastwarc()
    return found


def records(
    source: str, base: str = "", skipped: Counter[str] | None = None, *, quiet: bool = False
) -> Iterator[Record]:
    """Read the pages of one source in order; never raises for bad data.

    Parameters
    ----------
    source
        What :func:`expand` lists.
    base
        What the URL of an HTML file begins with, before its path below the folder: ``https://example.com/``, or
        ``http://`` where the folder's first level names the hosts. Without it the URL is the file's own.
    skipped
        Counts what is no page, by reason: ``type`` (a request, metadata, a revisit), ``status`` (other than 200),
        ``not_html``, ``empty``, ``no_url``, ``encoding`` (the body cannot be unpacked), ``too_large``,
        ``unreadable`` (the file cannot be opened), and ``truncated``: once for a file that is cut off or damaged,
        of which the rest is left out with one warning that names file and offset.

    Raises
    ------
    ArchiveError
        At once, when FastWARC is needed and not installed.
    """
    counter: Counter[str] = Counter() if skipped is None else skipped
    if os.path.isdir(source):
        return _folder_pages(os.path.normpath(source), base, counter)
    if _is_warc(source):
        _require_fastwarc()
        return _warc_pages(source, counter)
    return _file_pages([source], base, counter)


def read(source: str, offset: int, base: str = "") -> Record:
    """Read one page again.

    Parameters
    ----------
    source, offset
        Those of the :class:`Record`.
    base
        As it was for :func:`records`.

    Raises
    ------
    ArchiveError
        The page is not there any more, or FastWARC is needed and not installed.
    """
    with Reader() as reader:
        return reader.read(source, offset, base)


class Reader:
    """Reads many pages again, fastest in the order of the archive: the last WARC file stays open."""

    def __init__(self) -> None:
        self._path = ""
        self._file: BinaryIO | None = None
        self._walker: _Walker | None = None

    def read(self, source: str, offset: int, base: str = "") -> Record:
        """Read one page again, see the function :func:`read`."""
        try:
            if not _is_warc(source):
                return _file_page(source, base)
            _require_fastwarc()
            return _page(self._record(source, offset), source, offset)
        except ArchiveError:
            raise
        except (_Skip, OSError, EOFError, ValueError) as error:
            self.close()
            raise ArchiveError(
                f"{source} has no page at {_where(offset)} any more, start over with the file as it is now: {error}"
            ) from None

    def _record(self, source: str, offset: int) -> WarcRecord:
        if self._path != source:
            self.close()
            self._file = open(source, "rb")  # noqa: SIM115
            self._path = source
        assert self._file is not None
        if offset >= 0:
            self._file.seek(offset)
            return _first(_walk(self._file))
        if self._walker is None or self._walker.passed >= -offset:
            self._close_walker()
            self._walker = _Walker(source)
        return self._walker.go(-offset)

    def _close_walker(self) -> None:
        if self._walker is not None:
            self._walker.file.close()
            self._walker = None

    def close(self) -> None:
        """Close the file that is still open, if any."""
        self._close_walker()
        if self._file is not None:
            self._file.close()
            self._file = None
        self._path = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Walker:
    """Goes forward to records that have no offset of their own."""

    def __init__(self, path: str) -> None:
        self.file = open(path, "rb")  # noqa: SIM115
        self.records = _walk(self.file)
        self.passed = -1

    def go(self, number: int) -> WarcRecord:
        record = _first(itertools.islice(self.records, number - self.passed - 1, None))
        self.passed = number
        return record


def _first(found: Iterator[tuple[int, WarcRecord]]) -> WarcRecord:
    for _, record in found:
        return record
    raise EOFError("no such record")


# What a path stands for


def _sources(path: str, root: str) -> list[str]:
    if os.path.isdir(path):
        found = [os.path.join(path, name) for name in _below(path)]
        warcs = [name for name in found if _WARC_NAME.search(name)]
        return [*warcs, path] if any(map(_is_html_file, found)) else warcs
    if _is_warc(path):
        return [path]
    return [_rooted(root, os.path.relpath(path, root or "."))] if _is_html_file(path) else []


def _globbed(pattern: str) -> list[str]:
    parts = Path(pattern).parts
    fixed = next(number for number, part in enumerate(parts) if glob.has_magic(part))
    root = os.path.join(*parts[:fixed]) if fixed else ""
    found: list[str] = []
    for match in _outermost(sorted(map(os.path.normpath, glob.glob(pattern, recursive=True)))):
        found += _sources(match, root)
    return list(dict.fromkeys(found))


def _outermost(paths: list[str]) -> Iterator[str]:
    """Leave out what lies in a folder that is itself among the paths."""
    folders = {path for path in paths if os.path.isdir(path)}
    for path in paths:
        if folders.isdisjoint(map(str, Path(path).parents)):
            yield path


def _below(folder: str) -> list[str]:
    """All files of a folder, as sorted paths relative to it."""
    found: list[str] = []
    for parent, _, names in os.walk(folder):
        found += (os.path.relpath(os.path.join(parent, name), folder) for name in names)
    return sorted(found)


def _rooted(root: str, relative: str) -> str:
    return f"{(root or '.').rstrip('/')}{_ROOT}{relative}"


def _is_warc(path: str) -> bool:
    return bool(_WARC_NAME.search(path)) or (not _is_html_name(path) and _starts_as_warc(path))


def _starts_as_warc(path: str) -> bool:
    start = _start(path)
    if start.startswith(b"\x1f\x8b"):
        try:
            start = zlib.decompressobj(31).decompress(start, 5)
        except zlib.error:
            return False
    return start.startswith(b"WARC/")


def _start(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read(_SNIFFED)
    except OSError:
        return b""


def _suffix(path: str) -> str:
    """Leave out the query, which wget writes into names: ``index.php?id=3``."""
    return os.path.splitext(os.path.basename(path).partition("?")[0])[1].lower()


def _is_html_name(path: str) -> bool:
    return _suffix(path) in _HTML_SUFFIXES


def _is_html_file(path: str) -> bool:
    return _is_html_name(path) or (not _suffix(path) and _looks_like_html(_start(path)))


def _looks_like_html(body: bytes) -> bool:
    start = body[:_SNIFFED]
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        start = start.decode("utf-16", "replace").encode()
    return bool(_HTML_START.match(start.removeprefix(codecs.BOM_UTF8)))


# Folders


def _folder_pages(folder: str, base: str, skipped: Counter[str]) -> Iterator[Record]:
    html: list[str] = []
    for name in _below(folder):
        path = os.path.join(folder, name)
        if _is_html_file(path):
            html.append(_rooted(folder, name))
        elif not _WARC_NAME.search(name):
            skipped["not_html"] += 1
    yield from _file_pages(html, base, skipped)


def _file_pages(paths: list[str], base: str, skipped: Counter[str]) -> Iterator[Record]:
    for path in paths:
        try:
            page = _file_page(path, base)
        except _Skip as skip:
            skipped[str(skip)] += 1
        except OSError as error:
            skipped["unreadable"] += 1
            logger.warning("%s cannot be read and is left out: %s", path, error)
        else:
            yield page


def _file_page(path: str, base: str) -> Record:
    if not _is_html_file(path) and os.path.exists(path):
        raise _Skip("not_html")
    with open(path, "rb") as file:
        body = _checked(file.read(MAX_BODY + 1))
    return Record(_file_url(path, base), {"Content-Type": ["text/html"]}, 200, body, None, path, 0)


def _file_url(path: str, base: str) -> str:
    if not base:
        return Path(path).absolute().as_uri()
    relative = (path.partition(_ROOT)[2] or os.path.basename(path)).replace(os.sep, "/")
    return base + ("" if base.endswith("/") else "/") + quote(os.fsencode(relative), safe="/~")


def _checked(body: bytes) -> bytes:
    if not body.strip():
        raise _Skip("empty")
    if len(body) > MAX_BODY:
        raise _Skip("too_large")
    return body


# WARC files


def _require_fastwarc() -> None:
    try:
        import fastwarc  # noqa: F401
    except ImportError:
        raise ArchiveError("reading WARC files needs FastWARC: pip install scrapy-pagelets[archive]") from None


def _warc_pages(path: str, skipped: Counter[str]) -> Iterator[Record]:
    try:
        file = open(path, "rb")  # noqa: SIM115
    except OSError as error:
        skipped["unreadable"] += 1
        logger.warning("%s cannot be read and is left out: %s", path, error)
        return
    with file:
        yield from _open_warc_pages(file, path, skipped)


def _open_warc_pages(file: BinaryIO, path: str, skipped: Counter[str]) -> Iterator[Record]:
    if not file.read(1):
        skipped["empty"] += 1
    file.seek(0)
    offset = 0
    try:
        for offset, record in _walk(file):
            try:
                page = _page(record, path, offset)
            except _Skip as skip:
                skipped[str(skip)] += 1
            else:
                yield page
    except (OSError, EOFError, ValueError) as error:
        skipped["truncated"] += 1
        logger.warning(
            "%s is cut off or damaged at or after %s, the pages from there on are left out: %s",
            path,
            _where(offset),
            error,
        )


def _walk(file: BinaryIO) -> Iterator[tuple[int, WarcRecord]]:
    """Yield each record from where the file stands, with what finds it again.

    That is its offset. Of the records that share a compressed member (``gzip crawl.warc`` makes one member of a file)
    all but the first have none, and are found by their number in the file, negative.
    """
    from fastwarc.warc import ArchiveIterator

    start = file.tell()
    magic = file.read(4)
    file.seek(start)
    opened = _decompressor(magic)
    stream = opened(file) if opened else None
    member = -1
    for number, record in enumerate(ArchiveIterator(stream or file, parse_http=False)):
        begun = record.stream_pos if stream is None else _member(stream)
        yield (-number if begun == member or magic == _DICTIONARY else begun), record
        member = begun
    if stream is not None and _member(stream) != member:
        _refuse_begun_member(file, _member(stream))


def _member(stream: WarcReader) -> int:
    return stream.frame_start_position() or 0


def _decompressor(magic: bytes) -> Callable[[BinaryIO], WarcReader] | None:
    from fastwarc.stream_io import GzipReader, ZstdReader

    if magic.startswith(b"\x1f\x8b"):
        return GzipReader
    return ZstdReader if magic in (b"\x28\xb5\x2f\xfd", _DICTIONARY) else None


def _refuse_begun_member(file: BinaryIO, start: int) -> None:
    """Raise for a member that was cut off before its first record; FastWARC takes it for the end of the file."""
    file.seek(start)
    try:
        empty = not zlib.decompress(file.read(_SNIFFED), 31).strip()
    except zlib.error:
        empty = False
    if not empty:
        raise EOFError("the last member is cut off")


def _where(offset: int) -> str:
    return f"offset {offset}" if offset >= 0 else f"record {-offset}"


def _page(record: WarcRecord, source: str, offset: int) -> Record:
    """Raise _Skip for what is no page, and EOFError for a record that is cut off."""
    from fastwarc.warc import WarcRecordType

    is_page = record.record_type in (WarcRecordType.response, WarcRecordType.resource)
    block = _block(record, keep=is_page)
    if not is_page:
        raise _Skip("type")
    url = _text(record.headers.get_bytes(b"WARC-Target-URI", b"") or b"").strip().strip("<>")
    if not url:
        raise _Skip("no_url")
    declared = record.headers.get("Content-Type") or ""
    if record.record_type == WarcRecordType.response and _is_http(declared, block):
        status, headers, body = _parse_http(block)
    else:
        status, headers, body = 200, {"Content-Type": [declared]} if declared else {}, block
    if status != 200:
        raise _Skip("status")
    body = _html_body(headers, body)
    kept = {name: values for name, values in headers.items() if name not in _PACKING}
    return Record(url, kept, status, body, _timestamp(record.headers.get("WARC-Date") or ""), source, offset)


def _block(record: WarcRecord, keep: bool) -> bytes:
    if not (record.headers.get("Content-Length") or "").strip().isdigit():
        raise EOFError("a record without a length")
    length = record.content_length
    large = length > MAX_BODY
    block = record.reader.read() if keep and not large else b""
    if (len(block) if block else record.consume()) < length:
        raise EOFError("the record ends before its length")
    if keep and large:
        raise _Skip("too_large")
    return block


def _timestamp(date: str) -> str | None:
    try:
        moment = datetime.fromisoformat(date)
    except ValueError:
        return None
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return aware.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


# HTTP, as leniently as archives need it: FastWARC's own parser knows neither bare line feeds nor chunk extensions

_PACKING = frozenset({"Content-Encoding", "Transfer-Encoding", "Content-Length"})
_CHUNK = re.compile(rb"(?:\r?\n)?([0-9a-fA-F]{1,8})[ \t]*(?:;[^\r\n]*)?\r?\n")


def _is_http(declared: str, block: bytes) -> bool:
    return _media_type(declared) == "application/http" or block.startswith(b"HTTP/")


def _parse_http(block: bytes) -> tuple[int, dict[str, list[str]], bytes]:
    head, body = _split_head(block)
    status = re.match(rb"\S+[ \t]+(\d{3})(?!\d)", head)
    headers: dict[str, list[str]] = {}
    for line in re.sub(rb"\r?\n[ \t]+", b" ", head).splitlines()[1:]:
        name, colon, value = line.partition(b":")
        if colon:
            headers.setdefault(_text(name.strip()).title(), []).append(_text(value.strip()))
    return int(status[1]) if status else 0, headers, body


def _split_head(block: bytes) -> tuple[bytes, bytes]:
    blank = re.search(rb"\r?\n\r?\n", block)
    return (block[: blank.start()], block[blank.end() :]) if blank else (block, b"")


def _text(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.decode("latin-1")


def _media_type(declared: str) -> str:
    return declared.partition(";")[0].strip().lower()


def _html_body(headers: dict[str, list[str]], packed: bytes) -> bytes:
    declared = _media_type(headers.get("Content-Type", [""])[0])
    if declared and declared not in _HTML_TYPES:
        raise _Skip("not_html")
    body = _checked(_unpacked(headers, _checked(packed)))
    if not declared and not _looks_like_html(body):
        raise _Skip("not_html")
    return body


def _unpacked(headers: dict[str, list[str]], packed: bytes) -> bytes:
    body = packed
    if "chunked" in ",".join(headers.get("Transfer-Encoding", [])).lower():
        body = _dechunked(body)
    for encoding in reversed(",".join(headers.get("Content-Encoding", [])).lower().split(",")):
        if _looks_like_html(body):  # many archives store the body decoded, the headers as they were
            break
        try:
            body = _decoded(encoding.strip(), body)
        except (zlib.error, OSError, ValueError):
            raise _Skip("encoding") from None
    return body


def _dechunked(body: bytes) -> bytes:
    """Join the chunks; a body that is not chunked, whatever its header says, stays as it is."""
    chunks: list[bytes] = []
    at = 0
    while head := _CHUNK.match(body, at):
        size = int(head[1], 16)
        at = head.end() + size
        chunks.append(body[head.end() : at])
        if not size:
            return b"".join(chunks)
    return b"".join(chunks) if chunks and at >= len(body.rstrip()) else body


def _decoded(encoding: str, body: bytes) -> bytes:
    from fastwarc.stream_io import BrotliReader, ZstdReader

    if encoding in ("", "identity", "none"):
        return body
    if encoding in ("gzip", "x-gzip"):
        return _inflated(body, 47)
    if encoding == "deflate":
        return _deflated(body)
    if encoding not in ("br", "zstd"):
        raise ValueError(f"unknown content encoding {encoding}")
    stream = io.BytesIO(body)
    return (BrotliReader(stream) if encoding == "br" else ZstdReader(stream)).read(MAX_BODY + 1)


def _deflated(body: bytes) -> bytes:
    """Servers never agreed on whether deflate has the header of zlib."""
    try:
        return _inflated(body, 47)
    except zlib.error:
        return _inflated(body, -15)


def _inflated(body: bytes, window: int) -> bytes:
    """Inflate; of a body that was cut off, what there is."""
    inflated = zlib.decompressobj(window).decompress(body, MAX_BODY + 1)
    if not inflated:
        raise ValueError("nothing in it")
    return inflated
