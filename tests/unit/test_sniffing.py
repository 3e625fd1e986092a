"""What a body is by its first bytes, whatever its label says."""

import time

import pytest

from scrapy_pagelets.archives.unpacking import looks_like_html, other_type

FEED = "<channel><title>News</title><item><title>One</title></item></channel></rss>"


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"%PDF-1.7\n%\xe2\xe3", "application/pdf"),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "image/png"),
        (b"\xff\xd8\xff\xe0\0\x10JFIF", "image/jpeg"),
        (b"GIF89a\1\0\1\0", "image/gif"),
        (b"RIFF\x24\0\0\0WEBPVP8 ", "application/octet-stream"),
        (b"\0\0\0\x20ftypisom\0\0", "application/octet-stream"),
        (b"BM\x36\x84\3\0\0\0\0\0\x36", "application/octet-stream"),
        (b"PK\3\4\x14\0", "application/zip"),
        (b"\x1f\x8b\x08\0", "application/gzip"),
        (f'<?xml version="1.0"?>\n<!-- made by hand -->\n<rss version="2.0">{FEED}'.encode(), "application/xml"),
        (f"\n<rss>{FEED}".encode("utf-16"), "application/xml"),
        (b'<feed xmlns="http://www.w3.org/2005/Atom"><title>News</title></feed>', "application/xml"),
        (b'<rdf:RDF xmlns="http://purl.org/rss/1.0/"></rdf:RDF>', "application/xml"),
        (b"<?xml version='1.0'?><?xml-stylesheet href='a.xsl'?><urlset></urlset>", "application/xml"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'><path d='M0 0'/></svg>\n", "application/xml"),
        (b'{"title": "A", "body": "<p>Text</p>"}', "application/json"),
        (b'\xef\xbb\xbf [{"id": 1}]\n', "application/json"),
        (b'{"title": "cut off", "body": "in the mid', "application/json"),
        (b')]}\',\n{"a": [1, 2]}', "application/json"),
        (b"{}", "application/json"),
        (b"\x7fELF\2\1\1" + bytes(9) + b"\3\0\x3e\0\1", "application/octet-stream"),
        (b"PAR1\x15\4\x15 \x15$L\x15\4\x15\4\x12\0\0", "application/octet-stream"),
        (b'["a", "b"]', "application/json"),
    ],
)
def test_what_is_no_page(body, kind):
    assert other_type(body) == kind


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<!doctype html><p>%PDF-1.7",
        b"BMW builds cars. <p>They have wheels.",
        b"<?xml version='1.0'?><!DOCTYPE html PUBLIC '-//W3C//DTD XHTML 1.0'><html></html>",
        b"<svg><symbol id='icon'/></svg><!doctype html><html><body><p>Text</p></body></html>",
        b"<svg><symbol id='icon'/></svg><p>Text</p>",
        b'{"debug": true}<!DOCTYPE html><html><p>Text</p></html>',
        b"{{ title }}<p>A template that nobody has filled",
        b"[1] A footnote <p>that begins a page [2]",
        b'["A quotation"] begins this page.',
        b"<feedback>Text</feedback>",
        "<p>Text".encode("utf-16"),
        b"ID3 is a format of tags",
        b"<p>\1\2\3\4\5 Text behind bytes that it should not have",
        b"A text without tags, in which one \x0b stands by mistake among more than sixty others",
        "<p>\u0102\u0203\u0304\u0401</p>".encode("utf-16-le"),
    ],
)
def test_what_may_be_a_page(body):
    assert other_type(body) == ""


def test_html_is_recognised_behind_comments_and_instructions():
    assert looks_like_html(b"<!-- a --><?xml version='1.0'?>\n<html>")
    assert not looks_like_html(b"<!-- <html> -->text")


@pytest.mark.parametrize(
    ("start", "piece"),
    [(b"%PDF-1.7", b"\0"), (b"", b"<!--"), (b"", b"<?"), (b"", b"["), (b'{"', b"\\"), (b"", b" ")],
    ids=["pdf", "comments", "instructions", "brackets", "string", "blank"],
)
def test_fifty_megabytes_cost_nothing(start, piece):
    body = start + piece * ((50 << 20) // len(piece))
    began = time.process_time()
    other_type(body)
    assert time.process_time() - began < 0.05
