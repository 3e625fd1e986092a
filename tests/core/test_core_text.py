"""The texts and XPaths of the compiled core: every one is the same as without the core."""

import re
import unicodedata
from copy import deepcopy
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from scrapy_pagelets.core.text import left_over
from scrapy_pagelets.duplicates.shingles import runs_of_words
from scrapy_pagelets.feed.content_words import content_of, visible_words
from scrapy_pagelets.metadata.headline import _words, heading_text, naming
from scrapy_pagelets.page.flattening import build
from scrapy_pagelets.page.looks import HEADING, LANDMARKS, MENU, NOTHING
from scrapy_pagelets.page.nodes import TAG, leaves_beginning, rows_named, rows_tagged, rows_with
from scrapy_pagelets.page.page import decode, parse
from scrapy_pagelets.page.text import (
    _INVISIBLE,
    anchors_of,
    first_of_items,
    paths_of,
    roots,
    runs_of,
    text_of,
    told_of,
    without_invisible,
    words_in,
    written_leaves,
)
from tests.oracles import nodes as node_rows
from tests.oracles import page_text, word_shingles
from tests.trees import soups

SITE = Path(__file__).parents[1] / "site"
URL = "http://example.com/"


def assert_equal_texts(root, keep):
    """Two tables, because paths are kept with a table."""
    nodes, other = build(root, URL), build(root, URL)
    keep = np.resize(np.array(keep, np.bool_), len(nodes.leaves))
    leaves = np.flatnonzero(keep)
    items = frozenset(leaves[::3].tolist())
    assert text_of(nodes, leaves) == page_text.text_of(other, leaves)
    assert text_of(nodes, leaves, items) == page_text.text_of(other, leaves, items)
    paths = paths_of(nodes, leaves)
    assert paths == page_text.paths_of(other, leaves)
    assert paths == paths_of(nodes, leaves)
    assert runs_of(nodes, leaves) == list(page_text.runs_of(other, leaves))
    assert roots(nodes, leaves) == page_text.roots(other, leaves)
    assert words_in(nodes, leaves) == page_text.words_in(other, leaves)
    told = (paths, text_of(nodes, leaves), words_in(nodes, leaves), page_text.links_of(other, leaves))
    assert told_of(nodes, [leaves, leaves[:0]], True) == [told, ([], "", 0, [])]
    assert told_of(nodes, [leaves], False) == [([], *told[1:])]
    assert written_leaves(nodes, keep).tolist() == page_text.written_leaves(other, keep).tolist()
    assert rows_tagged(nodes, TAG["p"]) == node_rows.rows_tagged(other, TAG["p"])
    for sign in (HEADING, MENU, LANDMARKS["p"] | NOTHING):
        assert rows_with(nodes, sign) == node_rows.rows_with(other, sign)
    for names in map(re.compile, ("x", "^$", "no such class")):
        assert rows_named(nodes, names) == node_rows.rows_named(other, names)
        assert rows_named(nodes, names) == rows_named(nodes, names)  # the second time, what it knows
    for characters in ("", ["ab"], "abc", ["tplTPLx1", "", "a "], ["", " "]):
        assert leaves_beginning(nodes, characters) == node_rows.leaves_beginning(other, characters)
    assert left_over(nodes).tolist() == page_text.left_over(other).tolist()
    assert first_of_items(nodes, leaves) == page_text.first_of_items(other, leaves)
    links = list(range(len(nodes.links.row)))
    assert anchors_of(nodes, links) == page_text.anchors_of(other, links)
    steps = page_text.steps_of(other)
    for row in range(len(nodes)):
        assert nodes.xpath(row) == page_text.path_of(other, row, steps)
        assert heading_text(nodes, row) == page_text.heading_text(other, row)
    rows = list(range(0, len(nodes), 2))
    for texts in ([], ["a b1"], ["And ÉTÉ x", "_y to"]):
        titles = [_words(text) for text in texts]
        assert naming(nodes, rows, titles) == page_text.naming(other, rows, titles)
    assert content_of(nodes, keep) == page_text.content_of(other, keep)
    templateness = np.linspace(0, 1, len(nodes.leaves))
    (texts, greatest), (others, expected) = (
        function(table, leaves, templateness)
        for function, table in ((runs_of_words, nodes), (word_shingles.runs_of_words, other))
    )
    assert (texts, greatest.tolist()) == (others, expected.tolist())


