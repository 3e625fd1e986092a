"""HTTP responses as archives hold them, read leniently.

FastWARC's own parser knows neither bare line feeds nor chunk extensions; and many archives store bodies unpacked under
the headers of packed ones.
"""

from __future__ import annotations

import codecs
import io
import re
import zlib
from typing import Final

#: Headers that tell how a body is packed: they mean nothing once it is not.
PACKING: Final = frozenset({"Content-Encoding", "Transfer-Encoding", "Content-Length"})
#: So much of a file is looked at to tell what it is.
SNIFFED: Final = 8192
_BLANK: Final = re.compile(rb"\r?\n\r?\n")
#: Bytes of all headers; servers and browsers take a fraction of that.
_MOST_HEADERS: Final = 1 << 18
#: A body is packed once, by mistake twice.
_MOST_ENCODINGS: Final = 8
_CHUNK: Final = re.compile(rb"(?:\r?\n)?([0-9a-fA-F]{1,8})[ \t]*(?:;[^\r\n]*)?\r?\n")
# What a browser takes for HTML where no type is declared (WHATWG MIME Sniffing, 7.1), after comments and declarations.
_HTML_START: Final = re.compile(
    rb"(?>\s|<!--(?>.*?-->)|<\?xml[^>]*>)*+<"
    rb"(?:!doctype\s+html|html|head|script|iframe|h1|div|font|table|a|style|title|b|body|br|p)[\s>/]",
    re.IGNORECASE | re.DOTALL,
)

Headers = dict[str, list[str]]


def parse(block: bytes) -> tuple[int, Headers, bytes]:
    r"""Status (0 if there is none), headers by names in title case, and body.

    >>> parse(b"HTTP/1.1 200 OK\ncontent-type: text/html\n\n<p>")
    (200, {'Content-Type': ['text/html']}, b'<p>')

    Raises
    ------
    ValueError : if the headers are too long
    """
    blank = _BLANK.search(block, 0, _MOST_HEADERS)
    if blank is None and len(block) > _MOST_HEADERS:
        raise ValueError("the headers are too long")
    head, body = (block[: blank.start()], block[blank.end() :]) if blank else (block, b"")
    status = re.match(rb"\S+[ \t]+(\d{3})(?!\d)", head)
    headers: Headers = {}
    for line in re.sub(rb"\r?\n[ \t]+", b" ", head).splitlines()[1:]:
        name, colon, value = line.partition(b":")
        if colon:
            headers.setdefault(text(name.strip()).title(), []).append(text(value.strip()))
    return int(status[1]) if status else 0, headers, body


def text(value: bytes) -> str:
    """A header's value as text, UTF-8 or else Latin-1."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.decode("latin-1")


def media_type(declared: str) -> str:
    """A ``Content-Type`` without its parameters.

    >>> media_type("Text/HTML; charset=utf-8")
    'text/html'
    """
    return declared.partition(";")[0].strip().lower()


def looks_like_html(body: bytes) -> bool:
    """True if a browser would take a body without a declared type for HTML."""
    start = body[:SNIFFED]
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        start = start.decode("utf-16", "replace").encode()
    return bool(_HTML_START.match(start.removeprefix(codecs.BOM_UTF8)))


def unpacked(headers: Headers, packed: bytes, most: int) -> bytes:
    """A body without chunks and compression, cut off one byte after ``most``.

    Raises
    ------
    ValueError : if it cannot be unpacked
    """
    body = packed
    if "chunked" in ",".join(headers.get("Transfer-Encoding", [])).lower():
        body = _dechunked(body)
    encodings = ",".join(headers.get("Content-Encoding", [])).lower().split(",")
    if len(encodings) > _MOST_ENCODINGS:
        raise ValueError(f"{len(encodings)} content encodings")
    for encoding in reversed(encodings):
        if looks_like_html(body):
            break
        try:
            body = _decoded(encoding.strip(), body, most + 1)
        except (zlib.error, OSError) as error:
            raise ValueError(f"not {encoding}: {error}") from None
    return body


def _dechunked(body: bytes) -> bytes:
    """Join the chunks; a body that is not chunked, whatever its header says, stays as it is."""
    joined = bytearray()
    at = 0
    while head := _CHUNK.match(body, at):
        size = int(head[1], 16)
        at = head.end() + size
        joined += body[head.end() : at]
        if not size:
            return bytes(joined)
    return bytes(joined) if at and at >= len(body.rstrip()) else body


def _decoded(encoding: str, body: bytes, size: int) -> bytes:
    from fastwarc.stream_io import BrotliReader, ZstdReader

    if encoding in ("", "identity", "none"):
        return body
    if encoding in ("gzip", "x-gzip", "deflate"):
        try:
            return _inflated(body, 47, size)
        except zlib.error:
            return _inflated(body, -15, size)  # servers never agreed on whether deflate has the header of zlib
    if encoding not in ("br", "zstd"):
        raise ValueError(f"unknown content encoding {encoding}")
    stream = io.BytesIO(body)
    return (BrotliReader(stream) if encoding == "br" else ZstdReader(stream)).read(size)


def _inflated(body: bytes, window: int, size: int) -> bytes:
    """Inflate; of a body that was cut off, what there is."""
    inflated = zlib.decompressobj(window).decompress(body, size)
    if not inflated:
        raise ValueError("nothing in it")
    return inflated
