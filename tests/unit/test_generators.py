"""Markup of generators, shops and forums: what of it is content, code, a control, a name or a price."""

from dataclasses import replace

import numpy as np
import pytest

from scrapy_pagelets import Page
from scrapy_pagelets.decision.asides import asides_of, controls_of_posts, signatures_of
from scrapy_pagelets.decision.corrections import link_sections_of
from scrapy_pagelets.decision.half_lines import companions
from scrapy_pagelets.decision.own_texts import data_tables, own_texts
from scrapy_pagelets.document.builder import document_of
from scrapy_pagelets.document.markdown import markdown_of
from scrapy_pagelets.metadata.dates import Habits
from scrapy_pagelets.metadata.headline import Headline, headline_of
from scrapy_pagelets.metadata.metadata import metadata_of
from scrapy_pagelets.metadata.posts import thread_of
from tests.trees import page

SHARED = ["Share:", "On X", "Mail"]
PROSE = "All that there is to say about green tea of the hills, in words that nothing else on the page has. " * 2


def told(html, url="http://tea.test/a"):
    """What a page tells of itself."""
    read = Page.parse(html.encode(), url)
    return metadata_of(read, headline_of(read), Habits()).fields


def markdown(html):
    """The Markdown of a page all of which is content but for its asides."""
    read = page(html)
    keep = ~asides_of(read.nodes, np.ones(len(read.nodes.leaves), np.bool_))
    return markdown_of(document_of(read, keep, headline_of(read))).strip()


