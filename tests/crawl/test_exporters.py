"""Feeds of JSON lines and Parquet: every item is in the file, in order, as it was when it was exported."""

import dataclasses
import io
import json
import math
import sys
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scrapy
from hypothesis import given, settings
from hypothesis import strategies as st
from scrapy.exporters import JsonLinesItemExporter

from scrapy_pagelets.crawler.exporters import MAX_FIELDS, JsonLinesExporter, ParquetItemExporter
from scrapy_pagelets.feed.feed_schema import FEED, arrow_type
from tests import crawling

ROOT = Path(__file__).resolve().parents[2]
EXPORTERS = {"parquet": "scrapy_pagelets.crawler.exporters.ParquetItemExporter"}
FEED_COLUMNS = [
    *("url", "title", "headline", "language", "fetched_at"),
    *("author", "published", "modified", "canonical", "description", "image", "tags", "breadcrumbs", "product"),
    "robots",
    *("text", "comments", "posts", "pagelets", "template"),
    *("near_duplicate_of", "similarity", "sketch"),
    *("content_hash", "changed", "changed_share"),
]

PRODUCT = {
    "name": "Tee",
    "price": 12.5,
    "highest_price": None,
    "currency": "EUR",
    "availability": "InStock",
    "sku": "T-17",
    "gtin": None,
    "brand": None,
}


def line(number: int, **other: Any) -> dict[str, Any]:
    """Return a line of the feed, as docs/feed.md describes it."""
    link = {"url": f"http://example.com/{number + 1}", "anchor": "nächste 次 🕷"}
    pagelet = {
        "id": number,
        "xpaths": ["/html/body/div[2]", "/html/body/p"],
        "role": "content",
        "templateness": 0.02 * number,
        "text": f"Straße {number} " * 20,
        "words": 40,
        "links": [link] * (number % 3),
    }
    feed = {
        "url": f"http://example.com/{number}",
        "title": f"Page {number}",
        "headline": f"Heading {number}" if number % 4 else None,
        "language": "de" if number % 2 else None,
        "fetched_at": "2026-11-20T10:00:00Z",
        "author": "Ana Bo" if number % 3 else None,
        "published": "2026-11-20",
        "modified": None,
        "canonical": f"http://example.com/{number}",
        "description": None,
        "image": None,
        "tags": ["Tee"] * (number % 3),
        "breadcrumbs": ["Home", "Straßen"] * (number % 2),
        "product": PRODUCT if number % 3 else None,
        "robots": ["noindex"] * (number % 2),
        "text": f"Straße {number} " * 20,
        "comments": None if number % 3 else "So schön 🕷",
        "posts": [{"author": "Ana Bo", "published": None, "role": "comments", "xpaths": ["/html/body/p"]}]
        * (number % 2),
        "pagelets": [pagelet] * (number % 4),
        "template": {"id": "example.com#1", "pages": 5, "share": 0.41} if number % 5 else None,
        "near_duplicate_of": None,
        "similarity": 0.93 if number % 7 else None,
        "sketch": "00ff" * 8,
        "content_hash": "0f" * 16 if number % 3 else None,
        "changed": ("new", "same", "changed", None)[number % 4],
        "changed_share": 0.25 if number % 4 == 2 else None,
    }
    return feed | other


def add(exporter, items):
    for item in items:
        exporter.export_item(item)


def export(items, **options):
    file = io.BytesIO()
    exporter = ParquetItemExporter(file, **options)
    exporter.start_exporting()
    add(exporter, items)
    exporter.finish_exporting()
    assert not file.closed
    file.seek(0)
    return file


def read_back(items, **options):
    """Return the rows without nulls, with ``extra`` decoded."""
    rows = pq.read_table(export(items, **options)).to_pylist()
    for row in rows:
        row["extra"] = json.loads(row["extra"]) if row["extra"] else None
    return [{name: value for name, value in row.items() if value is not None} for row in rows]


