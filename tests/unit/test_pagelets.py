"""Pagelets by number of links: Figure 3 of the paper exactly as written, and the default form."""

from collections import deque

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from scrapy_pagelets.evidence.partition import DEFAULT_K, STRICT_K, partition
from scrapy_pagelets.page.nodes import TEXT
from scrapy_pagelets.page.page import Page
from tests.trees import URL, page, soups, unseen

LINK = "<a href='/x'>link</a> "


def linked(names):
    """Tag soup with many links."""
    piece = st.one_of(
        st.sampled_from(
            [LINK, LINK * 2, LINK * 3, "text ", " ", "<a href='#x'>part</a>", "<a href='mailto:x@y.z'>mail</a>"]
        ),
        st.builds("<{}>".format, st.sampled_from(names)),
        st.builds("</{}>".format, st.sampled_from(names)),
    )
    return st.lists(piece, max_size=40).map("".join)


linked_soups = st.one_of(soups, linked("div p ul li b span table tr td section script br".split()))


def links_below(element):
    """Number of hyperlinks in an element that lead to another page, not to a part of the same page."""
    links = element.iter("a", "area")
    return sum((e.get("href") or "").startswith(("/", "http")) for e in links if seen(e))


def seen(element):
    return not any(unseen(e) for e in element.iterancestors())


def figure_3(root, k):
    """Figure 3 with two lines restored: ``if some child has >= k links: push all children; else: declare v``."""
    declared = []
    queue = deque([root])
    while queue:
        v = queue.popleft()
        children = [child for child in v if isinstance(child.tag, str) and not unseen(v)]
        if any(links_below(child) >= k for child in children):
            queue.extend(children)
        else:
            declared.append(v)
    return declared


def owners(nodes, declared):
    """The pagelet of each leaf: an element, or the text between two elements that the leaf is part of."""
    owners_of_leaves = []
    declared = set(declared)
    run = 0
    for row in range(1, len(nodes)):
        if nodes.tag[row] != TEXT:
            run += 1  # an element ends a run of text
            continue
        above = [nodes.elements[row], *nodes.elements[row].iterancestors()]
        owners_of_leaves.append(next((e for e in above if e in declared), (nodes.elements[row], run)))
    return owners_of_leaves


def same_partition(one, other):
    pairs = set(zip(one, other, strict=True))
    return len(pairs) == len(set(one)) == len(set(other))


@given(linked_soups, st.integers(1, 4))
def test_strict_is_figure_3(html, k):
    parsed = page(html)
    declared = figure_3(parsed.root, k)
    labels = partition(parsed.nodes, k, strict=True).tolist()
    assert same_partition(labels, owners(parsed.nodes, declared))


@given(linked_soups, st.integers(1, 6), st.booleans())
def test_every_leaf_has_one_pagelet_in_document_order(html, k, strict):
    nodes = page(html).nodes
    labels = partition(nodes, k, strict=strict)
    assert labels.shape == nodes.leaves.shape
    firsts = [int(np.flatnonzero(labels == label)[0]) for label in range(int(labels.max(initial=-1)) + 1)]
    assert firsts == sorted(firsts)
    # A pagelet is a contiguous part of the page.
    assert all((np.diff(np.flatnonzero(labels == label)) == 1).all() for label in set(labels.tolist()))


@given(linked_soups, st.integers(1, 4))
def test_the_default_never_cuts_a_strict_pagelet_with_the_same_k(html, k):
    nodes = page(html).nodes
    fine, coarse = partition(nodes, k, strict=True), partition(nodes, k)
    assert all(len(set(coarse[fine == label].tolist())) == 1 for label in set(fine.tolist()))


@pytest.mark.parametrize("k", [0, -1])
def test_a_bad_k_is_refused(k):
    nodes = page("<p>x").nodes
    with pytest.raises(ValueError, match=f"k is {k}: a pagelet needs a number of links of 1 or more"):
        partition(nodes, k)


def cut(html, k=DEFAULT_K, *, strict=False):
    """The pagelets of a page as texts."""
    nodes = page(html).nodes
    labels = partition(nodes, k, strict=strict)
    return [" ".join(nodes.strings[i] for i in np.flatnonzero(labels == n)) for n in range(labels.max(initial=-1) + 1)]


def test_a_page_with_few_links_is_one_pagelet():
    html = f"<h1>Title</h1><div>{LINK * 2}</div><p>Text</p><div>{LINK * 2}</div>"
    assert len(cut(html)) == 1
    assert len(cut(html, STRICT_K, strict=True)) == 1
    assert len(cut(html, 2, strict=True)) == 4
    assert cut("") == cut("<img src=x>") == cut(LINK.replace("link", "")) == []
    assert cut("x") == ["x"]


def test_k_is_the_number_of_links_that_makes_a_region():
    for k in (1, 2, 3, 5):
        assert len(cut(f"<div>{LINK * k}</div><p>Text</p>", k)) == 2
        assert len(cut(f"<div>{LINK * (k - 1)}</div><p>Text</p>", k)) == 1


