"""The record of a page has a value for each field of the feed that follows from the page and its site."""

import pytest

from scrapy_pagelets.decision.decision import decided
from scrapy_pagelets.decision.site import Site
from scrapy_pagelets.evidence.site_counts import PageClass
from scrapy_pagelets.feed.feed_schema import FEED, PAGE, SEGMENT, STRIP
from scrapy_pagelets.feed.page_record import PageRecord, RecordOptions
from scrapy_pagelets.page.page import Page

BODY = b"""<html lang=en><title>Tea</title><h1>Tea</h1><p>All about green tea, its leaves and its water.
<ul><li><a href=/a>Home</a><li><a href=/b>Help</a></ul>"""


def record(**options):
    page = Page.parse(BODY, "http://example.com/")
    site = Site("example.com")
    site.learn(page)
    known = PageClass("example.com#1", 0, frozenset(), 3)
    return PageRecord(page, decided(page, site), known, "2026-11-20T10:00:00Z", RecordOptions(**options))


def test_values_are_in_the_order_of_the_feed():
    values = record(formats=("html", "markdown", "text"), chunks=50).values(PAGE, SEGMENT, STRIP)
    assert list(values) == [field.name for field in FEED if field.step in (PAGE, SEGMENT, STRIP)]
    assert values["url"] == "http://example.com/"
    assert values["headline"] == "Tea"
    assert values["language"] == "en"
    assert values["fetched_at"] == "2026-11-20T10:00:00Z"
    assert values["breadcrumbs"] == []
    assert values["text"].startswith("Tea\n\nAll about green tea")
    assert values["markdown"].startswith("# Tea\n\nAll about green tea")
    assert [chunk["id"] for chunk in values["chunks"]] == [0]
    assert values["template"] == {"id": "example.com#1", "pages": 3, "share": values["template"]["share"]}
    assert len(values["content_hash"]) == 32


@pytest.mark.parametrize(
    ("options", "names"),
    [({}, ["text"]), ({"formats": ("html",)}, ["html"]), ({"formats": ("text",), "chunks": 9}, ["text", "chunks"])],
)
def test_options_choose_the_fields(options, names):
    assert list(record(**options).values(STRIP)) == [*names, "comments", "posts", "template", "content_hash"]


def test_known_values_are_not_computed():
    assert record().values(SEGMENT, pagelets=["known"]) == {"pagelets": ["known"]}


def test_only_content_is_exported_unless_all_is_wanted():
    assert {pagelet["role"] for pagelet in record().pagelets} == {"content"}
    every = record(export="all")
    assert [pagelet["id"] for pagelet in every.pagelets] == [pagelet.id for pagelet in every.cut()]
    assert every.cut() is every.cut()


def test_options_come_from_the_attributes_of_settings():
    class Settings:
        formats = ("markdown",)
        chunks = 7

    assert RecordOptions.of(Settings(), chunks=8) == RecordOptions(formats=("markdown",), chunks=8)