@settings(deadline=None)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
        | st.text(st.characters()) | st.datetimes() | st.decimals(allow_nan=False) | st.binary(max_size=3).map(str),
        lambda parts: st.lists(parts, max_size=3) | st.dictionaries(st.text(max_size=3) | st.integers(), parts),
    ),
    st.sampled_from(["utf-8", None]),
)  # fmt: skip
def test_lines_of_json_are_those_of_scrapy_but_for_blanks(value, encoding):
    lines = []
    for exporter in (JsonLinesExporter, JsonLinesItemExporter):
        file = io.BytesIO()
        exporter(file, encoding=encoding).export_item({"url": "http://a.test/é", "value": value})
        lines.append(file.getvalue())
    ours, theirs = (json.loads(each) for each in lines)
    assert ours == theirs
    assert [each.count(b"\n") for each in lines] == [1, 1]


@pytest.mark.parametrize("count", [1, 3, 7, 8, 20])
def test_the_feed_comes_back_as_it_went_in(count):
    items = [line(number) for number in range(count)]
    table = pq.read_table(export(items, batch_items=4))
    assert table.column_names == [*FEED_COLUMNS, "extra"]
    assert table.drop(["extra"]).to_pylist() == items
    assert table["extra"].null_count == count


def test_duckdb_reads_the_same(tmp_path):
    items = [line(number) for number in range(20)]
    path = tmp_path / "feed.parquet"
    path.write_bytes(export(items, batch_items=6).getbuffer())
    with duckdb.connect() as database:
        rows = database.execute(f"select * exclude (extra) from '{path}'").fetchall()
        assert [dict(zip(FEED_COLUMNS, row, strict=True)) for row in rows] == items
        words = f"select sum(p.words) from (select unnest(pagelets) as p from '{path}')"
        expected = sum(pagelet["words"] for item in items for pagelet in item["pagelets"])
        assert database.execute(words).fetchone() == (expected,)


def test_types_do_not_depend_on_the_items():
    expected = pa.schema([*((f.name, arrow_type(f)) for f in FEED if not f.optional), ("extra", pa.string())])
    nothing_known: dict[str, Any] = {"url": "http://example.com/", "pagelets": [], "template": None}
    for items in ([], [nothing_known], [line(number) for number in range(9)]):
        file = export(items)
        assert pq.read_schema(file).equals(expected)
        assert pq.read_schema(file).metadata[b"scrapy_pagelets.feed"] == b"1"


def test_an_empty_feed_is_a_file_without_rows(tmp_path):
    path = tmp_path / "empty.parquet"
    path.write_bytes(export([]).getbuffer())
    with duckdb.connect() as database:
        assert database.execute(f"select count(*), count(url) from '{path}'").fetchone() == (0, 0)


def test_row_groups_are_written_while_items_come():
    class Counted(io.BytesIO):
        written = 0

        def write(self, data):
            self.written += len(data)
            return super().write(data)

    file = Counted()
    exporter = ParquetItemExporter(file, batch_items=10)
    sizes = []
    for number in range(100):
        exporter.export_item(line(number))
        sizes.append(file.written)
    assert sizes[8] == 0
    assert sizes[-1] > sizes[50] > sizes[25] > 0
    exporter.finish_exporting()
    groups = pq.ParquetFile(file).metadata
    assert [groups.row_group(number).num_rows for number in range(groups.num_row_groups)] == [10] * 10


def test_very_long_pages_make_smaller_row_groups(monkeypatch):
    monkeypatch.setattr("scrapy_pagelets.crawler.exporters.BATCH_BYTES", 100_000)
    file = export([line(number, text="long " * 8_000) for number in range(12)])
    groups = pq.ParquetFile(file).metadata
    assert [groups.row_group(number).num_rows for number in range(groups.num_row_groups)] == [3, 3, 3, 3]


def test_other_fields_get_the_types_of_the_first_row_group():
    day, moment = date(2026, 11, 20), datetime(2026, 11, 20, 10, 0, 0, 5)
    foreign = {
        "price": 9.5,
        "stock": 3,
        "labels": ["a", "b"],
        "maker": {"name": "Ü", "since": 1998},
        "sold": True,
        "day": day,
        "seen": moment,
        "zoned": moment.replace(tzinfo=UTC),
        "cost": Decimal("1.50"),
        "raw": b"\xff\x00",
        "nothing": None,
    }
    items = [line(1, **foreign), line(2, labels=[], maker={"name": None})]
    table = pq.read_table(export(items))
    assert table.column_names == [*FEED_COLUMNS, *foreign, "extra"]
    rows = table.to_pylist()
    assert {name: rows[0][name] for name in foreign} == foreign
    assert rows[1]["labels"] == []
    assert rows[1]["maker"] == {"name": None, "since": None}
    assert table["extra"].null_count == 2


