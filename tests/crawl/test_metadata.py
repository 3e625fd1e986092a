"""What a page tells of itself: fields of the feed, breadcrumbs that leave the text, and hostile input."""

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_pagelets.decision.site import Site
from scrapy_pagelets.feed.feed_schema import FEED
from scrapy_pagelets.metadata import dates
from scrapy_pagelets.metadata.headline import headline_of
from scrapy_pagelets.metadata.metadata import TOLD, Metadata, metadata_of
from scrapy_pagelets.page.page import Page
from scrapy_pagelets.page.structured_data import objects_of
from tests.crawling import answer, crawl, menu_site, run_spider
from tests.server import SiteServer

URL = "http://shop.example/a/b.html"
PARAGRAPH = "<p>" + "Here stands a paragraph with enough words to be no byline, because it goes on and on. " * 2
NOTHING = dict.fromkeys(TOLD) | {"tags": [], "breadcrumbs": []}


def page(text, url=URL):
    return Page.parse(text.encode("utf-8", "surrogatepass"), url)


def alone(one: Page) -> Metadata:
    """What a page tells whose site is not known."""
    return metadata_of(one, headline_of(one))


def told(text, url=URL):
    """The fields that a page tells."""
    fields = alone(page(text, url)).fields
    return {name: value for name, value in fields.items() if value not in (None, [])}


def script(value):
    return f'<script type="application/ld+json">{value if isinstance(value, str) else json.dumps(value)}</script>'


def article(text):
    """A page with a heading, what follows it, and a paragraph."""
    return f"<title>On tea | Shop</title><body><h1>On tea</h1>{text}{PARAGRAPH}"


ARTICLE = {
    "@type": ["NewsArticle"],
    "author": [{"@type": "Person", "name": "Ana &amp; Bo"}, "By Cy"],
    "datePublished": "2026-11-20T10:00:00.123Z",
    "dateModified": "Nov 21, 2026",
    "description": "All\u0007 about\n tea",
    "image": {"@type": "ImageObject", "url": "/tea.png"},
}


def test_the_fields_are_those_of_the_feed():
    assert set(TOLD) <= {field.name for field in FEED}
    assert alone(page("<p>nothing")).fields == NOTHING
    assert alone(page("")).fields == NOTHING


def test_json_ld_tells_all():
    assert told(script(ARTICLE) + article("")) == {
        "author": "Ana & Bo, Cy",
        "published": "2026-11-20T10:00:00+00:00",
        "modified": "2026-11-21",
        "description": "All about tea",
        "image": "http://shop.example/tea.png",
    }


@pytest.mark.parametrize(
    "text",
    [
        f"<!--{json.dumps(ARTICLE)}-->",
        f"//<![CDATA[\n{json.dumps(ARTICLE)}//]]>",
        json.dumps(ARTICLE) + ";",
        json.dumps(ARTICLE).replace("Ana", "A\nna"),
        json.dumps({"@graph": [{"@type": "WebSite"}, ARTICLE]}),
        json.dumps([[{"@type": "WebPage", "mainEntity": ARTICLE, "datePublished": "2001-01-01"}]]),
    ],
    ids="comment cdata semicolon line-feed graph main-entity".split(),
)
def test_json_ld_is_read_as_it_is_written(text):
    assert told(script(text))["published"] == "2026-11-20T10:00:00+00:00"


@pytest.mark.parametrize(
    ("keywords", "tags"),
    [
        ("Tea, green\n tea,, TEA", ["Tea", "green tea"]),
        (["Tea", {"@type": "DefinedTerm", "name": "Cups, small"}, 7, None, {"name": []}], ["Tea", "Cups, small"]),
        (["x" * 201, "Tea"], ["Tea"]),
        ([f"t{n}" for n in range(99)], [f"t{n}" for n in range(50)]),
        ({}, []),
    ],
)
def test_keywords_of_the_article_are_its_tags(keywords, tags):
    assert told(script(ARTICLE | {"keywords": keywords})).get("tags", []) == tags


def test_metas_name_a_tag_each_or_all_of_them():
    metas = "<meta property=article:tag content='{}'>"
    assert told(metas.format("Tea, Cups"))["tags"] == ["Tea", "Cups"]
    assert told(metas.format("Tea, green") + metas.format("Cups"))["tags"] == ["Tea, green", "Cups"]
    assert "tags" not in told("<meta name=keywords content='cheap tea, best tea'>")  # written for search engines


@pytest.mark.parametrize("entry", ["<div class='post hentry'>{}</div>", "<article>{}</article>"])
def test_links_in_the_entry_that_say_so_are_its_tags(entry):
    own = (
        "<a rel='category tag' href=/c/tea>Green Tea</a>, <a rel=tag href=/t># Uji</a> <a rel=tag href=/>green tea</a>"
    )
    others = "<div class=related-posts><a rel=tag href=/t/cups>Cups</a></div>"
    cloud = "<p><a rel=tag href=/t/pots>Pots</a>"
    text = f"<title>On tea</title>{entry.format(f'<h1>On tea</h1>{PARAGRAPH}<p>Tags: {own}{others}')}{cloud}"
    assert told(text)["tags"] == ["Green Tea", "Uji"]
    assert "tags" not in told(f"<title>On tea</title><h1>On tea</h1>{PARAGRAPH}{cloud}")


def test_links_in_the_one_list_of_the_tags_of_a_post_are_its_tags():
    tags = "<ul class=post-tags><li><a href=/t/tea>Green Tea</a><li><a href=/t/uji>Uji</a></ul>"
    assert told(article("") + tags)["tags"] == ["Green Tea", "Uji"]
    assert "tags" not in told(article("") + tags * 2)
    fields = "<div class='field field--name-field-tags field__items'><b>Tags</b> <a href=/t/tea>Green Tea</a></div>"
    assert told(article("") + fields)["tags"] == ["Green Tea"]  # Drupal
    product = f"<div class='product type-product'>{article('<a rel=tag href=/c>Cups</a>')}</div>"
    assert told(product)["tags"] == ["Cups"]


def test_an_author_may_be_elsewhere_in_the_graph():
    graph = {"@graph": [ARTICLE | {"author": {"@id": "#ana"}}, {"@id": "#ana", "@type": "Person", "name": "Ana"}]}
    assert told(script(graph))["author"] == "Ana"


