"""The schema of the feed is what docs/feed.md says and what a crawl writes.

Run as a program, this module writes the tables of docs/feed.md.
"""

import re
from pathlib import Path

import numpy as np
import pytest

from scrapy_pagelets.feed.class_templates import StrippedClass, stripped_runs
from scrapy_pagelets.feed.feed_schema import (
    CHUNK,
    FEED,
    LINK,
    PAGELET,
    POST,
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
HEAD = "| field | type | meaning |\n|---|---|---|\n"
PAGE = Page.parse(b"<ul><li><a href=/>Home</a></ul><p>Some words with <a href=/b>a link</a>.", "http://h/a")


TABLES = (FEED, PAGELET, LINK, POST, CHUNK, TEMPLATE, TEMPLATES, TEMPLATE_LINK)


def rows(fields: tuple[FeedField, ...]) -> str:
    return "".join(f"| `{field.name}` | {field.type} | {field.meaning} |\n" for field in fields)


def with_tables(text: str) -> str:
    """The document with its tables as the schema has them."""
    tables = iter(TABLES)
    written = re.sub(re.escape(HEAD) + r"(?:\|.*\n)+", lambda _: HEAD + rows(next(tables)), text)
    assert list(tables) == []
    return written


def test_the_document_has_the_tables_of_the_schema():
    text = DOCUMENT.read_text(encoding="utf-8")
    assert text == with_tables(text), "write the tables with: python -m tests.crawl.test_feed_schema"


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