def test_values_that_do_not_fit_are_stored_in_extra():
    first = line(1, stock=3, labels=["a"], maker={"name": "x"}, day=date(2026, 11, 20), ratio=0.5)
    later = {
        "url": "http://example.com/x",
        "title": ["a", "list"],
        "similarity": "high",
        "pagelets": [{"id": 1.5}],
        "template": {"id": "x", "unknown": 1},
        "stock": 2.5,
        "labels": "letters",
        "maker": {"name": "x", "city": "y"},
        "day": datetime(2026, 11, 20, 10),
        "ratio": True,
        "late": {"any": ["thing", 1]},
        "huge": 2**70,
        "raw": b"\xff",
        "nan": math.nan,
    }
    kept = dict(later)
    url = kept.pop("url")
    kept |= {"day": "2026-11-20T10:00:00", "raw": "\\xff", "nan": "NaN"}
    rows = read_back([first, later, line(3)], batch_items=1)
    assert rows[1] == {"url": url, "extra": kept}
    assert "extra" not in rows[0]
    assert "extra" not in rows[2]


def test_types_that_do_not_agree_in_the_first_row_group_follow_the_first():
    rows = read_back([{"size": 1}, {"size": "XL"}, {"size": None}, {"size": 2}])
    assert rows == [{"size": 1}, {"extra": {"size": "XL"}}, {}, {"size": 2}]


def test_another_type_replaces_that_of_a_feed_column_only_where_nothing_fits():
    assert read_back([{"title": ["a"]}, {"title": ["b", "c"]}]) == [{"title": ["a"]}, {"title": ["b", "c"]}]
    assert read_back([{"title": ["a"]}, {"title": "b"}]) == [{"extra": {"title": ["a"]}}, {"title": "b"}]


def test_a_value_with_further_fields_goes_into_extra():
    items = [line(3), line(6)]
    items[0]["pagelets"][0]["markdown"] = "# x"
    rows = read_back(items)
    assert rows[0]["extra"] == {"pagelets": items[0]["pagelets"]}
    assert rows[1]["pagelets"] == items[1]["pagelets"]


def test_dictionaries_with_data_for_keys_do_not_become_columns():
    counts = {f"word{number}": number for number in range(MAX_FIELDS + 1)}
    assert read_back([{"url": "x", "counts": counts}]) == [{"url": "x", "extra": {"counts": counts}}]
    rows = read_back([{"url": "x", **counts}])
    assert len(rows[0]) < MAX_FIELDS + 2
    assert {**rows[0], **rows[0]["extra"]}.items() >= counts.items()


def test_an_item_may_have_a_field_called_extra():
    assert read_back([{"url": "x", "extra": {"a": 1}}]) == [{"url": "x", "extra": {"extra": {"a": 1}}}]


@dataclasses.dataclass
class Link:
    url: str
    rank: float = 0.5


class Product(scrapy.Item):
    name = scrapy.Field()
    price = scrapy.Field(serializer=float)
    links = scrapy.Field()


def test_items_of_every_kind_and_nested_ones_are_written():
    nested = Product(name="Ä", price="9.5", links=(Link("http://example.com/"), {"url": "b", "rank": np.float32(2)}))
    rows = read_back([nested, Link("c"), {"links": {frozenset({1})}, "name": np.str_("n"), "rank": np.float64(1)}])
    assert rows == [
        {"name": "Ä", "price": 9.5, "links": [{"url": "http://example.com/", "rank": 0.5}, {"url": "b", "rank": 2.0}]},
        {"url": "c", "rank": 0.5},
        {"extra": {"links": [[1]]}, "name": "n", "rank": 1.0},
    ]