def test_the_line_of_an_author_may_be_in_the_foot_of_a_post():
    foot = "<p class=entry-footer>Posted by Ana Bo on 4 March 2025 | <a href=/a>Permalink</a>"
    assert told(article(PARAGRAPH + foot)) == {"author": "Ana Bo", "published": "2025-03-04"}


def test_the_day_of_an_event_is_not_that_of_its_page():
    event = "<script type=application/ld+json>%s</script>"
    event %= json.dumps({"@type": "Event", "startDate": "2025-03-04T19:30"})
    assert "published" not in told(article("<p>Tue 4 March 2025, 7.30pm") + event)
    assert told(article("<p>1 March 2025<p>Tue 4 March 2025, 7.30pm") + event)["published"] == "2025-03-01"


def test_a_job_tells_when_it_was_posted():
    job = {"@type": "JobPosting", "datePosted": "2026-04-09"}
    assert told(script(job) + article(""))["published"] == "2026-04-09"
    assert "published" not in told(script({**job, "@type": "Event"}) + article(""))


def test_a_video_tells_of_the_page_that_is_called_like_it():
    video = {"@type": "VideoObject", "name": "On tea", "uploadDate": "2026-11-20", "author": {"name": "Ana Bo"}}
    assert told(script(video) + article("")) == {"author": "Ana Bo", "published": "2026-11-20"}
    assert told(script(video | {"name": "On pots"}) + article("")) == {}


def test_authors_have_a_meta_each():
    metas = "<meta name=citation_author content='Bo, Ana'><meta name=citation_author content='Roe, Tad'>"
    assert told(metas + article(""))["author"] == "Ana Bo, Tad Roe"


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["Bo, Ana", "van der Di, Cy M."], "Ana Bo, Cy M. van der Di"),
        (["Bo, Ana", "Tea Museum"], "Bo, Ana, Tea Museum"),
        (["Ana Bo, Cy Di"], "Ana Bo, Cy Di"),
    ],
)
def test_names_that_libraries_sort_are_told_as_they_are_spoken(names, expected):
    for meta in ("DC.creator", "eprints.creators_name"):
        assert told("".join(f"<meta name={meta} content='{name}'>" for name in names)) == {"author": expected}


def test_the_name_of_an_account_gives_way_to_that_of_its_user():
    text = article("<p>by <a href=/author/ana>Ana Bo</a>")
    assert told("<meta name=author content=ana>" + text)["author"] == "Ana Bo"
    assert told("<meta name=author content=cy>" + text)["author"] == "cy"
    assert told("<meta name=author content=ana>" + text.replace("/author", "/teas"))["author"] == "ana"


def test_json_ld_tells_which_part_of_a_name_is_that_of_the_family():
    name = {"@type": "Person", "name": "Bo, Ana", "familyName": "Bo", "givenName": "Ana"}
    assert told(script({"@type": "Dataset", "creator": [name]})) == {"author": "Ana Bo"}
    assert told(script({"@type": "Dataset", "creator": [name | {"name": "Ana, Bo"}]})) == {"author": "Ana, Bo"}


def test_a_month_is_told_if_no_day_is():
    month, day = "<meta name=citation_date content=2026-11>", "<meta name=dc.date content=2026-11-20>"
    assert told(month) == {"published": "2026-11"}
    assert told(month + day) == {"published": "2026-11-20"}
    assert told("<meta name=citation_date content=2026-13>") == {}


def test_reviews_and_entries_of_a_list_do_not_count():
    review = {"@type": "Review", "author": "Eve", "datePublished": "2020-01-01"}
    product = {"@type": "Product", "name": "Tea", "review": [review], "description": "Green"}
    assert told(script(product) + script(review)) == {"description": "Green"}
    assert told(script([ARTICLE | {"url": "/1"}, ARTICLE | {"url": "/2"}])) == {}
    one = ARTICLE | {"url": "http://shop.example/a/b.html?utm_source=x", "author": "Ana"}
    assert told(script([ARTICLE | {"url": "/1"}, one]))["author"] == "Ana"


VALUES: dict[tuple[str, str], list[Any]] = {
    ("WebSite", "@graph"): [None, 3, "x", [None, 3, "x", [[]]], {"@graph": {"@graph": {}}}],
    ("", "@type"): [None, 3, [], {}, [[]], {"x": 1}, ["Article", None]],
    ("Article", "author"): [0, True, {}, [[[["x"]]]], {"name": {"name": "x"}}, [None], {"@id": "#x"}, {"@id": [{}]}],
    ("Article", "datePublished"): [20261120, 1e308, ["", {}], "9999-99-99", "x" * 10**6],
    ("Article", "image"): [1, [[]], {"url": 3}, "http://[broken", "javascript:x()", {"@id": {}}],
    ("Article", "mainEntity"): [{"@id": "#a", "author": {"@id": "#a"}}],
    ("BreadcrumbList", "itemListElement"): [
        3,
        "x",
        {},
        [{}],
        [[[]]],
        {"name": 3},
        [{"position": "x"}, {"position": []}],
    ],
}
BROKEN = ["[" * 10**5, '{"a":' * 10**5, "{", "[]" * 10**4, "null", "1e999", "9" * 10**5, '"' * 1000, "\0", "\ud800"]
DEEP = '{"@type": "Article", "author": {"@id": ' + "[" * 900 + "]" * 900 + "}}"
HOSTILE = [
    *BROKEN,
    DEEP,
    *({"@type": kind, name: value} for (kind, name), values in VALUES.items() for value in values),
]


@pytest.mark.parametrize("value", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_json_ld_tells_nothing_and_hides_nothing(value):
    found = told(script(value) + '<link rel=canonical href="/c">' + article("<p>By Ana Bo"))
    assert found["canonical"] == "http://shop.example/c"
    assert found["author"] in ("Ana Bo", "x")
    assert found.keys() <= {"canonical", "author"}


def test_json_ld_of_ten_megabytes_is_not_read():
    blob = script([ARTICLE] * 40_000)
    assert len(blob) > 10_000_000
    assert objects_of(page(blob).declared["script"]) == []
    assert told(script(ARTICLE) + blob)["modified"] == "2026-11-21"
    assert len(objects_of(page(script([{}] * 50_000)).declared["script"])) == 1000


json_values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=9),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from([*ARTICLE, "@graph", "@id", "name", "item", "itemListElement"]), inner)
    ),
    max_leaves=20,
)


