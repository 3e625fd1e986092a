"""Levels of headings on pages that list posts."""

import numpy as np
import pytest

from scrapy_pagelets.document.blocks import text_of_runs
from scrapy_pagelets.document.builder import document_of
from scrapy_pagelets.document.chunking import chunk_records, chunks_of
from scrapy_pagelets.document.draft import inside_entries
from scrapy_pagelets.metadata.headline import headline_of
from tests.trees import every, page


def levels(html):
    found = page(html)
    root = document_of(found, every(found), headline_of(found))
    return [f"{block.level} {text_of_runs(block.runs)}" for block in root.walk() if block.kind == "heading"]


def post(name, level, *sections, at="article", href="/x"):
    head = f"<a href={href}>{name}</a>" if href else name
    return f"<{at}><h{level}>{head}</h{level}>{''.join(sections)}<p>text</{at}>"


TITLE = "<title>Teas</title><h1>Teas</h1>"
FLAT = ["1 Teas", "2 Sencha", "2 Water", "2 Bancha"]
INSIDE = ["1 Teas", "2 Sencha", "3 Water", "2 Bancha", "3 Cups"]


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        (TITLE + post("Sencha", 3, "<h1>Water</h1>") + post("Bancha", 3, "<h1>Cups</h1>"), INSIDE),
        (TITLE + post("Sencha", 2, "<h2>Water</h2>") + post("Bancha", 2, "<h3>Cups</h3>"), INSIDE),
        (TITLE + post("Sencha", 1, "<h1>Water</h1>") + post("Bancha", 1, "<h2>Cups</h2>"), INSIDE),
        (TITLE + post("Sencha", 3, "<h2>Water</h2>", at="div") + post("Bancha", 3, "<h2>Cups</h2>", at="div"), INSIDE),
        (TITLE + post("Sencha", 3, "<h1>Water</h1>", href="") + post("Bancha", 3, "<h1>Cups</h1>", href=""), INSIDE),
        (
            TITLE + post("Sencha", 3, "<h1>Water</h1>", "<h2>Cold</h2>") + post("Bancha", 3) + "<h2>More</h2>",
            ["1 Teas", "2 Sencha", "3 Water", "4 Cold", "2 Bancha", "2 More"],
        ),
        # two in a row
        (
            TITLE + ("<div>" + post("Sencha", 2, at="div") + post("Bancha", 2, at="div") + "</div>") * 2,
            ["1 Teas", *["2 Sencha", "2 Bancha"] * 2],
        ),
        # no entries: sections of one page
        (TITLE + "<article><h2>Water</h2><p>x<h2>Cups</h2><p>y</article>", ["1 Teas", "2 Water", "2 Cups"]),
        (TITLE + "<h2><a href=/a>Sencha</a></h2><h2>Water</h2><h2><a href=/b>Bancha</a></h2>", FLAT),
        (TITLE + post("Sencha", 2, "<h2>Water</h2>", href="#w") + post("Bancha", 2, at="div", href="#b"), FLAT),
        (TITLE + "<article>x</article><h2>Sencha</h2><article>x</article><h2>Water</h2><h2>Bancha</h2>", FLAT),
    ],
)
def test_headings_of_entries_are_below_their_first_one(html, expected):
    assert levels(html) == expected


def test_chunks_name_their_post():
    found = page(TITLE + post("Sencha", 3, "<h1>Water</h1><p>a b c d") + post("Bancha", 3, "<h1>Cups</h1><p>e f g h"))
    document = document_of(found, every(found), headline_of(found))
    made = chunk_records(found, document, chunks_of(document, 6), np.zeros(len(every(found))))
    assert [record["headings"] for record in made][-1] == ["Teas", "Bancha", "Cups"]


@pytest.mark.parametrize(
    "html",
    [
        "<div><h2><a href=/x>y</a></h2><h1>z</h1></div>" * 3000,
        "<article><h2>y</h2>" * 1000,
        "<div><h3><a href=/x>y</a></h3>" * 900 + "<h1>z</h1>" * 5000,
        "<h2><a href=/x>y</a>" * 5000,
    ],
)
def test_many_entries(html):
    found = page(html)
    inside = inside_entries(found, np.ones(len(found.nodes), np.bool_))
    assert len(inside) <= 5000
    assert document_of(found, every(found)).children
