"""The compiled walk over a tree: every column is the same as without the core."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from lxml import etree

from scrapy_pagelets.page.flattening import build, declarations, flatten, fold, text_key
from scrapy_pagelets.page.nodes import TEXT, attributes_at, elements, elements_at, values_at
from scrapy_pagelets.page.page import decode, parse
from tests.oracles import flattening
from tests.oracles import nodes as node_rows
from tests.trees import soups

SITE = Path(__file__).parents[1] / "site"


def assert_equal_tables(root, noscript=False):
    found, links = flatten(root, noscript)
    expected, expected_links = flattening.flatten(root, noscript)
    assert [list(column) for column in links] == [list(column) for column in expected_links]
    assert links[0].dtype == expected_links[0].dtype
    assert found.keys() == expected.keys()
    for name, column in expected.items():
        if isinstance(column, np.ndarray):
            assert found[name].dtype == column.dtype, name
            assert found[name].tolist() == column.tolist(), name
        else:
            assert found[name] == column, name
    of_tree = (found[name] for name in ("tag", "parent", "end"))
    assert_equal_elements(root)
    assert declarations(root) == flattening.declarations(root)
    assert elements(root, *of_tree) == node_rows.elements(root, *(expected[name] for name in ("tag", "parent", "end")))


def assert_equal_elements(root):
    """Some of the elements, asked for at once."""
    nodes = build(root, "http://h/")
    rows = np.flatnonzero(nodes.tag != TEXT)[::3].tolist()
    found = elements_at(nodes, rows)
    assert "elements" not in vars(nodes)
    assert found == [nodes.elements[row] for row in rows]
    names = ("class", "aria-label", "rel", "none")
    assert values_at(found, names) == node_rows.values_at(found, names)
    for name in ("class", "href", "style", "none"):
        assert attributes_at(nodes, rows, name) == node_rows.attributes_at(nodes, rows, name)


@given(soups)
@example("<p>a<!-- -->b<!-- -->c<?x y>d")
@example("<a href=1>x</a><a href=2>y</a> <a href=3>z</a><br><br><pre> a\n  b<i> c</i></pre>")
@example("<table hidden><tr><td class='é Ü 1234'>É\xa0Ü 1 \u3000 2<td style='DISPLAY : none'>x")
@example("<iframe src=/a><p>x</p></iframe><frame src=b><area href=c><a href=' '>d</a>")
def test_all_columns_are_equal(html):
    root = parse(html)
    assert_equal_tables(root)
    assert_equal_tables(root, noscript=True)


#: Scripts with and without spaces, digits, white space and controls of all kinds, letters that change with their case.
CHARACTERS = (
    "aZ0_9 \t\n\r\f\x0b\x1c\x7f\x80\x85\xa0\xad\u2003\u2028\u3000\ufeff\uffff\u0e00\u0e7f\u3040\u30ff\u33ff\u3400"
    "\u9fff\ua000\uac00\ud7aféßİıſKΣҐя中日本語한글ไทย٣½ⅷ²\u0301\U00020000\U0001f600-.,、«»"
)


@given(
    st.lists(st.text(st.sampled_from(CHARACTERS), max_size=12) | st.text(max_size=8), max_size=4),
    st.sampled_from(["p", "pre", "textarea"]),
)
@example(["abc\xa0def", "K", "\u3000", " é\n", "1234\x85"], "pre")
def test_runs_of_all_scripts(texts, tag):
    root = etree.Element("html")
    for text in map(fold, texts):
        assert text_key(text) == flattening.text_key(text)
    for text in texts:
        element = etree.SubElement(root, tag)
        try:
            element.text, element.tail = text, text[::-1]
        except ValueError:  # characters that XML forbids
            element.text = "".join(map(str, filter(str.isprintable, text)))
    assert_equal_tables(root)
    assert_equal_tables(parse("".join(f"<{tag}>{text}<b> {text}</b>\n{text}</{tag}>" for text in texts)))


@pytest.mark.parametrize("path", sorted(SITE.rglob("*.html")), ids=lambda path: path.name)
def test_real_pages(path):
    assert_equal_tables(parse(decode(path.read_bytes())))


def test_rows_of_no_element():
    nodes = build(parse("<p>a<p>b"), "http://h/")
    text = int(nodes.leaves[0])
    for rows in ([text], [len(nodes)], [-1], [2, 1]):
        with pytest.raises(IndexError, match="not the row of an element"):
            elements_at(nodes, rows)


def test_long_attributes_and_texts():
    long = "x1 " * 5000
    assert_equal_tables(parse(f"<div class='{long}' id=é{long}>{long}</div><div class='{long}y'>é{long * 20}</div>"))
    assert_equal_tables(parse(f"<pre>{long}\n {long * 20}é</pre><p style='{long}'>{'中1 ' * 50_000}"))


@pytest.mark.parametrize(
    "style", ["DISPLAY: NONE", "content-vıſıbility:hidden", "visibility:hidden", "color:red", "hidden", "é"]
)
def test_styles(style):
    assert_equal_tables(parse(f"<p style='{style}'>a<p style='x;{style}'>b<p style='{style[:-1]}'>c"))


def test_names_are_not_confused():
    """More names of elements than are kept, with and without attributes."""
    html = "".join(f"<x{i % 150}>{i}<b class=c{i % 7}>x</b></x{i % 150}>" for i in range(600))
    assert_equal_tables(parse(html))


def test_names_with_namespaces():
    root = etree.fromstring(
        "<html xmlns:s='urn:s'><body><s:svg s:class='x' class='y'>text</s:svg>"
        "<pre>\n\tx&amp;y <b> z</b>\n</pre></body></html>"
    )
    assert_equal_tables(root)


@pytest.mark.parametrize("count", [1, 2, 70_000])
def test_deep_and_broad_trees(count):
    assert_equal_tables(parse("<p>x" * count))
    assert_equal_tables(parse("<b>" * min(count, 2000) + "x"))


def test_a_tree_in_which_numbers_collide():
    """Paths are hashes of tuples as Python makes them, also of the largest and the least integers."""
    from scrapy_pagelets.core.table import path_hash

    for values in [(2**63 - 1, -(2**63), -1), (0, 0, 0), (2**61 - 1, 2**61, -(2**61)), (-1, -2, 1 - 2**61)]:
        assert path_hash(*values) == hash(values)


def test_shadow_roots():
    for attribute in ("shadowrootmode=open", "shadowroot=closed", "shadowrootmode=none", "x=open", "shadowrootmode"):
        assert_equal_tables(parse(f"<div><template {attribute}><p>in<template>no</template></template>light</div>"))