@given(
    json_values,
    st.sampled_from(["Article", "WebPage", "BreadcrumbList", "Product"]),
    st.sampled_from([*ARTICLE, "keywords", "@id", "url", "itemListElement", "mainEntity", "breadcrumb", "position"]),
)
def test_any_json_gives_strings_or_nothing(value, kind, name):
    fields = alone(page(script({"@type": kind, name: value}).replace("</", "<\\/"))).fields
    assert all(isinstance(each, str) for name in ("tags", "breadcrumbs") for each in fields.pop(name))
    assert all(each is None or (isinstance(each, str) and each.strip()) for each in fields.values())


def test_the_word_by_is_no_part_of_a_name():
    assert told("<meta name=author content='by Ana'>")["author"] == "Ana"
    assert told("<meta name=author content='Ana, photos by Bo'>")["author"] == "Ana, photos by Bo"


def test_metas_and_links_tell():
    head = (
        '<base href="http://cdn.example/x/"><meta name=Author content=" Ana \n Bo "><meta name=description content="">'
        '<meta property="og:description" content="Green&#27;[2J tea"><meta property=og:image content="tea.png">'
        '<meta property="article:published_time" content="2026-11-20"><meta name=last-modified content="never">'
        '<link rel="canonical" href="c.html">'
    )
    assert told(head) == {
        "author": "Ana Bo",
        "published": "2026-11-20",
        "canonical": "http://cdn.example/x/c.html",
        "description": "Green[2J tea",
        "image": "http://cdn.example/x/tea.png",
    }


@pytest.mark.parametrize("address", ["", "data:image/png;base64,AAAA", "http://[x", "ftp://h/x", "x" * 3000])
def test_addresses_that_are_not_of_the_web_are_not_told(address):
    assert told(f'<link rel=canonical href="{address}"><meta property="og:image" content="{address}">') == {}


def test_a_picture_that_keeps_the_place_of_another_is_not_told():
    pixel = '<meta property="og:image" content="/plugin/pixel.png">'
    assert "image" not in told(pixel)
    assert told(f"{pixel}<meta name=twitter:image content=/tea.png>")["image"] == "http://shop.example/tea.png"


def test_values_are_cut_off():
    found = told(f'<meta name=description content="{"x" * 10**6}"><meta name=author content="{"y" * 10**6}">')
    assert (len(found["description"]), len(found["author"])) == (5000, 200)


POST = '<div itemscope itemtype="http://schema.org/BlogPosting"><a itemprop=url href=/1>1</a>{}</div>'
AUTHOR = "<i itemprop=author itemscope itemtype='http://schema.org/Person'><b itemprop=name>Ana</b>, editor</i>"


def test_microdata_tells_of_the_one_work():
    comment = "<p itemprop=comment itemscope itemtype='http://schema.org/Comment'><i itemprop=author>Eve</i>"
    one = POST.format(f"{AUTHOR}<meta itemprop=datePublished content=2026-11-20>{comment}")
    assert told(one) == {"author": "Ana", "published": "2026-11-20"}
    assert told(one * 2) == {}
    assert told("<time itemprop=dateModified datetime=2026-11-20>yesterday</time>") == {"modified": "2026-11-20"}
    assert told("<b itemscope>" * 500 + one) == told(one)


STAMP = "2026-11-20T10:00:00+00:00"


