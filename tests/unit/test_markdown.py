"""Markdown: what a CommonMark parser reads is what a reader saw on the page."""

import re

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from scrapy_pagelets.document.blocks import Run, Style, Switches, tidy
from scrapy_pagelets.document.builder import document_of
from scrapy_pagelets.document.markdown import markdown_of, write_inline
from scrapy_pagelets.metadata.headline import headline_of
from scrapy_pagelets.page.text import plain
from tests.trees import every, masks, page, soups, words

PICTURE = "![](http://example.com/i.png)"
PARSER = MarkdownIt("commonmark", {"maxNesting": 200}).enable("table")


def markdown(html, keep=None, headline=None, **switches):
    found = page(html)
    return markdown_of(document_of(found, every(found) if keep is None else keep, headline, Switches(**switches)))


def read(text):
    """The text of inline Markdown in a paragraph, and its style: character, strong, emphasised, code, href, struck."""
    found: list[tuple[str, bool, bool, bool, str, bool]] = []
    strong = em = 0
    struck = False
    link = ""
    tokens = PARSER.parse(text)
    assert [token.type for token in tokens] in (["paragraph_open", "inline", "paragraph_close"], []), text
    for token in (tokens[1].children or ()) if tokens else ():
        match token.type:
            case "strong_open" | "strong_close":
                strong += token.nesting
            case "em_open" | "em_close":
                em += token.nesting
            case "link_open":
                link = str(token.attrGet("href"))
            case "link_close":
                link = ""
            case "text" | "code_inline":
                code = token.type == "code_inline"
                found += [(c, strong > 0, em > 0, code, link, struck) for c in token.content]
            case "html_inline":
                struck = {"<del>": True, "</del>": False}[token.content]
            case "hardbreak":
                found.append(("\n", False, False, False, "", False))
            case _:
                raise AssertionError(f"{token.type} in {text!r}")
    return found


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<h2>Head</h2><p>a <b>bold</b> <a href=x.html>link</a>", "# Head\n\na **bold** [link](http://example.com/a/x.html)"),
        ("<p>x<b><i>a</i>b<i>c</i></b> <b>a <i>b</i></b>", "x**abc a *b***"),
        ("<p>x <i>a</i> <code>b`c</code> <kbd>d</kbd>", "x *a* ``b`c`` `d`"),
        ("<code><span>a</span> <span>b</span></code>", "`a b`"),
        ("<p>a<br>b<br>", "a\\\nb"),
        (
            "<p>1. May<p># x<p>- y<p>+1<p>> z<p>==<p>a_b _c_ *d*",
            "1\\. May\n\n\\# x\n\n\\- y\n\n+1\n\n\\> z\n\n\\==\n\na_b \\_c\\_ \\*d\\*",
        ),
        ("<p>&amp;amp; &lt;b> [x](y) R&amp;D", "\\&amp; \\<b> \\[x](y) R&D"),
        ("Go to<a href=/x>here</a>", "Go to[here](http://example.com/x)"),
        ("<p>Go to &lt;https://x.example>", "Go to \\<https://x.example>"),
        ("a\u200bb\u00adc\ufeff", "abc"),
        ("<p>a real <s>snob</s>: <del><b>$40</b></del><ins>$30</ins>", "a real <del>snob</del>: <del>**$40**</del>$30"),
        ("<del><p>a <strike>b</strike><p><a href=/x>c</a></del>", "<del>a b</del>\n\n[<del>c</del>](http://example.com/x)"),
        # lists
        ("<ul><li>one<li>two<ol><li>a<li>b</ol><li>three</ul>", "- one\n- two\n  1. a\n  2. b\n- three"),
        ("<ul><li>one<ol start=5><li>a<li>b</ol><li>two</ul>", "- one\n\n  5. a\n  6. b\n\n- two"),
        ("<ul><li>one<ol reversed><li>a<li>b</ol></ul>", "- one\n\n  2. a\n  1. b"),
        ("<ul><li><ol start=5><li>a</ol></ul>", "- 5. a"),
        ("<ul><li><p>a<p>b<li>c</ul>", "- a\n\n  b\n\n- c"),
        ("<ol start=3><li>a<li value=7>b<li>c</ol>", "3. a\n7. b\n8. c"),
        ("<ol start='\u00b2'><li>x</ol>", "1. x"),
        ("<ol reversed><li>a<li>b<li>c</ol>", "3. a\n2. b\n1. c"),
        ("<ol reversed start=1><li>a<li>b<li>c</ol>", "1. a\n0. b\n0. c"),
        ("<p>a<br><br>b<br> <br> <br>c<br>d", "a\n\nb\n\nc\\\nd"),
        (
            "<h1>A</h1><div role=heading aria-level=3>B <i>c</i></div><span role=heading>D</span>",
            "# A\n\n## B *c*\n\n## D",
        ),
        ("<div role=heading><p>a<p>b</div><i role=heading aria-level=10000>c</i>", "a\n\nb\n\n*c*"),
        ("<h2>a<br><br>b</h2>", "# a b"),
        ("<h2><a href=/x><img src=/i.png></a></h2><h2>a<img src=/i.png></h2>", f"{PICTURE}\n\n# a {PICTURE}"),
        ("<ul><li>a</ul><ul><li>b</ul>", "- a\n\n+ b"),
        ("<ul><ul><li>a</ul></ul>", "- a"),
        ("<ul><ol start=3><li>a<li>b</ol></ul>", "3. a\n4. b"),
        ("<ul><li>a</li><ul><li>b</ul></ul>", "- a\n  - b"),
        ("<li>a<li>b<p>c", "- a\n\n- b\n\n  c"),
        ("<dl><dt>T<dd>D<dt>U:<dd>E</dl>", "- **T**: D\n- **U:** E"),
        ("<dl><dt><a href=/x>T</a><dd>D</dl>", "- [T](http://example.com/x): D"),
        ("<dl><dt>f()<dd>D<pre>x</pre></dl>", "**f()**\n\nD\n\n```\nx\n```"),
        # code
        ("<pre>  code\n    more\n\n</pre>", "```\n  code\n    more\n```"),
        ("<pre>```\nx\n```</pre>", "````\n```\nx\n```\n````"),
        ("<div class='highlight-python notranslate'><pre>x</pre></div>", "```python\nx\n```"),
        ("<pre><code class='language-c++ hljs'>x</code></pre>", "```c++\nx\n```"),
        ("<div class='highlight js'><pre>x<br>y</pre></div>", "```js\nx\ny\n```"),
        ("<div><div><span class=language-name>css</span></div><pre>x</pre></div>", "css\n\n```css\nx\n```"),
        (
            "<div class='language-js ext-js line-numbers-mode'><pre class=language-js>a = 1</pre>"
            "<div class=line-numbers aria-hidden=true><div class=line-number></div></div></div>",
            "```js\na = 1\n```",
        ),
        (
            "<pre class='line-numbers language-js'><code>a = 1<span class=line-numbers-rows>1</span></code></pre>",
            "```js\na = 1\n```",
        ),
        (
            "<figure class='highlight js'><table><tr><td class=gutter><pre>1\n2</pre>"
            "<td class=code><pre>a\nb</pre></table></figure>",
            "```js\na\nb\n```",
        ),
        (
            "<div class=highlight><table class=lntable><tr><td class=lntd><pre><code><span class=lnt>1\n</span></code>"
            "</pre><td class=lntd><pre><code class=language-fallback data-lang=fallback>a</code></pre></table></div>",
            "```\na\n```",
        ),
        ("<pre class=src><i class=linenr>1: </i>a\n<i class=linenr>2: </i>b</pre>", "```\na\nb\n```"),
        ("<pre><code class=lang-output>a</code></pre>", "```\na\n```"),
        ("<pre><!-- a --><?b?><code>x\ny</code></pre>", "```\nx\ny\n```"),
        ("<pre>Python<!-- a --><i>:</i><!-- b --><code>x\ny</code></pre>", "```\nPython:x\ny\n```"),
        ("<pre><i>Python</i><!-- b --><code>x\ny</code></pre>", "```\nPython\nx\ny\n```"),
        ("<pre syntax=Kotlin>x</pre>", "```kotlin\nx\n```"),
        ("<div class=code-block-body><pre language=bash>y</pre></div>", "```bash\ny\n```"),
        # a table of lines with a toolbar, and what only a class calls code
        (
            "<div><div><i class=crayon-language>PHP</i></div><div><table><tr><td class=crayon-nums><div>1</div><div>2"
            "</div><td class=crayon-code><div><div class=crayon-line>&lt;?php</div><div class=crayon-line>&nbsp; f();"
            "</div></div></table></div></div>",
            "*PHP*\n\n```php\n<?php\n  f();\n```",
        ),
        ("<div class='tea-code x'>&lt;b><br>&nbsp; x = 1;<br>end<br>}</div>", "```\n<b>\n  x = 1;\nend\n}\n```"),
        ("<div class=promo-code>Save now:<br>TEA7<br>(today)</div>", "Save now:\\\nTEA7\\\n(today)"),
        ("<div class=code>a = 1;<br><p>b = 2;</p></div>", "a = 1;\n\nb = 2;"),
        ("<pre class=language-go><span class=ln>1</span>a\n<span class=ln>2</span>b</pre>", "```go\na\nb\n```"),
        ("<ul><li>a<pre>x\n y</pre></ul>", "- a\n\n  ```\n  x\n   y\n  ```"),
        ("<table><tr><td>Code:<tr><td class=code>a<br>&nbsp; b</table>", "Code:\n\n```\na\n  b\n```"),
        ("<table><tr><th>h<th>i<tr><td class=code>a<br>b<td>2</table>", "| h | i |\n| --- | --- |\n| a b | 2 |"),
        # tables
        (
            "<table><tr><th>h<th>i|j<tr><td>k<td><p>l<p>m</table>",
            "| h | i\\|j |\n| --- | --- |\n| k | l m |",
        ),
        ("<table><tr><td>a<td>b<tr><td>c<td>d</table>", "|  |  |\n| --- | --- |\n| a | b |\n| c | d |"),
        (
            "<table><tr><th>a<th colspan=2>b<tr><td rowspan=2>c<td>d<td>e<tr><td>f<td>g</table>",
            "| a | b |  |\n| --- | --- | --- |\n| c | d | e |\n|  | f | g |",
        ),
        (
            "<table><thead><tr><th>a<th>b<tfoot><tr><td>c<td>d<tbody><tr><td>e<td>f</table>",
            "| a | b |\n| --- | --- |\n| e | f |\n| c | d |",
        ),
        ("<table><tr><td><b>a</b><td><b>b</b><tr><td>c<td>d</table>", "| **a** | **b** |\n| --- | --- |\n| c | d |"),
        ("<table><caption>T</caption><tr><th>a<th>b<tr><td>c<td></table>", "T\n\n| a | b |\n| --- | --- |\n| c |  |"),
        ("<table><tr><td>a<td><tr><td><td></table><table><tr><td><td>-<tr><td><td></table>", "a"),
        ("<table><tr><td>a<td><ul><li>b</ul></table>", "a\n\n- b"),  # a layout
        ("<table><tr><td colspan=2>Note<tr><td> <td>a</table>", "Note\n\na"),
        (
            "<table><tr><th>a<th>b<tr><td>c<td>d<tr><td colspan=2><h3>H</h3><tr><td>e<td>f</table>",
            "| a | b |\n| --- | --- |\n| c | d |\n\n# H\n\n|  |  |\n| --- | --- |\n| e | f |",
        ),
        # pictures
        ("<p>a<img src=x.png alt='b]' title=t>", 'a ![b\\]](http://example.com/a/x.png "t")'),
        ("<p>a<img src='data:image/gif;base64,R0' data-src=/y.png>", "a ![](http://example.com/y.png)"),
        ("<p>a<picture><source srcset='s.png 1x, l.png 2x'><img></picture>", "a ![](http://example.com/a/l.png)"),
        ("<p>a<img src='data:image/gif;base64,R0' data-src=/img/pixel_2.png>", "a"),
        ("<p>a<img src=t.gif width=1 height=1><img src='data:x'><img src=img/next.png>", "a"),
        ("<figure><img src=x.png><figcaption>Caption</figcaption></figure>", "![](http://example.com/a/x.png)\n\nCaption"),
        ("<p>text<p><a href=/big><img src=x.png></a><p>text", "text\n\n![](http://example.com/a/x.png)\n\ntext"),
        ("<p>Hi<img class=wp-smiley src=s.png alt='🙂'>!<img class=smilies src=r.gif alt=':roll:'>", "Hi 🙂 ! :roll:"),
        ("<p>Hello!<a href=/x>y</a>", "Hello\\![y](http://example.com/x)"),
        # links
        ("<p><a href='#x'>in the page</a> <a href='javascript:x'>y</a>", "in the page y"),
        ("<p><a href='mailto:a@b.c'>a@b.c</a> <a href='mailto:a@b.c'>Write</a>", "a@b.c [Write](mailto:a@b.c)"),
        ("<p><a href='/a b(c'>x</a>", "[x](<http://example.com/a%20b(c>)"),
        ("<a href=/x><h3>H</h3><p>t</a>", "# [H](http://example.com/x)\n\n[t](http://example.com/x)"),
        # headings
        ("<h1>A<a href='#a'>¶</a></h1><h4>B</h4><h4>C</h4><h2>D</h2>", "# A\n\n## B\n\n## C\n\n## D"),
        ("<h2>A</h2><h1>B</h1><h3>C #</h3>", "# A\n\n# B\n\n## C \\#"),
        ("<h1><div>a</div><div>b</div></h1>", "# a b"),
        ("<h4>Vest<ul><li>ISO<li>CE</ul><a href=/x>More</a></h4>", "# Vest\n\n- ISO\n- CE\n\n[More](http://example.com/x)"),
        ("<h2><ul><li>a<li>b</ul></h2>", "- # a b"),
        # quotes, rules, formulas, notes
        ("<blockquote><p>a<blockquote>b</blockquote><ul><li>c</ul></blockquote>", "> a\n>\n> > b\n>\n> - c"),
        ("<p>a<hr><p>b", "a\n\n***\n\nb"),
        ("<hr><p>a<hr><hr><div><hr></div><p>b<hr>", "a\n\n***\n\nb"),
        ("<p>x<sup>2</sup> H<sub>2</sub>O", "x<sup>2</sup> H<sub>2</sub>O"),
        (
            "<p>so <span class=katex><math><semantics><mi>x</mi><annotation encoding='application/x-tex'>x_1"
            "</annotation></semantics></math><span>x1</span></span> is",
            "so `$x_1$` is",
        ),
        ("<p>so <script type='math/tex'>x_1</script> is", "so `$x_1$` is"),
        ("<p>a<math display=block alttext='y^2'><mi>y</mi></math>", "a\n\n```math\ny^2\n```"),
        (
            "<p>so <span class=katex><span class=katex-mathml><math><semantics><mi>x</mi><annotation "
            "encoding='application/x-tex'>x</annotation></semantics></math></span><span>x</span></span>.",
            "so `$x$`.",
        ),
        (
            "<p>so <span class=MathJax_Preview></span><span class=MathJax><nobr>x1</nobr><span><math><msub><mi>x</mi>"
            "<mn>1</mn></msub></math></span></span><script type='math/tex'>x_1</script> is",
            "so `$x_1$` is",
        ),
        (
            "<p>so <mjx-container><mjx-math></mjx-math><mjx-assistive-mml><math><mfrac><mi>a</mi><mn>2</mn></mfrac>"
            "</math></mjx-assistive-mml></mjx-container> is",
            "so `$\\frac{a}{2}$` is",
        ),
        (
            "<p>so <span class=mwe-math-element><span style='display:none'><math alttext='{\\displaystyle \\pi }'><mi>π"
            "</mi></math></span><img src=x.svg alt='{\\displaystyle \\pi }'></span> is",
            "so `$\\pi$` is",
        ),
        ("<p>so <img class=latex src=x.png alt='a^2'> is", "so `$a^2$` is"),
        ("<p>so <code data-math-style=inline>a^2</code> is", "so `$a^2$` is"),
        ("<p>so<pre data-math-style=display><code>a^2</code></pre>", "so\n\n```math\na^2\n```"),
        (
            "<p>so<p><img src=x.png alt='\\begin{displaymath}a^2\\end{displaymath}'>",
            "so\n\n```math\na^2\n```",
        ),
        ("<p>so <math><b>bold</b></math> is", "so **bold** is"),
        (
            "<script src=/mathjax.js></script><h1>On \\(E_8\\)</h1><p>It is \\(a * b\\) for $5 or $6: $$x_1$$ <table>"
            "<tr><th>a<th>b<tr><td>$$x|y$$<td>c</table>",
            "# On `$E_8$`\n\nIt is `$a * b$` for $5 or $6:\n\n```math\nx_1\n```\n\n"
            "| a | b |\n| --- | --- |\n| `$x\\|y$` | c |",
        ),
        (
            "<script>MathJax={tex:{inlineMath:[['$', '$']]}}</script><p>$a_1*b$ costs US$5 <code>$x$</code>",
            "`$a_1*b$` costs US$5 `$x$`",
        ),
        (
            r"<script src=katex.js></script><p>\[a \\[2pt] b\] $$\$5$$ \(c \left(d\right)\) \(\(e\)",
            "```math\na \\\\[2pt] b\n```\n\n```math\n\\$5\n```\n\n`$c \\left(d\\right)$` \\\\(`$e$`",
        ),
        ("<p>\\(no script sets this\\)", "\\\\(no script sets this\\\\)"),
        ("<p>a<sup><a href='#n'>1</a></sup>", "a<sup>1</sup>"),
        ("<details><summary>S</summary>text</details>", "S\n\ntext"),
        ("<p>.</p><p>text</p><p>|</p><p>\u200d</p><p>[ ] ( )</p><p><code>[]</code></p>", "text\n\n`[]`"),
        ("<table><tr><th>a<th>b<tr><td>-<td>…</table>", "| a | b |\n| --- | --- |\n| - | … |"),
    ],
)  # fmt: skip
def test_markdown(html, expected):
    assert markdown(html) == expected