@pytest.mark.parametrize(
    ("title", "body", "expected"),
    [
        # the button of an item of rustdoc, and a question that is all of a heading
        ("Dock in tide", "<h1>Struct <i>Dock</i><button>Copy item path</button></h1>", "Struct Dock"),
        ("How hot? - Tea", "<h1><button>How hot?</button></h1>", "How hot?"),
        # sections of manuals have numbers that their titles have not
        ("White tea (Teas 4.2)", "<h3>3.4 White tea</h3><h3>3.5 Uji</h3>", "3.4 White tea"),
        ("White tea (Teas 4.2)", "<h3>3 answers</h3><h3>4 more</h3>", None),
    ],
)
def test_own_headings(title, body, expected):
    headline = headline_of(Page.parse(f"<title>{title}</title>{body}<p>{PROSE}".encode(), "http://tea.test/a"))
    assert (headline and headline.text) == expected


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        # forums: a link that leads nowhere beside code
        ("<p>Code: <a href=# onclick=x()>Select all</a></p><pre>a = 1</pre>", ["Select all"]),
        ("<p>Code <a>Select</a></p><code class=bbc_code>a<br>b</code>", ["Select"]),
        ("<p>See <a href=#top>above</a></p><pre>a = 1</pre><p><a name=b>Cups</a></p>", []),
        # a label that says the language of the fence again
        ("<div class=language-ts><span>ts</span><pre>a = 1</pre></div>", ["ts"]),
        ("<div class=language-ts><h3>ts</h3><pre>a = 1</pre></div>", []),
        ("<div class=language-ts><span>js</span><pre>a = 1</pre></div>", []),
        # code beside code whose class says that it may be copied
        ("<pre class=code-with-copy>a = 1</pre><pre>b</pre>", []),
        # a table of contents repeats the headings, with their numbers or without
        (
            "<div class=toc><p>On this page<ul><li><a href=#a>1. Water</a><li><a href=#b>Leaves</a>"
            "<li><a href=#c>Cups</a></ul></div>"
            "<h2 id=a>Water</h2><p>Soft<h2 id=b>Leaves</h2><p>Whole<h2 id=c>Cups</h2><p>Thin",
            ["On this page", "1. Water", "Leaves", "Cups"],
        ),
        (
            "<ul class=toc><li><a href=#a>Water</a> is soft, from hills and wells<li><a href=#b>Leaves</a>"
            "<li><a href=#c>Cups</a></ul><h2>Water</h2><p>Soft<h2>Leaves</h2><p>Whole<h2>Cups</h2><p>Thin",
            [],
        ),
        (
            "<div class=toc>Contents<ul><li><a href=#a>Water</a><li><a href=#b>Cups</a></ul></div>"
            "<h2>Water</h2><h2>Cups</h2>",
            ["Contents", "Water", "Cups"],
        ),
        ("<ul id=toc><li><a href=#a>Kyoto</a><li><a href=#b>Uji</a><li><a href=#c>Kobe</a></ul><h2>Water</h2>", []),
        (
            "<ul><li><a href=#a>Water</a><li><a href=#b>Leaves</a><li><a href=#c>Cups</a></ul>"
            "<h2>Water</h2><p>Soft<h2>Leaves</h2><p>Whole<h2>Cups</h2><p>Thin",
            [],
        ),
        # links to share the page, with their label
        (
            "<p>Share: <a href='https://x.com/intent/tweet?url=http://a'>On X</a> <a href='mailto:?subject=a'>Mail</a>",
            SHARED,
        ),
        ("<p>See <a href=https://x.com/ana>Ana on X</a> or <a href=mailto:ana@tea.test>write</a>", []),
        # labels that are called a button
        (
            "<p>a<label class=view-source-button>View</label><p>b<label class=view-source-button>View</label>",
            ["View"] * 2,
        ),
        ("<p>a<label>View</label><p>b<label>View</label>", []),
        # buttons in a row, but not those that open something
        ("<div><button>1x</button><button>2x</button></div><p><button>How hot?</button>", ["1x", "2x"]),
        ("<div><button>How hot is it?</button><button>How cold is it?</button></div>", []),
        ("<p>Press <button>1x</button> or <button>2x</button>", []),
        # headings with buttons
        ("<h3>Leaves<button>Metric</button></h3><p>20 g", ["Metric"]),
        ("<h3><button>How hot?</button></h3><p>80 degrees", []),
        ("<h3>Methods <small><a href=#>collapse</a></small></h3><h3>Struct <a href=#>Tea</a></h3>", ["collapse"]),
        # what has the role of a button, but for what opens something
        ("<blockquote>Tea<a role=button tabindex=0>Click to expand...</a></blockquote>", ["Click to expand..."]),
        ("<h3 role=button>Shipping</h3><table><tr><th role=button>Price</table><p>A <i role=button>tisane</i>", []),
        ("<a role=button aria-expanded=false>How hot?</a><p>80 degrees<a role=button href=/b>Cups</a>", []),
        # a script behind a sign
        ("<p><a href='javascript:void(0)'>[–]</a> <a href='javascript:show()'>Show it</a>", ["[–]"]),
        # one label for each width of the screen, and labels that choose from one panel
        (
            "<p role=tab aria-controls=a>Noon<p role=tab aria-controls=b>Night<p role=tab aria-controls=a>Noon"
            "<div id=a role=tabpanel>Soup</div><div id=b role=tabpanel>Tea</div>",
            ["Noon"],
        ),
        ("<p role=tab aria-controls=a>Up<p role=tab aria-controls=a>Down<div id=a role=tabpanel>Tea", ["Up", "Down"]),
        ("<div class=fragment><div class=line>a</div><div class=ttc>Of a</div></div>", ["Of a"]),
        # rustdoc: the link to the source of what a heading declares, and what opens a description
        ("<a class='src rightside' href=/lib.rs>Source</a><h4>fn dock()</h4><p class=src>Of it", ["Source"]),
        ("<details><summary class=hideme><span>Expand description</span></summary>A dock", ["Expand description"]),
    ],
)
def test_controls(html, expected):
    nodes = page(f"<p>{PROSE}</p>{html}").nodes
    mask = asides_of(nodes, np.ones(len(nodes.leaves), np.bool_))
    assert [text for text, aside in zip(nodes.strings, mask, strict=True) if aside] == expected


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        # the class of `pre` is the language of rustdoc
        ("<pre class='rust item-decl'>struct Tea;</pre>", "```rust\nstruct Tea;\n```"),
        ("<pre class='wide text'>Tea</pre>", "```\nTea\n```"),
        # classes of Quarto, Jupyter and Redmine
        ("<pre class='sourceCode r code-with-copy'><code>a</code></pre>", "```r\na\n```"),
        ("<div class='highlight hl-ipython3'><pre>a</pre></div>", "```ipython3\na\n```"),
        ("<pre><code class='ruby syntaxhl'>a</code></pre>", "```ruby\na\n```"),
        # ReSpec: a label in the block, which a style sheet shows above the code
        ("<pre><b>Tea</b><code>a {\n}</code></pre>", "```\nTea\na {\n}\n```"),
        ("<pre><b>$ </b><code>a\nb</code></pre>", "```\n$ a\nb\n```"),
        ("<pre><b>let</b><code>a</code></pre>", "```\nleta\n```"),
        # a plot behind the code that has drawn it
        (
            "<p>Tea<pre>plot(a)\n<img src=/a.png alt=Plot>\nb</pre>",
            "Tea\n\n```\nplot(a)\n\nb\n```\n\n![Plot](http://example.com/a.png)",
        ),
        # Javadoc: lists of sections
        (
            "<ul><li><section><h2>Methods</h2><ul><li><section><h3>brew</h3><p>Hot</section></ul></section></ul>",
            "# Methods\n\n## brew\n\nHot",
        ),
        ("<ul><li><section><p>Hot</section></ul>", "- Hot"),
        # DocBook: the sign of a note, which is all that its column has
        (
            "<table><tr><td rowspan=2><img alt='[Note]'><th>Note<tr><td>Brew it hot</table>",
            "Note\n\nBrew it hot",
        ),
        # an icon that is the value of a cell
        (
            "<table><tr><th>Leaf<th>Hot<tr><td>White<td><img alt=Yes></table>",
            "| Leaf | Hot |\n| --- | --- |\n| White | Yes |",
        ),
        # the byline of a work, in a heading
        (
            "<h2>Tea</h2><h3 class=byline><a href=/ana>Ana</a></h3><p>Hot",
            "# Tea\n\n[Ana](http://example.com/ana)\n\nHot",
        ),
        # a player that is called like the page
        (
            "<video src=/tea.mp4 title='All about tea'></video><h1>All about tea</h1><p>Hot",
            "# All about tea\n\n[All about tea](http://example.com/tea.mp4)\n\nHot",
        ),
        # an empty paragraph that an editor keeps open
        ("<p><b>\u200d</b>Tea</p><p>\u200d</p>", "Tea"),
        # the mark of a footnote
        ("<p>Tea<div id=1><sup>1</sup><p>Of Uji</div><p>So", "Tea\n\n<sup>1</sup> Of Uji\n\nSo"),
        # Doxygen
        (
            "<div class=fragment><div class=line>int f() {</div><div class=line>  g();</div><div class=line>}</div>"
            "<div class=ttc>Of g</div></div>",
            "```\nint f() {\n  g();\n}\n```",
        ),
        ("<div class=fragment><p>Tea</p></div>", "Tea"),
        # an empty line of Expressive Code
        (
            "<pre><code><div class=ec-line><div>a</div></div><div class=ec-line><div>\n</div></div>"
            "<div class=ec-line><div>b</div></div></code></pre>",
            "```\na\n\nb\n```",
        ),
        # an icon says of what kind a note is
        (
            "<div class='admonitionblock caution'><table><tr><td class=icon><i title=Caution></i><td>Hot</table></div>",
            "**Caution**\n\nHot",
        ),
        ("<div class=cups><table><tr><td><i title=Caution></i><td>Hot</table></div>", "Hot"),
        # one piece of code, part of which is emphasised
        ("<p>Of <code>(int <var>n</var>, c)</code>", "Of `(int n, c)`"),
        # boxes
        (
            "<ul><li><div><input type=checkbox checked></div><div><p>Pick</p></div>"
            "<li><div><input type=checkbox></div><div><p>Dry</p></div></ul>",
            "- [x] Pick\n- [ ] Dry",
        ),
        (
            "<ul class=to-do-list><li><div class='checkbox checkbox-on'></div> Pick</ul>"
            "<p>Then<ul class=to-do-list><li><div class='checkbox checkbox-off'></div> Dry</ul>",
            "- [x] Pick\n\nThen\n\n- [ ] Dry",
        ),
        # labels of VitePress
        (
            "<div><div class=tabs><input type=radio id=a><label for=a>npm</label>"
            "<input type=radio id=b>"
            "<label for=b>yarn</label></div>"
            "<div><div><pre>npm add</pre></div><div><pre>yarn add</pre></div></div></div>",
            "**npm**\n\n```\nnpm add\n```\n\n**yarn**\n\n```\nyarn add\n```",
        ),
        # tabs and spoilers of plug-ins for WordPress
        (
            "<div><div class=su-tabs-nav><span role=button>Hot</span><span role=button>Cold</span></div>"
            "<div><div class=su-tabs-pane><p>Tea</div><div class=su-tabs-pane><p>Milk</div></div></div>",
            "**Hot**\n\nTea\n\n**Cold**\n\nMilk",
        ),
        ("<div><div class=su-spoiler-title role=button>Price</div><div><p>Five</div></div>", "Price\n\nFive"),
        # what is quoted, and when a line was said
        (
            "<blockquote><cite>Bo wrote: <span>Apr 3</span></cite>A cup",
            "> *Bo wrote: Apr 3* A cup",
        ),
        ("<p><span class=ts>00:03</span><span class=who>Bo</span>", "00:03 Bo"),
        # YARD: a style sheet puts what is behind the dash into its line
        (
            "<ul><li><i>rate</i> \N{EM DASH} <div class=inline><p>of the dock</p></div><p>Or so</ul>",
            "- *rate* \N{EM DASH} of the dock\n\n  Or so",
        ),
        ("<ul><li>rate<p>of the dock</ul>", "- rate\n\n  of the dock"),
        # JSDoc
        ("<p>Dock<span>(depth<span class=signature-attributes>opt</span>, name)</span>", "Dock(depth opt , name)"),
        # what browsers quote, and links that sort a table; those of its cells lead elsewhere
        ("<p>Say <q>a <i>cup</i></q>, not <q>can</q>", 'Say "a *cup*", not "can"'),
        (
            "<table><tr><th><a href=?by=1>Tea</a><th>Size<tr><td><a href=?tea=1>Uji</a><td>2</table>",
            "| Tea | Size |\n| --- | --- |\n| [Uji](http://example.com/a/b.html?tea=1) | 2 |",
        ),
        (
            "<table><tr><th><a href=/c?by=1>Tea</a><th>Size<tr><td>Uji<td>2</table>",
            "| [Tea](http://example.com/c?by=1) | Size |\n| --- | --- |\n| Uji | 2 |",
        ),
        # facts of a product, in a table that says it has none
        (
            "<table role=presentation><tr><th>Weight<td>4 kg<tr><th>Length<td>2 m</table>",
            "|  |  |\n| --- | --- |\n| Weight | 4 kg |\n| Length | 2 m |",
        ),
        (
            "<table role=presentation><tr><td>Weight<td>4 kg<tr><td>Length<td>2 m</table>",
            "Weight\n\n4 kg\n\nLength\n\n2 m",
        ),
    ],
)
def test_markdown(html, expected):
    assert markdown(html) == expected


