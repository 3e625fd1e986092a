"""The node table: its columns describe the tree, whatever the tree."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from scrapy_pagelets.base.arrays import mix
from scrapy_pagelets.page.flattening import build, text_key
from scrapy_pagelets.page.looks import signature
from scrapy_pagelets.page.nodes import GAPS, TAG, TAGS, TEXT
from scrapy_pagelets.page.page import Page
from scrapy_pagelets.page.text import told_of
from tests.trees import URL, every, leaf_strings, page, soups


def ancestors(nodes, row):
    """The row and its ancestors, upwards."""
    found = [row]
    while nodes.parent[found[-1]] >= 0:
        found.append(int(nodes.parent[found[-1]]))
    return found


@given(soups)
def test_rows_are_the_elements_in_preorder(html):
    found = page(html)
    nodes = found.nodes
    rows = [e for row, e in enumerate(nodes.elements) if nodes.tag[row] != TEXT]
    unseen = {row for row in range(len(nodes)) if nodes.end[row] == row + 1}
    listed = [e for e in found.root.iter() if isinstance(e.tag, str)]
    assert [e for e in listed if e in set(rows)] == rows
    # Elements without a row are inside an element whose row has no descendants.
    for element in set(listed) - set(rows):
        assert {nodes.elements.index(above) for above in element.iterancestors() if above in set(rows)} & unseen


@given(soups)
def test_preorder(html):
    nodes = page(html).nodes
    assert nodes.parent[0] == -1
    for row in range(len(nodes)):
        below = [i for i in range(len(nodes)) if row in ancestors(nodes, i)]
        assert below == list(range(row, int(nodes.end[row])))
        assert nodes.depth[row] == len(ancestors(nodes, row)) - 1
        if row and nodes.tag[row] != TEXT:
            assert nodes.elements[row].getparent() is nodes.elements[nodes.parent[row]]
    assert np.concatenate(nodes.levels).tolist() == sorted(range(len(nodes)), key=lambda i: (nodes.depth[i], i))
    assert [int(nodes.depth[rows[0]]) for rows in nodes.levels] == list(range(len(nodes.levels)))


@given(soups, st.randoms())
def test_sums_over_subtrees(html, random):
    nodes = page(html).nodes
    column = np.array([random.randrange(-5, 6) for _ in range(len(nodes))])
    assert nodes.total(column).tolist() == [int(column[i : nodes.end[i]].sum()) for i in range(len(nodes))]
    assert nodes.total(column * 0.5).tolist() == [column[i : nodes.end[i]].sum() * 0.5 for i in range(len(nodes))]


@given(soups)
def test_leaves(html):
    found = page(html)
    nodes = found.nodes
    assert [" ".join(s.split()) for s in nodes.strings] == leaf_strings(found.root)
    assert nodes.leaves.tolist() == [row for row in range(len(nodes)) if nodes.tag[row] == TEXT]
    for row in range(len(nodes)):
        inside = [i for i, leaf in enumerate(nodes.leaves.tolist()) if row <= leaf < nodes.end[row]]
        assert list(range(nodes.first_leaf[row], nodes.last_leaf[row])) == inside
    for leaf, row in enumerate(nodes.leaves.tolist()):
        assert nodes.elements[row] is nodes.elements[nodes.parent[row]]
        assert nodes.look[row] == nodes.look[nodes.parent[row]]
        assert (int(nodes.text[leaf]), int(nodes.words[leaf])) == text_key(" ".join(nodes.strings[leaf].split()))
    spread = nodes.spread(nodes.words + 1)
    assert spread[nodes.leaves].tolist() == (nodes.words + 1).tolist()
    assert int(spread.sum()) == int(nodes.words.sum()) + len(nodes.leaves)
    verbatim = {"pre", "textarea", "listing", "xmp", "plaintext"}
    inside = [
        leaf
        for leaf, row in enumerate(nodes.leaves.tolist())
        if verbatim & {nodes.elements[i].tag for i in ancestors(nodes, row)}
    ]
    assert sorted(nodes.spaces) == inside
    assert not "".join(nodes.spaces.values()).strip()


@given(soups)
def test_looks_links_anchors_and_hiding(html):
    nodes = page(html).nodes
    for row, element in enumerate(nodes.elements):
        above = {nodes.elements[i] for i in ancestors(nodes, row)}
        assert nodes.looks[nodes.look[row]] == (element.tag, *(element.get(a) or "" for a in ("id", "class", "role")))
        assert nodes.anchor[row] == any(e.tag == "a" and bool(e.get("href")) for e in above)
        assert nodes.hidden[row] == any("hidden" in e.attrib or "none" in (e.get("style") or "") for e in above)
        assert nodes.tag[row] in (TAG.get(str(element.tag), 0), TEXT)
        assert nodes.signature[row] == signature(nodes.looks[nodes.look[row]])
    carriers = [row for row in range(len(nodes)) if nodes.tag[row] in (TAG["a"], TAG["iframe"])]
    linking = [row for row in carriers if nodes.elements[row].get("href")]
    assert nodes.links.row.tolist() == linking
    assert nodes.links.href == [nodes.elements[row].get("href") for row in linking]
    assert [bool(key) for key in nodes.links.key] == [bool(target) for target in nodes.links.target]


@given(soups)
def test_paths_tell_nodes_apart(html):
    nodes = page(html).nodes
    assert len(set(nodes.path.tolist())) == len(nodes)
    assert nodes.path.tolist() == page(html).nodes.path.tolist()


@given(soups)
def test_shapes_are_paths_without_ranks(html):
    nodes = page(html).nodes
    shapes: dict[tuple[int, ...], int] = {}
    for row in range(len(nodes)):
        own = tuple(1 if nodes.tag[i] == TEXT else int(nodes.signature[i]) for i in ancestors(nodes, row))
        assert shapes.setdefault(own, int(nodes.shape[row])) == nodes.shape[row]
    assert len(set(shapes.values())) == len(shapes)


@given(soups)
def test_xpaths_are_those_of_lxml(html):
    found = page(html)
    tree = found.root.getroottree()
    for row, element in enumerate(found.nodes.elements):
        if found.nodes.tag[row] == TEXT:
            continue
        path = found.nodes.xpath(row)
        assert found.root.xpath(path) == [element]
        above = [found.nodes.elements[i].tag for i in ancestors(found.nodes, row)]
        assert path == tree.getpath(element) or any(re.search("[^a-z0-9-]", tag) for tag in above)


def test_xpath_of_a_part_of_a_tree():
    root = page("<div><p>a</p><p>b</p></div>").root
    part = root.find(".//div")
    assert part is not None
    nodes = build(part, URL)
    assert [nodes.xpath(row) for row in range(len(nodes))] == [
        "/html/body/div",
        "/html/body/div/p[1]",
        "/html/body/div/p[1]/text()[1]",
        "/html/body/div/p[2]",
        "/html/body/div/p[2]/text()[1]",
    ]
    assert nodes.strings == ["a", "b"]


def test_xpaths_of_many_siblings_and_of_deep_nodes():
    found = page("<p>" + "<i>x</i><b>y</b>" * 20_000)
    rows = found.nodes.leaves[-2:].tolist()
    assert [found.nodes.xpath(row) for row in found.nodes.leaves.tolist()][-2:] == [
        "/html/body/p/i[20000]/text()[1]",
        "/html/body/p/b[20000]/text()[1]",
    ]
    assert [found.root.xpath(found.nodes.xpath(row))[0] for row in rows] == ["x", "y"]
    deep = page("<div>" * 2000 + "x")
    assert deep.root.xpath(deep.nodes.xpath(int(deep.nodes.leaves[0]))) == ["x"]


def test_comments_and_instructions_are_no_rows_and_keep_their_tails():
    root = etree.fromstring("<html><!-- a -->b<?c d?>e<p>f<!-- g -->h</p><!-- i --></html>")
    nodes = build(root, URL)
    assert nodes.strings == ["b", "e", "f", "h"]
    assert [nodes.xpath(row) for row in nodes.leaves.tolist()] == [
        "/html/text()[1]",
        "/html/text()[2]",
        "/html/p/text()[1]",
        "/html/p/text()[2]",
    ]
    assert [root.xpath(nodes.xpath(row))[0] for row in nodes.leaves.tolist()] == nodes.strings


def test_what_stands_behind_the_root_is_not_read():
    root = page("<div>a</div>b").root
    part = root.find(".//div")
    assert part is not None
    assert build(part, URL).strings == ["a"]


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        ("<p class='a b'>", "<p class='b  a'>", True),
        ("<p class='a'>", "<p class='b'>", False),
        ("<p class='a'>", "<div class='a'>", False),
        ("<p id=a>", "<p id=b>", False),
        ("<p role=a>", "<p role=b>", False),
        ("<p class='post-1234'>", "<p class='row-99 post-777'>", False),
        ("<p class='post-7 comment_12 x menu-item-3'>", "<p class='x'>", True),
        ("<p class='col-6'>", "<p class='col-7'>", False),
        ("<tr class='odd row-alt'>", "<tr class='row-even'>", True),
        (
            "<p class='post-7 post type-post hentry category-tea tag-green'>",
            "<p class='post-812 post type-post hentry category-cups sticky'>",
            True,
        ),
        ("<p class='product type-product status-publish'>", "<p class='post type-post status-publish'>", False),
        ("<p class='post category-tea'>", "<p class='post category-cups'>", False),
        ("<p class='post-1234 x'>", "<p class='x post-9876'>", True),
        ("<p id=post-1234>", "<p id=post-9876>", True),
        ("<p class='item active'>", "<p class='item'>", True),
        ("<p class='item is-open'>", "<p class='item'>", True),
        ("<p class='nav-item--current'>", "<p>", True),
        ("<p class='nav current-menu-item'>", "<p class='nav'>", True),
        ("<p class='inactive'>", "<p>", True),
        ("<p class='interactive'>", "<p>", False),
        ("<p title=a style=b>", "<p>", True),
        ("<body class='a'>", "<body class='b' id='c'>", True),
    ],
)
def test_signatures(one, other, equal):
    left, right = (page(html + "x").nodes for html in (one, other))
    assert (left.signature[-2:-1] == right.signature[-2:-1]).all() == equal
    assert (left.path[-1] == right.path[-1]) == equal


@pytest.mark.parametrize(
    ("text", "words"),
    [("one", 1), ("one two three", 3), ("-", 0), ("c++", 1), ("a b", 2), ("naïve idea", 2), ("東京 is", 3), ("…", 0)],
)
def test_words_of_a_run(text, words):
    assert text_key(text)[1] == words


def test_texts_are_equal_but_for_case_and_digits():
    assert text_key("Page 12")[0] == text_key("page 99")[0] != text_key("page 100")[0]
    assert text_key("Straße")[0] == text_key("STRASSE")[0]
    assert text_key("x" * 100_000)[0] != text_key("x" * 99_999)[0]


@given(st.lists(st.integers(-(2**63), 2**63 - 1), unique=True))
def test_mixing_is_one_to_one(numbers):
    assert len(set(mix(np.array(numbers, np.int64)).tolist())) == len(numbers)


def test_tags_have_one_number_each():
    assert len(set(TAGS)) == len(TAGS) == len(TAG)
    assert TAG["#text"] == TEXT == 1
    assert set(GAPS.values()) == {1, 2, 3, 4}


def test_leaves_below_few_rows_and_below_many():
    nodes = page("<ul>" + "<li>a <b>b</b><img>" * 20 + "</ul><p>c").nodes
    rows = [row for row in range(len(nodes)) if nodes.tag[row] in (TAG["b"], TAG["img"])]
    for some in (rows[:3], rows, [*rows, *rows]):
        expected = [any(row < leaf < nodes.end[row] for row in some) for leaf in nodes.leaves]
        assert nodes.leaves_below(some).tolist() == expected


def test_an_empty_page_has_columns():
    nodes = Page.parse(b"", URL).nodes
    assert len(nodes) == 1
    assert [len(c) for c in (nodes.leaves, nodes.strings, nodes.words, nodes.links.href)] == [0] * 4
    assert nodes.total(nodes.spread(nodes.words)).tolist() == [0]
    assert nodes.shape.shape == nodes.path.shape == nodes.signature.shape == (1,)
    assert nodes.xpath(0) == "/html"


def test_links_without_text_go_with_the_text_that_follows():
    found = page("<a href=/a><img></a><p>x<a href=/b>y</a><p>z<a href=/c><img></a>")
    assert found.nodes.strings == ["x", "y", "z"]
    assert [links for *_, links in told_of(found.nodes, np.arange(3)[:, None], False)] == [[0], [1], [2]]
    assert every(found).tolist() == [True] * 3