def test_a_picture_between_a_permalink_and_template_is_content():
    html = "<main><p>text<h2>A<a href=#a>¶</a></h2><img src=x.png></main><nav><img src=y.png><p>menu</nav>"
    found = markdown(html, keep=np.array([True, True, False, False]))
    assert found == "text\n\n# A\n\n![](http://example.com/a/x.png)"


def test_a_picture_with_a_caption_that_is_template_is_judged_by_the_text_around_it():
    html = "<p>text<figure><img src=x.png><figcaption>Photo: B</figcaption></figure><p>text"
    html += "<nav><figure><img src=y.png><figcaption>More</figcaption></figure>menu</nav>"
    found = markdown(html, keep=np.array([True, False, True, False, False]))
    assert found == "text\n\n![](http://example.com/a/x.png)\n\ntext"


def test_a_hint_for_screen_readers_beside_a_picture_does_not_count():
    html = "<p>text<div><img src=x.png><button><span class=sr-only>Next</span></button></div><p>text"
    assert markdown(html, keep=np.array([True, False, True])) == "text\n\n![](http://example.com/a/x.png)\n\ntext"


@pytest.mark.parametrize(
    ("source", "around", "shown"),
    [
        ("/2020/uji-300x200.jpg", "div", True),
        ("/2020/uji-300x200.jpg", "header", False),
        ("/2020/cup.jpg", "div", False),
    ],
)
def test_the_picture_that_a_page_declares_is_content(source, around, shown):
    html = (
        f"<meta property=og:image content=http://cdn/uji.jpg?v=1><{around}><p>menu<img src={source}></{around}><p>text"
    )
    found = markdown(html, keep=np.array([False, True]))
    assert found == (f"![](http://example.com{source})\n\ntext" if shown else "text")


