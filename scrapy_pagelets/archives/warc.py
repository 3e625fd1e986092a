"""Read the records of WARC files, in order or by offset."""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, BinaryIO, Final, cast
from urllib.parse import urlsplit

from scrapy_pagelets.archives import record as http
from scrapy_pagelets.archives import unpacking
from scrapy_pagelets.archives.record import MAX_BODY, PACKING, Headers, Record, SkipRecord
from scrapy_pagelets.archives.unpacking import BLANK, SNIFFED, Bomb, Unpacked, looks_like_html

if TYPE_CHECKING:
    from fastwarc.stream_io import WarcReader
    from fastwarc.warc import WarcRecord

_HTML_TYPES: Final = frozenset({"text/html", "application/xhtml+xml"})
_CHUNK: Final = 1 << 16  # bytes that are read at once to look ahead
_DICTIONARY: Final = b"\x5d\x2a\x4d\x18"  # a zstd file whose members need the dictionary at its start


def walk(file: BinaryIO, bomb: Callable[[int], None] | None = None) -> Iterator[tuple[int, WarcRecord]]:
    """Yield the records of a file from its current position on, each with the number by which it can be found again.

    This number is the offset of the record. If several records share a compressed member (``gzip crawl.warc`` makes one
    member of a file), only the first has an offset. The others have the negative of their index in the file. ``bomb``
    is called with the offset of each member that is a compression bomb; the walk continues after it. Raise EOFError,
    OSError, ValueError if the file is cut off or damaged.
    """
    from fastwarc.stream_io import ZstdReader

    number = 0
    while True:
        start = file.tell()
        magic = file.read(4)
        file.seek(start)
        stream: Unpacked | WarcReader | None = Unpacked(file) if magic.startswith(unpacking.MAGIC) else None
        if magic in (b"\x28\xb5\x2f\xfd", _DICTIONARY):
            stream = ZstdReader(file)
        try:
            for offset, record in _members(file, stream, start, magic):
                yield (-number if offset is None else offset), record
                number += 1
        except Bomb as error:
            if bomb is not None:
                bomb(error.offset)
            if not unpacking.seek_next(file, error.offset):
                return
        else:
            return


def _members(
    file: BinaryIO, stream: Unpacked | WarcReader | None, start: int, magic: bytes
) -> Iterator[tuple[int | None, WarcRecord]]:
    """Yield each record with the offset of its member, None if it is not the first record of the member."""
    from fastwarc.warc import ArchiveIterator

    records = ArchiveIterator(cast(BinaryIO, stream or file), parse_http=False)
    if isinstance(stream, Unpacked):
        for record in records:
            yield stream.starts.pop(record.stream_pos, None), record
        if stream.starts:
            _refuse_begun_member(file, max(stream.starts.values()))
        return
    member = -1
    for record in records if stream is None else _unflooded(file, stream, start, records):
        begun = record.stream_pos if stream is None else stream.frame_start_position() or 0
        yield (None if begun == member or magic == _DICTIONARY else begun), record
        member = begun
    if stream is not None and (begun := stream.frame_start_position() or 0) != member:
        _refuse_begun_member(file, begun)


def _unflooded(file: BinaryIO, reader: WarcReader, start: int, records: Iterator[WarcRecord]) -> Iterator[WarcRecord]:
    """Yield the records of a zstd file up to a flood of empty lines, for which a second reader looks ahead."""
    from fastwarc.stream_io import ZstdReader

    position = blank = 0
    with http.opened(file.name) as twin:
        twin.seek(start)
        ahead = ZstdReader(twin)
        while True:
            while blank <= BLANK and (blank or position <= reader.tell()):
                data = b""
                with suppress(OSError, EOFError, ValueError):  # the reader of the records will report it
                    data = ahead.read(_CHUNK)
                if not data:
                    break
                content = len(data.rstrip())
                blank = len(data) - content if content else blank + len(data)
                position += len(data)
            if blank > BLANK and position - blank <= reader.tell():
                raise ValueError("a flood of empty lines")
            if (record := next(records, None)) is None:
                return
            yield record
            record.consume()


