"""Lines with author and date: kept whole or not at all."""

import re

import numpy as np
import pytest

from scrapy_pagelets.decision.content import facts_of, permalinks, said_of_itself
from scrapy_pagelets.decision.decision import decided
from scrapy_pagelets.decision.half_lines import companions, opening_alone, signs_with_words
from scrapy_pagelets.decision.own_texts import Seen, labelled
from scrapy_pagelets.decision.site import Site
from scrapy_pagelets.feed.page_record import PageRecord
from scrapy_pagelets.metadata.headline import headline_of
from scrapy_pagelets.page.page import Page

BODY = "Here somebody says what he thinks of green tea, and he goes on and on. "


#: What a page says: the model takes for template what has "!", and all pages have what is in brackets.
LISTS = [
    # a value and a label that other pages have, too, amid facts
    (
        "<dl><dt>(Year)<dd>1952<dt>(Grape)<dd>Kerner<dt>(Allergens!)<dd>(Sulphites!)</dl>",
        "Year 1952 Grape Kerner Allergens Sulphites",
    ),
    ("<ul><li><b>(Hat)</b> red<li><b>(Coat)</b> blue<li><b>(Shoe!)</b> (none!)</ul>", "Hat red Coat blue Shoe none"),
    ("<ul><li><b>(Hat)</b> red<li><b>(Coat!)</b> blue!<li><b>(Shoe!)</b> (none!)</ul>", "Hat red"),
    # facts between the fields of a form: what differs from page to page, behind colons
    (
        "<ul><li><p><b>(!No)：</b>A12!<li><p><b>(!Maker)：</b><a href=/m>Ana!</a><li><p><b>(!Stock)：</b>14!</ul>",
        "No： A12 Maker： Ana Stock： 14",
    ),
    ("<ul><li><b>(!No)</b> A12!<li><b>(!Maker)</b> Ana!<li><b>(!Stock)</b> 14!</ul>", ""),  # no colons
    ("<ul><li><b>(!No):</b> (A12!)<li><b>(!Maker):</b> (Ana!)<li><b>(!Stock):</b> (14!)</ul>", ""),  # on all pages
    ("<ul><li><b>(!No):</b> A12!<li><b>(!Maker):</b> Ana!</ul>", ""),  # too few
    # a label without its value
    ("<dl><dt>(Type)<dd>(Private company!)</dl>", "Type Private company"),
    ("<dl><dt>(Type)<dd><a href=/edit>(Edit it!)</a></dl>", "Type"),
    # lines of several labels
    ("<p><b>(Published by!)</b> <a href=/w>(Wharf!)</a>, Porto, 1952</p>", "Published by Wharf , Porto, 1952"),
    ("<p>(No!) <a href=/1>A12</a> (or!) <a href=/2>B15</a></p>", "No A12 or B15"),
    ("<p><b>(No!)</b> A12 <i>(Call us!)</i></p>", "No A12"),
    ("<p><b>(No!)</b> A12! <i>(Call us!)</i></p>", ""),
    # a label and a value in one text: few pages have it, and it has no year, as dates have
    (
        "<p>Ident: 30014!</p><p>状态：好!</p><p>Height in words: 3 cm!</p>",
        "Ident: 30014 状态：好 Height in words: 3 cm",
    ),
    (
        "<p>(Id: 30014!)</p><p>Made: 3 May 2012!</p><p>Uji: a !hill.</p><p><a href=/a>Id: 3!</a></p>",
        "",
    ),
    # a label with a number, but no time of day
    ("<p>Lowest of 30 days: 87 zł!</p><p>Door 12:30!</p>", "Lowest of 30 days: 87 zł"),
    # a number to call that others have not
    ("<a href=tel:1>04 42!</a> <a href=tel:2>(04 43!)</a> <a href=/b>04 44!</a>", "04 42"),
    # what leads to other pages: by its relation, and all of it behind colons
    ("<p>(Filed under!) <a href=/c rel=tag>Cups</a></p>", "Cups"),
    ("<ul><li>(!Next): <a href=/1>Cups!</a><li>(!Last): <a href=/2>Pots!</a><li>(!Up): <a href=/3>Lids!</a></ul>", ""),
    ("<p>(!Next): <a href=/1>Cups</a></p>", "Cups"),
]


def seen(alike, others=8, anywhere=None, place=None):
    """A text is nowhere else than at its place, and the place is on as many pages, if nothing else is given."""
    elsewhere = (alike if anywhere is None else anywhere, alike if place is None else place)
    return Seen(alike, others, lambda: elsewhere, lambda: np.ones(len(alike)))