WORK = '<script type=application/ld+json>{{"@type": "{}", "image": {}}}</script>'


@pytest.mark.parametrize(
    ("declared", "picture", "is_shown"),
    [
        # another size of the same file has the name that is declared: a mirror has renamed the one that is shown
        (WORK.format("Product", '"/uji.jpg"'), "<img src=/m/ab.jpg srcset='//cdn/uji.jpg?w=90 90w'>", True),
        (WORK.format("Product", '[{"url": "/uji.jpg"}]'), "<img src=/ab.jpg data-large_image=/b/uji.jpg>", True),
        (WORK.format("Recipe", '["/cup.jpg", "/uji.jpg"]'), "<img src=/uji-90x90.jpg>", True),
        ("<meta name=twitter:image content=/uji.jpg>", "<img src=/ab.jpg srcset='/cup.jpg 1x, /uji.jpg 2x'>", True),
        ("<div itemscope itemtype=http://schema.org/Product>", "<img src=/uji.jpg itemprop=image>", True),
        # what is no work, more than a picture, the picture of another page, one of the site
        (WORK.format("Organization", '"/uji.jpg"'), "<img src=/uji.jpg>", False),
        (WORK.format("Product", '[7, null, {"name": "x"}]'), "<img src=/uji.jpg>", False),
        ("<div itemscope itemtype=http://schema.org/Person>", "<img src=/uji.jpg itemprop=image>", False),
        (WORK.format("Product", '"/uji.jpg"'), "<a href=/b><img src=/ab.jpg srcset='/uji.jpg 90w'></a>", False),
        (WORK.format("Product", '"/uji.jpg"'), "<img src=/cup.jpg alt=uji.jpg srcset='/cup.jpg 90w'>", False),
    ],
)
def test_the_picture_of_the_work_that_a_page_declares_is_content(declared, picture, is_shown):
    found = markdown(f"{declared}<p>menu{picture}<p>text", keep=np.array([False, True]))
    assert found.endswith("text")
    assert ("![" in found) == is_shown


