"""Broken markup that libxml2 reads in another way than browsers do."""

import pytest

from scrapy_pagelets.page.page import with_closed_headings
from tests.trees import page


def headings(html):
    nodes = page(html).nodes
    rows = [row for row, look in enumerate(nodes.looks) if look[0][:1] == "h" and look[0][1:].isdigit()]
    found = [row for row, look in enumerate(nodes.look.tolist()) if look in rows and row not in nodes.leaves]
    return [(nodes.looks[nodes.look[row]][0], " ".join(nodes.strings[nodes.leaves_of(row)])) for row in found]


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<h2>Tea</h1><ul><li>green</ul>", [("h2", "Tea")]),
        ("<h2>Tea</H3 ><b>green</b>", [("h2", "Tea")]),
        ("<h1>Tea</h2>green<h2>Milk</h1>cold", [("h1", "Tea"), ("h2", "Milk")]),
        ("<h1><b>Tea</h2></b>green", [("h1", "Tea")]),
        ("<div><h1>Tea</h6><i>green</i></div>", [("h1", "Tea")]),
        ("<h1>Tea</h1>green</h2><b>black</b>", [("h1", "Tea")]),
        ("</h3><h1>Tea<!-- <h2> --><script>'<h3>'</script></h2><b>green</b>", [("h1", "Tea")]),
        ("<h1>Tea<!-- </h2> --> and milk</h1></h2>green", [("h1", "Tea and milk")]),
        ("<h1>Tea</h2>green<!-- <h1>", [("h1", "Tea")]),
        ("<h1>Tea<script>'</h1>'</script> green</h2>black<script></h2>", [("h1", "Tea green")]),
    ],
)
def test_a_heading_ends_at_the_end_tag_of_any_level(html, expected):
    assert headings(html) == expected


@pytest.mark.parametrize("html", ["<h1>Tea</h1><h2>Milk</h2>", "<h1>Tea<h2>Milk</h2></h1>", "<header></h1></hr>", ""])
def test_other_headings_stay(html):
    assert with_closed_headings(html.encode()) == html.encode()


@pytest.mark.parametrize("part", ["</h1>", "<h2>a</h1>", "<!--", "<script>", "<title>", "<h2", "</h1 <h2>"])
def test_broken_headings_without_end(part):
    found = page("<h2>Tea</h1><p>green" + part * 30_000)
    assert found.nodes.strings[:2] == ["Tea", "green"]


def test_the_end_tag_of_the_title_is_missing():
    found = page("<head><title>Tea/title></head><body>" + "<p>green leaves" * 100)
    assert found.title.startswith("Tea/title>")
    assert len(found.title) <= 300
    assert found.has_open_title
    assert not page(f"<title>{'long ' * 100}</title><body>").has_open_title
    assert not page("<title>About &lt;body></title><p>Tea").has_open_title