@pytest.mark.parametrize(
    ("byline", "expected"),
    [
        ("<p>By Ana Bo, 20 November 2026", {"author": "Ana Bo", "published": "2026-11-20"}),
        ("<p>Submitted by ana on Fri, 20/11/2026 - 11:37", {"author": "ana", "published": "2026-11-20"}),
        ("<p>By Ana Bo, born 20 November 1926", {}),
        ("<p>By 20 November 2026", {}),
        ("<p><a href=/topics>By topic</a> <a href=/n>By name</a>", {}),
        ("<p>By Ana Bo (reprinted from the Post)", {"author": "Ana Bo"}),
        ("<p>By Ana (Cy) Bo", {"author": "Ana (Cy) Bo"}),
        ("<p class=vcard><a class='fn n' rel=me href=/ana>View Profile</a>", {}),
        ("<ul><li><a href=?sort=date>By date</a><li><a href=?sort=score>By review score</a></ul>", {}),
        ("<p>By Ana Bo<p>20 November 2026", {"author": "Ana Bo", "published": "2026-11-20"}),
        ("<p>Published: <b>Nov. 20th, 2026</b> at 10:15", {"published": "2026-11-20"}),
        ("<p>Updated: <b>20.11.2026</b>", {"modified": "2026-11-20"}),
        ("<dl><dt>Created on<dd>4 May 2019<dt>Posted on<dd>20 November 2026</dl>", {"published": "2026-11-20"}),
        ("<dl><dt>Created on<dd>20 November 2026</dl>", {"published": "2026-11-20"}),
        ("<p>نُشر في 20 نوفمبر 2026", {"published": "2026-11-20"}),
        ("<p>آخر تحديث: 20 نوفمبر 2026", {"modified": "2026-11-20"}),
        ("<p>Publicado el 20 de noviembre de 2026", {"published": "2026-11-20"}),
        ("<p>2026年11月20日 <p>作者：王明", {"published": "2026-11-20", "author": "王明"}),
        ("<time datetime='2026-11-20T10:00Z'>today</time>", {"published": "2026-11-20T10:00:00+00:00"}),
        ("<p>Written by <a rel=author href=/ana>Ana Bo</a>", {"author": "Ana Bo"}),
        ("<p class=post-author>ana", {"author": "ana"}),
        ("<h3>Written by Ana Bo</h3>", {"author": "Ana Bo"}),
        ("<p>By default three cups are made", {}),
        ("<p>by Ana Bo<p>by Cy Di", {}),
        ("<p>03/04/2026", {}),
        ("<p>The fair of 20 November 2026", {}),
        ("<p>By 2027", {}),
        ("<p>by ana@example.com", {}),
        (PARAGRAPH + "<p>By Ana Bo<p>20 November 2026", {}),
        ("<h2><a href=/1>First</a></h2><p>By Ana Bo<p>20 November 2026", {}),
        ("<p>20 November 2026<h2><a href=/1>First</a></h2>", {}),
        ("<p>Posted on 20 November 2026 by Ana Bo", {"author": "Ana Bo", "published": "2026-11-20"}),
        ("<p>By Unknown", {}),
        ("<p>20 November 2026 - 21 November 2026", {}),
        ("<p>Posted on <time class=updated datetime=2026-11-20>today</time>", {"published": "2026-11-20"}),
        ("<p>Vložil/a <a href=/ana>Ana Bo</a>, 20 Listopad, 2026", {"author": "Ana Bo", "published": "2026-11-20"}),
        (
            "<b>Ana</b> <a href=mailto:a@b.c>a at b.c</a> <i>20 Nov 2026</i>",
            {"author": "Ana", "published": "2026-11-20"},
        ),
        ("<b>Ana</b> <a href=mailto:a@b.c>a at b.c</a> <i>Tea maker</i>", {}),
        ("<b>Start:</b> 20 November 2026 <b>End:</b> 21 November 2026", {}),
        ("<b>Erstellt:</b> 20. November 2026 <b>Kanne:</b> grün", {"published": "2026-11-20"}),
        ("<p>Posted by Ana Bo on 20 Nov 97", {"author": "Ana Bo", "published": "1997-11-20"}),
        (
            "<p>Publié le 20 novembre 2026 à 10h30, par <a href=/a>Ana Bo</a>",
            {"author": "Ana Bo", "published": "2026-11-20"},
        ),
        ("<p>Based on a theme by <a href=/c>Cy Di</a>", {}),
        ("<p>Stand: 20.11.2026, 13:30 Uhr", {"modified": "2026-11-20"}),
        ("<p>于 2026-11-20 11:23:00 发布", {"published": "2026-11-20"}),
        (  # of two names, the one behind "by"; "on" belongs to the change
            "<p>Created by <a class=fn>Ana Bo</a>, last modified by <a class=fn>Cy Di</a> on <a>Nov 20, 2026</a>",
            {"author": "Ana Bo", "modified": "2026-11-20"},
        ),
        ("<h3>All about tea</h3><p>Nov 20, 2026", {"published": "2026-11-20"}),
        ("<h3>All about tea</h3><p>Nov 20, 2026</p><h3>All about pots</h3>", {}),
        (  # of an entry, not of the list
            "<ul><li>Nov 20, 2026 <a href=/1>We have new tea</a><li>Nov 19, 2026 <a href=/2>We have new pots</a></ul>",
            {},
        ),
        ("<ul><li>Nov 20, 2026<li><a href=/topics>All about tea</a></ul>", {"published": "2026-11-20"}),
        ("<p class=vcard><b class='fn org'>On tea</b>", {}),
        (  # who did something on a day, the page of a user, an age whose moment stands around it
            "<p><a href=/ana>ana</a> released this <relative-time datetime=2026-11-20>soon</relative-time>",
            {"author": "ana", "published": "2026-11-20"},
        ),
        ("<p><a href=/ana>More</a> of this on 20 November 2026", {}),
        ("<p><a href=/u/ana><b>@ana</b>@tea.example</a> to <a href=/c/teas>Teas</a>", {"author": "ana"}),
        ("<p><a href=/u/ana>ana</a> and <a href=/u/bo>bo</a>", {}),
        ("<p><i title='2026-11-20T10:00:00 1795'><a>2 months ago</a></i>", {"published": "2026-11-20T10:00:00"}),
        # labels, wherever they stand
        (
            PARAGRAPH + "<aside><b>Author:</b> <a href=/a>Ana Bo</a> <b>Posted on</b> <a href=/d>20 November 2026</a>",
            {"author": "Ana Bo", "published": "2026-11-20"},
        ),
        (PARAGRAPH + "<h2>More</h2><p>Opened <a title='Since 2026-11-20T10:00Z'>long ago</a>", {"published": STAMP}),
        (PARAGRAPH + "<p><b>Released:</b> <time datetime=2026-11-20T10:00Z></time>", {"published": STAMP}),
        (PARAGRAPH + "<div class=infobox><b>Author:</b> <i>Ana Bo</i> <b>Published</b> <i>20 May 2026</i></div>", {}),
        (PARAGRAPH + "<p><b>Author:</b> <i>Ana Bo</i><p><b>Author:</b> <i>Cy Di</i>", {}),
        (PARAGRAPH + "<div class=hentry>Posted on <time datetime=2026-11-20>then</time></div>", {}),
        (PARAGRAPH + "<p><b>submitted on</b> <time datetime=2026-11-20T10:00Z>then</time>", {"published": STAMP}),
        (PARAGRAPH + "<p><b>Opened</b> <i>24 May 1883</i>", {}),
        (PARAGRAPH + "<table><tr><td><b>Author</b><td><b>Topic of Tea</b></table>", {}),
        (PARAGRAPH + "<table><tr><th>Author<td><a href=/a>Ana Bo</a></table>", {"author": "Ana Bo"}),
        (PARAGRAPH + "<dl><dt>Reporter:<dd><b>Ana Bo</b></dl>", {"author": "Ana Bo"}),
        (PARAGRAPH + "<b>Authored by</b> <a href=/a>Ana Bo</a>", {"author": "Ana Bo"}),
        (
            PARAGRAPH + "<dl><dt>Updated:<dd><i>2026-11-21</i><dt>Created:<dd><i>2026-11-20</i></dl>",
            {"published": "2026-11-20", "modified": "2026-11-21"},
        ),
        ("<ul><li><time datetime=2026-11-20>then</time><li>Updated</ul>", {"modified": "2026-11-20"}),
        (
            "<ul><li>20 November 2026<li>Updated<li>21 November 2026</ul>",
            {"published": "2026-11-20", "modified": "2026-11-21"},
        ),
        ("<p>20 November 2026 <b>Updated</b> <i>long ago</i>", {"published": "2026-11-20"}),
        (PARAGRAPH + "<p><b>Updated:</b> <i>2026-11-21</i><p><b>Updated:</b> <i>2026-11-22</i>", {}),
        (
            "<p>20 novembre 2026 (modifica il 21 novembre 2026 | 10:12)",
            {"published": "2026-11-20", "modified": "2026-11-21"},
        ),
        (  # of two users, the one behind "by"
            "<p>Bug 7 reported by <a href=/~ana>Ana Bo</a> on <i>2026-11-20</i><p>Assigned to <a href=/~cy>Cy Di</a>",
            {"author": "Ana Bo", "published": "2026-11-20"},
        ),
        ("<p>Reported to <a href=/~ana>Ana Bo</a><p>Assigned to <a href=/~cy>Cy Di</a>", {}),
        ("<b class=UserName>佐山美奈</b> <i>2026年11月20日</i>", {"author": "佐山美奈", "published": "2026-11-20"}),
        (
            "<p>Posted by <a href=/u>Ana Bo</a> on Nov 20, 2026 in <a>Tea</a>",
            {"author": "Ana Bo", "published": "2026-11-20"},
        ),
        ("<p class=author><a href=/a>Ana Bo</a> und Cy Di", {"author": "Ana Bo, Cy Di"}),
        ("<p class=author><a href=/a>Ana Bo</a> und viele andere", {"author": "Ana Bo"}),
        (
            "<div class=blog-author><article><div><h5><a href=/a><b>Ana Bo</b></a></h5></div></article></div>"
            "<div>20 November 2026</div>",
            {"author": "Ana Bo", "published": "2026-11-20"},
        ),
        ("<div><h5><a href=/a>Ana Bo</a></h5></div><div>20 November 2026</div>", {}),
        (
            "<i>20 November 2026</i> <b>0 comments</b> <b class=user><b>admin</b></b>",
            {"author": "admin", "published": "2026-11-20"},
        ),
        ("<i>20 November 2026</i> <b class=user>Sign in</b>", {"published": "2026-11-20"}),
        ("<a class=the-author href=/a><b>Ana Bo</b> <i>(editor of teas)</i></a>", {"author": "Ana Bo"}),
        (PARAGRAPH + "<p><b>Author:</b> <a href=/a>Bo, Ana, 1842-1912</a>", {"author": "Ana Bo"}),
        (PARAGRAPH + "<p><b>Author:</b> <a href=/a>Bo, Ana, of 1842</a>", {"author": "Bo, Ana, of 1842"}),
        (PARAGRAPH + "<h3>Author</h3><p>Written by Ana Bo (<code>ana</code>)", {"author": "Ana Bo"}),
        # no label is a link, code, or the head of a column; where users log in or show their posts is no home of one
        (PARAGRAPH + "<ul><li><a href=#authors>AUTHORS</a></ul><h2>Synopsis</h2>", {}),
        (PARAGRAPH + "<dl><dt><code>author</code><dd>Your name</dl>", {}),
        (PARAGRAPH + "<pre><b>Authors</b><i>:</i> <b>Ana</b> <b>Bo</b></pre>", {}),
        (PARAGRAPH + "<table><tr><th class=a>Author<th class=b>Cups<tr><td>1<td>2</table>", {}),
        ("<h3 class=author><span>Ana</span> <span>Bo</span></h3>", {"author": "Ana Bo"}),
        ("<p class=author><a href=/a>Ana</a> <a href=/b>Bo</a>", {}),
        (f"<p>4 March 2025{PARAGRAPH}<p class=byline>By Ana Bo", {"author": "Ana Bo", "published": "2025-03-04"}),
        ("<p>4 March 2025 | Filed under: <a href=/c>Teas</a> and tagged with: <a>Uji</a>", {"published": "2025-03-04"}),
        (
            "<p>Last updated <a href=/h>4 March 2025</a> by <a href=/a class=author>Ana Bo</a>",
            {"modified": "2025-03-04"},
        ),
        ("<p><label class=username>Username:</label> <input>", {}),
        ("<p><a href=/user/login>Log on</a> to answer", {}),
        ("<p><a href=/user/register.html>Join us</a> <a href=/profile/ana/topics/>Topics Started</a>", {}),
    ],
)
def test_bylines_near_the_heading_tell(byline, expected):
    assert told(article(byline)) == expected