@pytest.mark.parametrize(
    ("picture", "is_shown"), [("<img src=uji.jpg>", False), ("<img src=wait.gif data-src=uji.jpg>", True)]
)
def test_a_picture_that_most_pages_show_is_not_that_of_a_page_though_it_declares_it(picture, is_shown):
    found = page(f"<meta property=og:image content=/uji.jpg><p>menu{picture}<p>text")
    row = next(row for row, element in enumerate(found.nodes.elements) if element.tag == "img")
    document = document_of(found, np.array([False, True]), repeated=[row])
    assert ("uji.jpg" in markdown_of(document)) == is_shown


def test_the_logo_that_a_page_declares_is_not_its_own_picture():
    html = "<meta property=og:image content=/logo.png><div><p>menu<img src=/logo.png></div><p>text"
    assert markdown(html, keep=np.array([False, True])) == "text"


def test_the_own_heading_that_a_page_writes_twice_in_a_row_is_written_once():
    found = page("<title>Cup</title><h1>Cup</h1><a href=/cup><h2>Cup</h2></a><p>text<h2>Cup</h2><p>more")
    document = document_of(found, every(found), headline_of(found))
    assert markdown_of(document) == "# Cup\n\ntext\n\n## Cup\n\nmore"


LINKED = (
    "<pre>class <a href=t.html>Tea</a> : <a href=#x>Leaf</a>, <a href=p.html>Plant</a>, <a href=t.html>Tea</a>;</pre>"
)
FENCE = "```\nclass Tea : Leaf, Plant, Tea;\n```"


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        (LINKED, f"{FENCE}\n\n[`Tea`](http://example.com/a/t.html), [`Plant`](http://example.com/a/p.html)"),
        (f"{LINKED}<p><a href=t.html>Tea</a>", f"{FENCE}\n\n[`Plant`](http://example.com/a/p.html)\n\n[Tea](http://example.com/a/t.html)"),
        ("<pre>see <a href=http://h/>http://h/</a>, <a href=mailto:a@b.c>a@b.c</a>", "```\nsee http://h/, a@b.c\n```"),
        ("<pre><a href=x.html>1</a> <a href=y.html> </a>", "```\n1\n```\n\n[`1`](http://example.com/a/x.html)"),
        ("<ul><li><pre><a href=/x>a</a></pre><li>b</ul>", "- ```\n  a\n  ```\n\n  [`a`](http://example.com/x)\n\n- b"),
    ],
)  # fmt: skip
def test_links_in_code_are_listed_below_it_unless_the_page_has_them_elsewhere(html, expected):
    assert markdown(html) == expected
    assert "](" not in markdown(html, links=False)


