"""What exports, generators of manuals and responsive themes print: lists in pieces, grids, copies and keys in cells."""

import re

import numpy as np
import pytest

from scrapy_pagelets import Page, Site
from scrapy_pagelets.decision.content import marks_in_cells
from scrapy_pagelets.decision.half_lines import companions
from scrapy_pagelets.document.builder import document_of
from scrapy_pagelets.document.markdown import markdown_of
from scrapy_pagelets.metadata.headline import headline_of
from scrapy_pagelets.page.data_tables import flat_grids
from scrapy_pagelets.page.looks import CODE_LINE, RELATED, signs
from tests.trees import page

TEAS = ("Uji", "Assam", "Darjeeling", "Ceylon", "Oolong", "Keemun")
SAID = "The leaves of {} are dried in the shade for a week before anybody tastes them."


def markdown(html):
    read = page(html)
    return markdown_of(document_of(read, np.ones(len(read.nodes.leaves), np.bool_))).strip()


def cleaned(body):
    """The Markdown of a page of a site of teas, each page of which has the same body but for the name of a tea."""
    html = "<title>{0} tea</title><div id=menu><a href=/>Teas</a> <a href=/b>Cups</a></div><h1>{0} tea</h1>" + body
    pages = [(html.replace("{0}", tea), f"http://tea.test/{tea}") for tea in TEAS]
    return Site.of(pages).clean(*pages[0]).markdown


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        # each item in a list of its own, as exports of editors have it
        ('<ol class=n><li>a</ol><ol class=n start=2><li>b<li>c</ol><ol start=4><li>d</ol>', "1. a\n2. b\n3. c\n4. d"),
        ("<ul class=t><li>a</ul>\n<ul class=t><li>b</ul>", "- a\n- b"),
        # other lists: with another class, without one, with more items, after text, with another number
        ("<ul class=t><li>a</ul><ul class=u><li>b</ul>", "- a\n\n+ b"),
        ("<ul class=t><li>a<li>b</ul><ul class=t><li>c</ul>", "- a\n- b\n\n+ c"),
        ("<ul class=t><li>a</ul>then<ul class=t><li>b</ul>", "- a\n\nthen\n\n- b"),
        ("<ol><li>a</ol><ol start=3><li>c</ol>", "1. a\n\n3) c"),
        ("<ol><li>a</ol><ol><li>b</ol>", "1. a\n\n1) b"),
        # a term that is a sign
        ("<dl><dt>...<dd>Passed on.</dl>", "- **...** Passed on."),
        # rules in cells, as TeX4ht draws them
        (
            "<table><tr><td><hr><td><hr><tr><td>Uji<td>7<tr><td><hr><td><hr><tr><td>Oolong<td>9</table>",
            "|  |  |\n| --- | --- |\n| Uji | 7 |\n| Oolong | 9 |",
        ),
        # a tooltip is no part of the word before it
        ("<p>the <a>cup<span class=tooltiptext>Of clay</span></a> breaks", "the cup Of clay breaks"),
        ("<pre><code><b class=hl-line>a = 1</b><b class=hl-line> b</b></code></pre>", "```\na = 1\n b\n```"),
        # code whose lines a highlighter keeps, alone in an element
        ("<div><code class=language-js>a = 1;\n  b</code></div>", "```js\na = 1;\n  b\n```"),
        ("<p><code class=language-js>a = 1;</code>", "`a = 1;`"),
        ("<p>So <code class=language-js>a =\n1;</code> is", "So `a = 1;` is"),
        ("<div><code>a = 1;\n  b</code></div>", "`a = 1; b`"),
        # pictures of formulas say their source
        ("<p>So <img class=equation_image src=a alt='LaTeX: v=at'> holds", "So `$v=at$` holds"),
        ("<p>So <img class=ql-img-inline-formula src=a alt='$v=at$'> holds", "So `$v=at$` holds"),
        ("<p>So<p><img class=ql-img-displayed-equation src=a alt='\\[v=at\\]'>", "So\n\n```math\nv=at\n```"),
        ("<p>So <img class=equations src=/a alt='LaTeX: v=at'>", "So ![LaTeX: v=at](http://example.com/a)"),
        # what a script counts up to
        ("<p><b class=x><span class=counter-number data-to-value=342>0</span>+ cups</b>", "**342+ cups**"),
        ("<div class=count-up data-target=7></div><p>cups", "7\n\ncups"),
        ("<p><span class=counter data-to-value=javascript>0</span> cups", "0 cups"),
        ("<p><span class=counter>2</span> of <span data-count=9>0</span> cups", "2 of 0 cups"),
        ("<p><span class=counter data-count=9>5</span> cups", "5 cups"),
    ],
)  # fmt: skip
def test_markdown(html, expected):
    assert markdown(html) == expected


