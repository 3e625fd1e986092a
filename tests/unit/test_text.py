"""Text as a reader sees it, in plain and cleaned HTML: no word lost, doubled, glued or split."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from lxml import etree

from scrapy_pagelets.page.page import Page
from scrapy_pagelets.page.text import cleaned, paths_of, plain, text_of
from tests.trees import URL, every, leaf_strings, legible, mask, masks, page, reading, soups, words


def shown(html):
    found = page(html)
    return plain(found.nodes, every(found))


@pytest.mark.parametrize(
    ("html", "text"),
    [
        # inline boundaries
        ("<b>un</b>do", "undo"),
        ("un<b>do</b>ing", "undoing"),
        ("<b>un</b> <i>do</i>", "un do"),
        ("<b>un </b><i>do</i>", "un do"),
        ("<b>un</b><i> do</i>", "un do"),
        ("<span>un</span><span>do</span>", "undo"),
        ("H<sub>2</sub>O", "H2O"),
        ("<p>x<p>\u200d<p>y", "x\n\ny"),
        # marks of notes, and each formula once
        ("a<sup><a href='#n'>1</a></sup>, b<a href='#n'><sup>*</sup></a>", "a[1], b[*]"),
        ("a<sup>[<a href='#n'>1</a>]</sup> b<sup>2</sup> <sup><a href='#n'>3</a></sup> c", "a[1] b2 3 c"),
        (
            "<p>so <span class=katex><span><math><semantics><mi>x</mi><mn>1</mn><annotation encoding=application/x-tex>"
            "{\\displaystyle x_1}</annotation></semantics></math></span><span>x1</span></span>.",
            "so x_1.",
        ),
        ("<p>so <span class=MathJax><nobr>x</nobr><math><mi>x</mi></math></span> is", "so x is"),
        ("so <math><mfrac><mi>a</mi><mi>b</mi></mfrac></math>", "so \\frac{a}{b}"),
        ("so <math><mi>a</mi><mo>+</mo><mi>b</mi></math>", "so a+b"),
        ("a<wbr>b", "ab"),
        ("a<!-- x -->b<?php y ?>c", "abc"),
        ("a <!-- x --> b", "a b"),
        ("a<script>x</script>b", "ab"),
        ("a&nbsp;b", "a b"),
        ("a\n\n\t b", "a b"),
        # adjacent links are separated, links within a word are not
        ("<a href=/x>x</a><a href=/y>y</a>", "x y"),
        ("<b><a href=/x>x</a></b><i><a href=/y>y</a></i>", "x y"),
        ("<a href=/x>x</a><a href=/e></a><a href=/y>y</a>", "x y"),
        ("<a href=/x>std</a>::<a href=/y>vector</a>", "std::vector"),
        ("<a href=/x>x</a> un<a href=/y>do</a>", "x undo"),
        ("<a name=x>un</a><a name=y>do</a>", "undo"),
        ("un<a href=/y>do</a>", "undo"),
        # replaced elements
        ("a<img src=x>b", "a b"),
        ("a<input>b", "a b"),
        ("a<svg><path/></svg>b", "a b"),
        ("a<iframe src=x></iframe>b", "a b"),
        ("<button>a</button><button>b</button>", "a b"),
        # lines
        ("a<br>b", "a\nb"),
        ("a<br><br>b", "a\n\nb"),
        ("a<br> <br/>b", "a\n\nb"),
        ("a<hr>b", "a\n\nb"),
        ("<ul><li>a<li>b</ul>c", "- a\n- b\n\nc"),
        ("<ul><li><p>a<p>b<ul><li>c</ul></ul>", "- a\n\nb\n\n- c"),
        # marks that are left over, letters in two parts, characters that nobody sees
        ("<p>a<p>.<p>b · c<p>¶", "a\n\nb · c"),
        ("<p>e\u0301 a\u200bb\u00adc", "é abc"),
        ("<dl><dt>a<dd>b</dl>", "a\nb"),
        ("<select><option>a<option>b</select>c", "a\nb\nc"),
        ("<svg><text>a</text><text>b</text></svg>", "a\nb"),
        # blocks
        ("<div>a</div><div>b</div>", "a\n\nb"),
        ("a<div>b</div>c", "a\n\nb\n\nc"),
        ("<p>a<p>b", "a\n\nb"),
        ("a<div></div>b", "a\n\nb"),
        ("<xmp>a</xmp><xmp>b</xmp>", "a\n\nb"),
        ("<h1>a</h1>b", "a\n\nb"),
        # tables
        ("<table><tr><td>a</td><td>b</td></tr><tr><td>c</td></tr></table>", "a\tb\nc"),
        ("<table><caption>a</caption><tr><th>b<th>c<tbody><tr><td>d</table>", "a\n\nb\tc\nd"),
        ("<td>a</td><td>b</td>", "a\tb"),
        ("<table><tr><td>a<td> <td>b</table>", "a\tb"),
        ("x<table><tr><th><p>a<th>b<tr><td>c<br>d<td><div>e</div><p>-</table>y", "x\n\na\tb\nc d\te -\n\ny"),
        ("<table><tr><td>a<td>b<tr><td><ul><li>c<li>d</ul><td>e<tr><td>f<td>g</table>", "a\tb\n- c - d\te\nf\tg"),
        (
            "<table><tr><td><table><tr><td><p>a<td><p>b<tr><td>c<td>d</table><td><p>e<tr><td>f</table>",
            "a\tb\nc\td\n\ne\n\nf",
        ),
        ("<table><tr><td><p>a<td><p>b</table>", "a\n\nb"),  # lays out the page
        # entities
        ("&lt;b&gt; &amp;amp; &#x41;&#66; &eacute; &bogus;", "<b> &amp; AB é &bogus;"),
        # verbatim
        ("<pre>def f():\n    return  1\n\nf()</pre>", "def f():\n    return  1\n\nf()"),
        ("<pre>    a\n  b</pre>", "    a\n  b"),
        ("x<pre>\n    a\n  b</pre>y", "x\n\n    a\n  b\n\ny"),
        ("<pre>a<br>  b</pre>", "a\n  b"),
        ("<pre>a <br>  b</pre>", "a\n  b"),
        ("<pre><b>a</b>  <i>b</i>\n<u>c</u></pre>", "a  b\nc"),
        ("<pre><b>un</b>do</pre>", "undo"),
        ("<pre>a\n\n\n</pre><pre>\n  b</pre>", "a\n\n  b"),
        ("<pre>a</pre>b  c", "a\n\nb c"),
        ("<textarea>a\n  b</textarea> c  d", "a\n  b c d"),
        ("<listing>a\n b</listing>", "a\n b"),
    ],
)
def test_boundaries(html, text):
    assert shown(html) == text


@pytest.mark.parametrize(
    "tag", "script style template noscript noframes noembed iframe audio video canvas datalist".split()
)
def test_what_nobody_reads(tag):
    assert shown(f"<p>a<{tag}>x<b>y</b></{tag}>b").split() in (["ab"], ["a", "b"])


@pytest.mark.parametrize(
    "html",
    [
        "<!doctype html><html lang=en><meta charset=utf-8><title>t</title><main>a<p>b</main>c",
        "<head><title>t</title><main>a<p>b</main>c",
        "<title>t</title><x-y>a</x-y><p>b<p>c",
        "<head><script>x</script><link href=x><o:p>a</o:p></head><body><p>b<p>c",
        "<title>t</title><main>a</main><section>b</section><footer>c",
    ],
)
def test_a_page_whose_body_tag_is_left_out(html):
    found = page(html)
    assert found.title in ("t", "")
    assert plain(found.nodes, every(found)) == "a\n\nb\n\nc"
    assert shown(cleaned(found, every(found))) == "a\n\nb\n\nc"
    held = [found.root.xpath(found.nodes.xpath(row))[0] for row in found.nodes.leaves.tolist()]
    assert held == ["a", "b", "c"]


def test_a_head_has_no_rows_below_it():
    found = page("<head><meta name=x><title>t</title><!-- c --><style>y</style><noscript><img></noscript></head><p>a")
    assert [e.tag for e in found.nodes.elements] == ["html", "head", "body", "p", "p"]


def test_titles_are_read_elsewhere():
    assert shown("<title>t</title><p>a<svg><title>t</title><desc>d</desc><text>b</text></svg>") == "a\nb"


def test_hidden_text_is_text_and_marked():
    found = page("<p>a<p hidden>b<i>c</i><div style='color:red; DISPLAY : none'>d</div><p>e")
    hidden = found.nodes.hidden[found.nodes.leaves]
    assert found.nodes.strings == ["a", "b", "c", "d", "e"]
    assert hidden.tolist() == [False, True, True, True, False]


@pytest.mark.parametrize(
    ("style", "hides"),
    [
        ("display:none", True),
        ("visibility: hidden !important", True),
        ("content-visibility:hidden", True),
        ("-webkit-backface-visibility:hidden", False),
        ("backface-visibility: hidden", False),
        ("overflow:hidden", False),
        ("display:none-such", True),
        ("my-display:none", False),
    ],
)
def test_styles_that_hide(style, hides):
    found = page(f'<p style="{style}">a')
    assert found.nodes.hidden[found.nodes.leaves].tolist() == [hides]


@given(soups)
def test_every_word_once_and_in_order(html):
    found = page(html)
    assume(not found.root.xpath("//a//a"))
    assert words(plain(found.nodes, every(found))) == words(reading(found.root))
    assert found.nodes.strings == [s for s in found.nodes.strings if s.strip()]


@given(soups, st.data())
def test_any_leaves(html, data):
    found = page(html)
    keep = masks(data, found)
    kept = np.flatnonzero(keep)
    runs = np.split(kept, np.flatnonzero(np.diff(kept) > 1) + 1)
    assert text_of(found.nodes, kept).split() == [w for run in runs for w in text_of(found.nodes, run).split()]
    assert words(plain(found.nodes, keep)) == words(text_of(found.nodes, kept))
    for leaf in kept.tolist():
        assert text_of(found.nodes, np.array([leaf])).strip() == found.nodes.strings[leaf]


@pytest.mark.parametrize(
    ("html", "left_out", "text"),
    [
        ("un<b>x</b>do", 1, "un do"),
        ("un <b>x</b>do", 1, "un do"),
        ("<p>a<p>x<p>b", 1, "a\n\nb"),
        ("<td>a</td><td>x</td><td>b</td>", 1, "a\tb"),
        ("<pre>a\n<b>x</b>b</pre>", 1, "a\nb"),
        ("<pre>a\n<b>x</b>\n  b</pre>", 1, "a\n\n  b"),
        ("<pre>a<b>x</b>b</pre>", 1, "a b"),
        ("<p>x</p>b", 0, "b"),
    ],
)
def test_a_left_out_leaf_parts_its_neighbours(html, left_out, text):
    found = page(html)
    keep = every(found)
    keep[left_out] = False
    assert plain(found.nodes, keep) == text
    assert words(shown(cleaned(found, keep))) == words(text)


def test_no_leaf_is_no_text():
    found = page("<p>a<img src=x>")
    for form in (plain(found.nodes, mask(found)), cleaned(found, mask(found))):
        assert form == ""
    assert paths_of(found.nodes, np.flatnonzero(mask(found))) == []
    assert plain(page("").nodes, every(page(""))) == ""


@given(soups, st.data())
def test_xpaths_hold_the_leaves_and_no_other(html, data):
    found = page(html)
    keep = masks(data, found)
    held = []
    for path in paths_of(found.nodes, np.flatnonzero(keep)):
        (node,) = found.root.xpath(path)
        held += leaf_strings(node) if isinstance(node, etree._Element) else [" ".join(legible(node).split())]
    assert held == [" ".join(s.split()) for s, kept in zip(found.nodes.strings, keep, strict=True) if kept]


@given(soups)
def test_each_leaf_has_its_own_xpath(html):
    found = page(html)
    for leaf, row in enumerate(found.nodes.leaves.tolist()):
        (text,) = found.root.xpath(found.nodes.xpath(row))
        assert " ".join(legible(text).split()) == " ".join(found.nodes.strings[leaf].split())
        assert text.getparent() is not None


def test_xpaths_are_the_fewest():
    found = page("<div><p>a<b>b</b></p><p>c</p></div><div>d</div>")
    assert paths_of(found.nodes, np.flatnonzero(every(found))) == ["/html"]
    assert paths_of(found.nodes, np.flatnonzero(mask(found, 0, 1, 2))) == ["/html/body/div[1]"]
    assert paths_of(found.nodes, np.flatnonzero(mask(found, 0, 2, 3))) == [
        "/html/body/div[1]/p[1]/text()[1]",
        "/html/body/div[1]/p[2]",
        "/html/body/div[2]",
    ]
    assert paths_of(found.nodes, np.array([1])) == ["/html/body/div[1]/p[1]/b"]


def test_text_numbers_count_all_text_nodes():
    found = page("<p> <b>x</b>\n<!-- c -->a<?pi?>b<i>y</i><!-- d --> <!-- e -->c</p>")
    strings = {}
    for leaf, row in enumerate(found.nodes.leaves.tolist()):
        strings[found.nodes.xpath(row).rpartition("/")[2]] = found.nodes.strings[leaf]
    assert {k: v for k, v in strings.items() if v in "abc"} == {"text()[3]": "a", "text()[4]": "b", "text()[6]": "c"}


@given(soups, st.data())
def test_cleaned_html_holds_the_same_words_and_nothing_else(html, data):
    found = page(html)
    keep = masks(data, found)
    again = page(cleaned(found, keep))
    assert words(plain(again.nodes, every(again))) == words(plain(found.nodes, keep))
    assert not again.root.xpath("//script|//style|//template|//@class|//@style|//@id|//comment()")


def test_cleaned_html_keeps_what_has_meaning():
    found = Page.parse(
        b"<base href=/d/><nav>menu</nav><div class=x onclick=y><a href='c.html?a=1&amp;b=2' class=z>link</a>"
        b"<picture><source src=p><img src=i.png alt='a &quot;b&quot;'></picture>"
        b"<table><tr><td colspan=2 style=q>cell<td colspan=x>d</table>"
        b"<a href='javascript:alert(1)'>js</a><img src='data:image/png;base64,xx'><hr></div>",
        URL,
    )
    html = cleaned(found, np.array([s != "menu" for s in found.nodes.strings]))
    assert html == (
        '<html><body><div><a href="http://example.com/d/c.html?a=1&amp;b=2">link</a><picture>'
        '<source src="http://example.com/d/p"><img src="http://example.com/d/i.png" alt=\'a "b"\'></source></picture>'
        '<table><tr><td colspan="2"> cell</td><td> d</td></tr></table><a> js</a><img><hr></div></body></html>'
    )


def test_cleaned_html_keeps_verbatim_text():
    found = page("<p>x</p><pre>  a\n\n    <b>b</b>\n</pre>y<textarea>c\n  d</textarea>")
    again = page(cleaned(found, every(found)))
    assert plain(again.nodes, every(again)) == plain(found.nodes, every(found)) == "x\n\n  a\n\n    b\n\ny c\n  d"


def test_control_characters_and_odd_names_can_be_written():
    found = page('<p>a&#8;b\x01</p><a\u00b2>c </a\u00b2><o:p>d </o:p><a"b>e</a"b><img alt="\x08"><1x>')
    html = cleaned(found, every(found))
    assert words(shown(html)) == words(plain(found.nodes, every(found))) == ["a", "b", "c", "d", "e", "1x"]
    assert "\x08" not in html


def test_many_runs_behind_one_element_take_linear_time():
    found = page("<p>" + "x<script></script>" * 50_000)
    html = cleaned(found, every(found))
    assert html.count("x") == 50_000


UNIQUE = st.lists(
    st.sampled_from("one two three four five six seven eight".split()), min_size=1, max_size=8, unique=True
)


def test_paths_name_one_node_where_elements_stand_behind_the_end_of_the_page():
    found = page("un</html><div>deux")
    for path in paths_of(found.nodes, np.flatnonzero(every(found))):
        assert len(found.root.xpath(path)) == 1