@pytest.mark.parametrize(
    ("heading", "expected"),
    [
        ("<a href=/adw>Adw</a><b>Window</b>", "[Adw](http://example.com/adw)Window"),
        ("<a href=http://example.com/a/b.html#top>AdwWindow</a>", "AdwWindow"),  # the page itself
        ("<img src=x.png alt=x>AdwWindow", "AdwWindow"),
        ("<a href=/adw>Adw</a>Window<a href=#w>#</a>", "[Adw](http://example.com/adw)Window"),
        ("<a href=/adw>Adw</a>Window #", "AdwWindow"),  # as `headline`
    ],
)
def test_the_own_heading_has_its_links_to_other_pages(heading, expected):
    found = page(f"<title>AdwWindow</title><p>menu<h1>{heading}</h1><p>text")
    document = document_of(found, every(found), headline_of(found))
    assert markdown_of(document) == f"# {expected}\n\nmenu\n\ntext"


def test_switches():
    html = "<p><a href=/x title=tip>a</a> <img src=y.png alt=z><table><tr><th>b<th>c<tr><td>d<td>e</table>"
    assert markdown(html, links=False, images=False, tables=False) == "a\n\nb\n\nc\n\nd\n\ne"
    assert '[a](http://example.com/x "tip")' in markdown(html, titles=True)