@pytest.mark.parametrize(
    "href",
    ["#part", " #part", "javascript:x()", "mailto:a@b.c", "", "http://[broken"],
    ids="part space js mail none broken".split(),
)
def test_links_that_lead_nowhere_do_not_count(href):
    nowhere = f"<a href='{href}'>link</a>"
    assert len(cut(f"<div>{nowhere * 9}</div><p>Text</p>", 3)) == 1
    assert len(cut(f"<div>{nowhere * 9}{LINK * 3}</div><p>Text</p>", 3)) == 2


def test_areas_are_hyperlinks_and_frames_are_not():
    assert len(cut(f"<div>x{'<iframe src=/f></iframe>' * 9}</div><p>Text</p>", 3)) == 1
    assert len(cut(f"<div>x<map>{'<area href=/f>' * 9}</map></div><p>Text</p>", 3)) == 2


def test_occurrences_are_counted():
    assert len(cut("<div>" + "<a href='/same'>x</a>" * 3 + "</div><p>Text</p>", 3)) == 2


def test_text_between_the_children_of_a_divided_node():
    menu = f"<div>{LINK * 5}</div>"
    html = f"one <b>two</b><!-- x --> three {menu} four {menu}<i>five</i> six<p>seven"
    assert [text for text in cut(html) if "link" not in text] == ["one two three", "four", "five six", "seven"]
    # In the strict form, each element is a pagelet of its own.
    strict = [text for text in cut(html, strict=True) if "link" not in text]
    assert strict == ["one", "two", "three", "four", "five", "six", "seven"]


def test_scripts_do_not_divide_text():
    menu = f"<div>{LINK * 5}</div>"
    script = "<script>x</script><style>y</style><noscript>z</noscript>"
    assert cut(f"{menu}one {script}two") == [cut(menu)[0], "one two"]
    assert len(cut(f"{menu}<p>a</p>{script}<p>b</p>{script}<p>c</p>")) == 2


def test_records_are_one_region():
    record = f"<li><h2>Title</h2>{LINK * 2}</li>"
    menu = f"<div>{LINK * 5}</div>"
    assert len(cut(f"{menu}<ul>{record * 2}</ul>")) == 2
    listing = "<div>{}</div>"
    for count, expected in ((2, 3), (3, 2), (50, 2)):
        html = f"{menu}{listing.format('<p class=r>Text</p>' * count)}"
        assert len(cut(f"{menu}{'<p class=r>Text</p>' * count}")) == expected, html
    # A record of another look ends the run.
    mixed = "<p class=r>a</p>" * 3 + "<p class=s>b</p>" + "<p class=r>c</p>" * 3
    assert cut(f"{menu}{mixed}")[1:] == ["a a a", "b", "c c c"]
    assert len(cut(f"{menu}{mixed}", strict=True)) == 8


def test_a_record_that_is_divided_itself_is_not_merged():
    menu = f"<div><div>{LINK * 5}</div>a</div>"
    assert cut(menu * 3) == ["link link link link link", "a"] * 3


def test_prose_with_links_stays_whole():
    prose = "<p>" + "many words of a text, " * 20 + f"{LINK * 6}</p>"
    html = f"<div><h1>Title</h1>{prose}{prose}</div><div>{LINK * 6}</div>"
    assert len(cut(html)) == 2
    assert len(cut(html, strict=True)) == 4
    article = f"<main><h1>Title</h1>{prose}{prose}</main>"
    assert len(cut(article)) == 1
    assert len(cut(article, strict=True)) == 3


def test_five_thousand_levels():
    root = etree.Element("html")
    node = etree.SubElement(root, "body")
    for level in range(5000):
        node = etree.SubElement(node, "div")
        node.text = f"text {level}"
        etree.SubElement(node, "a", href="/x").text = "link"
    nodes = Page.from_root(root, URL).nodes
    for strict in (True, False):
        labels = partition(nodes, 3, strict=strict)
        assert len(labels) == 10_000
        assert len(set(labels.tolist())) > 4_900
        assert (np.diff(labels) >= 0).all()


@pytest.mark.parametrize("strict", [True, False])
def test_a_hundred_thousand_nodes(strict):
    block = f"<div class=a><h2>Title</h2>{LINK * 5}<p>Text <b>bold</b> text</p></div>"
    nodes = page(block * 6_000).nodes
    assert len(nodes) > 100_000
    labels = partition(nodes, strict=strict)
    assert len(labels) == len(nodes.leaves)
    # Each block is a pagelet, and all of them are the records of one region.
    assert len(set(labels.tolist())) == (6_000 if strict else 1)


@pytest.mark.parametrize("strict", [True, False])
def test_many_children_of_one_node(strict):
    nodes = page(f"<div>{LINK * 5}</div>" + "<p>a</p><div>b</div>" * 50_000).nodes
    assert len(set(partition(nodes, strict=strict).tolist())) == 100_001
