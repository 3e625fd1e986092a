"""Manuals, papers, laws and museums: formulas, code, numbers of items, tabs, objects, pictures and headings."""

import numpy as np
import pytest
from lxml import html as lxml_html

from scrapy_pagelets.decision.asides import asides_of
from scrapy_pagelets.document.builder import document_of
from scrapy_pagelets.document.markdown import markdown_of
from scrapy_pagelets.document.pictures import name_of
from scrapy_pagelets.metadata.headline import headline_of
from scrapy_pagelets.page.code import language_of
from tests.trees import page

MATHJAX = "<script src=/mathjax.js></script>"
PROSE = "All that there is to say about green tea of the hills, in words that nothing else on the page has. " * 2


def markdown(html):
    """The Markdown of a page all of which is content but for its asides."""
    read = page(html)
    keep = ~asides_of(read.nodes, np.ones(len(read.nodes.leaves), np.bool_))
    return markdown_of(document_of(read, keep)).strip()


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        # environments that a script sets wherever they stand
        (MATHJAX + r"<div>\begin{equation*} a &lt; b \end{equation*}</div>", "```math\na < b\n```"),
        (
            MATHJAX + r"<p>So \begin{align} a &amp;= b \\ c &amp;= d \end{align} holds.",
            "So\n\n```math\n\\begin{align} a &= b \\\\ c &= d \\end{align}\n```\n\nholds.",
        ),
        (r"<p>\begin{equation} a \end{equation}", r"\\begin{equation} a \\end{equation}"),  # no script
        (MATHJAX + r"<p>\begin{itemize} a \end{itemize}", r"\\begin{itemize} a \\end{itemize}"),
        (MATHJAX + r"<p>\begin{equation} a \begin{equation} b", r"\\begin{equation} a \\begin{equation} b"),
        # pictures whose text is the source
        ("<p>So <img src=i1.png alt='$h_1$'> falls.", "So `$h_1$` falls."),
        ("<p>So <img src=i1.png alt='\\(h_1\\)'> falls.", "So `$h_1$` falls."),
        ("<p>For <img src=tea.png alt='$5'> each.", "For ![$5](http://example.com/a/tea.png) each."),
        # elements of Distill and of GitHub
        ("<p>So <d-math>h_1</d-math> falls.", "So `$h_1$` falls."),
        ("<p>So<d-math block>h_1</d-math>", "So\n\n```math\nh_1\n```"),
        ("<p>So <math-renderer class=js-inline-math>$h_1$</math-renderer> falls.", "So `$h_1$` falls."),
    ],
)
def test_formulas(html, expected):
    assert markdown(html) == expected


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<div class='code-frame'><pre>a = 1</pre></div>", ""),
        ("<div class='code-listing'><pre class='code-python'>a = 1</pre></div>", "python"),
        ("<div class='code-frame' data-lang=ruby><pre>a = 1</pre></div>", "ruby"),
        ("<div class='language-frame'><pre>a = 1</pre></div>", "frame"),  # what has no other meaning is a language
    ],
)
def test_a_class_names_a_language_if_it_is_one(html, expected):
    assert language_of(next(lxml_html.fromstring(html).iter("pre"))) == expected


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<d-code block language=python>def a():\n    b</d-code>", "```python\ndef a():\n    b\n```"),
        ("<p>Call <d-code language=python>a()</d-code> now.", "Call `a()` now."),
        # marks of changes, as Prism sets them
        (
            "<pre><code class=language-diff><b class='token prefix deleted'>-</b><b class='token line'> a\n</b>"
            "<b class='token prefix inserted'>+</b><b class='token line'> b\n</b></code></pre>",
            "```diff\n- a\n+ b\n```",
        ),
        (
            "<pre><div class=token-line><i class='token line'>a</i></div><div class=token-line>b</div></pre>",
            "```\na\nb\n```",
        ),
        # listings of LaTeXML with a link to their text, numbers beside the code, and a field with code
        (
            "<div class=ltx_lstlisting><div><a href=data:a download>down</a></div>"
            "<div class=ltx_listingline><i class=ltx_tag_listingline>1</i>def a():</div>"
            "<div class=ltx_listingline><i class=ltx_tag_listingline>2</i>&nbsp; &nbsp; b</div></div>",
            "```\ndef a():\n    b\n```",
        ),
        (
            "<div><pre>a\nb</pre><div class=line-numbers><i>1</i><br><i>2</i></div></div><p>Tea",
            "```\na\nb\n```\n\nTea",
        ),
        ("<textarea readonly>a\n  b</textarea><textarea>c</textarea>", "```\na\n  b\n```\n\nc"),
        ("<pre data-enlighter-language=java>a</pre><pre class=lang-auto>b</pre>", "```java\na\n```\n\n```\nb\n```"),
    ],
)
def test_code(html, expected):
    assert markdown(html) == expected


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<ul><li><span>1.</span><div>Tea</div></ul>", "- 1\\. Tea"),
        ("<ul><li><p>[12]<p>Tea<p>Milk</ul>", "- \\[12] Tea\n\n  Milk"),
        ("<ul><li><p>Tea<p>1.<p>Milk</ul>", "- Tea\n\n  1\\.\n\n  Milk"),  # not the first
        ("<p>(2)<p>Tea", "(2)\n\nTea"),  # the number of a formula, say
        ("<dl><dt>1.<dd>Tea<dt>2.<dd>Milk<dl><dt>a)<dd>cold</dl></dl>", "- 1\\. Tea\n- 2\\. Milk\n  - a) cold"),
        (
            "<dl><dt>Tea<dd>green<dt>Milk<dd>cold<dl><dt>a)<dd>now</dl></dl>",
            "**Tea**\n\ngreen\n\n**Milk**\n\ncold\n\n- a) now",
        ),
        # laws of the European Union: a table for each item
        (
            "<table><tr><td><p>(a)<td><p>cold;</table><table><tr><td>(b)<td>hot:"
            "<table><tr><td>(i)<td>now.</table></table><p>Tea",
            "- (a) cold;\n- (b) hot:\n  - (i) now.\n\nTea",
        ),
        # styles that take away numbers, as in LaTeXML, and that give them, as for the steps of recipes
        ("<ol><li style='list-style-type:none'>(a) Tea<li>(b) Milk</ol>", "- (a) Tea\n- (b) Milk"),
        ("<ul><li style='list-style-type: decimal'>Pour<li>Wait</ul>", "1. Pour\n2. Wait"),
        (
            "<ol><li>Pour<li style='list-style-type: none'><ol><li>slowly</ol><li>Wait</ol>",
            "1. Pour\n   1. slowly\n2. Wait",
        ),
        # Google Docs
        (
            "<ul class='lst-kix_a-0 start'><li>Tea</ul><ul class='lst-kix_a-1 start'><li>green<li>black</ul>"
            "<ul class=lst-kix_a-0><li>Milk</ul><p>Cup<ul class='lst-kix_b-2 start'><li>thin</ul>",
            "- Tea\n  - green\n  - black\n- Milk\n\nCup\n\n- thin",
        ),
        # notes: links that a style sheet raises, numbers beside the note, and the number that LaTeXML has three times
        (
            "<p>Tea<a class=footnote-anchor href=#b>1</a>, hot<div id=b><a class=footnote-number href=#a>1</a>"
            "<div><p>Green</div></div>",
            "Tea<sup>1</sup>, hot\n\n<sup>1</sup> Green",
        ),
        ("<aside><span><i>[</i><a href=#a>1</a><i>]</i></span><p>Tea</aside>", "\\[1] Tea"),
        ("<p>Tea<sup>1</sup><span><sup>1</sup><span>1</span> Green.</span> Hot", "Tea<sup>1</sup> Green. Hot"),
    ],
)
def test_the_number_of_an_item_stands_before_it(html, expected):
    assert markdown(html) == expected