class Finder:
    """Finds records of one file again; in file order this is fastest."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._file = http.opened(path)
        self._walking = http.opened(path)
        self._passed = -1
        self._records = walk(self._walking)

    def find(self, offset: int) -> WarcRecord:
        """Return the record that `walk` has yielded with this offset."""
        if offset >= 0:
            self._file.seek(offset)
            records = walk(self._file)
        else:
            if self._passed >= -offset:
                self._walking.seek(0)
                self._passed, self._records = -1, walk(self._walking)
            records = itertools.islice(self._records, -offset - self._passed - 1, None)
            self._passed = -offset
        for _, record in records:
            return record
        raise EOFError("no such record")

    def close(self) -> None:
        """Close the file."""
        self._file.close()
        self._walking.close()


Originals = Callable[[str, str], Record | None]  # by URL and digest, "" if unknown


def page(record: WarcRecord, source: str, offset: int, originals: Originals | None = None) -> Record:
    """Return the page of a record, or of that which a revisit names; SkipRecord without one, EOFError if cut."""
    from fastwarc.warc import WarcRecordType

    is_page = record.record_type in (WarcRecordType.response, WarcRecordType.resource)
    block = _block(record, keep=is_page)
    if record.record_type == WarcRecordType.revisit and originals is not None:
        return _revisited(record, source, offset, originals)
    if not is_page:
        raise SkipRecord("type")
    url = _url(record)
    if not url:
        raise SkipRecord("no_url")
    status, headers, body = _response(record, block)
    if status != 200:
        raise SkipRecord("status")
    body, cut = _html(headers, body)
    if not _is_page_url(url):
        raise SkipRecord("no_url")
    kept = {name: values for name, values in headers.items() if name not in PACKING}
    moment, cut = record.headers.get("WARC-Date") or "", cut or "WARC-Truncated" in record.headers
    return Record(url, kept, body, http.timestamp(moment), source, offset, cut)


def _revisited(record: WarcRecord, source: str, offset: int, originals: Originals) -> Record:
    url, earlier = _url(record), _url(record, b"WARC-Refers-To-Target-URI")
    # The same page at another time would come twice.
    found = originals(earlier, record.headers.get("WARC-Payload-Digest") or "") if url != earlier else None
    if found is None or found.url == url or not _is_page_url(url):
        raise SkipRecord("type")
    fetched_at = http.timestamp(record.headers.get("WARC-Date") or "")
    return replace(found, url=url, fetched_at=fetched_at, source=source, offset=offset)


def urls(file: BinaryIO) -> Iterator[tuple[int, str, str]]:
    """Yield offset, as from `walk`, URL, and digest of the body ("" for none) of each response of any content type."""
    from fastwarc.warc import WarcRecordType

    for offset, record in walk(file):
        if record.record_type in (WarcRecordType.response, WarcRecordType.resource):
            yield offset, _url(record), record.headers.get("WARC-Payload-Digest") or ""


def resource(path: str, offset: int) -> tuple[str, bytes] | str | None:
    """Content type and body of a response, or the target of a redirect; None if it failed or cannot be read."""
    with closing(Finder(path)) as finder, suppress(SkipRecord, Bomb, OSError, EOFError, ValueError):
        record = finder.find(offset)
        status, headers, body = _response(record, _block(record, keep=True))
        if 300 <= status < 400:
            return next(iter(headers.get("Location", ())), None)
        if status == 200:
            with suppress(ValueError):  # the body was stored decoded, with the headers of an encoded one
                body, _ = http.unpacked(headers, body, MAX_BODY)
            return headers.get("Content-Type", [""])[0], body
    return None


def _url(record: WarcRecord, header: bytes = b"WARC-Target-URI") -> str:
    return http.text(record.headers.get_bytes(header, b"") or b"").strip().strip("<>")


def _response(record: WarcRecord, block: bytes) -> tuple[int, Headers, bytes]:
    from fastwarc.warc import WarcRecordType

    declared = record.headers.get("Content-Type") or ""
    is_http = http.media_type(declared) == "application/http" or block.startswith(b"HTTP/")
    if record.record_type == WarcRecordType.response and is_http:
        try:
            return http.parse(block)
        except ValueError:
            raise SkipRecord("headers") from None
    return 200, {"Content-Type": [declared]} if declared else {}, block


def _block(record: WarcRecord, keep: bool) -> bytes:
    if not (record.headers.get("Content-Length") or "").strip().isdigit():
        raise EOFError("a record without a length")
    length = record.content_length
    large = length > MAX_BODY
    block = record.reader.read() if keep and not large else b""
    if (len(block) if block else record.consume()) < length:
        raise EOFError("the record ends before its length")
    if keep and large:
        raise SkipRecord("too_large")
    return block


def _html(headers: Headers, packed: bytes) -> tuple[bytes, bool]:
    declared = http.media_type(headers.get("Content-Type", [""])[0])
    if declared and declared not in _HTML_TYPES:
        raise SkipRecord("not_html")
    if not packed.strip():
        raise SkipRecord("empty")
    try:
        body, cut = http.unpacked(headers, packed, MAX_BODY)
    except ValueError:
        raise SkipRecord("encoding") from None
    if not declared and not looks_like_html(body):
        raise SkipRecord("not_html")
    return http.checked_page(body), cut


def _is_page_url(url: str) -> bool:
    try:
        parts = urlsplit(url)
    except ValueError:  # "http://[broken"
        return False
    return "://" in url and bool(parts.hostname or parts.scheme not in ("http", "https"))


def _refuse_begun_member(file: BinaryIO, start: int) -> None:
    """Raise EOFError for a member that is cut off before its first record: to FastWARC it is the end of the file."""
    file.seek(start)
    try:
        empty = not zlib.decompress(file.read(SNIFFED), 31).strip()
    except zlib.error:
        empty = False
    if not empty:
        raise EOFError("the last member is cut off")