def test_the_own_heading_stands_first_and_once():
    found = page("<title>Post - Blog</title><p>January<p>by me<h3>Post<a href='#p'>#</a></h3><p>text<h2>Section</h2>")
    own = headline_of(found)
    assert own is not None
    assert own.text == "Post"
    document = document_of(found, every(found), own)
    assert markdown_of(document) == "# Post\n\nJanuary\n\nby me\n\ntext\n\n## Section"


STYLES = st.builds(
    Style,
    href=st.sampled_from(["", "", "http://h/a", "http://h/b(c"]),
    strong=st.booleans(),
    emphasised=st.booleans(),
    title=st.just(""),
    script=st.just(""),
    code=st.sampled_from([0, 0, 0, 1, 2]),
    struck=st.sampled_from([False, False, True]),
)
TEXTS = st.one_of(
    st.sampled_from(
        ["a", "word", "two words", " ", " x", "y ", "*", "_", "[", "]", "`", "!", "#", "1.", "-", "<b>", "&amp;", "\\"]
    ),
    st.text(st.sampled_from("ab*_[]()`!#-+.<>&;~|\\ 文。é\"'"), max_size=6),
)
RUNS = st.lists(st.one_of(st.builds(Run, TEXTS, STYLES), st.just(Run("\n"))), max_size=8)