def test_columns_for_narrow_screens_are_no_tabs():
    buttons = "<div class=mobile-tabs><button>Info</button><button>Content</button></div>"
    html = "<div>{}<div><div><p>{}</div><{}>Uji</{}></div></div>"
    assert "**Content**" not in markdown(html.format(buttons, SAID, "main", "main"))
    assert "**Content**" in markdown(html.format(buttons, SAID, "div", "div"))


GRID = (
    '<div class=grid><div class="table-header col-a">Type</div><div class="table-header col-b">Method</div>'
    '<div class="col-a even">int</div><div class="col-b even">heat</div>'
    '<div class="col-a odd">void</div><div class="col-b odd">pour</div></div>'
)


def test_grids_of_elements_are_tables():
    assert markdown(GRID) == "| Type | Method |\n| --- | --- |\n| int | heat |\n| void | pour |"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("col-b odd", "odd"),
        ("table-header col-b", "col-b"),
        ('"col-a even">int', '"col-b even">int'),
        ("col-b", "col-a"),
    ],
)
def test_other_elements_are_no_grids(old, new):
    assert flat_grids(page(GRID.replace(old, new)).nodes) == {}


def test_a_grid_most_of_which_is_content_is_kept():
    read = page(GRID.replace("pour", SAID))
    found = companions(read.nodes, read.nodes.words > 3)
    assert (found | (read.nodes.words > 3)).all()
    assert not companions(page(GRID).nodes, np.zeros(6, np.bool_)).any()


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        # as responsive themes say on narrow screens what column it is, and wikis by what a column is sorted
        ("<td><span class=visible-xs>Price</span>7<td><b>Tea</b> Uji", ["Price", "Tea"]),
        ("<td><b>Price</b> 7<td>Uji", []),  # of one cell alone, it is the beginning of what it says
        ("<td><span style='display:none'>0007</span><b>7</b>", ["0007"]),
        ("<td>Price <b>of 7</b><td>Tea <b>Uji</b>", []),
        ("<td><span>Price</span><td><span>Tea</span>", []),
        ("<td><span style='display:none'>0007</span>", []),
        ("<td><span style='display:none'>It was once dearer than today</span>7", []),
        ("<td><table><tr><td><b>Price</b>7<td><b>Tea</b> Uji</table>", []),
        ("<th><b>Price</b>7<th><b>Tea</b> Uji", []),
    ],
)
def test_marks_in_cells(row, expected):
    nodes = page(f"<table><tr><th>Price<th>Tea<tr>{row}</table>").nodes
    assert [text for text, found in zip(nodes.strings, marks_in_cells(nodes), strict=True) if found] == expected


def test_cells_of_a_site_say_nothing_twice():
    row = "<td><b class=s>Tea</b>{0}<td><b class=s>Cost</b><i style='display:none'>007</i>7 &pound;"
    table = f"<table><tr><th>Tea<th>Cost<tr>{row}</table>"
    assert "| Uji | 7 £ |" in cleaned(f"<p>{SAID.replace('{}', '{0}')}</p>{table}")


def test_notes_with_the_role_of_notes_are_content():
    body = f"<p>{SAID.replace('{}', '{0}')}</p><div><aside role=doc-footnote><p>Of {{0}}, not of Kobe.</aside></div>"
    assert "Of Uji, not of Kobe." in cleaned(body.replace("{{0}}", "{0}"))


def test_notes_of_a_table_are_content():
    table = (
        "<table><tr><th>Tea<th>Cost<tr><td>{0}<td>7</table><div><div class=tw-foot><p>Of {0}, in pounds.</div></div>"
    )
    assert "Of Uji, in pounds." in cleaned(
        f"<p>{SAID.replace('{}', '{0}')}</p>{table}<div>All <a href=/>teas</a></div>"
    )


