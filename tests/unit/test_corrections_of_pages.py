"""The corrections of what is content, on pages and templateness of all kinds."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from scrapy_pagelets.decision.content import corrected, permalinks
from scrapy_pagelets.decision.own_texts import Seen, labelled
from scrapy_pagelets.metadata.headline import Headline
from scrapy_pagelets.page.flattening import build
from scrapy_pagelets.page.page import decode, parse
from scrapy_pagelets.page.roles import THRESHOLD
from tests.trees import soups

SITE = Path(__file__).parents[1] / "site"
LISTS = """<div><p>These are all the words of a line that is content: one, two, three:</p>
<ul><li>a b<li>c<a href=d>d</a></ul>
<h2>Returns <a href=#r>¶</a></h2><ul><li>e<li><ul><li>f g h</ul></ul>
<div class=admonition-title>Note</div><p>i j k l</div>
<dl><dt>m:<dd>n o p q<dt>r<dd>s</dl><h3><a href=t>t</a></h3><ol><li>u</ol>"""
#: Blocks of text among which the passes may miss one: the first element has a menu and a table.
BLOCKS = f"""<div>{"<p>seven words of a text about tea</p>" * 5}<ul><li>a b c<li><a href=d>d e f g h i j k</a></ul>
{"<p>eight more words of a <b>text</b> about tea</p>" * 4}<pre>l m</pre><table><tr><td>n<td>o</table></div>
<p>p q<blockquote>{"r " * 60}</blockquote><h2>s</h2><p>{"t " * 60}"""
#: Values on both sides of the thresholds, and at them.
values = st.lists(st.sampled_from((0.0, 0.3, 0.499, 0.5, 0.6, 0.65, 0.7, 1.0)), min_size=1, max_size=30)
rows = st.lists(st.integers(0, 200), max_size=3)


def checked(root, templateness, chosen):
    """The corrected templateness; what no correction names, and no line of content has, is as it was."""
    nodes = build(root, "http://example.com/")
    templateness = np.resize(np.array(templateness), len(nodes.leaves))
    some = [row % len(nodes) for row in chosen]
    headline = Headline(some[0], "", tuple(some[1:])) if some else None
    found = corrected(nodes, templateness, headline)
    of_line = (found < THRESHOLD) & (templateness >= THRESHOLD)
    assert ((found == templateness) | np.isin(found, (0, 1)) | of_line).all()
    marks = permalinks(nodes)
    assert (found[marks] == 1).all()
    if headline is not None:
        banners = nodes.leaves_below(headline.banners)
        own = nodes.leaves_below((headline.row,)) & ~banners & ~marks
        assert (found[own] == 0).all()
    lost = (found > templateness) & ~marks
    assert not lost.any() or (headline is not None and nodes.leaves_below(headline.banners)[lost].all())
    return found


@given(soups, values, rows)
@example(LISTS, [0.0], [])
@example(LISTS, [0.0] + [0.6] * 9, [3])
@example(LISTS, [0.3, 0.3, 0.3, 0.7, 0.5, 0.6, 0.3], [1, 2, 3])
@example("<ul><li>a<li>b</ul><h1>c</h1><ul></ul>", [0.5, 0.0], [])
def test_any_page(html, templateness, chosen):
    checked(parse(html), templateness, chosen)


@given(soups, values, st.integers(0, 200), st.booleans())
@example("<h1>a</h1><p>b<p>c<p>d", [0.0, 0.7, 0.7, 0.7], 0, False)  # the heading alone is content
@example(LISTS, [0.7, 0.3, 0.7], 1, False)
@example(LISTS, [0.3, 0.7], 0, True)
def test_labels_of_any_page(html, templateness, chosen, is_article):
    nodes = build(parse(html), "http://example.com/")
    m = len(nodes.leaves)
    keep, alike = np.resize(np.array(templateness), m) < THRESHOLD, np.arange(m) % 9
    rows = [row for row in range(len(nodes)) if nodes.first_leaf[row] < nodes.last_leaf[row] < m]
    headline = Headline(rows[chosen % len(rows)], "") if rows else None
    found = labelled(
        nodes, headline, keep, Seen(alike, 8, lambda: (alike[::-1], alike), lambda: alike / 9), is_article=is_article
    )
    assert not (found & keep).any()


@pytest.mark.parametrize("html", [LISTS, BLOCKS], ids=["lists", "blocks"])
@given(templateness=values, chosen=rows)
def test_lists_headings_and_blocks(html, templateness, chosen):
    checked(parse(html), templateness, chosen)


def test_a_heading_right_above_another_one_has_what_is_below_it():
    html = "<h1>Tea</h1><p>one two three four five</p><h2>Ways</h2><h3>Steep</h3><p>six seven eight nine</p>"
    assert checked(parse(html), [0, 0, 0.7, 0.7, 0], []).max() == 0
    assert checked(parse(html.replace("h3", "h2")), [0, 0, 0.7, 0.7, 0], []).tolist() == [0, 0, 0.7, 0, 0]


def test_a_hole_is_filled():
    root = parse(BLOCKS)
    templateness = [0.0] * 5 + [0.9] * 2 + [0.0] * 12 + [0.9] * 9
    found = checked(root, templateness, [])
    assert found[:19].tolist() == [0.0] * 19
    assert found[19:].max() == 0.9


@pytest.mark.parametrize("path", sorted(SITE.rglob("*.html")), ids=lambda path: path.name)
def test_real_pages(path):
    root = parse(decode(path.read_bytes()))
    changed = 0
    for seed in range(8):
        templateness = np.random.default_rng(seed).choice((0.1, 0.4, 0.55, 0.9), 400, p=(0.5, 0.2, 0.2, 0.1))
        changed += (checked(root, templateness, [seed]) == 0).sum()
    assert changed
