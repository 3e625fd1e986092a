"""Reading pages from WARC files and folders: all of them, in order, whatever the files look like."""

import gzip
import io
import itertools
import logging
import os
import socket
import sys
import zlib
from collections import Counter
from typing import Any

import pytest
from fastwarc.stream_io import BrotliWriter, ZstdWriter, zstd_train_dictionary_from_samples
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from scrapy_pagelets.archives import record, warc
from scrapy_pagelets.archives.reader import ArchiveError, Reader, expand, records
from scrapy_pagelets.archives.resources import Resources

HTML = [("Content-Type", "text/html; charset=utf-8")]


def read(source, offset, base=""):
    with Reader() as reader:
        return reader.read(source, offset, base)


def page(number, words=400):
    return b"<html><body><p>Page %d " % number + b"of many words \xc3\xa4 " * words + b"</p></body></html>"


def response(writer, url, body, headers=HTML, status="200 OK", kind="response", date=None):
    http = StatusAndHeaders(status, headers, protocol="HTTP/1.1")
    more: dict[str, Any] = {"warc_headers_dict": {"WARC-Date": date}} if date else {}
    more["length"] = len(body)  # or warcio leaves a temporary file open
    writer.write_record(writer.create_warc_record(url, kind, payload=io.BytesIO(body), http_headers=http, **more))


def write_warc(path, bodies, headers=HTML, compressed=None, **options):
    with path.open("wb") as file:
        writer = WARCWriter(file, gzip=path.suffix == ".gz" if compressed is None else compressed)
        writer.write_record(writer.create_warcinfo_record(path.name, {"software": "tests"}))
        for number, body in enumerate(bodies):
            response(writer, f"http://example.com/{number}", body, headers, **options)
    return path


def raw_record(block, kind=b"response", content_type=b"application/http; msgtype=response", url=b"http://example.com/"):
    head = [b"WARC/1.0", b"WARC-Type: " + kind, b"Content-Type: " + content_type, b"Content-Length: %d" % len(block)]
    if url:
        head.append(b"WARC-Target-URI: " + url)
    return b"\r\n".join([*head, b"", block, b"", b""])


