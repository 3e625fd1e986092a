"""Pagelets of a page: nothing is lost, nothing occurs twice, content is separate from template."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from scrapy_pagelets import Page, Pagelet, segment
from scrapy_pagelets.page.roles import CONTENT, NAVIGATION, TEMPLATE
from scrapy_pagelets.page.text import plain
from tests.trees import URL, leaf_strings, legible, page, soups, words

SEGMENTERS = ["pagelets", "pagelets-strict", "sections"]
linked_soups = st.lists(
    st.one_of(
        soups,
        st.sampled_from(
            ["<a href='/x'>one</a> <a href='y'>two</a> <a href='/z'><img></a>", "<div>", "<p>word", "</div>"]
        ),
    ),
    max_size=12,
).map("".join)


def weights(data, parsed):
    count = len(parsed.nodes.leaves)
    return np.array(data.draw(st.lists(st.sampled_from([0.0, 0.3, 0.5, 0.7, 1.0]), min_size=count, max_size=count)))


@given(linked_soups, st.data(), st.sampled_from(SEGMENTERS))
def test_the_pagelets_are_the_page(html, data, segmenter):
    parsed = page(html)
    templateness = weights(data, parsed)
    pagelets = segment(parsed, templateness, segmenter)
    assert [p.id for p in pagelets] == list(range(len(pagelets)))
    assert sorted(leaf for p in pagelets for leaf in p.index.tolist()) == list(range(len(parsed.nodes.leaves)))
    assert [p.index[0] for p in pagelets] == sorted(p.index[0] for p in pagelets)
    for p in pagelets:
        assert p.index.tolist() == np.flatnonzero(p.leaves).tolist()
        assert words(p.text) == words(plain(parsed.nodes, p.leaves))  # which marks items
        assert p.words == parsed.nodes.words[p.leaves].sum()
    assert sum(p.words for p in pagelets) == parsed.nodes.words.sum()


@given(linked_soups, st.data(), st.sampled_from(SEGMENTERS))
def test_content_and_template_do_not_mix(html, data, segmenter):
    parsed = page(html)
    templateness = weights(data, parsed)
    content = np.zeros(len(templateness), np.bool_)
    for p in segment(parsed, templateness, segmenter):
        assert ((templateness[p.index] < 0.5) == (p.role == CONTENT)).all()
        assert templateness[p.index].min() <= p.templateness + 1e-9
        assert p.templateness - 1e-9 <= templateness[p.index].max()
        assert p.role in (CONTENT, NAVIGATION, TEMPLATE)
        if p.role == CONTENT:
            content |= p.leaves
    assert content.tolist() == (templateness < 0.5).tolist()


@given(linked_soups, st.data(), st.sampled_from(SEGMENTERS))
def test_content_pagelets_together_are_the_content_of_the_page(html, data, segmenter):
    parsed = page(html)
    templateness = weights(data, parsed)
    parts = [p.text for p in segment(parsed, templateness, segmenter) if p.role == CONTENT]
    # The order differs if content and template alternate, and a pagelet may end in the middle of a word.
    together = "".join(words(plain(parsed.nodes, templateness < 0.5)))
    assert sorted("".join("".join(words(part)) for part in parts)) == sorted(together)


@given(linked_soups, st.data(), st.sampled_from(SEGMENTERS))
def test_xpaths_hold_the_text_of_the_pagelet_and_no_other(html, data, segmenter):
    parsed = page(html)
    for p in segment(parsed, weights(data, parsed), segmenter):
        held = []
        for path in p.xpaths:
            (node,) = parsed.root.xpath(path)
            held += leaf_strings(node) if isinstance(node, etree._Element) else [" ".join(legible(node).split())]
        assert held == [" ".join(parsed.nodes.strings[leaf].split()) for leaf in p.index]


@given(linked_soups, st.data(), st.sampled_from(SEGMENTERS))
def test_each_link_is_in_one_pagelet(html, data, segmenter):
    parsed = page(html)
    links = parsed.nodes.links
    rows = [row for row, key in zip(links.row, links.key, strict=True) if key]
    pagelets = segment(parsed, weights(data, parsed), segmenter)
    listed = [link for p in pagelets for link in p.links]
    assert len(listed) == (len(rows) if pagelets else 0)
    assert sorted("".join(words(link["anchor"])) for link in listed) == sorted(
        "".join(words(" ".join(parsed.nodes.strings[parsed.nodes.first_leaf[row] : parsed.nodes.last_leaf[row]])))
        for row in (rows if pagelets else [])
    )
    assert all(link["url"].startswith("http://example.com/") for link in listed)


PAGE = (
    "<title>t</title><body><header><nav><a href=/>Home</a> <a href=/a>All <b>a</b>bout</a> <a href=/b>B</a> "
    "<a href=/c>C</a> <a href=/d>D</a></nav></header>"
    "<main><h1>Head</h1><p>Some words with <a href='x.html#y'>a link</a>.</p></main><footer>Imprint of us</footer>"
)


def test_records():
    parsed = page(PAGE)
    templateness = np.array([s not in ("Head", "Some words with", "a link", ".") for s in parsed.nodes.strings]) * 0.9
    menu, content, foot = segment(parsed, templateness)
    assert menu.record() == {
        "id": 0,
        "xpaths": ["/html/body/header"],
        "role": "navigation",
        "templateness": 0.9,
        "text": "Home All about B C D",
        "words": 7,
        "links": [
            {"url": "http://example.com/", "anchor": "Home"},
            {"url": "http://example.com/a", "anchor": "All about"},
            {"url": "http://example.com/b", "anchor": "B"},
            {"url": "http://example.com/c", "anchor": "C"},
            {"url": "http://example.com/d", "anchor": "D"},
        ],
    }
    assert content.record() == {
        "id": 1,
        "xpaths": ["/html/body/main"],
        "role": "content",
        "templateness": 0.0,
        "text": "Head\n\nSome words with a link.",
        "words": 6,
        "links": [{"url": "http://example.com/a/x.html#y", "anchor": "a link"}],
    }
    assert (foot.role, foot.text, foot.links) == ("template", "Imprint of us", [])
    assert json.loads(json.dumps([p.record() for p in (menu, content, foot)]))[2]["words"] == 3


def test_a_pagelet_of_content_and_template_is_divided():
    parsed = page("<div>Comments<p>A thought</p>Reply<p>Another one</p>Reply</div>")
    content, template = segment(parsed, np.array([0.0, 0, 1, 0, 1]))
    assert content.text == "Comments\n\nA thought\n\nAnother one"
    assert template.text == "Reply\n\nReply"
    assert content.xpaths == ["/html/body/div/text()[1]", "/html/body/div/p[1]", "/html/body/div/p[2]"]


def test_without_templateness_all_is_content():
    assert [(p.role, p.templateness) for p in segment(page("<p>a<p>b"))] == [("content", 0.0)]
    assert segment(page("")) == []
    assert segment(page("<a href=/x><img></a>")) == []


def test_links_without_text_and_links_around_pagelets():
    parsed = page(
        "<a href=/logo><img></a><p>one</p><a href=/around><div>two</div><div>three</div></a><iframe src=/f></iframe>"
        "<p>four</p><a href=/last><img></a><a href='javascript:x()'>no</a>"
    )
    one, other = segment(parsed, np.array([0, 0, 1, 1, 1.0]))
    assert [(link["url"], link["anchor"]) for link in one.links] == [
        ("http://example.com/logo", ""),
        ("http://example.com/around", "two three"),
    ]
    assert [link["url"] for link in other.links] == ["http://example.com/f", "http://example.com/last"]


def test_bad_parameters():
    parsed = page("<p>a<p>b")
    with pytest.raises(ValueError, match="no segmenter 'none': choose one of pagelets, pagelets-strict"):
        segment(parsed, method="none")
    for size in (0, 1, 3):
        with pytest.raises(ValueError, match=f"templateness has {size} values, the page 2 runs of text"):
            segment(parsed, np.zeros(size))


def test_pagelets_are_equal_to_themselves_only():
    parsed = page("<p>a")
    (one,), (other,) = segment(parsed), segment(parsed)
    assert isinstance(one, Pagelet)
    assert one != other
    assert len({one, other}) == 2


def test_a_huge_page_of_many_pagelets():
    menu = "<div>" + "<a href=/x>x</a>" * 5 + "</div>"
    parsed = page(menu + "<p>a</p><div>b <a href=/y>y</a></div>" * 8_000)
    templateness = np.arange(len(parsed.nodes.leaves)) % np.float64(2)
    pagelets = segment(parsed, templateness)
    assert len(pagelets) > 24_000
    records = [p.record() for p in pagelets]
    assert sum(record["words"] for record in records) == parsed.nodes.words.sum()
    assert sum(len(record["links"]) for record in records) == len(parsed.nodes.links.href)
    assert records[-1]["xpaths"] == ["/html/body/div[8001]/a"]


def test_five_thousand_levels():
    root = etree.Element("html")
    node = etree.SubElement(root, "body")
    for level in range(5000):
        node = etree.SubElement(node, "div")
        node.text = f"t{level}"
    parsed = Page.from_root(root, URL)
    templateness = np.arange(5000) % np.float64(2)
    content, template = segment(parsed, templateness)
    assert len(content.xpaths) == len(template.xpaths) == 2500
    assert words(content.text) == [f"t{level}" for level in range(0, 5000, 2)]