def test_who_opened_a_report_may_stand_before_its_heading():
    opened = (
        "<title>On tea</title><body><p>Opened <time datetime=2026-11-20>then</time> {}<a>Ana Bo</a></p><h1>On tea</h1>"
    )
    assert told(opened.format("by ") + PARAGRAPH) == {"author": "Ana Bo", "published": "2026-11-20"}
    assert told(opened.format("for ") + PARAGRAPH) == {"published": "2026-11-20"}


def test_a_byline_in_the_heading_is_none_of_it():
    one = page(f"<title>On tea - Shop</title><h1>On tea <i>by <a href=/ana>Ana Bo</a></i></h1>{PARAGRAPH}")
    own = headline_of(one)
    assert own is not None
    assert own.text == "On tea"
    assert metadata_of(one, own).fields["author"] == "Ana Bo"
    named = page(f"<title>Tea by the sea - Shop</title><h1>Tea <i>by the sea</i></h1>{PARAGRAPH}")
    found = headline_of(named)
    assert found is not None
    assert found.text == "Tea by the sea"


@pytest.mark.parametrize(
    ("title", "heading", "text", "published"),
    [
        ("On tea", "On tea <small>4 May 2026</small>", "On tea", "2026-05-04"),
        ("Tea of 2026", "Tea <i>of 2026</i>", "Tea of 2026", None),
        ("Day", "Day: <i>4 May 2026</i>", "Day: 4 May 2026", None),
    ],
)
def test_a_date_in_the_heading_is_none_of_it(title, heading, text, published):
    one = page(f"<title>{title} | Shop</title><h1>{heading}</h1>{PARAGRAPH}")
    own = headline_of(one)
    assert (own and own.text) == text
    assert metadata_of(one, own).fields["published"] == published