def test_changes_to_an_item_after_its_export_have_no_effect():
    shared: list[str] = []
    file = io.BytesIO()
    exporter = ParquetItemExporter(file, batch_items=2)
    for name in "abcde":
        shared.append(name)
        exporter.export_item({"url": name, "seen": shared})
    shared.clear()
    exporter.finish_exporting()
    assert pq.read_table(file)["seen"].to_pylist() == [list("abcde"[:number]) for number in range(1, 6)]


def test_lone_surrogates_are_replaced():
    items = [line(1), line(2, title="a\ud800b", pagelets=[{"text": "\udfff"}], later="\ud800")]
    row = read_back(items, batch_items=1)[1]
    assert row["title"] == "a\ufffdb"
    assert row["pagelets"][0]["text"] == "\ufffd"
    assert row["extra"] == {"later": "\ufffd"}


def test_chosen_fields_are_the_columns():
    items = [line(1, own=1)]
    chosen = pq.read_table(export(items, fields_to_export=["own", "url", "absent"]))
    assert chosen.column_names == ["own", "url", "absent", "extra"]
    assert chosen.to_pylist() == [{"own": 1, "url": "http://example.com/1", "absent": None, "extra": None}]
    renamed = export([], fields_to_export={"url": "address", "similarity": "twin"})
    assert pq.read_schema(renamed).field("twin").type == pa.float64()


def covers(found: Any, value: Any) -> bool:
    if isinstance(value, dict):
        return isinstance(found, dict) and all(covers(found.get(name), value.get(name)) for name in value | found)
    if isinstance(value, list):
        return isinstance(found, list) and len(found) == len(value) and all(map(covers, found, value))
    return bool(found == value) and (isinstance(found, bool) == isinstance(value, bool))


NAMES = st.sampled_from(["url", "title", "pagelets", "template", "similarity", "a", "b", "ü", "extra"])
LEAVES = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5)
)
VALUES = st.recursive(
    LEAVES,
    lambda parts: (
        st.lists(parts, max_size=3) | st.dictionaries(st.sampled_from(["id", "text", "x"]), parts, max_size=3)
    ),
    max_leaves=8,
)


@settings(deadline=None, max_examples=100)
@given(st.lists(st.dictionaries(NAMES, VALUES, max_size=5), max_size=8), st.integers(1, 4))
def test_nothing_is_lost_whatever_the_items_hold(items, batch_items):
    rows = pq.read_table(export(items, batch_items=batch_items)).to_pylist()
    assert len(rows) == len(items)
    for item, row in zip(items, rows, strict=True):
        extra = json.loads(row.pop("extra") or "{}")
        for name, value in item.items():
            assert covers({**row, **extra}.get(name), value), (name, value, row, extra)
        assert not [name for name in row | extra if name not in item and row.get(name) is not None]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"batch_items": 0}, "at least one item"),
        ({"unknown": 1}, "Unexpected options"),
    ],
)
def test_wrong_options_are_refused(options, message):
    with pytest.raises((ValueError, TypeError), match=message):
        ParquetItemExporter(io.BytesIO(), **options)


def test_a_file_with_data_is_refused_and_stays_as_it_is(tmp_path):
    path = tmp_path / "feed.parquet"
    path.write_bytes(b"before")
    with path.open("ab") as file, pytest.raises(ValueError, match=r"feed\.parquet already has data .* use -O"):
        ParquetItemExporter(file)
    assert path.read_bytes() == b"before"


def test_without_pyarrow_the_message_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(ImportError, match=r"pip install 'scrapy-pagelets\[corpus\]'"):
        ParquetItemExporter(io.BytesIO())


def test_a_full_disk_is_reported():
    class Full(io.BytesIO):
        def write(self, data):
            raise OSError(28, "No space left on device")

    exporter = ParquetItemExporter(Full(), batch_items=1)
    for number in range(2):  # every later call fails too: the file is incomplete
        with pytest.raises(OSError, match="No space left"):
            exporter.export_item(line(number))
    with pytest.raises(OSError, match="No space left"):
        exporter.finish_exporting()


def test_a_disk_that_fills_up_is_reported():
    class Filling(io.BytesIO):
        def write(self, data):
            if self.tell() > 10_000:
                raise OSError(28, "No space left on device")
            return super().write(data)

    exporter = ParquetItemExporter(Filling(), batch_items=1)
    with pytest.raises(OSError, match="No space left"):  # the error of the writing thread arrives an item later
        add(exporter, map(line, range(50)))


