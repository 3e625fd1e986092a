"""Archives that are built to take time and memory: bombs and floods are left out and counted, large pages are not."""

import gzip
import struct
import zlib
from collections import Counter

import pytest
from fastwarc.stream_io import ZstdWriter

from scrapy_pagelets.archives.reader import Reader, records
from tests.unit.test_archives import chunked, only_page, only_reason, raw_record


def bomb(*parts, times=1024):
    """A gzip member whose last part is repeated; it is compressed once, which is as good as a thousand times."""
    *before, last = parts
    squeeze = zlib.compressobj(9, zlib.DEFLATED, 31)
    begin = b"".join(map(squeeze.compress, before)) + squeeze.flush(zlib.Z_FULL_FLUSH)
    again = squeeze.compress(last) + squeeze.flush(zlib.Z_FULL_FLUSH)
    checksum = zlib.crc32(b"".join(before))
    for _ in range(times):
        checksum = zlib.crc32(last, checksum)
    size = sum(map(len, before)) + times * len(last)
    return begin + again * times + b"\3\0" + struct.pack("<II", checksum, size)


MEGABYTE = 1 << 20
PAGE = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p>Some words."


def head(length, kind=b"response"):
    return raw_record(b"x", kind).replace(b"Content-Length: 1", b"Content-Length: %d" % length)[: -len(b"x\r\n\r\n")]


BOMBS = {
    "a page of zeros": [head(1 << 30), bytes(MEGABYTE)],
    "a request of zeros": [head(1 << 30, b"request"), bytes(MEGABYTE)],
    "empty lines behind a page": [raw_record(PAGE), b"\n" * MEGABYTE],
    "nothing but empty lines": [b"\n" * MEGABYTE],
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_compression_bomb_is_counted_and_the_file_goes_on_behind_it(tmp_path, caplog, name):
    members = [gzip.compress(raw_record(PAGE, url=b"http://example.com/%d" % number)) for number in range(3)]
    path = tmp_path / "bomb.warc.gz"
    path.write_bytes(members[0] + bomb(*BOMBS[name]) + members[1] + members[2])
    assert path.stat().st_size < 3 * MEGABYTE
    skipped: Counter[str] = Counter()
    found = list(records(str(path), skipped=skipped))
    assert [one.url[-1] for one in found if one.url[-1].isdigit()] == ["0", "1", "2"]
    assert skipped == {"bomb": 1}
    assert [r.getMessage() for r in caplog.records] == [
        f"{path} contains a compression bomb at offset {len(members[0])}, which is left out: reading continues after it"
    ]
    with Reader() as reader:
        assert [reader.read(one.source, one.offset) for one in reversed(found)] == found[::-1]


def test_a_flood_of_empty_lines_in_a_zstd_file_ends_it_at_once(tmp_path, caplog):
    path = tmp_path / "flood.warc.zst"
    with path.open("wb") as file:
        writer = ZstdWriter(file)
        for number in range(3):
            writer.write(raw_record(PAGE, url=b"http://example.com/%d" % number))
            writer.finish()
        for _ in range(64):
            writer.write(b"\r\n" * MEGABYTE)
        writer.write(raw_record(PAGE, url=b"http://example.com/behind"))
        writer.finish()
        writer.flush()
    assert path.stat().st_size < MEGABYTE
    skipped: Counter[str] = Counter()
    found = list(records(str(path), skipped=skipped))
    assert [one.url[-1] for one in found] == ["0", "1", "2"]
    assert skipped == {"truncated": 1}
    assert "a flood of empty lines" in caplog.text
    with Reader() as reader:
        assert [reader.read(one.source, one.offset) for one in found[::-1]] == found[::-1]


@pytest.mark.parametrize(
    "parts",
    [[raw_record(PAGE), bytes(MEGABYTE)], [b"WARC/1.0\r\n", b"A: b\r\n" * 100_000], [bytes(MEGABYTE)]],
    ids=["zeros behind a page", "headers", "no record"],
)
def test_a_bomb_that_is_no_record_ends_the_file_at_once(tmp_path, parts):
    path = tmp_path / "bomb.warc.gz"
    path.write_bytes(gzip.compress(raw_record(PAGE)) + bomb(*parts))
    skipped: Counter[str] = Counter()
    assert len(list(records(str(path), skipped=skipped))) in (1, 2)
    assert skipped["truncated"] + skipped["bomb"] == 1


def test_what_is_large_and_packs_well_is_no_bomb(tmp_path):
    """A table of 40 MB, blank lines as templates leave them, a member of many records."""
    large = b"<table>" + b"<tr><td>the same\n" * 2_000_000
    blank = b"<p>Words" + b"\n" * (2 * MEGABYTE) + b"<p>more"
    path = tmp_path / "large.warc.gz"
    block = PAGE.partition(b"<p>")[0]
    path.write_bytes(gzip.compress(raw_record(block + large)) + gzip.compress(raw_record(block + blank) * 40))
    skipped: Counter[str] = Counter()
    assert [len(one.body) for one in records(str(path), skipped=skipped)] == [len(large), *[len(blank)] * 40]
    assert not skipped


@pytest.mark.parametrize(
    ("block", "reason"),
    [
        (PAGE.partition(b"\r\n\r\n")[0] + b"\r\nA: b" * 100_000 + b"\r\n\r\n<p>", "headers"),
        (PAGE.replace(b"\r\n\r\n", b"\r\nContent-Encoding: " + b"gzip," * 1000 + b"\r\n\r\n") * 2, "encoding"),
    ],
    ids=["headers", "encodings"],
)
def test_floods_of_headers_and_encodings_are_counted(tmp_path, block, reason):
    assert only_reason(tmp_path, block.replace(b"<p>", b"\x1f\x8b\x08<p>")) == reason


def test_a_flood_of_chunks_is_joined(tmp_path):
    body = b"<p>" + b"x" * 1_000_000
    block = PAGE.partition(b"\r\n\r\n")[0] + b"\r\nTransfer-Encoding: chunked\r\n\r\n"
    assert only_page(tmp_path, block + chunked(body, 1)).body == body
