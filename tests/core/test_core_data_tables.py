"""Which tables hold data: the same as cell by cell."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from scrapy_pagelets.page.data_tables import cells_of, holds_data, is_data
from scrapy_pagelets.page.flattening import build
from scrapy_pagelets.page.page import decode, parse
from tests.oracles import nodes as node_rows

SITE = Path(__file__).parents[1] / "site"
PARTS = (
    "<table> <table role=none> </table> <tr> <td> <td> <th> a <p> <h2>b</h2> <ul><li>c</ul> <hr> <pre> <tbody>".split()
)


def verdicts(html):
    nodes = build(parse(html), "http://example.com/")
    found = [is_data(nodes, row) for row in range(len(nodes))]
    assert found == [node_rows.is_data(nodes, row) for row in range(len(nodes))]
    for row in range(len(nodes)):
        for cells in (cells_of(nodes, row), np.append(row, cells_of(nodes, row))):
            assert holds_data(nodes, row, cells) == node_rows.holds_data(nodes, row, cells)
    return found


@given(st.lists(st.sampled_from(PARTS), max_size=40).map(" ".join))
@example("<table><tr><th>a<th>b<tr><td><h2>c</h2><td>d</table>")
@example("<table><tr><td>a<td>b<tr><td><h2>c</h2><td>d</table>")
@example("<table><tr><td>a<td>b<tr><td><h2>c</h2><tr><td>d<td></table>")
def test_any_table(html):
    verdicts(f"<table>{html}")
    verdicts(html)


@pytest.mark.parametrize(
    ("html", "holds"),
    [
        ("<tr><td>a<td>b<tr><td>c<td>d", True),
        ("<tr><td>a<td>b<tr><td>c<td><table><tr><td>d</table>", False),
        ("<tr><td>a<tr><td>b", False),
        ("<tr><td>a<td>b", False),
        ("<tr><td>a<td>b<tr><td>c<td><h2>d", False),
        ("<tr><th>a<th>b<tr><td>c<td><h2>d", True),
        ("</table><table role=presentation><tr><td>a<td>b<tr><td>c<td>d", False),
        ("</table><table role=presentation><tr><th>a<th>b<tr><th>c<th>d", False),
        ("</table><table role=presentation><tr><th>a<td>b<tr><th>c<td>d", True),
    ],
)
def test_what_holds_data(html, holds):
    assert (True in verdicts(f"<table>{html}</table>")) == holds


@pytest.mark.parametrize("path", sorted(SITE.rglob("*.html")), ids=lambda path: path.name)
def test_real_pages(path):
    verdicts(decode(path.read_bytes()))