@pytest.mark.parametrize(
    ("byline", "expected"),
    [
        ("By <a href=/a>Ana Bo</a> and <a href=/b>Tad Roe</a>", "Ana Bo, Tad Roe"),
        ("By <a href=/a>Ana Bo</a> and others", "Ana Bo"),
        ("By <a href=/a>Ana Bo</a> in <a href=/b>White teas</a>", "Ana Bo"),
        ("Added by <a href=/a>Ana Bo</a>", "Ana Bo"),
        ("<h3 class=byline><a rel=author href=/a>Ana Bo</a></h3>", "Ana Bo"),
        ("<h3><a href=/a>Ana Bo</a></h3>", None),
        ("<span class=author>מאת <a href=/a rel=author>נועה כהן</a></span>", "נועה כהן"),
        ("by Ana Bo, translated by Tad Roe", "Ana Bo"),
        # two users in one line, a link to share the page, one without a text, and users of several lines
        ("<i><a href=/autor/1>Ana Bo</a>, <a href=/autor/2>Tad Roe</a></i>", "Ana Bo, Tad Roe"),
        ("<a href=/autor/1>Ana Bo</a><p><a href=/autor/2>Tad Roe</a>", None),
        ("<a href='https://b.test/sharer.php?u=https://a.test/'>Share it</a>", None),
        ("<a href=/users/1></a><p>Leaves of spring", None),
        # a colon in an element of its own, the label of an address, and what stands behind a name
        ("<span>Submitter</span>: <a href=/p/1>Ana Bo &lt;ana></a>", "Ana Bo"),
        ("Muhabir: Ana Bo", "Ana Bo"),
        ("Ana Bo muhabir oldu", None),
        ("김민수 기자", "김민수"),
        ("두 명의 기자", None),
        # the name of a field
        (f"{PROSE}<p>Tea has an <code>author</code> model, and a cup", None),
        # the head of a letter in an archive
        (
            "<ul><li><em>From</em>: Ana Bo &lt;<a href=mailto:a>ana@b.test</a>&gt;<li><em>Date</em>: 13 Apr 2024",
            "Ana Bo",
        ),
        (
            "<pre>From: &quot;Ana Bo&quot; &lt;ana@b.test>\nTo: tad@b.test\nDate: Sat, 13 Apr 2024 10:02:00 +0100",
            "Ana Bo",
        ),
        ("<ul><li>From: Uji (Japan)<li>Harvest: 13 Apr 2024", None),
        ("<pre>From: Uji (Japan)\nDate: 13 Apr 2024", None),
        ("<p>By Ana Bo, 4 May 2025<pre>From: Tad &lt;t@b.test>\nDate: Sat, 13 Apr 2024 10:02:00 +0100", "Ana Bo"),
    ],
)
def test_authors(byline, expected):
    assert told(f"<title>Tea</title><h1>Tea</h1><p>{byline}</p><p>{PROSE}")["author"] == expected