def write_files(folder, **files):
    for name, body in files.items():
        path = folder / name.replace("__", ".").replace("_", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(body)
    return folder


def read_all(path, base=""):
    """Read all pages in order, then one by one, and check that the results are equal."""
    skipped: Counter[str] = Counter()
    pages = [page for source in expand(str(path)) for page in records(source, base, skipped)]
    with Reader() as reader:
        assert [reader.read(page.source, page.offset, base) for page in pages] == pages
    for found in reversed(pages):
        assert read(found.source, found.offset, base) == found
    return pages, dict(skipped)


def only_page(tmp_path, block, **options):
    path = tmp_path / "one.warc"
    path.write_bytes(raw_record(block, **options))
    pages, skipped = read_all(path)
    assert len(pages) == 1, skipped
    return pages[0]


def only_reason(tmp_path, block, **options):
    path = tmp_path / "none.warc"
    path.write_bytes(raw_record(block, **options))
    pages, skipped = read_all(path)
    assert pages == []
    assert sum(skipped.values()) == 1
    return next(iter(skipped))


@pytest.mark.parametrize("name", ["crawl.warc", "crawl.warc.gz"])
def test_pages_come_in_order_under_their_own_urls(tmp_path, name):
    bodies = [page(number) for number in range(5)]
    pages, skipped = read_all(write_warc(tmp_path / name, bodies, date="2026-11-20T10:00:00Z"))
    assert [(found.url, found.body) for found in pages] == [
        (f"http://example.com/{number}", body) for number, body in enumerate(bodies)
    ]
    assert {(found.fetched_at, found.source) for found in pages} == {("2026-11-20T10:00:00Z", str(tmp_path / name))}
    assert pages[0].headers == {"Content-Type": ["text/html; charset=utf-8"]}
    assert skipped == {"type": 1}


def test_a_file_compressed_as_a_whole_is_read_like_any_other(tmp_path):
    plain = write_warc(tmp_path / "plain.warc", map(page, range(6)))
    whole = tmp_path / "whole.warc.gz"
    whole.write_bytes(gzip.compress(plain.read_bytes()))
    pages, _ = read_all(whole)
    assert [found.body for found in pages] == [page(number) for number in range(6)]
    with Reader() as reader:
        with pytest.raises(ArchiveError, match="no page at record 99 any more"):
            reader.read(str(whole), -99)
        assert [reader.read(found.source, found.offset) for found in pages] == pages


def test_members_of_several_records_are_read_like_any_other(tmp_path):
    records_ = [raw_record(b"HTTP/1.1 200 OK\r\n\r\n" + page(number)) for number in range(7)]
    mixed = tmp_path / "mixed.warc.gz"
    parts = [records_[:2], records_[2:3], records_[3:6], records_[6:]]
    mixed.write_bytes(b"".join(gzip.compress(b"".join(part)) for part in parts))
    pages, _ = read_all(mixed)
    assert [found.body for found in pages] == [page(number) for number in range(7)]
    with Reader() as reader:  # backwards and forwards, in one reader
        for found in [*reversed(pages), *pages]:
            assert reader.read(found.source, found.offset) == found


@pytest.mark.parametrize("trained", [False, True])
def test_zstd_is_read_with_and_without_a_dictionary(tmp_path, trained):
    path = tmp_path / "crawl.warc.zst"
    samples = [raw_record(b"HTTP/1.1 200 OK\r\n\r\n%x" % (number**40)) for number in range(300)]
    dictionary = zstd_train_dictionary_from_samples(samples, 2000) if trained else None
    with path.open("wb") as file:
        writer = ZstdWriter(file, dictionary=dictionary)
        for number in range(4):
            writer.write(raw_record(b"HTTP/1.1 200 OK\r\n\r\n" + page(number)))
            writer.finish()
        writer.flush()
    pages, _ = read_all(path)
    assert [found.body for found in pages] == [page(number) for number in range(4)]


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    bodies=st.lists(st.binary(min_size=1, max_size=3000), max_size=30), repeat=st.integers(1, 200), seal=st.booleans()
)
def test_gzip_offsets_find_the_same_page_again(tmp_path, bodies, repeat, seal):
    path = write_warc(tmp_path / "any.warc.gz", [b"<p>" + body * repeat for body in bodies])
    if seal:  # bgzip writes an empty member at the end
        path.write_bytes(path.read_bytes() + gzip.compress(b""))
    pages, skipped = read_all(path)
    assert [found.body for found in pages] == [b"<p>" + body * repeat for body in bodies]
    assert skipped == {"type": 1}


def chunked(body, size=100, extension=b"", end=b"0\r\n\r\n"):
    starts = range(0, len(body), size)
    pieces = [body[start : start + size] for start in starts]
    return b"".join(b"%x%s\r\n%s\r\n" % (len(piece), extension, piece) for piece in pieces) + end


def squeezed(writer, body):
    packed = io.BytesIO()
    stream = writer(packed)
    stream.write(body)
    stream.close()
    return packed.getvalue()


def raw_deflate(body):
    squeeze = zlib.compressobj(wbits=-15)
    return squeeze.compress(body) + squeeze.flush()


CHUNKED = ("Transfer-Encoding", "chunked")
PACKINGS = {
    "chunked": (chunked, [CHUNKED]),
    "chunks with extensions": (lambda body: chunked(body, extension=b";name=value"), [CHUNKED]),
    "chunked, last chunk missing": (lambda body: chunked(body, end=b""), [CHUNKED]),
    "chunked, says the header only": (lambda body: body, [CHUNKED]),
    "gzip": (gzip.compress, [("Content-Encoding", "gzip")]),
    "gzip under its old name": (gzip.compress, [("content-encoding", "x-GZIP")]),
    "gzip, says the header only": (lambda body: body, [("Content-Encoding", "gzip")]),
    "deflate": (zlib.compress, [("Content-Encoding", "deflate")]),
    "deflate without header": (raw_deflate, [("Content-Encoding", "deflate")]),
    "br": (lambda body: squeezed(BrotliWriter, body), [("Content-Encoding", "br")]),
    "zstd": (lambda body: squeezed(ZstdWriter, body), [("Content-Encoding", "zstd")]),
    "identity": (lambda body: body, [("Content-Encoding", "identity")]),
    "gzip in chunks": (lambda body: chunked(gzip.compress(body)), [("Content-Encoding", "gzip"), CHUNKED]),
    "gzip in gzip": (lambda body: gzip.compress(gzip.compress(body)), [("Content-Encoding", "gzip, gzip")]),
}