@pytest.mark.parametrize(("facts", "expected"), LISTS)
@pytest.mark.parametrize("others", [8, 3])
def test_labels_go_with_their_values(facts, expected, others):
    html = f"<title>Tea</title><h1>Tea</h1>{facts}<p>{BODY * 2}</p><p>(All rights!)</p>"
    page = Page.parse(html.encode(), "http://a.example/tea")
    nodes = page.nodes
    keep = np.array(["!" not in text for text in nodes.strings])
    alike = np.array([8 * ("(" in text) for text in nodes.strings])
    texts = [re.sub(r"[!()]", "", text).strip() for text in nodes.strings]
    found = labelled(nodes, headline_of(page), keep, seen(alike, others), is_article=True)
    assert not (found & keep).any()
    assert others == 8 or not found.any()
    kept = [text for text, one in zip(texts, keep | found, strict=True) if one]
    assert others == 3 or " ".join(kept[1:-1]) == expected


def test_labels_are_those_between_the_heading_and_content():
    page = Page.parse(b"<p><b>(No)</b> A12<h1>Tea</h1><p>Green<p><b>(No)</b> A12", "http://a.example/tea")
    keep, alike = np.array([False, True, True, True, False, True]), np.array([8, 0, 0, 0, 8, 0])
    nodes, headline = page.nodes, headline_of(page)
    assert headline is not None
    assert not labelled(nodes, headline, keep, seen(alike), is_article=True).any()
    assert not labelled(nodes, None, keep, seen(alike)).any()
    assert not labelled(nodes, headline, np.zeros(6, np.bool_), seen(alike)).any()


@pytest.mark.parametrize(
    ("around", "expected"),
    [("{}", ["Entry: 5 euros"]), ("<ul><li>{}</ul>", ["Entry: 5 euros"]), ("<section>Cups{}</section>", [])],
)
def test_a_fact_right_behind_content_stands_in_an_element_with_it(around, expected):
    fact = around.format("<p>Entry: 5 euros</p>")
    page = Page.parse(f"<h1>Tea</h1><div><p>{BODY}</p>{fact}</div>".encode(), "http://a.example/tea")
    keep = np.arange(len(page.nodes.leaves)) < 2
    found = labelled(page.nodes, headline_of(page), keep, seen(np.zeros(len(keep), np.int64)), is_article=True)
    assert [page.nodes.strings[leaf] for leaf in found.nonzero()[0]] == expected


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ("<b>£220,000</b><i>£9</i>", ["£220,000"]),  # the first one alone
        ("<b>4700 €</b>", ["4700 €"]),
        ("<b>4700 m</b><a href=/a>£9</a>", []),
    ],
)
def test_the_first_price_below_the_heading_is_content_though_others_have_one_there(texts, expected):
    page = Page.parse(f"<h1>Tea</h1><p>{texts}</p><p>{BODY}</p>".encode(), "http://a.example/tea")
    keep = np.zeros(len(page.nodes.leaves), np.bool_)
    keep[[0, -1]] = True
    found = labelled(page.nodes, headline_of(page), keep, seen(np.full(len(keep), 8)), is_article=True)
    assert [page.nodes.strings[leaf] for leaf in found.nonzero()[0]] == expected


def test_names_of_those_who_comment_leave_with_their_comments():
    comment = "<div class=comment id=comment-{0}><p>Written by <a class=username href=/user/{0}>Ana{0}</a><p>{1}</div>"
    comments = "".join(comment.format(number, BODY * 2) for number in (1, 2, 3))
    html = f"<title>Tea</title><h1>Tea</h1><p>{BODY * 9}</p><div id=comments class=comments>{comments}</div>"
    page = Page.parse(html.encode(), "http://a.example/tea")
    site = Site("a.example")
    site.learn(page)
    record = PageRecord(page, decided(page, site))
    assert [post["role"] for post in record.posts] == ["comments"] * 3
    assert "Ana" not in record.text
    assert (record.comments or "").count("Ana") == 3


def test_the_name_of_the_author_is_kept_once():
    box = "<h3>Share</h3><div><a href=/u/1>Ana Bo</a></div>"
    html = f"<title>Tea</title><meta name=author content='Ana Bo'><h1>Tea</h1><p>By <a href=/u/1>Ana Bo</a>{box}"
    page = Page.parse(html.encode(), "http://a.example/tea")
    said = said_of_itself(page, headline_of(page), ["Ana Bo"], [])
    assert [text for text, is_said in zip(page.nodes.strings, said, strict=True) if is_said] == ["Ana Bo"]