@pytest.mark.parametrize(
    ("body", "published", "modified"),
    [
        # a subtitle in the header of an article is no end of it
        (
            "<header><h1>Tea</h1><h2>Of hills</h2><time datetime=2024-04-13>x</time></header><h2>More</h2>",
            "2024-04-13",
            None,
        ),
        ("<h1>Tea</h1><h2>Of hills</h2><p>13 April 2024</p><h2>More</h2>", None, None),
        (
            f"<h1>Tea</h1><p>{PROSE}<p>Last updated: <time datetime=2024-09-13T12:00>9/13/24</time>",
            None,
            "2024-09-13T12:00:00",
        ),
        (
            "<h1>Tea</h1><p><span>Published April 13, 2024</span> <span>Updated April 14, 2024, 8:11 a.m. ET</span>",
            "2024-04-13",
            "2024-04-14",
        ),
        # other languages, with a day of the week
        *(
            (f"<h1>Tea</h1><p>{date}</p>", "2024-04-13", None)
            for date in (
                "2024 Apr 13",
                "13 أبريل 2024",
                "13 באפריל 2024",
                "13 Nisan 2024",
                "2024. április 13.",
                "2024년 4월 13일",
                "Samstag, 13. April 2024",
                "Enviado por <b>Ana Bo</b> el Sáb, 13/04/2024 - 10:13",
            )
        ),
        # words around dates, and labels at the end of a page, in other languages; "latest news" are no change
        ("<h1>Tea</h1><p>Giriş Tarihi: 13.04.2024 08:20 <i>Son Güncelleme: 14.04.2024</i>", "2024-04-13", "2024-04-14"),
        ("<h1>Tea</h1><p><i>입력 2024.04.13 08:20</i> <i>수정 2024.04.14 09:00</i>", "2024-04-13", "2024-04-14"),
        *(
            (f"<h1>Tea</h1><p>{PROSE}<h2>Of hills</h2><p>{PROSE}<p>{change}", None, "2024-04-14")
            for change in (
                "Letzte Aktualisierung: 14. April 2024",
                "Dernière mise à jour : 14 avril 2024",
                "Laatst bijgewerkt: 14 april 2024",
                "Aktualizacja: 14.04.2024, 07:00",
                "最終更新日：2024年4月14日",
            )
        ),
        (f"<h1>Tea</h1><p>{PROSE}<h2>Of hills</h2><p>{PROSE}<p>Letzte Ausgabe: 14. April 2024", None, None),
        # another heading is the end of the byline
        ("<h1>Tea</h1><h2>12 cups</h2><p>Uji <i>13.04.2024</i><h2>More</h2>", None, None),
        # Redmine
        (
            "<h1>Tea</h1><p>Added by <a href=/u>Ana</a> <a title='2024-04-13 09:10'>over 2 years</a> ago. Updated "
            "<a title='2024-04-14 10:10'>2 years</a> ago.",
            "2024-04-13T09:10:00",
            "2024-04-14T10:10:00",
        ),
        ("<h1>Tea</h1><p>Added <a title='04/13/2024 09:10 AM'>2 years</a> ago.", "2024-04-13", None),
        # data for a script beside a date that nobody can read for sure
        (
            "<h1>Tea</h1><table><tr><th>Created<td><span data-datetime='2024-04-03T09:10:00+0000'>04/03/2024</span>",
            "2024-04-03T09:10:00+00:00",
            None,
        ),
        # when a picture was taken and when it was posted, when an event begins
        (
            f"<h1>Tea</h1><p>{PROSE}<dl><dt>Created on<dd>1 May 2020<dt>Posted on<dd>13 April 2024</dl>",
            "2024-04-13",
            None,
        ),
        ("<h1>Tea</h1><p><abbr class=dtstart title=2024-04-13T19:30>13 April 2024, 7.30pm</abbr>", None, None),
        ("<h1>Tea</h1><p><time itemprop=startDate datetime=2024-04-13>13-14 Apr 2024</time>", None, None),
        # what an element is called, in any language
        (
            f"<h1>お茶</h1><p>{PROSE}<ul><li id=footer-info-lastmod>最終更新 2024年4月14日 (日) 10:22</ul>",
            None,
            "2024-04-14",
        ),
        (
            f"<h1>お茶</h1><p>{PROSE}<p class=lastmod>最終更新 2024年4月14日 (日) 10:22 （日時は未設定ならばUTC）。",
            None,
            "2024-04-14",
        ),
        # a box of other pages tells of these
        *(
            (f"<h1>Tea</h1><p>{PROSE}<ul><li><{link}Cups</a> <i class=last-updated>14 April 2024</i></ul>", None, told)
            for link, told in (
                ("a href=/cups>", None),
                ("a href=#cups>", "2024-04-14"),
                ("a href=http://git.test/edit/a>", "2024-04-14"),
            )
        ),
        (
            "<h1>Tea</h1><pre>From: Ana Bo &lt;ana@b.test>\nDate: Sat, 13 Apr 2024 10:02:00 +0100</pre>",
            "2024-04-13",
            None,
        ),
    ],
)
def test_dates(body, published, modified):
    fields = told(f"<title>Tea</title>{body}<p>{PROSE}")
    assert (fields["published"], fields["modified"]) == (published, modified)


@pytest.mark.parametrize(
    ("title", "name", "expected"),
    [
        (
            "kaj: Tea",
            "<b class=ljuser><a href=/k>kaj</a></b> wrote<br>@ <a>2024</a>-<a>04</a>-<a>13</a> 21:02:00",
            True,
        ),
        ("Tea: kaj — Logs", "<b class=author>kaj</b> <time><i>2024</i>-<i>04</i>-<i>13</i> 10:20</time>", True),
        ("Tea | Hills | kaj", "<a class='owner-name cut' href=/k>kaj</a> 2024-04-13", True),
        ("Tea | Hills", "<a class='owner-name cut' href=/k>kaj</a> 2024-04-13", False),
        ("Tea | kaj", "<a class=logo href=/k>kaj</a> 2024-04-13", False),
    ],
)
def test_the_user_above_the_heading_whom_the_title_names_is_the_author(title, name, expected):
    fields = told(f"<title>{title}</title>{name}<p>Mood: mild<p>Cups: two<p>Next<h1>Tea</h1><p>{PROSE}")
    assert (fields["author"], fields["published"]) == (("kaj", "2024-04-13") if expected else (None, None))


def test_the_name_of_the_site_is_no_author_where_the_page_tells_one():
    head = "<title>Tea - Ana's Cups</title><meta name=author content=\"Ana's Cups\">"
    assert told(f"{head}<h1>Tea</h1><p>By Tad Roe</p><p>{PROSE}")["author"] == "Tad Roe"
    assert told(f"{head.replace(' - ', '_')}<h1>Tea</h1><p>By Tad Roe</p><p>{PROSE}")["author"] == "Tad Roe"
    assert told(f"{head}<h1>Tea</h1><p>{PROSE}")["author"] == "Ana's Cups"