@pytest.mark.parametrize("packing", PACKINGS)
def test_bodies_are_unpacked_and_their_headers_say_so(tmp_path, packing):
    pack, headers = PACKINGS[packing]
    pages, skipped = read_all(write_warc(tmp_path / "x.warc", [pack(page(0)), pack(page(1))], [*HTML, *headers]))
    assert [found.body for found in pages] == [page(0), page(1)], skipped
    assert pages[0].headers == {"Content-Type": ["text/html; charset=utf-8"]}


def test_a_compressed_body_that_was_cut_off_gives_what_there_is(tmp_path):
    body = b"<p>" + bytes(range(32, 127)) * 400
    packed = gzip.compress(body, 0)[:20_000]
    pages, _ = read_all(write_warc(tmp_path / "x.warc", [packed], [*HTML, ("Content-Encoding", "gzip")]))
    assert len(pages[0].body) > 19_000
    assert body.startswith(pages[0].body)


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "zstd", "rot13"])
def test_a_body_that_cannot_be_unpacked_is_counted(tmp_path, encoding):
    _, skipped = read_all(
        write_warc(tmp_path / "x.warc", [b"\xff\xfe\xfdnothing"], [*HTML, ("Content-Encoding", encoding)])
    )
    assert skipped == {"type": 1, "encoding": 1}


def test_a_compression_bomb_is_counted_and_not_unpacked(tmp_path, monkeypatch):
    monkeypatch.setattr(record, "MAX_BODY", 100_000)
    monkeypatch.setattr(warc, "MAX_BODY", 100_000)
    bomb = gzip.compress(b"<p>" + b" a" * 500_000)
    huge = b"<p>" + b" a" * 500_000
    path = write_warc(tmp_path / "x.warc", [bomb], [*HTML, ("Content-Encoding", "gzip")])
    with path.open("ab") as file:
        response(WARCWriter(file, gzip=False), "http://example.com/huge", huge)
        response(WARCWriter(file, gzip=False), "http://example.com/film", huge, [("Content-Type", "video/mp4")])
        response(WARCWriter(file, gzip=False), "http://example.com/small", b"<p>small")
    pages, skipped = read_all(path)
    assert [found.url for found in pages] == ["http://example.com/small"]
    assert skipped == {"type": 1, "too_large": 3}  # the film is not even read


def test_http_heads_are_read_leniently(tmp_path):
    head = b"HTTP/2 200\nContent-TYPE: text/html;\n  charset=utf-8\nno colon\nX-Any: a\nx-any: \xe4\n\n<p>text"
    found = only_page(tmp_path, head)
    assert found.headers == {"Content-Type": ["text/html; charset=utf-8"], "X-Any": ["a", "ä"]}
    assert found.body == b"<p>text"


@pytest.mark.parametrize(
    ("start", "is_page"),
    [
        (b"<!DOCTYPE html><p>x", True),
        (b"\xef\xbb\xbf \n<HTML lang=en>", True),
        (b"<!-- a > b --> <!----><div class=x>", True),
        (b"<?xml version='1.0'?><!DOCTYPE html PUBLIC 'x'>", True),
        ("\ufeff<html><p>sixteen".encode("utf-16-le"), True),
        (b"<?xml version='1.0'?><rss><channel>", False),
        (b"<svg xmlns=x>", False),
        (b"plain text with <p> in it", False),
        (b"\x89PNG\r\n", False),
        (b"{}", False),
        (b"<!---->" * 1100 + b"x", False),
    ],
)
def test_a_missing_type_is_sniffed(tmp_path, start, is_page):
    block = b"HTTP/1.1 200 OK\r\nServer: x\r\n\r\n" + start
    if is_page:
        assert only_page(tmp_path, block).body == start
    else:
        assert only_reason(tmp_path, block) == "not_html"