@pytest.mark.parametrize(
    "line",
    [
        "<p>Published on 2026-11-20 &mdash; Modified on 2026-11-25",
        "<p>Updated 2026-11-25, first published 2026-11-20",
        "<p>20 November 2026 published, 25 November 2026 updated",
        "<p>20 November 2026 (updated 25 November 2026)",
        "<p>Veröffentlicht am 20. November 2026, zuletzt aktualisiert am 25. November 2026",
        "<p>Publié le 20 novembre 2026, mis à jour le 25 novembre 2026 à 10:00",
        "<p>Published <time datetime=2026-11-20>x</time> · Updated <time datetime=2026-11-25>y</time>",
        "<p><time class=updated datetime=2026-11-25>x</time> <time class=published datetime=2026-11-20>y</time>",
        "<table><tr><th>Published<th>Updated<tr><td>20 November 2026<td>25 November 2026</table>",
        "<table><tr><th>Updated<th>Published<tr><td>25 November 2026<td>20 November 2026</table>",
    ],
)
def test_two_dates_in_a_line_are_told_apart(line):
    assert told(article(line)) == {"published": "2026-11-20", "modified": "2026-11-25"}


@pytest.mark.parametrize(
    ("language", "others", "expected"),
    [
        ("en", "25/12/2025", "2026-04-03"),
        ("en", "12/25/2025", "2026-03-04"),
        ("fr", "12/25/2025", "2026-03-04"),
        ("en", "12/25/2025 and 25/12/2025", None),
        ("en-GB", "", "2026-04-03"),
        ("en-US", "", None),
        ("fr", "", "2026-04-03"),
    ],
)
def test_other_dates_of_the_page_prove_the_order_of_day_and_month(language, others, expected):
    text = f"<html lang={language}>" + article("<p>03/04/2026") + f"<footer>{others}</footer>"
    assert told(text).get("published") == expected


def test_the_pages_of_a_site_prove_the_order_of_dates_and_show_which_picture_is_of_all():
    site = Site("shop.example")
    head = '<meta property="og:image" content="/logo.png">'
    pages = [page(head + article(f"<p>{day}/04/2026 {day}"), f"{URL}?{day}") for day in range(13, 21)]
    own = page(head.replace("logo", "own") + article("<p>03/04/2026"), f"{URL}?own")
    for one in (*pages, own):
        site.learn(one)
    fields = [metadata_of(one, headline_of(one), site.habits(one)).fields for one in (pages[0], own)]
    assert [each["image"] for each in fields] == [None, "http://shop.example/own.png"]
    assert fields[1]["published"] == "2026-04-03"
    assert alone(own).fields["published"] is None


FOOT = (
    "<p>Posted by <span class='post-author vcard'><span class=fn>Ana Bo</span></span> at "
    "<abbr class=published title='2026-11-20T10:00:00+01:00'>10:00</abbr>"
)


def test_an_entry_tells_below_its_content():
    """Blogger ends a post with its author and time."""
    entry = "<div class='post hentry'><h3 class=entry-title>On tea</h3>{}{}</div>"
    one = "<title>On tea</title>" + entry.format(PARAGRAPH * 3, FOOT)
    assert told(one) == {"author": "Ana Bo", "published": "2026-11-20T10:00:00+01:00"}
    changed = FOOT + "<time class=updated datetime=2026-11-21>then</time>"
    assert told("<title>On tea</title>" + entry.format(PARAGRAPH * 3, changed))["modified"] == "2026-11-21"
    comment = (
        "<div class=comments><div class=comment><b class=fn>Eve</b> <i class=published>21 May 2027</i></div></div>"
    )
    assert told(one.replace("<p>Posted", comment + "<p>Posted")) == told(one)
    assert told("<title>Blog</title><h1>Blog</h1>" + entry.format(PARAGRAPH * 3, FOOT) * 2) == {}
    assert told("<title>Tag | Blog</title><h1>Tag</h1>" + PARAGRAPH + entry.format(PARAGRAPH * 3, FOOT)) == {}


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ('<http://a.example/real>; rel="canonical"', "http://a.example/real"),
        ('</style.css>; rel=preload, </real>; title="a, b"; rel=canonical', "http://shop.example/real"),
        ('</real>; rel=canonical; anchor="/other"', None),
        ("<" * 10_000 + ">" * 10_000, None),
        ('<a>;"' * 5000, None),
    ],
)
def test_the_http_header_tells_the_canonical_address(header, expected):
    assert alone(Page.parse(b"<p>Tea", URL, link_header=header)).fields["canonical"] == expected
    declared = Page.parse(b"<link rel=canonical href=/c><p>Tea", URL, link_header=header)
    assert alone(declared).fields["canonical"] == "http://shop.example/c"


def test_a_page_without_a_heading_of_its_own_has_no_byline():
    """What stands below the name of the site is that of a list: the last post of a forum, say."""
    one = page("<title>Forums | Tea</title><h1>Tea</h1><p>6 days ago <br>by <a href=/ana>Ana Bo</a>")
    assert alone(one).fields["author"] == "Ana Bo"
    assert metadata_of(one, None).fields == NOTHING


LINE = "<p class=submitted>By <a href=/ana>Ana Bo</a>, 20 November 2026</p>"


@pytest.mark.parametrize(
    ("text", "is_told"),
    [
        (PARAGRAPH + LINE, True),
        (PARAGRAPH + LINE + LINE, False),
        (f"{PARAGRAPH}<h2>More</h2>{LINE}", False),
        (f"{PARAGRAPH}<div class=comment>{LINE}</div>", False),
    ],
)
def test_the_one_line_that_is_called_a_byline_may_be_below_a_notice(text, is_told):
    expected = {"author": "Ana Bo", "published": "2026-11-20"} if is_told else {}
    assert told(article(text)) == expected


@pytest.mark.parametrize(
    ("address", "badge", "expected"),
    [
        ("2026/11/20/tea", "<b>20</b> <b>November</b>", "2026-11-20"),
        ("2026/11/20/tea", "<b>Nov 20</b>", "2026-11-20"),
        ("2026/11/20/tea", "<b>21</b> <b>November</b>", None),
        ("2026/11/20/tea", "", None),
        ("2026/11/20/", "<b>20</b> <b>November</b>", None),
        ("tea", "<b>20</b> <b>November</b>", None),
    ],
)
def test_the_address_completes_a_date_without_a_year(address, badge, expected):
    assert told(article(badge), f"http://shop.example/{address}").get("published") == expected


