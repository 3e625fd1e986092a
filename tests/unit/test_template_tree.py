"""The alignment of pages with a template: an equal top-down mapping that an inserted element does not disturb."""

from __future__ import annotations

import io
from copy import deepcopy
from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from scrapy_pagelets.core.subtrees import align_page
from scrapy_pagelets.evidence.class_template import TemplateTree
from scrapy_pagelets.evidence.etdm import extract, same_signature
from scrapy_pagelets.page.flattening import build
from scrapy_pagelets.page.nodes import TEXT
from tests.oracles.node_equalities import same_signature_and_text
from tests.trees import URL, page, soups

WORDS = "alpha beta gamma delta epsilon zeta".split()


def article(number):
    word = WORDS[number]
    return page(
        "<div><div><a href=/>Home</a></div><div><a href=/x>About</a></div></div>"
        f"<div><div>Written by {word}</div><div><p>Text {word}</p><div>Share this</div></div></div>"
        "<div><div>Imprint</div><div></div></div>"
    )


@pytest.fixture
def template():
    key, *others = [article(number).nodes for number in range(4)]
    return TemplateTree.of(key, extract(key, others, same_signature_and_text)[0])


def template_texts(template, nodes):
    """The texts of a page that the template has at the row they are aligned with."""
    images = align_page(template, nodes)[nodes.leaves]
    same = (images >= 0) & (template.text[images] == nodes.text)
    return [string for string, found in zip(nodes.strings, same, strict=True) if found]


TEXTS = ["Home", "About", "Share this", "Imprint"]


def test_the_template_of_other_pages(template):
    assert template_texts(template, article(5).nodes) == TEXTS


def test_an_inserted_div_anywhere(template):
    root = article(5).nodes.elements[0]
    places = [(row, k) for row, e in enumerate(root.find("body").iter()) for k in range(len(e) + 1)]
    for row, place in places:
        copy = deepcopy(root)
        inserted = etree.Element("div")
        inserted.text = "Buy now"
        list(copy.find("body").iter())[row].insert(place, inserted)
        assert template_texts(template, build(copy, URL)) == TEXTS


def test_siblings_without_template_text_meet_in_order():
    key = page("<ul><li>a<li>b<li>c</ul>").nodes
    nodes = page("<ul><li>x<li>y</ul>").nodes
    assert align_page(TemplateTree.of(key), nodes).tolist() == list(range(len(nodes)))


def test_the_sibling_with_more_common_texts_is_taken():
    key = page("<div><p>one</p><p>two</p><p>three</p></div>").nodes
    nodes = page("<div><p>one</p><p>x</p></div><div><p>three</p><p>two</p></div>").nodes
    images = align_page(TemplateTree.of(key), nodes)
    assert images[2] == -1
    assert template_texts(TemplateTree.of(key), nodes) == ["three", "two"]


@given(soups, soups, st.data())
def test_one_to_one_equal_and_top_down(one, other, data):
    key, nodes = page(one).nodes, page(other).nodes
    rows = np.array(data.draw(st.lists(st.booleans(), min_size=len(key), max_size=len(key))), np.bool_)
    template = TemplateTree.of(key, rows | (np.arange(len(key)) == 0))
    images = align_page(template, nodes)
    mapped = np.flatnonzero(images >= 0)
    assert len(set(images[mapped].tolist())) == len(mapped)
    label = np.where(nodes.tag == TEXT, TEXT, same_signature(nodes))
    assert (template.label[images[mapped]] == label[mapped]).all()
    for row in mapped[mapped > 0].tolist():
        assert images[nodes.parent[row]] == template.parent[images[row]]


@given(soups)
def test_a_page_is_aligned_with_itself(soup):
    nodes = page(soup).nodes
    assert align_page(TemplateTree.of(nodes), nodes).tolist() == list(range(len(nodes)))


@given(soups, st.data())
def test_the_rows_of_a_template_form_a_tree(soup, data):
    nodes = page(soup).nodes
    rows = np.array(data.draw(st.lists(st.booleans(), min_size=len(nodes), max_size=len(nodes))), np.bool_)
    template = TemplateTree.of(nodes, rows)
    assert (template.parent[1:] >= 0).all()
    assert (template.depth[1:] == template.depth[template.parent[1:]] + 1).all()
    inside = (np.arange(len(template))[:, None] <= np.arange(len(template))) & (
        np.arange(len(template)) < template.end[:, None]
    )
    assert (inside.sum(axis=0) == template.depth + 1).all()


def test_a_template_is_stored_as_arrays(template):
    file = io.BytesIO()
    np.savez(file, **{column.name: getattr(template, column.name) for column in fields(template)})
    file.seek(0)
    with np.load(file) as arrays:
        stored = TemplateTree(**arrays)
    nodes = article(5).nodes
    assert (align_page(stored, nodes) == align_page(template, nodes)).all()


def test_templates_and_pages_without_anything(template):
    nodes = article(0).nodes
    empty = TemplateTree.of(nodes, np.zeros(len(nodes), np.bool_))
    assert len(empty) == 0
    assert (align_page(empty, nodes) == -1).all()
    assert (align_page(template, build(etree.fromstring("<svg/>"), URL)) == -1).all()
    assert align_page(template, build(etree.fromstring("<html/>"), URL)).tolist() == [0]
    no_texts = TemplateTree.of(nodes, nodes.tag != TEXT)
    assert (align_page(no_texts, nodes) >= 0).sum() == len(no_texts)


def test_a_hundred_thousand_siblings():
    items = "".join(f"<li>{'abcdefghij'[n % 10]}{n}" for n in range(100_000))
    key, nodes = page(f"<ul>{items}").nodes, page(f"<ul><li>first{items}").nodes
    assert (align_page(TemplateTree.of(key), nodes) >= 0).sum() == len(key)
