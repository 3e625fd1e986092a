"""What a page alone says: what holds for any page, and tables of data by a plain count."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_pagelets.decision.half_lines import IS_NO_DATA
from scrapy_pagelets.decision.own_texts import data_tables, own_texts
from scrapy_pagelets.metadata.headline import Headline
from scrapy_pagelets.page.nodes import TAG
from tests.trees import page, soups

seen = st.lists(st.sampled_from((0.0, 0.2, 0.49, 0.6, 0.87, 0.95, 1.0)), min_size=1, max_size=30)
numbers = st.lists(st.sampled_from((0, 0, 1, 4, 8)), min_size=1, max_size=20)
#: What the rules look for, between texts.
PIECES = (
    "<p>One two three four five six seven eight nine</p>", "<p>One</p>", "<a href=/b>Two</a>", "<pre>a <b>b</b></pre>",
    "<a href=http://b.test/>Three</a>", "<a href=/a.pdf>Four</a>", "<a href=mailto:a@b.test>Five</a>",
    "<dl><dt>Six<dd>7<dd>8</dl>", "<ul><li>Nine<li>Ten</ul>", "<sup><a href=#n>1</a></sup>", "<p id=n>1 Note</p>",
    "<aside class=infobox>Eleven <b>12</b></aside>", "<figcaption>Thirteen</figcaption>", "<h2 id=n>Fourteen</h2>",
    "<table><tr><th>Kind<td>Green<tr><th>Steep<td>3 min</table>", "<table><tr><td><table><tr><td>a<td>b</table>",
)  # fmt: skip
pages = st.one_of(soups, st.lists(st.sampled_from(PIECES), max_size=12).map("".join))


@given(pages, seen, numbers)
def test_only_template_becomes_content_and_only_where_content_is(html, told, others):
    found = page(html)
    size = len(found.nodes.leaves)
    templateness, alike = np.resize(np.array(told), size), np.resize(np.array(others), size)
    own = own_texts(found, None, templateness, alike, 8)
    assert not own[templateness < 0.5].any()
    if not own_texts(found, None, np.ones(size), alike, 8)[[text == "Eleven" for text in found.nodes.strings]].any():
        assert not own_texts(found, None, np.ones(size), alike, 8).any()  # boxes of facts begin what is content
    for row in range(0, len(found.nodes), 5):
        assert own_texts(found, Headline(row, "Tea"), templateness, alike, 8).shape == (size,)


@given(pages, seen, numbers)
def test_paragraphs_of_a_page_alone_are_those_that_a_plain_count_finds(html, told, others):
    found = page(html * 8)
    nodes, size = found.nodes, len(found.nodes.leaves)
    templateness, alike = np.resize(np.array(told), size), np.resize(np.array(others), size)
    words, keep, linked = nodes.words, templateness < 0.5, nodes.anchor[nodes.leaves]
    tags, leaves_of = {TAG[name] for name in "p li dd blockquote".split()}, nodes.leaves_of
    every = [(row, leaves_of(row)) for row in range(len(nodes)) if nodes.tag[row] in tags]
    rows = [(row, at) for row, at in every if words[at].sum() >= max(8, 2 * (words * linked)[at].sum())]
    expected = np.zeros(size, np.bool_)
    for kind in (nodes.parent, nodes.shape):
        for row, at in rows:
            group = [each for other, each in rows if kind[other] == kind[row]]
            said, kept = (sum(column[each].sum() for each in group) for column in (words, words * keep))
            if said >= 50 and 2 * kept >= said and (words * templateness)[at].sum() < 0.9 * words[at].sum():
                expected[at] |= alike[at] == 0
    assert own_texts(found, None, templateness, alike, 3).tolist() == (expected & ~keep).tolist()


@given(pages, seen, numbers)
def test_tables_of_data_are_those_that_a_plain_count_finds(html, told, others):
    found = page(html)
    nodes, size = found.nodes, len(found.nodes.leaves)
    templateness, alike = np.resize(np.array(told), size), np.resize(np.array(others), size)
    expected = np.zeros(size, np.bool_)
    for row in np.flatnonzero(nodes.tag == TAG["table"]).tolist():
        inside = range(row + 1, nodes.end[row])
        cells = [each for each in inside if nodes.tag[each] in (TAG["td"], TAG["th"]) and nodes.words_of(each)]
        lines, leaves = {nodes.parent.item(each) for each in cells}, nodes.leaves_of(row)
        words = nodes.words[leaves]
        expected[leaves] |= bool(
            nodes.first_leaf[row] >= nodes.last_leaf[0 if size == 0 else 1]
            and len(lines) > 1
            and len(cells) >= 2 * len(lines) - 1
            and not any(IS_NO_DATA[nodes.tag[each]] for each in inside)
            and words[alike[leaves] > 4].sum() < 0.5 * words.sum()
            and words[nodes.anchor[nodes.leaves[leaves]]].sum() <= 0.3 * words.sum()
            and (words * templateness[leaves]).sum() <= 0.8 * words.sum()
        )
    assert data_tables(nodes, Headline(1, "Tea"), templateness, alike, 8).tolist() == expected.tolist()
    assert not data_tables(nodes, None, templateness, alike, 8).any()


def test_columns_of_another_page_are_refused():
    found = page("<p>One<table><tr><td>Two</table>")
    for wrong in (np.zeros(3), np.zeros(0)):
        with pytest.raises(ValueError, match="for each leaf"):
            own_texts(found, None, wrong, np.zeros(2, np.int64), 8)
        with pytest.raises(ValueError, match="for each leaf"):
            data_tables(found.nodes, Headline(1, "Tea"), wrong, np.zeros(2, np.int64), 8)
    for row in (-1, 99):
        with pytest.raises((IndexError, ValueError)):
            own_texts(found, Headline(row, "Tea"), np.zeros(2), np.zeros(2, np.int64), 8)
