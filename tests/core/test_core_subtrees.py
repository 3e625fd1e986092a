"""The alignment of pages with a template, and their pagelets, in the compiled core: the same as without it."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from scrapy_pagelets.core.subtrees import align_page
from scrapy_pagelets.evidence.class_template import TemplateTree
from scrapy_pagelets.evidence.partition import partition, partition_of_rows
from scrapy_pagelets.feed.pagelet import divided
from scrapy_pagelets.page.page import Page
from tests.oracles import alignment, pagelets
from tests.trees import soups

SITE = Path(__file__).parents[1] / "site"
PAGES = sorted(SITE.rglob("*.html"))


def table(html: str):
    return Page.parse(html.encode(), "http://example.com/a/b.html").nodes


def assert_equal_alignment(template, nodes):
    found, expected = align_page(template, nodes), alignment.align_page(template, nodes)
    assert found.dtype == expected.dtype
    assert found.tolist() == expected.tolist()
    return found


@given(soups, soups)
@example("<p>a<p>b<p>a b<p>c", "<p>b<p>a<p>c<p>c")
@example("<ul><li>a b<li><b>a</b>c</ul><ul><li>c</ul>" * 2, "<ul><li>c</ul><ul><li>a b<li><b>a</b>c<li>d</ul>")
def test_alignment(one, other):
    template, nodes = TemplateTree.of(table(one)), table(other)
    assert_equal_alignment(template, nodes)
    assert_equal_alignment(template, table(one + other))
    assert assert_equal_alignment(template, table(one)).tolist() == list(range(len(template)))


@pytest.mark.parametrize(("column", "value"), [("parent", 9), ("end", 99), ("depth", 5), ("label", None)])
def test_columns_that_are_no_tree(column, value):
    """A file may hold anything; nothing outside of the columns is read."""
    nodes = table("<p>a<p>b")
    columns = vars(TemplateTree.of(nodes)).copy()
    columns[column] = columns[column][:-1] if value is None else np.full_like(columns[column], value)
    with pytest.raises(ValueError, match="not those of a tree"):
        align_page(TemplateTree(**columns), nodes)


@given(st.lists(st.lists(st.sampled_from("abcdef"), max_size=5), max_size=8).flatmap(lambda x: st.permutations(x)))
def test_siblings_that_differ_by_their_texts(items):
    """Many siblings of one signature share some of their texts: the votes decide, then the order."""
    lines = ["<li>" + "".join(f"<b>{text}</b>" for text in item) for item in items]
    template = TemplateTree.of(table("<ul>" + "".join(lines) + "</ul>"))
    assert_equal_alignment(template, table("<ul>" + "".join(sorted(lines)) + "</ul>"))
    assert_equal_alignment(template, table("<ul>" + "".join(lines[::-1][1:]) + "<li>x</ul>"))


@given(soups, st.integers(1, 4), st.booleans())
@example("<ul>" + "<li><a href=/x>x</a><a href=/y>y</a></li>" * 4 + "</ul><script>x</script>a<b>c</b><p>d", 2, False)
@example("<p>one two three four five six seven eight <a href=/x>x</a><a href=/y>y</a></p><a href=' #z'>z</a>", 2, False)
def test_partition(html, k, strict):
    nodes = table(html)
    found, expected = partition(nodes, k, strict=strict), pagelets.partition(nodes, k, strict=strict)
    assert np.array_equal(
        partition_of_rows(nodes, k, strict=strict), pagelets.partition_of_rows(nodes, k, strict=strict)
    )
    assert found.dtype == expected.dtype
    assert found.tolist() == expected.tolist()


@given(
    soups,
    st.lists(st.tuples(st.integers(-2, 3), st.sampled_from((0.0, 0.1, 0.5, 0.7, 1.0)), st.integers(0, 6)), min_size=1),
)
def test_divided(html, values):
    nodes = table(html)
    labels = np.resize([label for label, _, _ in values], len(nodes))
    templateness = np.resize([value for _, value, _ in values], len(nodes.leaves))
    roles = np.resize([role for _, _, role in values], len(nodes.leaves))
    found, expected = (function(nodes, labels, templateness, roles) for function in (divided, pagelets.divided))
    assert [(index.tolist(), *rest) for index, *rest in found] == [(index.tolist(), *rest) for index, *rest in expected]
    assert all(index.dtype == np.int64 for index, *_ in found)


def test_divided_refuses_columns_of_another_page():
    nodes = table("<p>x<p>y")
    for labels, templateness in ((np.zeros(1, np.int64), np.zeros(2)), (np.zeros(len(nodes), np.int64), np.zeros(3))):
        with pytest.raises(ValueError, match="not a label for each row, or not a templateness and a role"):
            divided(nodes, labels, templateness, np.zeros(2, np.int64))


def test_partition_refuses_no_links():
    for function in (partition, pagelets.partition):
        with pytest.raises(ValueError, match="k is 0"):
            function(table("<p>x"), 0)


def test_real_pages():
    pages = [Page.parse(path.read_bytes(), f"http://tomcat.test/{path.name}").nodes for path in PAGES]
    template = TemplateTree.of(pages[0])
    for nodes in pages:
        assert_equal_alignment(template, nodes)
        for k, strict in ((3, True), (5, False)):
            assert np.array_equal(partition(nodes, k, strict=strict), pagelets.partition(nodes, k, strict=strict))


@pytest.mark.parametrize("html", ["<p>x" * 50_000, "<b>" * 2000 + "x", "<ul>" + "<li><a href=/a>a</a> b" * 20_000])
def test_deep_and_broad_trees(html):
    nodes = table(html)
    assert_equal_alignment(TemplateTree.of(nodes), nodes)
    assert partition(nodes).tolist() == pagelets.partition(nodes).tolist()