def test_a_footer_tells_of_the_last_change():
    assert told(article("") + "<p>Last modified 20 Nov 98 by ana")["modified"] == "1998-11-20"
    assert "modified" not in told(article("") + "<p>Last modified 20 Nov 26 by ana")
    assert told(article("") + "<p>tea.txt<br>· Last modified: 2026/11/20 by <b>ana</b>")["modified"] == "2026-11-20"
    assert told(article("") + "<footer>Last updated on Nov 20, 2026.")["modified"] == "2026-11-20"
    assert told(article("") + "<footer>Last updated on 11/20/26.")["modified"] == "2026-11-20"
    assert "modified" not in told(article("") + "<footer>Last updated on 11/12/26.")
    assert told(article("") + "<p>Last modified: <b>2026-11-20</b>")["modified"] == "2026-11-20"
    assert (
        told(article("") + "<p>Last updated<!-- --> on <b><time datetime=2026-11-20>then")["modified"] == "2026-11-20"
    )
    assert told(article("") + "<p>Last updated: <time datetime=2026-11-20></time><p>End")["modified"] == "2026-11-20"
    assert told(article("") + "<p>Last edited <b>Fri Nov 20 20:23:50 2026</b>")["modified"] == "2026-11-20"
    assert told(article("") + "<p>Last updated Nov 20, 2026<p>Last updated Nov 21, 2026") == {}
    assert told(f"{PARAGRAPH}<p>Last edited: Nov 20, 2026") == {}  # a post of a thread
    assert told(article("") + "<p>Teas/Green (last edited 2026-11-20 10:00 by ana)")["modified"] == "2026-11-20"
    assert told(article("") + "<address>By ana. Last updated: Nov 20, 2026")["modified"] == "2026-11-20"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-11-20 10:00", "2026-11-20T10:00:00"),
        ("2026-11-20T10:00:00+0100", "2026-11-20T10:00:00+01:00"),
        ("Tue Apr 8 14:36:25 CEST 2008", "2008-04-08"),
        ("12.18.2025", "2025-12-18"),
        ("1 İan 2026", None),
        ("30 February 2026", None),
        ("1970-01-01T00:00:00Z", None),
        ("0001-01-01", None),
        ("20261120", "2026-11-20"),
        ("2026", None),
        ("١٢/٣١/٢٠٢٥" * 9, None),
        ("9" * 90, None),
    ],
)
def test_dates(text, expected):
    assert dates.iso(text) == expected


@given(st.text(max_size=99) | st.text("0123456789-/.T:+Z mayſ,", max_size=40))
def test_any_text_is_a_date_or_none(text):
    found = dates.iso(text)
    assert found is None or found == dates.iso(found)


CRUMBS = "<{0}><a href=/>Home</a> › <a href=/a/>Teas</a> › <span>On tea</span></{1}>"
NAMES = ["Home", "Teas", "On tea"]
LIST = {
    "@type": "BreadcrumbList",
    "itemListElement": [
        {"@type": "ListItem", "position": 3 - number, "item": {"name": name}} for number, name in enumerate(NAMES[::-1])
    ],
}


@pytest.mark.parametrize(
    "tag",
    [
        "nav aria-label=Breadcrumb",
        "div itemscope itemtype='https://schema.org/BreadcrumbList'",
        "div itemscope itemtype='http://data-vocabulary.org/Breadcrumb'",
        "ol aria-label='breadcrumbs'",
        "div class='page-breadcrumbs'",
        "p id=bread-crumb",
        "div class=crumbs",
    ],
)
def test_breadcrumbs_that_are_shown(tag):
    one = page(CRUMBS.format(tag, tag.split()[0]) + article(""))
    found = alone(one)
    assert found.fields["breadcrumbs"] == NAMES
    assert [one.nodes.strings[leaf] for leaf in np.flatnonzero(found.trail)] == ["Home", "›", "Teas", "›", "On tea"]


def test_each_name_of_a_trail_may_have_a_type():
    """As Google wanted it before schema.org had one."""
    item = "<b itemscope itemtype='http://data-vocabulary.org/Breadcrumb'><a href={}><i itemprop=title>{}</i></a></b>"
    trail = f"<div>{item.format('/', 'Home')} | {item.format('/a/', 'Teas')} | <b>On tea</b></div>"
    assert told(trail + article(""))["breadcrumbs"] == NAMES


def test_a_class_alone_does_not_take_out_the_only_heading_of_a_page():
    one = page(CRUMBS.format("div class=crumbs", "div") + PARAGRAPH)
    assert alone(one).fields["breadcrumbs"] == NAMES
    assert not alone(one).trail.any()


def test_back_and_search_are_no_breadcrumbs():
    links = "<ul class=breadcrumbs><li><a href=/>Home</a><li><a href=/s>Search</a></ul>"
    assert told(links + article(""))["breadcrumbs"] == ["Home"]
    assert told(links.replace("Search", "View page source") + article(""))["breadcrumbs"] == ["Home"]
    titled = f"<div id=breadCrumb><h2>You are here:</h2>{links}</div>".replace("class=breadcrumbs", "")
    assert told(titled + article(""))["breadcrumbs"] == ["Home"]
    assert "breadcrumbs" not in told(titled.replace("You are here:", "Our teas") + article(""))
    assert told(links.replace("<li>", "<li>Aktuelle Seite:\xa0<li>", 1) + article(""))["breadcrumbs"] == ["Home"]
    assert "breadcrumbs" not in told("<div class=breadcrumb><a href=/>« Back to our teas</a></div>" + article(""))


def test_a_way_back_before_a_trail_is_none_of_it():
    trail = (
        "<ol class=breadcrumb><li><a href=/teas>{}</a><li><a href=/>Home</a><li><a href=/teas>Teas</a></ol><h1>Tea</h1>"
    )
    assert alone(page(trail.format("Teas"))).fields["breadcrumbs"] == ["Home", "Teas"]
    assert alone(page(trail.format("Shop"))).fields["breadcrumbs"] == ["Shop", "Home", "Teas"]