SPIDER = """
import json
import scrapy

class Lines(scrapy.Spider):
    name = "lines"
    items = "[]"
    pages = "0"

    async def start(self):
        for item in json.loads(self.items):
            yield item
        for number in range(int(self.pages)):
            yield scrapy.Request(f"data:text/html,{number}", dont_filter=True)

    def parse(self, response):
        yield {"url": response.url}
"""


def crawl(folder: Path, items: list[Any], *arguments: str, feeds: dict[str, Any] | None = None, code: int = 0) -> str:
    """Run ``scrapy runspider`` on a spider that yields the items; return its log."""
    (folder / "lines.py").write_text(SPIDER)
    command = ["runspider", "lines.py", *arguments, "-a", f"items={json.dumps(items)}"]
    command += ["-s", f"FEED_EXPORTERS={json.dumps(EXPORTERS)}", "-s", "TELNETCONSOLE_ENABLED=0"]
    if feeds:
        command += ["-s", f"FEEDS={json.dumps(feeds)}"]
    ran = crawling.scrapy(*command, cwd=folder)
    assert ran.returncode == code, ran.stderr
    return ran.stderr


def test_a_crawl_writes_parquet(tmp_path):
    items = [line(number) for number in range(9)]
    feeds = {
        "options.parquet": {"format": "parquet", "item_export_kwargs": {"batch_items": 2, "compression": "snappy"}},
        "squeezed.parquet.gz": {
            "format": "parquet",
            "postprocessing": ["scrapy.extensions.postprocessing.GzipPlugin"],
            "fields": ["url"],
        },
    }
    log = crawl(tmp_path, items, feeds=feeds)
    assert log.count("Stored parquet feed (9 items)") == 2
    assert "ERROR" not in log
    written = pq.ParquetFile(tmp_path / "options.parquet")
    assert written.read().drop(["extra"]).to_pylist() == items
    assert written.metadata.num_row_groups == 5
    assert written.metadata.row_group(0).column(0).compression == "SNAPPY"
    with pa.CompressedInputStream(str(tmp_path / "squeezed.parquet.gz"), "gzip") as file:
        assert pq.read_table(pa.py_buffer(file.read()))["url"].to_pylist() == [item["url"] for item in items]


def test_an_existing_feed_is_replaced_or_kept(tmp_path):
    path = tmp_path / "cleaned.parquet"
    crawl(tmp_path, [], "-O", "cleaned.parquet")
    assert pq.read_table(path).num_rows == 0
    items = [line(number) for number in range(5)]
    assert "Stored parquet feed (5 items)" in crawl(tmp_path, items, "-O", "cleaned.parquet")
    before = path.read_bytes()
    assert pq.read_table(path).drop(["extra"]).to_pylist() == items
    log = crawl(tmp_path, items, "-o", "cleaned.parquet", code=1)
    assert "cleaned.parquet already has data and Parquet cannot be appended to: use -O" in log
    assert path.read_bytes() == before


def test_a_crawl_that_cannot_write_is_stopped(tmp_path):
    (tmp_path / "cleaned.parquet").write_bytes(b"before")
    log = crawl(tmp_path, [], "-a", "pages=200", "-s", "CONCURRENT_REQUESTS=1", "-o", "cleaned.parquet", code=1)
    assert "'finish_reason': 'parquet_not_writable'" in log
    assert log.count("DEBUG: Crawled (200)") < 20
    assert (tmp_path / "cleaned.parquet").read_bytes() == b"before"


def test_a_crawl_in_parts_writes_whole_files(tmp_path):
    feeds = {"part-%(batch_id)d.parquet": {"format": "parquet", "batch_item_count": 4}}
    crawl(tmp_path, [], "-a", "pages=10", feeds=feeds)
    parts = [pq.read_table(path)["url"].to_pylist() for path in sorted(tmp_path.glob("part-*.parquet"))]
    assert [len(part) for part in parts] == [4, 4, 2]
    assert sorted(url for part in parts for url in part) == [f"data:text/html,{number}" for number in range(10)]