def test_a_declared_price_may_stand_well_before_the_heading():
    html = f"<title>Tea</title><b>$ 12.00</b>{'<i>Menu</i>' * 20}<b>$ 7.00</b><h1>Tea</h1><p>All of tea."
    page = Page.parse(html.encode(), "http://a.example/tea")
    said = said_of_itself(page, headline_of(page), ["Menu"], ["12.00"])
    found = [text for text, is_said in zip(page.nodes.strings, said, strict=True) if is_said]
    assert found == ["$ 12.00", "Menu"]  # a name stands nearer


@pytest.mark.parametrize(("label", "is_kept"), [("Brand:", True), ("Sold with:", False)])
def test_a_declared_brand_behind_its_label_is_a_fact(label, is_kept):
    html = f"<title>Tea</title><h1>Tea</h1><p>All of tea.<table><tr><td>{label}<td>Unbranded</table>"
    page = Page.parse(html.encode(), "http://a.example/tea")
    found = facts_of(page, headline_of(page), ["Unbranded"], np.array([True, True, False, False]))
    assert found.tolist() == [False, False, False, is_kept]


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<p><i>template</i><b>&lt;</b>", "template<"),
        ("<p><b>&gt;</b><i>tea</i>", ">tea"),
        ("<p><i>LOST</i><b>, </b><i>tea</i>", "tea"),
        ("<p><i>tea</i><p><b>-</b>", "tea-"),  # a line of its own
        ("<p>-<p>-", "--"),
    ],
)
def test_signs_go_with_the_words_beside_them(html, expected):
    nodes = Page.parse(html.encode(), "http://a/").nodes
    told = np.array([0.6 if text.isupper() or text.strip() in "<>" else 0.4 for text in nodes.strings])
    found = signs_with_words(nodes, told)
    assert "".join(text for text, one in zip(nodes.strings, found, strict=True) if one < 0.5) == expected


def test_a_bracket_that_opens_nothing_of_content_goes():
    nodes = Page.parse(b"<p><b>Ana</b> (<i>120</i> points) <b>(</b><i>tea</i>)<p>(<p>1", "http://a/").nodes
    is_template = np.array([not text.isalpha() and "(" not in text for text in nodes.strings])
    assert [nodes.strings[leaf].strip() for leaf in opening_alone(nodes, is_template)] == ["("]


@pytest.mark.parametrize("classes", ["title", "code-header"])
def test_a_permalink_is_no_content_beside_its_heading(classes):
    page = Page.parse(f"<h2 class={classes}>Tea<a href=#tea>¶</a></h2><p>{BODY}".encode(), "http://a/")
    content = decided(page, Site(page.site)).content
    assert dict(zip(page.nodes.strings, content.tolist(), strict=True)) == {"Tea": True, "¶": False, BODY.strip(): True}


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<table><tr><th>SIZE</th><td>2 cm</td><td>tall</td></table>", "SIZE"),
        ("<dl><dt>SIZE</dt><dd>2 cm</dd><dt>SHARE</dt><dd>X</dd></dl>", "SIZE"),
        ("<div><b class=label>SIZE</b><div>2 cm</div></div>", "SIZE"),
        ("<div><b>SIZE</b><i>2 cm</i><i>3 cm</i></div>", ""),  # the first of three is no label
        ("<div><b>SIZE</b><i>2 cm</i><b>AGE</b><i>3 years</i></div>", "SIZE AGE"),  # by turns
        ("<div><b>SIZE</b><i>2 cm</i><u>AGE</u><i>3 years</i></div>", ""),
        ("<div><a href=/s>SIZE</a><i>2 cm</i></div>", ""),
        ("<div><h2>SIZE</h2><p>2 cm</p></div>", ""),
        (f"<div><b>NEWS</b><p>{'all about tea ' * 20}</p></div>", ""),
        ("<ul><li role=tab>ONE<li role=tab>TWO</ul><p role=tabpanel>tea</p><p role=tabpanel>X</p>", "ONE"),
        ("<p>tea</p><figure><img src=a><figcaption>LEAF</figcaption></figure><p>tea", "LEAF"),
        ("<div><p>tea</p><figure><figcaption>LEAF</figcaption></figure><p>X</p><p>tea</p></div>", "LEAF"),
        ("<p>tea</p><figure><figcaption>LEAF</figcaption></figure><p>X", ""),
        ("<p>tea</p><img src=a><p class=news-img-caption>LEAF</p><p>tea", "LEAF"),
        ("<p>tea</p><figure><figcaption><a href=/l>LEAF</a></figcaption></figure><p>tea", ""),
        ("<div class=member-signature><i>PUBLIC</i> <b>pour</b></div>", "PUBLIC"),
        ("<h3>tea <i>IN TIN</i> <a href=/e>EDIT</a></h3>", "IN TIN"),
        ("<table><thead><tr><th><a href=?by=1>SIZE</a></thead><tr><td>2 cm</table>", "SIZE"),
        ("<table><tr><th>SIZE<th>FORM<tr><td>2 cm<td>tall</table>", "SIZE FORM"),
        ("<table><tr><td>cups<td>all<tr><th>SIZE<th>FORM<tr><td>X<td>Y</table>", ""),  # no heads of the table
        ("<code><i>PUBLIC</i> pour(<b>INT</b> cup)</code><code>BREW</code>", "PUBLIC INT"),
        ("<h4 class=code-header>PUB FN <a href=#pour>pour</a></h4>", "PUB FN"),
    ],
)
def test_labels_captions_and_declarations_go_with_what_they_are_of(html, expected):
    nodes = Page.parse(html.encode(), "http://a/").nodes
    found = companions(nodes, np.array([not text.isupper() for text in nodes.strings]))
    assert " ".join(text for text, one in zip(nodes.strings, found, strict=True) if one) == expected