def test_a_formula_of_one_page_is_content():
    formula = (
        "<div><span class=katex><math><annotation encoding=application/x-tex>{0}=7</annotation></math></span></div>"
    )
    said = f"<p>{SAID.replace('{}', '{0}')}</p>"
    assert "Uji=7" in cleaned(f"{said}{formula}{said}")


@pytest.mark.parametrize(
    ("tag", "expected"), [("footer", [True, True, True, False]), ("div", [True, True, False, False])]
)
def test_quotations_are_kept_with_whose_words_they_are(tag, expected):
    nodes = page(f"<p>{SAID}</p><blockquote><p>{SAID}</p><{tag}>Ana Bo</{tag}></blockquote><footer>Tea</footer>").nodes
    keep = np.array([True, True, False, False])
    assert (keep | companions(nodes, keep)).tolist() == expected


def test_the_last_caption_of_a_gallery_goes_with_the_others():
    figures = "".join(f"<figure><img src=/{n}.png><figcaption>Leaf {n}</figcaption></figure>" for n in range(4))
    nodes = page(f"<p>Tea</p><div>{figures}</div><p>Menu</p>").nodes
    keep = np.array([True, True, True, False, False, False])
    assert companions(nodes, keep).tolist() == [False, False, False, True, True, False]
    keep[2] = False
    assert not companions(nodes, keep).any()


SLIDE = "<li><noscript><img src=/{0}.jpg></noscript><a><img src=/{0}.jpg?w=900 alt=''><i>Open {0}</i></a>"


@pytest.mark.parametrize(
    ("slides", "expected"),
    [
        # the picture that the page declares, and those beside it; not one that is shown, or leads to another page
        ("".join(map(SLIDE.format, "abc")), ["a", "b", "c"]),
        ("<li><img src=/a.jpg><li><img src=/a_100x100.jpg><li><a href=/x><img src=/d.jpg></a>", ["a"]),
        # a script that makes them smaller is no file, but says which it reads
        ("".join(f"<li><img src='/i?url=%2F{one}.jpg&w={n}'>" for n, one in enumerate("abca")), ["a", "b", "c"]),
        # no gallery: one item without a picture, pictures that are no items
        ("<li><img src=/a.jpg><img src=/b.jpg><li>Cups", ["a"]),
        ("<li><img src=/a.jpg><li><img src=/b.jpg><li>Cups", ["a"]),
    ],
)
def test_pictures_of_a_gallery(slides, expected):
    html = f"<title>Uji</title><meta property=og:image content=http://x/a.jpg><p>Zoom<ul>{slides}</ul><p>Zoom<h1>Uji</h1><p>{SAID}"
    read = Page.parse(html.encode(), "http://tea.test/uji")
    keep = np.array([text == "Uji" or text in SAID for text in read.nodes.strings])
    found = markdown_of(document_of(read, keep, headline_of(read)))
    assert re.findall(r"(?:/|%2F)(\w)[^/?]*\.jpg", found) == expected


@pytest.mark.parametrize(
    ("classes", "sign", "expected"),
    [
        ("highlight-line", CODE_LINE, True),
        ("view-line", CODE_LINE, True),
        ("codeline", CODE_LINE, True),
        ("headline", CODE_LINE, False),
        ("line-numbers", CODE_LINE, False),
        ("related_photos", RELATED, True),
        ("related-recipes", RELATED, True),
        ("related", RELATED, False),
        ("unrelated", RELATED, False),
    ],
)
def test_signs(classes, sign, expected):
    assert bool(signs(("div", "", classes, "")) & sign) is expected


def test_many_galleries_are_each_decided_by_their_captions():
    figures = "<div><figure><figcaption>A</figcaption></figure><figure><figcaption>b</figcaption></figure></div>"
    nodes = page("<p>Tea</p>" + figures * 5000).nodes
    keep = np.array([text == "A" for text in nodes.strings])
    assert (keep | companions(nodes, keep))[1:].all()
    assert not companions(nodes, np.zeros(len(keep), np.bool_)).any()


def test_many_cells_take_no_more_than_their_number():
    """Neither thousands of heads nor of columns are compared with all others."""
    heads = "".join(f'<div class="col-header c{n}">h</div>' for n in range(3000))
    nodes = page(f"<div>{heads}{heads}</div><table>{'<tr><th>a<td><b>a</b>c<td><b>a</b>d' * 2000}</table>").nodes
    assert flat_grids(nodes) == {}
    assert marks_in_cells(nodes).sum() == 4000
