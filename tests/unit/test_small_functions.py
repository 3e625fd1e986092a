"""What small functions return: of settings, arguments, names, texts, bodies of responses and files."""

import re
import sqlite3

import numpy as np
import pytest
from scrapy import Request

from scrapy_pagelets.archives.record import parse
from scrapy_pagelets.archives.unpacking import other_type, why_no_page
from scrapy_pagelets.base.arrays import up_to
from scrapy_pagelets.base.caches import cached
from scrapy_pagelets.base.characters import (
    caseless,
    lazily,
    normalised,
    quoted,
    readable,
    visible,
    without_controls,
    words,
)
from scrapy_pagelets.base.display import counted, shortened, table
from scrapy_pagelets.base.transactions import why_not_writable, writing
from scrapy_pagelets.corpus.job import _ranges
from scrapy_pagelets.crawler.commands.crawling import lines
from scrapy_pagelets.crawler.console import given_settings
from scrapy_pagelets.crawler.progress_log import duration
from scrapy_pagelets.crawler.spiders.start_pages import moment, number, sitemap, start_urls
from scrapy_pagelets.duplicates.band_index import BloomBands
from scrapy_pagelets.duplicates.groups import connected
from scrapy_pagelets.duplicates.sketch import encode, lean_minhash, minhash
from scrapy_pagelets.index.interface import is_plain, phrases, shown, terms
from scrapy_pagelets.links.link_tables import Query
from scrapy_pagelets.recrawl.version_store import Change, PageVersion, change
from scrapy_pagelets.report.summary import Frequent
from scrapy_pagelets.retrieval.collection import cut_windows
from scrapy_pagelets.session.config import setting_of, unknown
from scrapy_pagelets.session.requests import from_json, requested_url, to_json
from scrapy_pagelets.session.values import flag, flag_or, whole


def test_settings():
    assert given_settings(["PAGELETS_CHUNKS=200"]) == {"PAGELETS_CHUNKS": "200"}
    assert setting_of("max_nodes") == "PAGELETS_MAX_NODES"
    assert whole("give a number of words, from 1", lambda n: n >= 1)("5") == 5
    assert (flag("True"), flag(0), flag_or("auto")("auto")) == (True, False, "auto")


def test_unknown_settings():
    meant = "there is no setting PAGELET_FILEDS: did you mean PAGELETS_FIELDS?"
    assert list(unknown(["PAGELETS_PROBE", "PAGELET_FILEDS", "BOT_NAME"])) == [meant]
    [sentence] = unknown(["PAGELET_SPEED"])
    assert re.fullmatch(r"there is no setting PAGELET_SPEED: https://.+/docs/settings\.md lists all of them", sentence)


@pytest.mark.parametrize(
    ("given", "url"),
    [
        ("example.com/a", "https://example.com/a"),
        ("localhost:8000", "http://localhost:8000"),
        ("127.0.0.1/a", "http://127.0.0.1/a"),
        ("localhost.example.com", "https://localhost.example.com"),
    ],
)
def test_start_urls(given, url):
    assert start_urls(given, "") == [url]


def test_arguments_of_spiders():
    assert (number("depth", "3"), number("pages", 10)) == (3, 10)
    found = moment("since", "2026-11-20")
    assert found is not None
    assert found.isoformat() == "2026-11-20T00:00:00+00:00"
    assert sitemap("1") == (True, "")
    assert sitemap("example.com/map.xml") == (True, "https://example.com/map.xml")


def test_requests():
    request = Request("http://a/", method="POST", body=b"x", meta={"key": (1, b"2")}, cb_kwargs={"n": {3: None}})
    again = from_json(to_json(request, None), None)
    assert (again.body, again.meta, again.cb_kwargs) == (b"x", {"key": (1, b"2")}, {"n": {3: None}})
    assert requested_url("http://example.com/a b") == "http://example.com/a%20b"
    assert requested_url("file:///etc/passwd") == requested_url("http://h:65536/") == ""


def test_sentences():
    assert (duration(9), duration(100), duration(7500)) == ("10 s", "2 min", "2 h 5 min")
    assert (counted(1, "page"), counted(31072, "page")) == ("1 page", "31,072 pages")
    assert shortened("All about tea", 3) == "All..."
    assert shown("redis://:secret@localhost:6379/2") == "redis://localhost:6379/2"


