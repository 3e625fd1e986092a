"""Unpack compressed WARC files within limits, a kilobyte can unpack to a megabyte; tell what a body is.

FastWARC unpacks zstd, but takes long to skip the megabytes of empty lines that a kilobyte unpacks to: `warc` looks
ahead for such floods. The first bytes of a body tell what it is, as in browsers (WHATWG MIME Sniffing).
"""

from __future__ import annotations

import codecs
import re
import zlib
from typing import BinaryIO, Final

MAGIC: Final = b"\x1f\x8b\x08"  # first bytes of a member, with deflate, the only method
WARC: Final = b"WARC/"  # the first bytes of a record
_WINDOW: Final = 31
_CHUNK: Final = 1 << 16
_SCANNED: Final = 1 << 20
_HEAD: Final = 1 << 10  # of a member: more than its header and its first letters take
#: A member is a bomb if it unpacks to more bytes than this, and to more than this multiple of its size.
_UNPACKED: Final = 256 << 20
_RATIO: Final = 200
BLANK: Final = 4 << 20  # white space that makes a bomb as well: FastWARC takes 0.1 s to skip a megabyte


class Bomb(Exception):
    """Raised for a member that is a compression bomb, by its offset in the file."""

    def __init__(self, offset: int) -> None:
        super().__init__(f"a compression bomb at offset {offset}")
        self.offset = offset


class Unpacked:
    """A stream of the unpacked members of a file, from its current position on."""

    def __init__(self, file: BinaryIO) -> None:
        self.starts: dict[int, int] = {}  # offset in the file of each member that was begun, by that in the stream
        self._file = file
        self._offset = file.tell()
        self._packed = b""
        self._inflate: zlib._Decompress | None = None
        self._position = self._member_position = self._blank = 0
        self._member = self._offset

    def tell(self) -> int:
        """Return the number of bytes read so far."""
        return self._position

    def read(self, size: int = _CHUNK) -> bytes:
        """Read the next bytes, up to the end of the member; Bomb, ever since, if it is one; OSError if damaged."""
        unpacked, packed = self._position - self._member_position, self._offset - self._member
        if self._blank > BLANK or (unpacked > _UNPACKED and unpacked > _RATIO * packed):
            raise Bomb(self._member)
        data = b""
        while not data:
            self._packed = self._packed or self._file.read(_CHUNK)
            if not self._packed:
                break
            if self._inflate is None:
                self._member, self._member_position = self._offset, self._position
                self.starts[self._position] = self._member
                self._inflate = zlib.decompressobj(_WINDOW)
            data = self._inflated(self._inflate, size)
        self._position += len(data)
        self._blank = self._blank + len(data) if data.isspace() else 0
        return data

    def _inflated(self, inflate: zlib._Decompress, size: int) -> bytes:
        before = len(self._packed)
        try:
            data = inflate.decompress(self._packed, size)
        except zlib.error as error:
            raise OSError(f"damaged gzip: {error}") from None
        if inflate.eof:
            self._packed, self._inflate = inflate.unused_data, None
        else:
            self._packed = inflate.unconsumed_tail
        self._offset += before - len(self._packed)
        return data


def seek_next(file: BinaryIO, after: int) -> bool:
    """Move the file to the next member that begins with a WARC record; returns False if there is none."""
    file.seek(after + 1)
    kept = b""
    while chunk := file.read(_SCANNED):
        scanned = kept + chunk
        begin = file.tell() - len(scanned)
        for match in re.finditer(re.escape(MAGIC), scanned):
            file.seek(begin + match.start())
            if holds_warc(file.read(_HEAD)):
                file.seek(begin + match.start())
                return True
        file.seek(begin + len(scanned))
        kept = scanned[1 - len(MAGIC) :]
    return False


def holds_warc(packed: bytes) -> bool:
    """Return True for the beginning of a gzip member that begins with a WARC record."""
    try:
        return zlib.decompressobj(_WINDOW).decompress(packed, len(WARC)) == WARC
    except zlib.error:
        return False