def test_the_title_of_an_element_tells_when_a_post_was_written():
    post = (
        "<div class=answer id=answer-{0}><p>All about tea.</p><div class=user-info>"
        "<div>answered <span class=relativetime title='2018-04-0{0} 10:11:12Z'>Apr {0} at 10:11</span></div>"
        "<a class=username href=/users/1>Ana</a></div></div>"
    )
    read = Page.parse((post.format(6) + post.format(7)).encode(), "http://tea.test/questions/1")
    posts = thread_of(read, Habits()).posts
    assert [post.published for post in posts] == ["2018-04-06T10:11:12+00:00", "2018-04-07T10:11:12+00:00"]


def test_an_arrow_of_another_kind_leads_along_a_trail():
    html = (
        "<title>White tea</title><p><a href=/>Forum</a> <i>►</i> <a href=/b>Leaves</a> <i>►</i> "
        "<a href=/a>White tea</a>"
        f"<h1>White tea</h1><p>{PROSE}"
    )
    assert told(html)["breadcrumbs"] == ["Forum", "Leaves", "White tea"]


@pytest.mark.parametrize(
    ("html", "names"),
    [
        # right before the heading, with arrows, or slashes that lead down to the page
        ("<p><a href=/>Forum</a> &gt; <a href=/b?f=2>Leaves</a></p>", ["Forum", "Leaves"]),
        ("<p><a href=/>Forum</a> / <a href=/leaves>Leaves</a></p>", ["Forum", "Leaves"]),
        ("<p><a href=/de>DE</a> / <a href=/en>EN</a></p>", []),
        ("<p><a href=/>Forum</a> <a href=/leaves>Leaves</a></p>", []),
        # the longest list
        (
            "<nav class=breadcrumb><ul><li><a href=/all>All</a></ul><ul><li><a href=/>Forum</a><li>White</ul></nav>",
            ["Forum", "White"],
        ),
        # a few words without a link behind the last one, which are a part of the heading or no name
        ("<p>Here: <a href=/>Forum</a> » <a href=/b>Leaves</a> » <b>White</b></p>", ["Forum", "Leaves", "White"]),
        ("<p>当前位置：<a href=/>首页</a> > <a href=/b>新闻</a> > 正文</p>", ["首页", "新闻"]),
        ("<p><a href=/>DE</a> / <a href=/en>EN</a> / All</p>", []),
        ("<div class=navpath><ul><li><a href=/>Forum</a><li>White</ul></div>", ["Forum", "White"]),
        ("<ol class=topicpath><li><a href=/>Forum</a><li>White</ol>", ["Forum", "White"]),
        # some words of the last name are code, as those of the heading, and a form follows
        (
            "<ul><li><a href=/>Forum</a> »<li><a href=/b>Leaves</a> »<li><code>White</code> tea<li>| <input></ul>",
            ["Forum", "Leaves", "White tea"],
        ),
    ],
)
def test_trails(html, names):
    html = f"<title>White tea</title>{html}<h1>White tea<a href=#white>¶</a></h1><p>{PROSE}"
    assert told(html, "http://tea.test/leaves/white")["breadcrumbs"] == names


@pytest.mark.parametrize(
    ("marked", "author"),
    [("von Ana Bo", "Ana Bo"), ("par Ana Bo", "Ana Bo"), ("By Ana Bo", "Ana Bo"), ("Di Bo", "Di Bo")],
)
def test_a_marked_author_is_no_word_before_the_name(marked, author):
    html = f"<div itemscope itemtype=http://schema.org/Article><h1>Tea</h1><b itemprop=author>{marked}</b><p>{PROSE}"
    assert told(html)["author"] == author


POST = (
    "<tr class=comtr><td><div><a href='user?id={0}'>{0}</a> <i class=age title=2021-04-0{1}T09:00:00>then</i></div>"
    "<div class=comment><p>The cup of {0} is warm.</p><p><a href=reply{1}>reply</a></p></div></td></tr>"
)


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        # the head of a comment stands before what is called so
        (
            f"<table>{POST.format('ana', 1)}{POST.format('bo', 2)}</table>",
            [("ana", "2021-04-01T09:00:00"), ("bo", "2021-04-02T09:00:00")],
        ),
        (f"<table>{POST.format('ana', 1).replace('user?id', 'tea?id').replace('age', 'wage')}</table>", []),
        # the date of a review, in other words
        (
            "<div class=review><span class=username>Ana</span><b class=review-date>Reviewed in India on May 6, 2023</b>"
            "<p>A good cup</div>",
            [("Ana", "2023-05-06")],
        ),
        (
            "<div class=comment><p class=comment-author>Ana says</p><p>May 6, 2023</p><p>A good cup</div>",
            [("Ana", "2023-05-06")],
        ),
    ],
)
def test_comments(html, expected):
    read = Page.parse(f"<h1>Tea</h1><p>{PROSE}</p>{html}".encode(), "http://tea.test/a")
    thread = thread_of(read, Habits())
    assert [(post.author, post.published) for post in thread.posts] == expected


ARTICLE = "<article><h3 class=PostUser-name>{0}</h3><p>The cup of {0} is warm.</p></article>"


@pytest.mark.parametrize(("kind", "expected"), [("DiscussionForumPosting", ["ana", "bo"]), ("BlogPosting", [])])
def test_articles_are_posts_where_people_discuss(kind, expected):
    declared = f'<script type="application/ld+json">{{"@type": "{kind}"}}</script>'
    read = Page.parse(f"{declared}{ARTICLE.format('ana')}{ARTICLE.format('bo')}".encode(), "http://tea.test/a")
    assert [post.author for post in thread_of(read, Habits()).posts] == expected


def test_a_signature_with_the_name_of_the_author_is_no_line_of_the_post():
    post = (
        "<div id=msg{0}><a class=username href=/u/{0}>{1}</a> <i>0{0} April 2021</i><p>The cup of tea is warm.</p>"
        "<div class=signature>Sign of {1}</div></div>"
    )
    read = Page.parse((post.format(1, "ana") + post.format(2, "bo")).encode(), "http://tea.test/forum/1")
    for each in thread_of(read, Habits()).posts:
        assert [read.nodes.strings[leaf] for leaf in each.profile] == [f"Sign of {each.author}"]