def test_links_to_the_pages_before_and_after_are_no_breadcrumbs():
    trail = "<ul><li><a href=/>Home</a><li><a href=/a/>Teas</a></ul>"
    around = "<div id=breadcrumbs><div><div><a href=b>On pots »</a></div>{}</div></div>"
    assert told(around.format(trail) + article(""))["breadcrumbs"] == NAMES[:2]
    assert told(around.format("<ul></ul>") + article(""))["breadcrumbs"] == ["On pots"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<p><a href=/>Home</a> -&gt; <a href=/a/>Teas</a> -&gt; On tea", NAMES),
        ("<p><a href=/>Home</a> <i>»</i> <a href=/a/>Teas</a> <i>»</i> <i>On tea</i>", NAMES),
        ("<p><a href=/>Home</a> / <a href=/a/>Teas</a> / On tea", NAMES),
        ("<p><a href=/>Home</a> › <a href=/a/>Teas</a><br><i>On tea</i>", NAMES),
        ("<ul><li><a href=/>Home</a> »<li><a href=/a/>Teas</a> »<li><a href=/b>On tea</a></ul>", NAMES),
        ("<p><a href=/>Home</a> / <a href=/c/>Teas</a> <i> / </i>", NAMES[:2]),
        ("<p><a href=/>Home</a> | <a href=/a/>Teas</a> | On tea", None),
        ("<p><a href=/>Home</a> -&gt; <a href=/a/>Teas</a> -&gt; On pots", NAMES[:2]),  # another name of it
        ("<p><a href=/>Home</a> -&gt; On tea", None),
        ("<p>Home -&gt; Teas -&gt; On tea", None),
    ],
)
def test_arrows_that_lead_to_the_heading_are_a_trail_without_a_name(text, expected):
    one = page(text + article(""))
    assert alone(one).fields["breadcrumbs"] == (expected or [])
    assert alone(one).trail.any() == bool(expected)


def test_breadcrumbs_of_json_ld_are_found_in_the_text():
    one = page(script({"@type": "WebPage", "breadcrumb": LIST}) + CRUMBS.format("div", "div") + article(""))
    found = alone(one)
    assert found.fields["breadcrumbs"] == NAMES
    assert found.trail.tolist() == [True] * 5 + [False] * (len(found.trail) - 5)


@pytest.mark.parametrize(
    "text",
    [
        f"<nav aria-label=breadcrumb><h1>On tea</h1><a href=/>Home</a></nav>{PARAGRAPH}",
        f"<nav aria-label=breadcrumb><a href=/>Home</a>{PARAGRAPH * 5}</nav>",
        "<nav aria-label=breadcrumb>Home</nav>",
        f"<main class=breadcrumb><a href=/>Home</a> › Tea</main>{PARAGRAPH}",
        "<p class=crumble><a href=/>Apple</a> and pear",
        script({"@type": "BreadcrumbList", "itemListElement": [{"name": "Home"}]}) + "<p>Home",
    ],
)
def test_what_is_no_trail_stays(text):
    assert not alone(page(text)).trail.any()


def test_odd_pages_take_no_time_and_raise_nothing():
    many = "<h1>Tea</h1><nav aria-label=breadcrumb><a href=/>Tea</a></nav>" * 3000
    names = [{"name": "Tea"}] * 15
    found = alone(page(script({"@type": "BreadcrumbList", "itemListElement": names}) + many + "<title>Tea"))
    assert found.fields["breadcrumbs"] == ["Tea"] * 15
    works = "<p itemscope itemtype=http://schema.org/Article><i itemprop=author>Ana</i></p>" * 2000
    assert told(works) == {}
    assert told(f"<body itemprop=author>{'<b>Ana</b> ' * 50_000}")["author"].startswith("Ana Ana")
    assert told(article("<p>" + "am" * 60 + " 20 November 2026 x")) == {}
    deep = "<div itemscope itemtype=http://schema.org/Article>" * 1500 + "<i itemprop=author>Ana</i>"
    assert told(deep) == {"author": "Ana"}
    assert told("<meta name=author content=x>" * 5000) == {"author": "x"}
    for hostile in (
        "Bo," + " " * 100_000 + "1842",
        "a " * 50_000 + ",",
        "/~a" * 50_000,
        "and " * 50_000,
        "by " * 50_000,
    ):
        told(
            f"<meta name=DC.creator content='{hostile}'>"
            + article(f"<p class=author>{hostile}<a href='{hostile}'>Bo</a>")
        )
        told(
            article(
                f"<dl><dt>Author:<dd><pre>{hostile}</pre></dl><h1>On tea <b class='{hostile}'>{hostile} 2026</b></h1>"
            )
        )


HEAD = '<link rel=canonical href="/c"><meta name=author content="Ana Bo">'


def tea(name):
    trail = f'<nav aria-label=breadcrumb><a href="/">Home</a> › {name} trail</nav>'
    return answer(f"<title>{name}</title>{HEAD}{trail}<h1>{name}</h1><p>" + f"{name}word " * 60)


def test_a_crawl_writes_what_pages_tell(tmp_path):
    with SiteServer(routes={"/": tea("one")}) as server:
        [line] = crawl(tmp_path, "site", url=server.url("")).lines
        assert line["canonical"] == server.url("c")
    assert (line["author"], line["breadcrumbs"], line["published"]) == ("Ana Bo", ["Home", "one trail"], None)
    assert "trail" not in line["text"]
    assert "trail" not in " ".join(pagelet["text"] for pagelet in line["pagelets"])


def test_the_values_of_a_spider_stay_and_types_without_the_fields_pass(tmp_path):
    source = """
    import dataclasses

    @dataclasses.dataclass
    class Typed:
        url: str = None
        title: str = None
        language: str = None
        fetched_at: str = None
        text: str = None
        pagelets: list = None
        template: dict = None
        near_duplicate_of: str = None
        similarity: float = None
        sketch: str = None
        author: str = None

    class Spider(scrapy.Spider):
        name = "stranger"
        async def start(self):
            yield Request(self.base)
        def parse(self, response):
            yield {"author": "Eve"}
            yield Typed()
    """
    with SiteServer(routes=menu_site("two") | {"/": tea("one")}) as server:
        found = run_spider(tmp_path, source, base=server.url(""))
    mine, typed = sorted(found.lines, key=lambda line: line["author"], reverse=True)
    assert (mine["author"], mine["breadcrumbs"]) == ("Eve", ["Home", "one trail"])
    assert (typed["author"], "canonical" in typed) == ("Ana Bo", False)
    assert found.stat("fields/missing") == 0
    assert not [warning for warning in found.warnings if warning.startswith("Field")]