SNIFFED: Final = 8192  # bytes from the beginning of a file that are read to recognise its type
_TAIL: Final = 256  # bytes of its end that are looked at
#: White space, comments, declarations and instructions, which may stand before the first element.
_BEFORE: Final = rb"(?>\s|<!--(?>.*?-->)|<\?[^>]*>)*+"
# What a browser recognises as HTML without a declared type (Section 7.1).
_HTML: Final = re.compile(
    _BEFORE + rb"<(?:!doctype\s+html|html|head|script|iframe|h1|div|font|table|a|style|title|b|body|br|p)[\s>/]",
    re.IGNORECASE | re.DOTALL,
)
#: The first bytes of files that are no text, of three bytes or more: shorter ones may begin a sentence.
_MAGIC: Final = {
    b"%PDF-": "application/pdf", b"%!PS-Adobe-": "application/postscript", b"GIF87a": "image/gif",
    b"GIF89a": "image/gif", b"\x89PNG\r\n\x1a\n": "image/png", b"\xff\xd8\xff": "image/jpeg",
    b"II*\0": "image/tiff", b"MM\0*": "image/tiff", b"\0\0\1\0": "image/x-icon", b"OggS\0": "application/ogg",
    b"MThd\0": "audio/midi", b"fLaC\0": "audio/flac", b"\x1aE\xdf\xa3": "video/webm", b"wOFF": "font/woff",
    b"wOF2": "font/woff2", b"\x1f\x8b\x08": "application/gzip", b"PK\3\4": "application/zip",
    b"Rar!\x1a\7": "application/x-rar-compressed", b"7z\xbc\xaf\x27\x1c": "application/x-7z-compressed",
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": "application/x-ole-storage",
}  # fmt: skip
_MAGIC_START: Final = re.compile(b"|".join(map(re.escape, _MAGIC)))
# Types whose name follows some bytes that differ.
_INNER: Final = re.compile(rb"RIFF.{4}(?:WEBP|WAVE|AVI )|.{4}ftyp[\w ]{4}|BM.{4}\0{4}|ID3[\2-\4]", re.DOTALL)
# Documents of XML that are no pages. A page may begin with a picture, but such a picture ends before the page does.
_XML: Final = re.compile(
    _BEFORE + rb"<(?:!doctype\s+)?(?:\w+:)?(rss|feed|rdf|urlset|sitemapindex|opml|opensearchdescription|svg)[\s>]",
    re.IGNORECASE | re.DOTALL,
)
# JSON, perhaps behind a line that keeps other sites from running it.
_JSON: Final = re.compile(
    rb"""\s*(?:\)\]\}',?\s*)?(?:(\{)\s*(?:"(?:[^"\\]|\\.)*+"\s*:|\}\s*\Z)|\[[\[\s]*(?:[{"]|\]\s*\Z))"""
)
#: Characters that no text should have (Section 3), without NUL, which UTF-16 has; one in so many may be a mistake.
_FEW: Final = 64
_NO_TEXT: Final = bytes((*range(1, 9), 11, *range(14, 27), *range(28, 32)))
#: Tags that the bytes of other files do not have by chance.
_TAGS: Final = re.compile(
    rb"</[a-z]\w*>|<(?:!doctype|html|head|body|title|meta|script|style|table|div|font|span|img|h[1-6]|br|hr|ul|ol|li|p)[\s/>]",
    re.IGNORECASE,
)
_MARKUP: Final = re.compile(rb"<(?:!doctype|html|head|body)\b", re.IGNORECASE)


def looks_like_html(body: bytes) -> bool:
    """Return True if a browser would treat a body without a declared type as HTML."""
    return bool(_HTML.match(_start(body)))


def other_type(body: bytes) -> str:
    """Return the type of a body that is no page, though it may be labelled so; "" if nothing speaks against a page."""
    if magic := _MAGIC_START.match(body):
        return _MAGIC[magic[0]]
    if _INNER.match(body):
        return "application/octet-stream"
    start = _start(body)
    is_picture = body[-_TAIL:].rstrip().lower().endswith(b"</svg>") and not _MARKUP.search(start)
    if (root := _XML.match(start)) and (root[1].lower() != b"svg" or is_picture):
        return "application/xml"
    if (opened := _JSON.match(start)) and _is_json(opened[1], start, body):
        return "application/json"
    # Many control characters, and no tags, say that this is no text.
    controls = len(start) - len(start.translate(None, _NO_TEXT))
    is_binary = controls * _FEW > len(start) and not _TAGS.search(start.replace(b"\0", b""))
    return "application/octet-stream" if is_binary else ""


def why_no_page(body: bytes) -> str:
    """Why a file is no page, and what to do, as the end of a sentence; "" if nothing speaks against a page."""
    if not body.strip():
        return "is empty: give the HTML of a page"
    kind = other_type(body)
    if not kind and b"<" in body:
        return ""
    return f"is not HTML, it {f'is {kind}' if kind else 'has no tag'}: give the HTML of a page"


def _is_json(brace: bytes | None, start: bytes, body: bytes) -> bool:
    """False for text that begins with a bracket, and for a page before which a program has printed an object."""
    if brace:
        return body[-_TAIL:].rstrip().endswith(b"}") or not _MARKUP.search(start)
    return body[-_TAIL:].rstrip().endswith(b"]")


def _start(body: bytes) -> bytes:
    start = body[:SNIFFED]
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        start = start.decode("utf-16", "replace").encode()
    return start.removeprefix(codecs.BOM_UTF8)