@pytest.mark.parametrize(
    ("url", "line", "expected"),
    [
        ("forum/1", "__________________", ["__________________", "Sign of tea"] * 2),
        ("forum/1", "Name: ____________", []),
        ("a", "__________________", []),
    ],
)
def test_a_line_of_underscores_begins_a_signature_on_forums(url, line, expected):
    post = f"<div id=msg{{0}}><b class=username>{{1}}</b><p>{PROSE}</p><div>Agreed<br>{line}<br>Sign of tea</div></div>"
    posts = post.format(1, "ana") + post.format(2, "bo")
    read = Page.parse((posts if "forum" in url else posts.replace("username", "x")).encode(), f"http://tea.test/{url}")
    found = signatures_of(read, np.ones(len(read.nodes.leaves), np.bool_))
    assert [read.nodes.strings[leaf] for leaf in found.nonzero()[0]] == expected


def test_links_that_most_posts_have_in_lines_of_their_own_are_controls():
    html = f"<table>{''.join(POST.format(name, number) for number, name in enumerate(('ana', 'bo', 'cy'), 1))}</table>"
    html = html.replace("The cup", "<p><a href=/bo>bo</a></p>The cup")
    read = Page.parse(f"<h1>Tea</h1><p>{PROSE}</p>{html}".encode(), "http://tea.test/a")
    thread = thread_of(read, Habits())
    assert [read.nodes.strings[leaf] for leaf in controls_of_posts(read.nodes, thread)] == ["reply"] * 3
    assert controls_of_posts(read.nodes, replace(thread, posts=thread.posts[:2])) == []


def test_links_beside_the_date_and_menus_that_most_posts_have_are_controls():
    post = (
        "<div id=post_{1}><div class=item>Copy Link</div><p>Agreed</p><a class=username href=/u/{0}>{0}</a><p>"
        "<em>2018-11-1{1}</em><a href=?by={1}>Only him</a></p><div class=text>The cup of {0} is empty</div></div>"
    )
    html = "".join(post.format(name, number) for number, name in enumerate(("ana", "bo", "cy"), 1))
    read = Page.parse(f"<h1>Tea</h1>{html}".encode(), "http://tea.test/forum/a")
    found = controls_of_posts(read.nodes, thread_of(read, Habits()))
    assert [read.nodes.strings[leaf] for leaf in found] == ["Copy Link", "Only him"] * 3


@pytest.mark.parametrize(
    ("words", "expected"), [("Thanks Bump Thanks Thanks", []), ("More More More More", ["More"] * 4)]
)
def test_a_word_that_most_posts_have_is_no_control_where_another_one_says_something_else(words, expected):
    post = "<div id=post_{0}><a class=username href=/u/{0}>user{0}</a> <em>2018-11-1{0}</em><div class=text>{1}"
    html = "".join(f"{post.format(number, word)}</div></div>" for number, word in enumerate(words.split(), 1))
    read = Page.parse(f"<h1>Tea</h1>{html}".encode(), "http://tea.test/forum/a")
    found = controls_of_posts(read.nodes, thread_of(read, Habits()))
    assert [read.nodes.strings[leaf] for leaf in found] == expected


def test_links_below_a_heading_are_no_value_and_a_control_that_the_page_has_elsewhere_is_none():
    read = page(
        "<h1>Tea</h1><p>Green<div><h2>More</h2><div><a href=/b>Cups</a></div></div>"
        "<p>Black<i>Like</i><p>White<i>Like</i><p>Blue"
    )
    rated = np.array([0, 0, 0.9, 0.8, 0, 0.9, 0, 0.9, 0])
    found = own_texts(read, Headline(2, "Tea"), rated, np.array([0, 0, 8, 0, 0, 8, 0, 4, 0]), 8)
    assert not found.any()


CARD = "<div><h4><a href=/{0}>{0}</a></h4><p>{1}</p><p class=price>$24.50</p></div>"


@pytest.mark.parametrize(("stock", "expected"), [("In Stock", "InStock"), ("Out Of Stock", "OutOfStock")])
def test_the_price_of_a_product_is_not_that_on_the_card_of_another(stock, expected):
    html = (
        f"<title>Dutch hoe</title><h1>Dutch hoe</h1><ul><li>Availability: {stock}</ul><ul><li>"
        "<span style='text-decoration: line-through'>$33.00</span><li><h2>$23.50</h2></ul>"
        "<button id=button-cart>Add to Cart</button>"
        f"<h3>Related Products</h3>{CARD.format('Rake', 'Long')}{CARD.format('Spade', 'Flat')}"
    )
    product = told(html)["product"]
    assert (product["price"], product["availability"]) == (23.5, expected)


def test_what_a_page_alone_says_is_content_amid_its_content():
    html = (
        "<h1>Tea</h1><p>Green<aside>Never pour boiling water on the leaves of green tea</aside>"
        "<div><div>Weight</div><div>20 g</div></div><div><div>Shipping</div><div>Two days</div></div>"
        "<p><a href=http://b.test/x>The book</a><p><a href=/y>Cups</a><p>Black"
    )
    read = Page.parse(html.encode(), "http://a.test/")
    assert len(read.nodes.leaves) == 10
    seen = np.array([0, 0, 0.7, 0.9, 0.8, 0.9, 0.8, 0.7, 0.7, 0])
    alike = np.array([0, 0, 0, 8, 0, 8, 8, 0, 0, 0])
    found = own_texts(read, Headline(2, "Tea"), seen, alike, 8)
    assert [text for text, own in zip(read.nodes.strings, found, strict=True) if own] == [
        "Never pour boiling water on the leaves of green tea",
        "20 g",
        "The book",
    ]
    assert not own_texts(read, Headline(2, "Tea"), seen, alike, 3).any()
    assert own_texts(read, None, seen, alike, 8).tolist() == found.tolist()  # without a headline, too