def test_characters():
    assert without_controls("old\0bell\udcff") == "old bell "
    assert quoted("http://h/\x1b[2J\u2028") == "http://h/%1B[2J%E2%80%A8"
    assert caseless("ＳＴＲＡẞＥ") == "strasse"
    letters = lazily("[a-z]+", re.IGNORECASE)
    assert (letters.findall("Green tea"), letters.fullmatch("2")) == (["Green", "tea"], None)
    assert readable("a\x1b[2J\u2028b\x80\x99c\r\n\ud800") == "a[2J\nb c\n\ufffd"
    assert normalised("NFKC", "ｅ\u0301") == "é"
    assert len(normalised("NFC", "e" + 300 * "\u0301\u0316")) == 601
    assert visible("a\x1b[2J\tb \x9b\u202eخ") == r"a\x1b[2J b \x9b\u202eخ"
    assert words("Café n°\u00a05, 東京") == ["café", "n", "5", "東", "京"]
    assert terms("Café n°\u00a05, foo_bar, 東京") == ["cafe", "n", "5", "foo", "bar", "東", "京"]


def test_queries():
    assert phrases("Tokyo tokyo 東京 AND") == [["tokyo"], ["東", "京"], ["and"]]
    assert (is_plain("Tokyo’s Café"), is_plain("東京 Tower"), is_plain("A" * 65)) == (True, False, False)
    assert sorted(Query('"Classical guitar" OR guitar*').terms) == ["classical", "guitar", "or"]
    assert [len(window.split()) for window in cut_windows(["one " * 150, "two " * 100])] == [200, 50]


def test_versions_of_a_page():
    nine, ten = PageVersion.of("Open from nine"), PageVersion.of("Open from ten")
    assert change(nine, ten) == Change("changed", 1 / 3)
    assert change(None, ten) == Change("new", None)


def test_bodies():
    assert parse(b"HTTP/1.1 200 OK\ncontent-type: text/html\n\n<p>") == (200, {"Content-Type": ["text/html"]}, b"<p>")
    assert other_type(b"%PDF-1.7\n") == "application/pdf"
    assert other_type(b"<?xml version='1.0'?><rss><channel/></rss>") == "application/xml"
    assert other_type(b'{"a": 1}') == "application/json"
    assert other_type(b"<p>{}") == other_type(b'{"debug": 1}<!doctype html><p>A page</p>') == ""
    assert why_no_page(b"a,b") == "is not HTML, it has no tag: give the HTML of a page"
    assert why_no_page(b"<p>a, b") == ""


def test_files():
    base = sqlite3.connect(":memory:", isolation_level=None)
    with writing(base):
        base.execute("CREATE TABLE pages (url)")
    assert not base.in_transaction
    base.close()
    assert why_not_writable("/nowhere/x.txt") == "there is no folder /nowhere"


def test_numbers():
    assert up_to(np.array([3, 1, 2])).tolist() == [0, 3, 4, 6]
    assert list(_ranges([(0, 3), (1, 3), (4, 9), (5, 1)], 5)) == [(0, 1, 6), (4, 4, 9), (5, 5, 1)]
    assert connected([("a", "b"), ("c", "d"), ("b", "e")]) == [["a", "b", "e"], ["c", "d"]]


def test_sketches():
    one, other = (lean_minhash(encode(minhash(np.arange(start, 90, dtype=np.uint32)))) for start in (0, 10))
    assert one.jaccard(other) == 0.921875  # in truth 80 / 90


def test_results_are_kept(capsys):
    @cached
    def length(text):
        print("once")
        return len(text)

    assert length("word") + length("word") == 8
    assert capsys.readouterr().out == "once\n"


def test_counts_of_texts_are_bounded():
    counts = Frequent(2)
    for text in "a a b c a d".split():
        counts.add(text)
    assert counts.top(1) == [("a", 3)]


def test_filters_know_earlier_sketches():
    filters = BloomBands(1000)
    sketches = np.arange(256, dtype=np.uint32).reshape(2, 128)
    assert filters.add(sketches).tolist() == [False, False]
    assert filters.add(sketches[1:]).tolist() == [True]


def test_a_page_before_and_after():
    regions = [("navigation", "Home Help"), ("content", "All about tea")]
    assert list(lines("http://h/", 3, 2, regions, 60, ansi=False)) == [
        "http://h/: 3 words kept, 2 stripped [-like this-]",
        "  navigation [-Home Help-]",
        "  content    All about tea",
    ]


def test_a_table_in_a_notebook():
    assert table("Tea", (), [("words", 3)]) == (
        '<div style="max-width:64rem;overflow-x:auto"><p><b dir="auto">Tea</b> </p><table '
        'style="border-collapse:collapse"><tbody><tr><td dir="auto" '
        'style="text-align:start">words</td><td style="text-align:right">3</td></tr></tbody></table></div>'
    )