def test_a_mark_of_a_footnote_is_no_permalink():
    page = Page.parse(f"<p>{BODY}Tea<sup><a href=#n>†</a></sup> and more<p id=n>† As we say".encode(), "http://a/")
    assert not permalinks(page.nodes).any()


#: The same on pages that are no articles. What has "?" is on other pages at other places.
FACTS = [
    # labels without colons, which move where pages lack some; linked values; labels behind their values
    ("<ul><li><b>(!No)</b> A12!<li><b>?!Maker</b> Ana!<li><b>?!Stock</b> 14!</ul>", "No A12 Maker Ana Stock 14"),
    (
        "<ul><li><b>(!By)</b> <a href=/a>Ana!</a><li><b>(!For)</b> <a href=/b>Bo!</a><li><b>(!In)</b> "
        "<a href=/c>Uji!</a></ul>",
        "By Ana For Bo In Uji",
    ),
    ("<ul><li><i>12 km!</i> <b>(!Way)</b><li><i>9 t!</i> <b>(!Load)</b><li><i>2!</i> <b>(!Seats)</b></ul>",
     "12 km Way 9 t Load 2 Seats"),
    ("<div><i>12 km</i> <b>(!Way)</b></div>", "12 km Way"),
    ("<div><b>(!Subjects):</b> <a href=/a>Tea</a> <a href=/b>Cups</a></div>", "Subjects: Tea Cups"),
    # short texts beside the heading, in whole lines without links; one alone may be the time that reading takes
    ("<p>Porto!</p><p>Half past two!</p><p>Hidden <a href=/b>menu!</a></p>", "Porto Half past two Hidden"),
    ("<p>Two minutes!</p><a href=/a>(Share!)</a>", ""),
    ("<p>(Call us!)</p><p>(All of it!)</p>", ""),
    # what each record of a list has
    ("<p>Tea</p>" + "<div><a href=/{0}>Cup</a> <i>May!</i></div>" * 3, "Tea Cup Cup Cup"),
]  # fmt: skip


@pytest.mark.parametrize(("facts", "expected"), FACTS)
def test_what_differs_from_page_to_page_is_a_fact_on_pages_that_are_no_articles(facts, expected):
    html = f"<title>Tea</title><h1>Tea</h1>{facts}<p>{BODY * 2}</p><p>(All rights!)</p>"
    page = Page.parse(html.encode(), "http://a.example/tea")
    nodes = page.nodes
    keep = np.array(["!" not in text for text in nodes.strings])
    alike = np.array([8 * ("(" in text) for text in nodes.strings])
    anywhere = np.array([8 * ("(" in text or "?" in text) for text in nodes.strings])
    found = labelled(nodes, headline_of(page), keep, seen(alike, 8, anywhere, np.full(len(keep), 8)))
    kept = [re.sub(r"[!?()]", "", t).strip() for t, one in zip(nodes.strings, keep | found, strict=True) if one]
    assert " ".join(kept[1:-1]) == expected
