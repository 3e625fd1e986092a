"""The schema of the feed is what docs/feed.md says and what a crawl writes.

Run as a program, this module writes the tables of docs/feed.md; what fields mean, people write there.
"""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scrapy_pagelets.feed.class_templates import StrippedClass, stripped_runs
from scrapy_pagelets.feed.feed_schema import (
    CHUNK,
    FEED,
    LINK,
    PAGELET,
    POST,
    PRODUCT,
    TEMPLATE,
    TEMPLATE_LINK,
    TEMPLATES,
    FeedField,
)
from scrapy_pagelets.feed.pagelet import segment
from scrapy_pagelets.page.page import Page
from tests.crawling import crawl, menu_site
from tests.server import SiteServer

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "feed.md"
UNKNOWN = "what it means is not written yet"
HEAD = "| field | type | meaning |\n|---|---|---|\n"
PAGE = Page.parse(b"<ul><li><a href=/>Home</a></ul><p>Some words with <a href=/b>a link</a>.", "http://h/a")


TABLES = (FEED, PRODUCT, PAGELET, LINK, POST, CHUNK, TEMPLATE, TEMPLATES, TEMPLATE_LINK)


def type_of(field: FeedField) -> str:
    return (f"list of {field.kind}s" if field.listed else field.kind) + (" or null" if field.nullable else "")


def rows(fields: tuple[FeedField, ...], table: str) -> str:
    """The rows of the fields, with what the table says of them."""
    meanings = dict(re.findall(r"^\| `(\w+)` \| [^|]+ \| (.*) \|$", table, re.MULTILINE))
    return "".join(f"| `{one.name}` | {type_of(one)} | {meanings.get(one.name, UNKNOWN)} |\n" for one in fields)


def with_tables(text: str) -> str:
    """The document with its tables as the schema has them."""
    tables = iter(TABLES)
    written = re.sub(re.escape(HEAD) + r"(?:\|.*\n)+", lambda found: HEAD + rows(next(tables), found[0]), text)
    assert list(tables) == []
    columns = ",\n".join(f"  {field.name}: '{duckdb_type(field)}'" for field in FEED)
    written = re.sub(r"columns = \{[^`]*\}\);", lambda _: f"columns = {{\n{columns}\n}});", written)
    types = "".join(f'    "{name}": "{kind}",\n' for name, kind in pandas_types().items())
    return re.sub(r"TYPES = \{[^}]*\}", lambda _: f"TYPES = {{\n{types}}}", written)


def duckdb_type(field: FeedField) -> str:
    kind = {"string": "VARCHAR", "integer": "INTEGER", "number": "DOUBLE", "boolean": "BOOLEAN"}.get(field.kind)
    if kind is None:
        kind = f"STRUCT({', '.join(f'{part.name} {duckdb_type(part)}' for part in field.parts)})"
    return kind + "[]" * field.listed


def pandas_types() -> dict[str, str]:
    """Of the fields that are neither lists nor objects."""
    kinds = {"string": "string", "integer": "Int64", "number": "float64", "boolean": "boolean"}
    return {field.name: kinds[field.kind] for field in FEED if not field.listed and field.kind in kinds}


def test_the_document_has_the_tables_of_the_schema():
    text = DOCUMENT.read_text(encoding="utf-8")
    assert UNKNOWN not in text
    assert text == with_tables(text), "write the tables with: python -m tests.crawl.test_feed_schema"


def test_duckdb_and_pandas_read_every_time_as_text(tmp_path, monkeypatch):
    duckdb, pd = pytest.importorskip("duckdb"), pytest.importorskip("pandas")
    times = ["2026-11-20", "2026-11-20T10:00:00+01:00", None]
    lines = [{"url": f"http://h/{time}", "published": time, "modified": time, "breadcrumbs": ["A"]} for time in times]
    (tmp_path / "feed.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    sql, python = re.findall(
        r"```(?:sql|python)\n(SELECT \* FROM read_json.*?|TYPES.*?)```", DOCUMENT.read_text(), re.DOTALL
    )
    read = duckdb.sql(sql)
    assert read.columns == [field.name for field in FEED]
    assert read.project("published, modified, breadcrumbs").fetchall() == [(time, time, ["A"]) for time in times]
    names: dict[str, Any] = {"pd": pd}
    exec(python, names)
    assert names["pages"]["published"].tolist()[:2] == names["pages"]["modified"].tolist()[:2] == times[:2]


PYTHON: dict[str, type | tuple[type, ...]] = {"string": str, "integer": int, "number": (int, float), "object": dict}


def check(record, fields, *, optional=()):
    """Check a record, and the records in it, against the schema."""
    names = [field.name for field in fields if not field.optional or field.name in optional]
    assert list(record) == names
    for field in fields:
        if (value := record.get(field.name)) is None:
            assert field.nullable or field.optional
            continue
        assert isinstance(value, list) == field.listed
        for each in value if field.listed else [value]:
            assert isinstance(each, PYTHON[field.kind])
            if field.parts:
                check(each, field.parts)


def test_pagelets_and_their_links_have_the_fields_of_the_schema():
    records = [pagelet.record() for pagelet in segment(PAGE, np.zeros(len(PAGE.nodes.leaves)))]
    assert [link["anchor"] for record in records for link in record["links"]] == ["Home", "a link"]
    for record in records:
        check(record, PAGELET)


def test_exported_templates_have_the_fields_of_the_schema():
    one = StrippedClass("h", "h#1")
    one.runs.add(stripped_runs(PAGE.nodes, np.zeros(len(PAGE.nodes.leaves), np.bool_)))
    one.links.add([("http://h/", "Home")])
    one.cleaned = 1
    assert one.record()["text"] == "Home\n\nSome words with a link."
    check(one.record(), TEMPLATES)


@pytest.mark.parametrize("optional", [(), ("html", "chunks")])
def test_a_crawl_writes_the_fields_of_the_schema(tmp_path, optional):
    settings = {"PAGELETS_FORMATS": "text,html", "PAGELETS_CHUNKS": 20} if optional else {}
    with SiteServer(routes=menu_site("one")) as server:
        found = crawl(tmp_path, "site", url=server.url(""), settings=settings)
    assert any(line["template"] for line in found.lines)
    for line in found.lines:
        check({field.name: line[field.name] for field in FEED if field.name in line}, FEED, optional=optional)
        assert line.keys() <= {field.name for field in FEED}


if __name__ == "__main__":
    DOCUMENT.write_text(with_tables(DOCUMENT.read_text(encoding="utf-8")), encoding="utf-8")