@pytest.mark.parametrize(
    ("block", "options", "reason"),
    [
        (b"HTTP/1.1 404 Not Found\r\nContent-Type: text/html\r\n\r\n<p>x", {}, "status"),
        (b"HTTP/1.1 2000 OK\r\nContent-Type: text/html\r\n\r\n<p>x", {}, "status"),
        (b"no HTTP at all", {}, "status"),
        (b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n<p>x", {}, "not_html"),
        (b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n \n", {}, "empty"),
        (b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n", {}, "empty"),
        (b"", {}, "status"),
        (b"HTTP/1.1 200 OK\r\n\r\n<p>x", {"url": b""}, "no_url"),
        (b"GET / HTTP/1.1\r\n\r\n", {"kind": b"request"}, "type"),
        (b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n", {"kind": b"revisit"}, "type"),
        (b"<p>the text of it", {"kind": b"conversion", "content_type": b"text/plain"}, "type"),
        (b"20260101000000\n127.0.0.1", {"content_type": b"text/dns", "url": b"dns:example.com"}, "not_html"),
        (b"%PDF", {"kind": b"resource", "content_type": b"application/pdf"}, "not_html"),
    ],
)
def test_what_is_no_page_is_counted_by_its_reason(tmp_path, block, options, reason):
    assert only_reason(tmp_path, block, **options) == reason


def test_resources_and_xhtml_are_pages(tmp_path):
    found = only_page(
        tmp_path, b"<p>x", kind=b"resource", content_type=b"text/html", url=b"<http://example.com/\xc3\xa4>"
    )
    assert (found.url, found.body, found.headers) == ("http://example.com/ä", b"<p>x", {"Content-Type": ["text/html"]})
    assert found.fetched_at is None
    xhtml = b"HTTP/1.1 200 OK\r\nContent-Type: Application/XHTML+xml ; charset=utf-8\r\n\r\n<p>x"
    assert only_page(tmp_path, xhtml).body == b"<p>x"


@pytest.mark.parametrize(
    ("date", "expected"),
    [
        (b"2026-11-20T10:00:00.123456789Z", "2026-11-20T10:00:00Z"),
        (b"2026-11-20T11:00:00+01:00", "2026-11-20T10:00:00Z"),
        (b"2026-11", None),
        (b"yesterday", None),
    ],
)
def test_dates_are_utc_to_the_second(tmp_path, date, expected):
    url = b"http://example.com/\r\nWARC-Date: " + date
    assert only_page(tmp_path, b"HTTP/1.1 200 OK\r\n\r\n<p>x", url=url).fetched_at == expected


@pytest.mark.parametrize("name", ["images.warc", "images.warc.gz"])
def test_a_warc_of_images_yields_nothing_and_counts(tmp_path, name):
    images = [b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 50] * 4
    pages, skipped = read_all(write_warc(tmp_path / name, images, [("Content-Type", "image/png")]))
    assert pages == []
    assert skipped == {"type": 1, "not_html": 4}


@pytest.mark.parametrize("name", ["x.warc", "x.warc.gz", "x.html"])
def test_a_file_of_no_bytes_is_empty(tmp_path, caplog, name):
    (tmp_path / name).touch()
    assert read_all(tmp_path / name) == ([], {"empty": 1})
    assert not caplog.records


def ends(whole):
    """Offsets at which a cut loses nothing: from the end of a record to the beginning of the next."""
    starts = [start for start in range(len(whole)) if whole.startswith(b"WARC/1.", start)]
    return [*starts, len(whole)]


@pytest.mark.parametrize("packed", [False, True])
def test_a_cut_anywhere_keeps_the_pages_before_it(tmp_path, caplog, packed):
    plain = b"".join(raw_record(b"HTTP/1.1 200 OK\r\n\r\n<p>Page %d" % number) for number in range(3))
    bounds = ends(plain)
    parts = [plain[start:end] for start, end in itertools.pairwise(bounds)]
    if packed:
        parts = [gzip.compress(part) for part in parts]
    whole = b"".join(parts)
    lengths = [sum(map(len, parts[:number])) for number in range(len(parts) + 1)]
    path = tmp_path / ("cut.warc.gz" if packed else "cut.warc")
    for cut in range(1, len(whole) + 1):
        caplog.clear()
        path.write_bytes(whole[:cut])
        skipped: Counter[str] = Counter()
        pages = list(records(str(path), skipped=skipped))
        complete = sum(cut >= length for length in lengths[1:])
        # After the last byte of a page come line feeds or a checksum. Without them, the page is still complete.
        assert complete <= len(pages) <= complete + 1
        assert [found.body for found in pages] == [b"<p>Page %d" % number for number in range(len(pages))]
        lost = cut not in lengths and len(pages) == complete
        assert skipped["truncated"] == len(caplog.records) == int(lost), cut
        if lost:
            assert str(path) in caplog.text
            assert caplog.records[0].levelno == logging.WARNING


def test_the_warning_names_the_offset_of_the_cut_record(tmp_path, caplog):
    path = write_warc(tmp_path / "cut.warc", map(page, range(3)))
    pages, _ = read_all(path)
    path.write_bytes(path.read_bytes()[:-1000])
    assert read_all(path)[0] == pages[:2]
    assert [record.getMessage() for record in caplog.records] == [
        f"{path} is cut off or damaged at or after offset {pages[2].offset}, the pages from there on are left out: "
        "the record ends before its length"
    ]


def test_a_cut_file_is_warned_of_if_nothing_counts_what_is_left_out(tmp_path, caplog):
    path = tmp_path / "cut.warc.gz"
    write_warc(path, [page(1), page(2)])
    path.write_bytes(path.read_bytes()[:-40])
    assert len(list(records(str(path)))) == 1
    assert "cut off or damaged" in caplog.text


@pytest.mark.parametrize("name", ["junk.warc", "junk.warc.gz"])
@pytest.mark.parametrize("junk", [b"\x00\xffgarbage" * 40, b"WARC/1.0\r\nWARC-Type: response\r\n\r\n", b"<html>"])
def test_garbage_between_records_ends_the_file_not_the_crawl(tmp_path, caplog, name, junk):
    first, second = (write_warc(tmp_path / f"{number}-{name}", [page(number)]) for number in range(2))
    path = tmp_path / name
    path.write_bytes(first.read_bytes() + junk + second.read_bytes())
    pages, skipped = read_all(path)
    goes_on = name.endswith(".gz")  # members can be told from junk
    assert [found.body for found in pages] == ([page(0), page(1)] if goes_on else [page(0)])
    assert skipped == {"type": 1 + goes_on, "truncated": 1}
    assert len(caplog.records) == 1


@pytest.mark.parametrize("damage", ["cut", "zeros", "noise"])
def test_pages_behind_a_damaged_member_are_read(tmp_path, caplog, damage):
    members = [write_warc(tmp_path / f"{number}.warc.gz", [page(number)]).read_bytes() for number in range(5)]
    for number in (1, 3):
        whole = members[number]
        middle = len(whole) // 2
        rest = {"cut": b"", "zeros": bytes(9) + whole[middle + 9 :], "noise": b"\xff" * len(whole)}[damage]
        members[number] = whole[:middle] + rest
    path = tmp_path / "damaged.warc.gz"
    path.write_bytes(b"".join(members))
    pages, skipped = read_all(path)
    assert [found.body for found in pages] == [page(0), page(2), page(4)]
    assert skipped["truncated"] == len(caplog.records) == 2
    assert "reading continues at the next whole member" in caplog.records[0].getMessage()


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), packed=st.booleans())
def test_damaged_bytes_never_raise(tmp_path, data, packed):
    parts = [raw_record(b"HTTP/1.1 200 OK\r\n\r\n" + page(number, 20)) for number in range(3)]
    damaged = bytearray(b"".join(gzip.compress(part, mtime=0) if packed else part for part in parts))
    for _ in range(data.draw(st.integers(1, 4))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path / "any.warc"
    path.write_bytes(damaged)
    for found in records(str(path)):
        assert found.body


def test_a_folder_gives_its_html_files_by_path_under_the_base(tmp_path):
    write_files(
        tmp_path,
        **{
            "b__html": b"<p>b",
            "a_index__htm": b"<p>a",
            "a_one two__php?id=3": b"<p>query",
            "c_page": b"<!doctype html><p>no suffix",
            "c_data": b"no suffix, no page",
            "style__css": b"p {}",
            "c_empty__html": b"",
        },
    )
    (tmp_path / "ä.XHTML").write_bytes(b"<p>umlaut")
    pages, skipped = read_all(tmp_path, "https://example.com")
    assert [(found.url, found.body) for found in pages] == [
        ("https://example.com/a/index.htm", b"<p>a"),
        ("https://example.com/a/one%20two.php%3Fid%3D3", b"<p>query"),
        ("https://example.com/b.html", b"<p>b"),
        ("https://example.com/c/page", b"<!doctype html><p>no suffix"),
        ("https://example.com/%C3%A4.XHTML", b"<p>umlaut"),
    ]
    assert skipped == {"not_html": 2, "empty": 1}
    assert {found.fetched_at for found in pages} == {None}


def test_hosts_of_a_mirror_come_from_the_folders_below_a_bare_scheme(tmp_path):
    write_files(tmp_path, example__org_index__html=b"<p>x")
    assert [found.url for found in read_all(tmp_path, "http://")[0]] == ["http://example.org/index.html"]


def test_without_a_base_the_url_is_the_files_own(tmp_path, monkeypatch):
    write_files(tmp_path, **{"site_one two__html": b"<p>x"})
    monkeypatch.chdir(tmp_path)
    expected = (tmp_path / "site" / "one two.html").as_uri()
    for path in ("site", "./site/", "site/one two.html", "site/*.html"):
        assert [found.url for found in read_all(path)[0]] == [expected]


def test_a_folder_with_both_gives_both(tmp_path):
    write_files(tmp_path, deep_a__html=b"<p>a", notes__txt=b"x")
    write_warc(tmp_path / "z.warc.gz", [page(0)])
    write_warc(tmp_path / "deep" / "y.warc", [page(1)])
    pages, skipped = read_all(tmp_path, "http://example.org/")
    assert [found.url for found in pages] == [
        "http://example.com/0",
        "http://example.com/0",
        "http://example.org/deep/a.html",
    ]
    assert pages[0].body == page(1)
    assert skipped == {"type": 2, "not_html": 1}


def test_globs_find_files_at_any_depth_once(tmp_path):
    write_files(tmp_path, site_a__html=b"<p>a", site_deep_b__html=b"<p>b", other__html=b"<p>c")
    urls = ["http://x.org/a.html", "http://x.org/deep/b.html"]
    assert [found.url for found in read_all(tmp_path / "site" / "**" / "*.html", "http://x.org/")[0]] == urls
    assert [found.url for found in read_all(tmp_path / "site" / "**", "http://x.org/")[0]] == urls
    assert [found.url for found in read_all(tmp_path / "s?te", "http://x.org/")[0]] == urls
    first, second = (write_warc(tmp_path / f"{number}.warc", [page(number)]) for number in range(2))
    assert expand(str(tmp_path / "[01].warc")) == [str(first), str(second)]


def test_a_file_with_the_characters_of_a_glob_is_that_file(tmp_path):
    path = write_warc(tmp_path / "crawl[1].warc", [page(0)])
    assert expand(str(path)) == [str(path)]


@pytest.mark.parametrize("compressed", [False, True])
def test_a_warc_is_known_by_its_content_too(tmp_path, compressed):
    path = write_warc(tmp_path / "crawl.2026", [page(0)], compressed=compressed)
    assert [found.body for found in read_all(path)[0]] == [page(0)]


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("missing.warc", "missing.warc does not exist: give a page, a WARC file, a glob in quotes, or a folder"),
        ("*.warc", "*.warc contains neither WARC nor HTML files: give a page, a WARC file"),
        ("", "the empty path does not exist: give"),
        ("empty", "empty contains neither WARC nor HTML files: give"),
        ("feed.jsonl", "feed.jsonl contains neither WARC nor HTML files: give"),
    ],
)
def test_what_is_not_there_is_refused_with_what_to_do(tmp_path, monkeypatch, path, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    (tmp_path / "feed.jsonl").write_text("{}")
    with pytest.raises(ArchiveError) as refused:
        expand(path)
    assert str(refused.value).startswith(message)


def test_without_fastwarc_the_message_says_what_to_install(tmp_path, monkeypatch):
    path = str(write_warc(tmp_path / "x.warc", [page(0)]))
    write_files(tmp_path, site_a__html=b"<p>a")
    monkeypatch.setitem(sys.modules, "fastwarc", None)
    for use in (expand, records, lambda path: read(path, 0)):
        with pytest.raises(ArchiveError, match=r"pip install scrapy-pagelets\[archive\]"):
            use(path)
    assert len(list(records(str(tmp_path / "site")))) == 1


def test_a_file_that_went_away_is_counted_and_the_rest_is_read(tmp_path, caplog):
    write_files(tmp_path, a__html=b"<p>a", b__html=b"<p>b")
    skipped: Counter[str] = Counter()
    pages = records(str(tmp_path), "http://x.org/", skipped)
    assert next(pages).body == b"<p>a"
    (tmp_path / "b.html").unlink()
    assert list(pages) == []
    assert list(records(str(tmp_path / "gone.warc"), skipped=skipped)) == []
    assert skipped == {"unreadable": 2}
    assert "b.html cannot be read" in caplog.text
    assert "gone.warc cannot be read" in caplog.text


def test_a_page_that_changed_is_refused(tmp_path):
    path = write_warc(tmp_path / "x.warc", [page(0), page(1)])
    last = read_all(path)[0][-1]
    whole = path.read_bytes()
    path.write_bytes(whole[: last.offset + 10])
    with pytest.raises(ArchiveError, match=f"{last.offset} any more"):
        read(str(path), last.offset)
    with pytest.raises(ArchiveError, match="record 7 any more"):
        read(str(path), -7)
    with Reader() as reader:
        with pytest.raises(ArchiveError):
            reader.read(str(path), last.offset)
        path.write_bytes(whole)
        assert reader.read(str(path), last.offset) == last
    with pytest.raises(ArchiveError, match="gone"):
        read(str(tmp_path / "gone.warc"), 0)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_pipes_sockets_and_devices_are_not_read(tmp_path, caplog, monkeypatch):
    folder = write_files(tmp_path / "site", a__html=b"<p>A page", b__html=b"<p>Another")
    monkeypatch.chdir(folder)  # paths of sockets have a length limit
    for name in ("pipe", "pipe.html", "pipe.warc.gz", "pipe.unknown"):
        os.mkfifo(name)
    os.symlink("pipe.html", "link.html")
    os.symlink("/dev/zero", "zero.html")
    os.symlink("nowhere", "broken.html")
    os.symlink("self.html", "self.html")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("socket.html")
        skipped: Counter[str] = Counter()
        urls = [one.url for source in expand(str(folder)) for one in records(source, "http://h/", skipped)]
    assert urls == ["http://h/a.html", "http://h/b.html"]
    assert skipped["unreadable"] == 7
    assert f"{folder}/pipe.warc.gz cannot be read and is left out: it is not a regular file" in caplog.text
    assert "zero.html cannot be read and is left out: it is not a regular file" in caplog.text
    assert list(records(str(folder / "pipe.warc.gz"), skipped=skipped)) == []
    for name in ("pipe", "pipe.unknown"):
        with pytest.raises(ArchiveError, match="contains neither WARC nor HTML files"):
            expand(str(folder / name))
    with pytest.raises(ArchiveError, match="has no page"):
        read(str(folder / "pipe.warc.gz"), 0)


def test_a_glob_does_not_follow_links_in_circles(tmp_path):
    folder = write_files(tmp_path, site_a__html=b"<p>A", site_deep_b__html=b"<p>B")
    for number in range(4):
        os.symlink("..", folder / "site" / f"up{number}")
        os.symlink(".", folder / "site" / "deep" / f"here{number}")
    for pattern in ("**", "**/*.html", "site/**", "*/**/*.html", "**/**/?.html"):
        found = [one.url for source in expand(str(folder / pattern)) for one in records(source, "http://h/")]
        assert len(found) == len(set(found)) == 2, pattern


def revisit(writer, url, of, date="2026-02-03T04:05:06Z", digest=""):
    http = StatusAndHeaders("200 OK", HTML, protocol="HTTP/1.1")
    about = {"WARC-Date": date, "WARC-Refers-To-Target-URI": of, "WARC-Payload-Digest": digest}
    about = {name: value for name, value in about.items() if value}
    record = writer.create_warc_record(url, "revisit", http_headers=http, warc_headers_dict=about, length=0)
    writer.write_record(record)


def revisited_archive(folder, names):
    """Two files, of which the second has pages whose bodies are in the first."""
    with (folder / names[0]).open("wb") as file:
        writer = WARCWriter(file, gzip=names[0].endswith(".gz"))
        response(writer, "http://example.com/a", page(1))
        response(writer, "http://example.com/b", page(2))
        revisit(writer, "http://example.com/a2", "http://example.com/a")
    with (folder / names[1]).open("wb") as file:
        writer = WARCWriter(file, gzip=names[1].endswith(".gz"))
        revisit(writer, "http://example.com/b2", "http://example.com/b")
        revisit(writer, "http://example.com/b", "http://example.com/b")
        revisit(writer, "http://example.com/c2", "http://example.com/c")
        revisit(writer, "http://example.com/d2", "", digest="sha1:NONE")


@pytest.mark.parametrize("end", ["warc", "warc.gz"])
def test_a_revisit_has_the_page_that_it_refers_to(tmp_path, end):
    revisited_archive(tmp_path, [f"1.{end}", f"2.{end}"])
    sources = expand(str(tmp_path))
    resources, skipped = Resources(sources), Counter[str]()
    pages = [found for source in sources for found in records(source, "", skipped, resources=resources)]
    bodies = {found.url.rpartition("/")[2]: found.body for found in pages}
    assert bodies == {"a": page(1), "b": page(2), "a2": page(1), "b2": page(2)}
    assert skipped == {"type": 3}
    assert pages[2].fetched_at == "2026-02-03T04:05:06Z"
    with Reader(resources) as reader:
        assert [reader.read(found.source, found.offset) for found in pages] == pages


def test_a_revisit_is_found_by_the_digest_of_its_body(tmp_path):
    path = tmp_path / "a.warc"
    with path.open("wb") as file:
        writer = WARCWriter(file, gzip=False)
        response(writer, "http://example.com/a", page(1))
        revisit(writer, "http://example.com/b", "", digest=_digest_of_first(path, file))
        revisit(writer, "http://example.com/c", "", digest="sha1:OTHER")
    pages, skipped = read_all(path)
    assert [found.url for found in pages] == ["http://example.com/a", "http://example.com/b"]
    assert pages[1].body == page(1)
    assert skipped == {"type": 1}


def _digest_of_first(path, file):
    file.flush()
    return path.read_text(encoding="latin-1").partition("WARC-Payload-Digest: ")[2].split()[0]


def test_a_revisit_of_a_revisit_leads_nowhere(tmp_path):
    path = tmp_path / "a.warc"
    with path.open("wb") as file:
        writer = WARCWriter(file, gzip=False)
        revisit(writer, "http://example.com/a", "http://example.com/b")
        revisit(writer, "http://example.com/b", "http://example.com/a")
    assert read_all(path) == ([], {"type": 2})