@example([Run("y ", Style(code=1)), Run("a", Style(href="http://h/a", code=1))])
@given(RUNS)
def test_inline_markdown_reads_back(runs):
    tidied = tidy(runs)
    text = write_inline(tidied)
    got = read(text)
    wanted = [(c, run.style) for run in tidied for c in run.text]
    lines = re.sub(r" ?\n ?", "\n", "".join(c for c, _ in wanted))
    assert "".join(c for c, *_ in got) == lines
    shown = iter(got)
    for character, style in wanted:
        c, strong, em, code, href, struck = next(shown)
        assert c == character
        if not c.isspace():
            assert code == bool(style.code)
            assert href.replace("%28", "(") == style.href
            assert strong <= style.strong  # style that the notation cannot express is left out, never invented
            assert em <= style.emphasised
            assert struck == style.struck or (code and not struck)  # code without a space between is one span


WORDS = st.sampled_from(
    ["a", "b c", "1. d", "# e", "> f", "- g", "```", "h | i", "---", "+ j", "=== k", "* * *", "|-|", "\\"]
)
CODE = st.sampled_from(["x", "```\ny", "  z\n\n w", "~~~", "- a\n# b"])


def blocks(children: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """A block with others inside."""
    items = st.lists(children.map("<li>{}</li>".format), min_size=1, max_size=3).map("".join)
    return st.one_of(
        st.builds("<blockquote>{}</blockquote>".format, children),
        st.builds("<{0}>{1}</{0}>".format, st.sampled_from(["ul", "ol"]), items),
        st.lists(children, min_size=1, max_size=3).map("".join),
    )


MANY = st.recursive(
    st.one_of(
        st.builds("<p>{}</p>".format, WORDS),
        st.builds("<h{0}>{1}</h{0}>".format, st.integers(1, 6), WORDS),
        st.builds("<pre>{}</pre>".format, CODE),
        st.builds("<table><tr><th>{}<th>{}<tr><td>{}<td>{}</table>".format, WORDS, WORDS, WORDS, WORDS),
    ),
    blocks,
    max_leaves=12,
)
KINDS = {
    "paragraph": "p", "heading": "h", "fence": "pre", "blockquote": "q", "bullet_list": "ul", "ordered_list": "ol",
    "list_item": "li", "table": "table",
}  # fmt: skip


def of_markdown(text):
    """Opening and closing of blocks, with their text."""
    found: list[tuple[str, object]] = []
    inside = 0
    for token in PARSER.parse(text):
        name = KINDS.get(token.type.removesuffix("_open").removesuffix("_close"), "")
        if name == "table":
            inside += token.nesting
        if name == "pre":
            found.append(("pre", token.content.rstrip("\n")))
        elif name and (not inside or name == "table") and name not in ("p", "h"):
            found.append((name, token.nesting))
        elif token.type == "inline":
            shown = "".join(child.content or "\n" for child in token.children or ())
            found.append(("text", shown))
    return found


def of_document(block):
    """The same of a document."""
    kinds = {"list": "ol" if block.ordered else "ul", "quote": "q", "item": "li"}
    match block.kind:
        case "code":
            links = [("text", "".join(run.text for run in block.runs))] if block.runs else []
            return [("pre", block.text), *links]
        case "paragraph" | "heading":
            return [("text", "".join(run.text for run in block.runs))]
        case "table":
            cells = [("text", "".join(run.text for run in cell)) for row in block.rows for cell in row]
            return [("table", 1), *cells, ("table", -1)]
        case "document":
            return [part for child in block.children for part in of_document(child)]
        case kind:
            return [
                (kinds[kind], 1),
                *(part for child in block.children for part in of_document(child)),
                (kinds[kind], -1),
            ]


@given(MANY)
def test_blocks_read_back(html):
    found = page(html)
    document = document_of(found, every(found))
    text = markdown_of(document)
    assert of_markdown(text) == of_document(document), text


@given(soups, st.data())
def test_markdown_holds_all_words(html, data):
    assume("<button" not in html)  # code is without the buttons that copy it
    found = page(html)
    keep = masks(data, found)
    rest = iter("".join(words(markdown(html, keep))))  # by letter, because marks may split a word
    assert [c for c in "".join(words(plain(found.nodes, keep))) if c not in rest] == []


@pytest.mark.parametrize(
    "html",
    [
        "<div>" * 1500 + "deep" + "</div>" * 1500 + "<p>flat",
        "<ul><li>" * 600 + "deep",
        "<blockquote>" * 600 + "deep",
        "<table><tr><td>a<td>b<tr><td>" * 100 + "deep",
        "".join(f"<h{i % 6 + 1}>deep {i}</h{i % 6 + 1}>" for i in range(10_000)),
        "<table>" + ("<tr>" + "<td>deep" * 10_000) * 3 + "</table>",
        "<table>" + "<tr><td colspan=1000 rowspan=65534>deep<td>x" * 3000 + "</table>",
        "<pre>" + "deep\n" * 1_000_000 + "</pre>",
        "<p>deep<img src='data:image/png;base64," + "A" * 10_000_000 + "'>",
        "<p>deep" + "*_`[" * 100_000,
        "<p>deep" + "<b>x</b>" * 20_000,
        "<p>deep" + "<code>x</code>" * 20_000,
        "<script src=mathjax.js></script><p>deep" + r"\(" * 100_000,
    ],
    ids="divs lists quotes tables headings columns spans code data marks bold codes formulas".split(),
)
def test_monstrous_pages(html):
    assert "deep" in markdown(html)


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<p>On tea<hr><h1>On tea</h1><p>one", "# On tea\n\none"),
        ("<h1>On tea</h1><p>1 / 2<h2><a href=b.html>On tea</a></h2><p>one", "# On tea\n\n1 / 2\n\none"),
        ("<h1>On tea</h1><p>one<h2>On tea</h2><p>two", "# On tea\n\none\n\n## On tea\n\ntwo"),
        (
            "<h1>On tea</h1><p>one<h2><a href=b>On tea</a></h2><p>two",
            "# On tea\n\none\n\n## [On tea](http://example.com/a/b)\n\ntwo",
        ),
    ],
)
def test_what_says_the_own_heading_once_more_is_left_out(html, expected):
    html = f"<title>On tea</title>{html}"
    assert markdown(html, headline=headline_of(page(html))) == expected