@pytest.mark.parametrize(
    ("html", "seen", "alike", "expected"),
    [
        # a box of facts, unless all pages have it
        ("<aside class=portable-infobox><h3>Born</h3><p>213 AM</aside>", [0.97, 0.97], [8, 0], ["Born", "213 AM"]),
        ("<aside class=portable-infobox><h3>Deal</h3><p>Buy now</aside>", [0.97, 0.97], [8, 8], []),
        ("<aside><h3>Born</h3><p>213 AM</aside>", [0.97, 0.97], [8, 0], []),
        # a caption that is no sentence
        ("<div class=lightbox-caption>Asleep</div><p>Black", [0.9, 0], [0, 0], ["Asleep"]),
        ("<div>Asleep</div><div>Awake</div>", [0.9, 0.9], [0, 0], []),
        # half of a block of code
        ("<pre><b>let</b> a = 1;</pre><p>Black", [0.9, 0.6, 0], [8, 0, 0], ["let", "a = 1;"]),
        ("<pre><b>let</b> a = 1;</pre><p>Black", [0.9, 0.9, 0], [8, 8, 0], []),
        # a block that looks like one of content
        ("<pre>a</pre><p>Buy</p><i>It</i><i>now</i><i>or</i><pre>b</pre>", [0, *[0.9] * 5], [0, *[8] * 4, 0], ["b"]),
        ("<pre>a</pre><p>Buy</p><i>It</i><i>now</i><i>or</i><pre>b</pre>", [0, *[0.9] * 5], [0, *[8] * 5], []),
        # all definitions of a term
        ("<dl><dt>Venue<dd>Barn<dd>6 Mill Lane</dl>", [0.9, 0.8, 0.8], [8, 0, 0], ["Barn", "6 Mill Lane"]),
        # a list that goes on with a paragraph
        ("<ul><li>2 cm<li>Of oak</ul>", [0.8, 0.8], [8, 0], ["2 cm", "Of oak"]),
        ("<ul><li>2 cm<li>Of oak</ul>", [0.9, 0.9], [8, 0], []),
        ("<ul><li>Buy it<li>Oak</ul>", [0.8, 0.8], [8, 0], []),
        # the note that content refers to, and what that cites, but for links that all pages have there
        (
            "<sup><a href=#n>1</a></sup><h2>Buy</h2><ol><li id=n><a href=#r>1</a> <cite>Bo</cite> <a href=/d>Find</a>",
            [0.9, 0.9, 0.9, 0.9, 0.9],
            [8, 8, 8, 0, 8],
            ["1", "Bo"],
        ),
        (
            "<p>Of tea<sup>[<a href=#n>1</a>]</sup><p id=n>Bo",
            [0, 0.6, 0.6, 0.6, 0.9],
            [0, 8, 8, 8, 0],
            ["Bo"],
        ),
        # a value, however sure the model is, and facts right below the heading of content, but for bylines
        ("<dl><dt>Time<dd>22 min</dl>", [0.9, 0.97], [8, 0], ["22 min"]),
        ("<p>(<a href=#n>Bo 19</a>)<aside id=n><p>Of tea</aside>", [0, 0.5, 0, 0.9], [8, 8, 8, 0], ["Of tea"]),
        ("<a href=#n>Buy</a><nav id=n>Of tea</nav>", [0.9, 0.9], [8, 0], []),
        ("<a href=#n>Buy</a><div id=n><h2>Shop</h2>Of tea</div>", [0.9, 0.9, 0.9], [8, 8, 0], []),
        ("<p>Buy</p><a href=#n>it now</a><p id=n>Of tea", [0.9, 0.9, 0.9], [8, 8, 0], []),
        ("<ul><li><a href=/a>2 cm</a><li>Of oak</ul>", [0.8, 0.8], [0, 0], []),
        ("<div><ul><li>2 cm<li>Of oak</ul></div>", [0.8, 0.8], [0, 0], []),
        # a link to a file, but not one to another page or, as advertisements are, to another site
        ("<a href=/a.pdf><b>Form</b> <i>15 KB</i></a>", [0.9, 0.9], [8, 0], ["Form", "15 KB"]),
        ("<a href=http://b.test/a><b>Book</b> <i>On all the teas of the hills</i></a>", [0.7, 0.9], [0, 8], []),
        ("<a href='/a?file=b/c.pdf'><b>Form</b> <i>15 KB</i></a>", [0.9, 0.9], [8, 0], ["Form", "15 KB"]),
        ("<a href='/a?page=b.html'><b>Form</b> <i>15 KB</i></a>", [0.9, 0.9], [8, 0], []),
        ("<a href=/a><b>Form</b> <i>15 KB</i></a>", [0.9, 0.9], [8, 0], []),
        ("<a href=/a.pdf>Form</a>", [0.9], [8], []),
        ("<a href='http://[half'>Form</a>", [0.9], [0], []),
    ],
)
def test_what_else_a_page_alone_says(html, seen, alike, expected):
    read = Page.parse(f"<h1>Tea</h1><p>Green</p>{html}".encode(), "http://a.test/")
    rated = np.array([0.8, 0, *seen])
    found = own_texts(read, Headline(2, "Tea"), rated, np.array([0, 0, *alike]), 8)
    texts = [text for text, own in zip(read.nodes.strings, found, strict=True) if own]
    assert texts == expected


@pytest.mark.parametrize(
    ("picture", "is_shown"),
    [
        ("<img src=a.jpg alt='A white tea on the table'>", True),
        ("<a href=/b><img src=a.jpg alt='A white tea on the table'></a>", False),
        ("<aside><img src=a.jpg alt='White tea'></aside>", False),
        ("<img src=a.jpg alt=Tea>", False),
        ("<audio src=a.mp3 title='Hear of white tea'></audio>", True),
    ],
)
def test_the_picture_that_the_heading_names_is_content(picture, is_shown):
    read = Page.parse(f"<h1>White tea</h1><p>Share</p>{picture}<p>Print</p><p>{PROSE}".encode(), "http://tea.test/a")
    keep = np.array([text not in ("Share", "Print") for text in read.nodes.strings])
    text = markdown_of(document_of(read, keep, headline_of(read)))
    assert ("tea.test/a." in text) == is_shown


@pytest.mark.parametrize(
    ("picture", "is_shown"),
    [
        ("<img src=a.jpg alt='A white teapot'>", True),
        ("<a href=/a.jpg><img src=a.jpg alt='A white teapot'></a>", True),
        ("<img src=a.jpg alt='A green teapot'><img src=small/a.jpg alt='A white teapot'>", True),
        ("<a href=/b><img src=a.jpg alt='A white teapot'></a>", False),
        ("<header><img src=a.jpg alt='A white teapot'></header>", False),
        ("<img src=a.jpg alt='Shop of tea'>", False),
        ("<img src=a.jpg>", False),
    ],
)
def test_the_gallery_above_the_heading_is_content(picture, is_shown):
    html = f"<title>Teapot</title><p>Back</p><div>{picture}</div><p>Zoom</p><h1>Teapot</h1><p>Share</p><p>{PROSE}"
    read = Page.parse(html.encode(), "http://tea.test/x")
    keep = np.array([text not in ("Back", "Zoom", "Share") for text in read.nodes.strings])
    headline = headline_of(read)
    assert markdown_of(document_of(read, keep, headline)).count("a.jpg)") == is_shown
    pictures = [row for row, one in enumerate(read.nodes.elements) if one.tag == "img"]
    assert "a.jpg" not in markdown_of(document_of(read, keep, headline, repeated=pictures))