def test_the_label_of_a_tab_stands_at_its_panel_of_code_and_buttons_at_code_go():
    tabs = "<div class=tabs><div>\u200b</div><button>Debian</button><button>Arch</button></div>"
    panels = "<div><div><pre>apt</pre></div><div><pre>pacman</pre></div></div>"
    assert markdown(f"<p>{PROSE}<div>{tabs}{panels}</div>").endswith(
        "**Debian**\n\n```\napt\n```\n\n**Arch**\n\n```\npacman\n```"
    )
    alone = "<div><button>Copy</button><button>Run</button></div><pre>apt</pre>"
    assert markdown(f"<p>{PROSE}{alone}").endswith(".\n\n```\napt\n```")


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<object data=a.svg>No pictures here</object>", "![](http://example.com/a/a.svg)"),
        ("<object data=a.svg><img src=a.png alt=Tea></object>", "![Tea](http://example.com/a/a.svg)"),
        (
            "<object data=a.swf><img src=a.png alt=Tea></object>",
            "[Tea](http://example.com/a/a.swf) ![Tea](http://example.com/a/a.png)",
        ),
        ("<object data=a.mp4>No video here</object>", "[http://example.com/a/a.mp4](http://example.com/a/a.mp4)"),
        (f"<object data=a.svg><p>{PROSE}</object>", f"![](http://example.com/a/a.svg)\n\n{PROSE.strip()}"),
    ],
)
def test_what_browsers_show_that_cannot_show_an_object_is_left_out(html, expected):
    assert markdown(f"<p>Tea<div>{html}</div>").removeprefix("Tea").strip() == expected


@pytest.mark.parametrize(
    ("heading", "expected"),
    [
        ("<b>§ 5</b>&nbsp;<b>Green tea</b>", "§ 5 Green tea"),
        ("<a href=#tea>§</a>Green tea", "Green tea"),  # a permalink
        ("Green tea §", "Green tea"),
    ],
)
def test_the_sign_of_a_paragraph_belongs_to_its_number(heading, expected):
    read = page(f"<title>Green tea</title><h1>{heading}</h1><p>{PROSE}")
    headline = headline_of(read)
    assert headline is not None
    assert headline.text == expected


def test_names_of_files():
    large, small = "http://tea.test/iiif/cup/full/!1200,1200/0/default.jpg", "/iiif/cup/full/800,/0/default.webp?x"
    assert name_of(large) == name_of(small) == "cup"
    assert name_of("/iiif/pot/full/800,/0/default.jpg") == "pot"
    assert name_of("/media/tea/big/default.jpg") == name_of("default.jpg") == "default.jpg"


def test_an_element_named_a_separator_parts_words():
    assert page("<h1><a href=/a>Tea</a><span class=sep></span>pot</h1>").nodes.gap[1]
    assert not page("<h1><a href=/a>Tea</a><span class=x></span>pot</h1>").nodes.gap[1]
