"""The corrections of the content in the compiled core: the same as without the core."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from scrapy_pagelets.core import in_python
from scrapy_pagelets.document.content import corrected
from scrapy_pagelets.document.headline import Headline
from scrapy_pagelets.nodes import build
from scrapy_pagelets.page import decode, parse
from tests.trees import soups

SITE = Path(__file__).with_name("site")
LISTS = """<div><p>These are all the words of a line that is content: one, two, three:</p>
<ul><li>a b<li>c<a href=d>d</a></ul>
<h2>Returns <a href=#r>¶</a></h2><ul><li>e<li><ul><li>f g h</ul></ul>
<div class=admonition-title>Note</div><p>i j k l</div>
<dl><dt>m:<dd>n o p q<dt>r<dd>s</dl><h3><a href=t>t</a></h3><ol><li>u</ol>"""
#: Values on both sides of the thresholds, and at them.
values = st.lists(st.sampled_from((0.0, 0.3, 0.499, 0.5, 0.6, 0.65, 0.7, 1.0)), min_size=1, max_size=30)
rows = st.lists(st.integers(0, 200), max_size=3)


def assert_equal(root, templateness, chosen):
    nodes = build(root, "http://example.com/")
    templateness = np.resize(np.array(templateness), len(nodes.leaves))
    some = [row % len(nodes) for row in chosen]
    headline = Headline(some[0], "", tuple(some[1:2]), tuple(some[2:])) if some else None
    found = corrected(nodes, templateness, headline)
    assert found.tolist() == in_python(corrected)(nodes, templateness, headline).tolist()
    return found


@given(soups, values, rows)
@example(LISTS, [0.0], [])
@example(LISTS, [0.0] + [0.6] * 9, [3])
@example(LISTS, [0.3, 0.3, 0.3, 0.7, 0.5, 0.6, 0.3], [1, 2, 3])
@example("<ul><li>a<li>b</ul><h1>c</h1><ul></ul>", [0.5, 0.0], [])
def test_any_page(html, templateness, chosen):
    assert_equal(parse(html), templateness, chosen)


@given(values, rows)
def test_lists_and_headings(templateness, chosen):
    assert_equal(parse(LISTS), templateness, chosen)


@pytest.mark.parametrize("path", sorted(SITE.rglob("*.html")), ids=lambda path: path.name)
def test_real_pages(path):
    root = parse(decode(path.read_bytes()))
    changed = 0
    for seed in range(8):
        templateness = np.random.default_rng(seed).choice((0.1, 0.4, 0.55, 0.9), 400, p=(0.5, 0.2, 0.2, 0.1))
        changed += (assert_equal(root, templateness, [seed]) == 0).sum()
    assert changed