@pytest.mark.parametrize(("cell", "is_kept"), [("Hot", True), ("Not in weather as hot as this", False)])
def test_heads_and_cells_of_a_table_go_with_most_of_its_words(cell, is_kept):
    read = page(f"<p>Tea<table><thead><tr><th>Leaf<th>Cups<tbody><tr><td>White<td>4 cups<tr><td><b>{cell}</b></table>")
    keep = np.array([text in ("Tea", "White", "4 cups") for text in read.nodes.strings])
    assert companions(read.nodes, keep).tolist() == [False, is_kept, is_kept, False, False, is_kept]
    filled = page("<p>Tea<table><thead><tr><th>Leaf of any kind<tbody><tr><td>White <button>Buy</button></table>").nodes
    assert not companions(filled, np.array([True, False, True, True])).any()


@pytest.mark.parametrize(
    ("section", "is_found"),
    [
        ("<h2>Also</h2><ul><li><h2><a href=/b>Black tea</a></h2>$4<li><h2><a href=/c>Blue tea</a></h2>$5</ul>", True),
        ("<h2>Also</h2><ul><li><h2>Black tea</h2>$4<li><h2>Blue tea</h2>$5</ul>", False),
        ("<h2>Norms</h2><table><tr><th>Norm<tr><td><a href=http://n.test/a>The norm of tea</a> 4</table>", False),
    ],
)
def test_cards_of_other_products_are_a_section_of_links_and_tables_are_none(section, is_found):
    read = page(f"<h1>Tea</h1><div>{section}</div>")
    alike = np.array([0, 9, *[0] * (len(read.nodes.leaves) - 2)])
    assert link_sections_of(read, np.zeros(len(alike)), alike, 9, cards=True)[1:].tolist() == [is_found] * (
        len(alike) - 1
    )


@pytest.mark.parametrize(("facts", "are_kept"), [("Uji, Japan", True), ("Ana Bo</p><p>2 May 2024", False)])
def test_facts_that_stand_between_the_heading_and_the_text_are_content(facts, are_kept):
    read = page(f"<h1>Tea</h1><p>{facts}</p><p>Full time</p><a href=/b>Buy it</a><p>Green")
    rated = np.array([0, *[0.99] * (len(read.nodes.leaves) - 2), 0])
    alike = np.array([8 * (text in ("Full time", "Buy it")) for text in read.nodes.strings])
    assert own_texts(read, Headline(2, "Tea"), rated, alike, 8).tolist() == [
        False,
        are_kept,
        *[False] * (len(rated) - 2),
    ]


def test_sentences_in_panels_are_content_if_no_other_page_has_them():
    read = page(
        "<h1>Tea</h1><p>Green<ul><li role=tab>Picking<li role=tab>Terms</ul><div role=tabpanel><p>The first leaves of "
        "the hill are picked by hand</div><div role=tabpanel><p>We send all that is in stock on the same day</div>"
    )
    strings = read.nodes.strings
    alike = np.array([8 * text.startswith(("We", "Terms")) for text in strings])
    found = own_texts(read, Headline(2, "Tea"), np.array([0, 0, *[0.99] * (len(strings) - 2)]), alike, 8)
    assert [text.split()[0] for text, own in zip(strings, found, strict=True) if own] == ["The"]


def test_a_control_in_a_value_and_an_avatar_in_its_frame_are_no_content():
    read = page("<h1>Tea</h1><p>Green<dl><dt>Kind<dd>Leaf of hill 3 <a href=#all>show all</a></dl>")
    rated = np.array([0, 0, 0.9, 0.8, 0.8])
    found = own_texts(read, Headline(2, "Tea"), rated, np.array([0, 0, 8, 0, 8]), 8)
    assert found.tolist() == [False, False, False, True, False]
    assert ".jpg" not in markdown(
        f"<p>{PROSE}</p><div class=gravatar-wrapper-32><img src=/ana.jpg alt=Ana></div><p>Tea"
    )


@pytest.mark.parametrize(
    ("table", "is_kept"),
    [
        ("<table><tr><th>Kind<td>Green<tr><th>Steep<td>3 min</table>", True),
        ("<table><tr><td>Kind<tr><td>Green<tr><td>Black</table>", False),  # a column is a list
        ("<table><tr><th>Kind<td>Green<tr><th>Steep<td>3 min <button>Buy</button></table>", False),
        (
            "<table><tr><td>Kind<td><a href=/g>Green</a><tr><td><a href=/s>Steep</a><td><a href=/m>Min</a></table>",
            False,
        ),
        ("<table><tr><td>Kind<td><table><tr><td>Green<td>Leaf</table><tr><td>Steep<td>3 min</table>", False),
    ],
)
def test_tables_of_data_that_the_page_alone_has_are_content(table, is_kept):
    nodes = page(f"<h1>Tea</h1>{table}<p>About it").nodes
    seen, alike = np.full(len(nodes.leaves), 0.7), np.zeros(len(nodes.leaves), np.int64)
    found = data_tables(nodes, Headline(2, "Tea"), seen, alike, 0)
    assert found.tolist() == [False, *[is_kept] * (len(seen) - 2), False]
    assert not data_tables(nodes, Headline(2, "Tea"), seen, alike + 8, 9).any()
    assert not data_tables(nodes, Headline(2, "Tea"), seen + 0.2, alike, 0).any()
    assert not data_tables(nodes, None, seen, alike, 0).any()


def test_hidden_data_of_scripts_is_no_content():
    text = markdown(
        f"<p>{PROSE}<span hidden>{{&quot;layout&quot;: 2}}</span><p hidden>{PROSE} twice<p>{{&quot;a&quot;: 1}}"
    )
    assert "layout" not in text
    assert "twice" in text
    assert '{"a": 1}' in text