def test_a_rule_divides_what_stands_on_both_sides():
    html = "<title>On tea</title><hr><h1>On tea</h1><hr><p>one<hr><hr><p>two<h2>More</h2><hr><p>three<hr>"
    expected = "# On tea\n\none\n\n***\n\ntwo\n\n## More\n\nthree"
    assert markdown(html) == expected
    assert markdown(html, headline=headline_of(page(html))) == expected


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        # cards have their name once for the picture and once for the text, and a price for each state of sale
        (
            "<ul><li><h3><a href=/t>Tea</a></h3><span>Sold out</span><h3><a href=/t>Tea</a></h3><p>£2.90<p>£2.90</ul>",
            "- # [Tea](http://example.com/t)\n\n  Sold out\n\n  £2.90",
        ),
        ("<h2>5 products</h2><h2>5 products</h2><p>Tea", "# 5 products\n\nTea"),
        # other sections, other pages and prose are none
        ("<h2>Note</h2><p>Green.</p><h2>Note</h2><p>Black.", "# Note\n\nGreen.\n\n# Note\n\nBlack."),
        (
            "<h2><a href=/a>Tea</a></h2><p>A</p><h2><a href=/b>Tea</a></h2><p>B",
            "# [Tea](http://example.com/a)\n\nA\n\n# [Tea](http://example.com/b)\n\nB",
        ),
        ("<p>Never again.<p>Never again.", "Never again.\n\nNever again."),
        # pictures for screens of two widths
        (
            "<p><img src=/t.jpg alt=Tea></p>Green.<p><img src=/t.jpg alt=Tea></p>Black.",
            "![Tea](http://example.com/t.jpg)\n\nGreen.\n\nBlack.",
        ),
        (
            "<p><img src=/t.jpg alt=Tea></p>Green.<p><img src=/t.jpg alt='Tea in a cup'></p>Black.",
            "![Tea](http://example.com/t.jpg)\n\nGreen.\n\n![Tea in a cup](http://example.com/t.jpg)\n\nBlack.",
        ),
    ],
)
def test_what_a_card_says_twice_is_written_once(html, expected):
    assert markdown(html) == expected