masks = st.lists(st.booleans(), min_size=1, max_size=20)


@given(soups, masks)
@example("<pre>\n a\n  <b>b</b> c\n\n<i> d</i>\n</pre>e<br>\n<br>f", [True])
@example("<pre>\n a\n  <b>b</b> c\n\n<i> d</i>\n</pre>e<br>\n<br>f", [True, False])
@example("<p>a<o:p>b</o:p><o:p>c</o:p><q>d</q></p><p>e<!-- -->f<b>g</b>h", [True, True, False])
@example(
    "<h2>a<a href=#b>\xb6</a></h2><a href=#c>c</a> <a href=#d></a><a href=#e>_<b>,</b></a>s\xado <b>\xad</b>", [True]
)
@example("<table><tr><td>a<td>b<tr><td>c</table><ul><li>x<li>y<a href=z>z</a></ul>", [True])
def test_all_texts_are_equal(html, keep):
    assert_equal_texts(parse(html), keep)


@pytest.mark.parametrize("path", sorted(SITE.rglob("*.html")), ids=lambda path: path.name)
def test_real_pages(path):
    root = parse(decode(path.read_bytes()))
    for keep in ([True], [True, False], [False, False, True, True, True]):
        assert_equal_texts(root, keep)


@pytest.mark.parametrize("html", ["<p>x" * 5_000, "<o:p>x</o:p>" * 2_000, "<b>x" * 2000], ids=["broad", "odd", "deep"])
def test_deep_and_broad_trees(html):
    assert_equal_texts(parse(html), [True, False])


def test_leaves_of_another_page():
    nodes = build(parse("<p>a<p>b"), URL)
    for leaves in ([2], [-1], [1, 0], [0, 0]):
        with pytest.raises(IndexError):
            text_of(nodes, np.array(leaves))
        with pytest.raises(IndexError):
            paths_of(nodes, np.array(leaves))
        with pytest.raises(IndexError):
            told_of(nodes, [np.array(leaves)], False)
    with pytest.raises(IndexError):
        anchors_of(nodes, [0])
    with pytest.raises(IndexError):
        content_of(nodes, np.ones(3, np.bool_))


def test_what_does_not_fit_together_is_refused():
    """Python raises an error by itself; the core would read memory of others."""
    nodes = build(parse("<h2>a</h2><p>b"), URL)
    for function in (naming, page_text.naming):
        with pytest.raises(IndexError):
            function(nodes, [2], [["b"], []])
    with pytest.raises(ValueError, match="not a text for each leaf"):
        text_of(replace(nodes, strings=["a"]), np.arange(2))


def test_the_copy_of_a_table_has_its_own_columns():
    nodes = build(parse("<h1>a</h1><p>b <a href=c>d</a>"), URL)
    leaves = np.arange(len(nodes.leaves))
    expected = text_of(nodes, leaves)
    copied = deepcopy(nodes)
    del nodes
    assert text_of(copied, leaves) == expected


#: White space, marks, and what is invisible, at all places where a condition changes.
MARKS = (
    " \t\n\x0b\x1c\x1f\x7f\x85\xa0\xad\u061c\u1680\u180e\u2028\u200a\u200b\u200f\u202f\u2060\u2069\u3000\ud800"
    "\ufeff\ufffd\uffff\0\x08\x0e\x1b\x84\x86\x9f-–|¶#.»aZ0ée\u0301\u212b\uac00\U0001f600"
)
characters = st.sampled_from(MARKS) | st.characters()


@given(st.text(characters))
def test_visible_words(text):
    assert visible_words(text) == page_text.visible_words(text)
    assert unicodedata.is_normalized("NFC", visible_words("e\u0301"))


@given(st.text(st.sampled_from("a \n\xad\xe9\x85\u200b\u200c\ue000\uf8ff\U0001f600")))
def test_what_nobody_sees_is_left_out(text):
    assert without_invisible(text) == _INVISIBLE.sub("", text)
