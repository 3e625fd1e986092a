"""Tell what a body is by its first bytes, whatever its header says, as browsers do (WHATWG MIME Sniffing)."""

from __future__ import annotations

import codecs
import re
from typing import Final

#: Bytes from the beginning of a file that are read to recognise its type.
SNIFFED: Final = 8192
#: Bytes of its end that are looked at.
_TAIL: Final = 256
#: White space, comments, declarations and instructions, which may stand before the first element.
_BEFORE: Final = rb"(?>\s|<!--(?>.*?-->)|<\?[^>]*>)*+"
# What a browser recognises as HTML without a declared type (Section 7.1).
_HTML: Final = re.compile(
    _BEFORE + rb"<(?:!doctype\s+html|html|head|script|iframe|h1|div|font|table|a|style|title|b|body|br|p)[\s>/]",
    re.IGNORECASE | re.DOTALL,
)
#: The first bytes of files that are no text, of three bytes or more: shorter ones may begin a sentence.
_MAGIC: Final = {
    b"%PDF-": "application/pdf",
    b"%!PS-Adobe-": "application/postscript",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"II*\0": "image/tiff",
    b"MM\0*": "image/tiff",
    b"\0\0\1\0": "image/x-icon",
    b"OggS\0": "application/ogg",
    b"MThd\0": "audio/midi",
    b"fLaC\0": "audio/flac",
    b"\x1aE\xdf\xa3": "video/webm",
    b"wOFF": "font/woff",
    b"wOF2": "font/woff2",
    b"\x1f\x8b\x08": "application/gzip",
    b"PK\3\4": "application/zip",
    b"Rar!\x1a\7": "application/x-rar-compressed",
    b"7z\xbc\xaf\x27\x1c": "application/x-7z-compressed",
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": "application/x-ole-storage",
}
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
_MARKUP: Final = re.compile(rb"<(?:!doctype|html|head|body)\b", re.IGNORECASE)


def looks_like_html(body: bytes) -> bool:
    """Return True if a browser would treat a body without a declared type as HTML."""
    return bool(_HTML.match(_start(body)))


def other_type(body: bytes) -> str:
    r"""Return the type of a body that is no page, though it may be labelled so; "" if nothing speaks against a page.

    >>> other_type(b"%PDF-1.7\n"), other_type(b"<?xml version='1.0'?><rss><channel/></rss>"), other_type(b'{"a": 1}')
    ('application/pdf', 'application/xml', 'application/json')
    >>> other_type(b"<p>{}"), other_type(b'{"debug": 1}<!doctype html><p>A page</p>')
    ('', '')
    """
    if magic := _MAGIC_START.match(body):
        return _MAGIC[magic[0]]
    if _INNER.match(body):
        return "application/octet-stream"
    start = _start(body)
    if (root := _XML.match(start)) and (root[1].lower() != b"svg" or _is_picture(start, body)):
        return "application/xml"
    return "application/json" if (opened := _JSON.match(start)) and _is_json(opened[1], start, body) else ""


def _is_picture(start: bytes, body: bytes) -> bool:
    """False for a page that begins with a picture."""
    return body[-_TAIL:].rstrip().lower().endswith(b"</svg>") and not _MARKUP.search(start)


def _is_json(brace: bytes | None, start: bytes, body: bytes) -> bool:
    """False for text that begins with a bracket, and for a page before which a program has printed an object.

    An object may be cut off.
    """
    if brace:
        return body[-_TAIL:].rstrip().endswith(b"}") or not _MARKUP.search(start)
    return body[-_TAIL:].rstrip().endswith(b"]")


def _start(body: bytes) -> bytes:
    start = body[:SNIFFED]
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        start = start.decode("utf-16", "replace").encode()
    return start.removeprefix(codecs.BOM_UTF8)
