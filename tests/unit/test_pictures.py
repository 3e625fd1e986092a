"""Pictures and players of the content: those that a script loads late, small copies, avatars, and what repeats."""

import numpy as np
import pytest

from scrapy_pagelets.decision.site import Site
from scrapy_pagelets.document.builder import document_of
from scrapy_pagelets.document.chunking import chunk_records, chunks_of
from scrapy_pagelets.document.markdown import markdown, markdown_of
from scrapy_pagelets.document.pictures import shown_with
from scrapy_pagelets.page.page import Page
from tests.trees import every

URL = "http://example.com/a/"
INLINE = "data:image/gif;base64,R0"
P = "![](http://example.com/p.jpg)"


def written(html):
    found = Page.parse(html.encode(), URL)
    return markdown_of(document_of(found, every(found)))


def pictures(html):
    return written(f"<p>text {html} text").removeprefix("text").removesuffix("text").strip()


def test_an_alternative_text_has_no_markup():
    assert pictures("<img src=/p.jpg alt='<span class=Title>Pots</span><br>of List<String>'>") == P.replace(
        "[]", "[Pots of List\\<String>]"
    )


@pytest.mark.parametrize(
    "name",
    [
        "data-src", "data-original", "data-lazy-src", "data-lazy", "data-lazyload", "data-actualsrc", "data-cfsrc",
        "data-ezsrc", "nitro-lazy-src", "data-pagespeed-lazy-src", "data-srv", "data-image", "data-url",
        "data-src-retina", "data-orig-file", "data-some-new-src", "data-big-img",
    ],
)  # fmt: skip
def test_a_late_picture_has_the_address_that_its_script_loads(name):
    assert pictures(f"<img src='{INLINE}' {name}=/p.jpg>") == P
    assert pictures(f"<img {name}=/p.jpg>") == P
    assert pictures(f"<img src=/img/spacer.gif?x {name}=/p.jpg>") == P


@pytest.mark.parametrize(
    ("html", "shown"),
    [
        ("<img src=/small.jpg data-src=/p.jpg>", P),
        ('<img src=/p.jpg data-image=/zoom.jpg data-lazy=true data-src=\'{"a": "/b.jpg"}\'>', P),
        ("<img src=/p.jpg data-src=/loading.gif>", P),
        (
            f"<img src={INLINE} data-src=/p_{{width}}x.jpg data-widths='[180, 720, 360]'>",
            "![](http://example.com/p_720x.jpg)",
        ),
        (f"<img src={INLINE} data-srcset='/s.jpg 1x, /p.jpg 2x'>", P),
        ("<picture><source data-srcset='/p.jpg 900w'><source srcset=/q.jpg><img></picture>", P),
        ("<amp-img src=/p.jpg><noscript><img src=/p.jpg></noscript></amp-img>", P),
        (
            f"<img src={INLINE} class=lazy><noscript><img src=/p.jpg alt=Pot></noscript>",
            "![Pot](http://example.com/p.jpg)",
        ),
        ("<noscript><img src=/p.jpg></noscript>", P),
        ("<img src=/p.jpg><noscript><img src=/p.jpg></noscript>", P),
        ("<img class=preview src=/20/p.jpg><canvas></canvas><img data-src=/p.jpg>", P),
        ("<img class=preview src=/20/q.jpg><img src=/p.jpg>", f"![](http://example.com/20/q.jpg) {P}"),
        # no pictures
        (
            "<noscript><img src=/n width=1 height=1></noscript><noscript><img src=/c style=display:none></noscript>",
            "",
        ),
        (f"<img src={INLINE}><img src=/blank.gif><img src=/clear.gif?1><img data-src=true>", ""),
        ("<img class='photo avatar' src=/p.jpg><img src=//secure.gravatar.com/avatar/1?s=80>", ""),
        ("<a class=user-photo><img src=/p.jpg></a><img class='ProfilePhoto Small' src=/p.jpg>", ""),
        (
            "<div class='slide cloned'><p><img src=/q.jpg></p></div><p class=slide><img src=/p.jpg></p>"
            "<p class='swiper-slide swiper-slide-duplicate'><img src=/r.jpg>",
            P,
        ),
        ("<img src=/p.jpg width=44 height=44 alt='Ana Bo'><p>Ana Bo</p>", "Ana Bo"),
        ("<img src=/avatar-film.jpg>", "![](http://example.com/avatar-film.jpg)"),
    ],
)
def test_each_picture_is_written_once(html, shown):
    assert pictures(html) == shown


def test_the_words_of_controls_are_not_those_around_a_player():
    html = "<p>Tea<div><button>Play</button><audio src=/s.mp3></audio><i>00:00</i></div><p>Cups"
    nodes = Page.parse(html.encode(), URL).nodes
    keep = np.array([text in ("Tea", "Cups") for text in nodes.strings])
    assert [nodes.elements[row].tag for row in np.flatnonzero(shown_with(nodes, keep))] == ["audio"]


@pytest.mark.parametrize(
    ("html", "shown"),
    [
        ("<iframe src=//www.youtube.com/embed/Ab_0xyz?rel=0 title='The talk'></iframe>", "[The talk](https://www.youtube.com/watch?v=Ab_0xyz)"),
        ("<iframe data-src=https://player.vimeo.com/video/77?h=1 aria-label=Film></iframe>", "[Film](https://vimeo.com/77)"),
        ("<amp-youtube data-videoid=Ab_0xyz title=T></amp-youtube>", "[T](https://www.youtube.com/watch?v=Ab_0xyz)"),
        ("<video title=V><source data-src=/v.webm><source src=/v.mp4></video>", "[V](http://example.com/v.webm)"),
        ("<audio src=s.mp3></audio>", "[http://example.com/a/s.mp3](http://example.com/a/s.mp3)"),
        ("<object data=/o.swf title=O><param name=movie value=/o.swf><embed src=/o.swf></object>", "[O](http://example.com/o.swf)"),
        ("<object title=O><param name=movie value=/o.swf></object>", "[O](http://example.com/o.swf)"),
        ("<embed src=/e.pdf title=E>", "[E](http://example.com/e.pdf)"),
        ("<iframe src=about:blank data-src-cmplz=//www.youtube-nocookie.com/embed/Ab_0xyz title=T></iframe>", "[T](https://www.youtube.com/watch?v=Ab_0xyz)"),
        ("<p data-src=/e></p><noscript><iframe src=//www.youtube.com/embed/Ab_0xyz title=T></iframe></noscript>", "[T](https://www.youtube.com/watch?v=Ab_0xyz)"),
        ("<iframe data-lazy-src=/e title=T></iframe><noscript><iframe src=/e title=T></iframe></noscript>", "[T](http://example.com/e)"),
        ("<noscript><iframe src=https://www.googletagmanager.com/ns.html?id=1></iframe></noscript>", ""),
        # no players
        ("<iframe src=about:blank></iframe><iframe></iframe><iframe src=/c width=0 height=0></iframe>", ""),
        ("<iframe src=https://www.facebook.com/plugins/like.php?href=x></iframe>", ""),
        ("<iframe src=https://www.google.com/recaptcha/x></iframe><iframe src='javascript:x'></iframe>", ""),
        ("<amp-youtube data-videoid='a b'></amp-youtube><video poster=/p.jpg></video>", ""),
    ],
)  # fmt: skip
def test_a_player_leaves_a_link(html, shown):
    assert pictures(html) == shown


def test_a_player_in_a_menu_leaves_none():
    html = (
        "<p>text<nav>menu<iframe src=/film title=Film></iframe></nav><p><iframe src=/talk title=Talk></iframe><p>text"
    )
    found = Page.parse(html.encode(), URL)
    keep = np.array([text != "menu" for text in found.nodes.strings])
    assert markdown_of(document_of(found, keep)) == "text\n\n[Talk](http://example.com/talk)\n\ntext"


def test_chunks_have_the_link_of_a_player():
    found = Page.parse(b"<p>text<p><iframe src=/talk title=Talk></iframe><p>text", URL)
    document = document_of(found, every(found))
    chunks = chunk_records(found, document, chunks_of(document, 100), np.zeros(2))
    assert "[Talk](http://example.com/talk)" in chunks[0]["markdown"]


@pytest.mark.parametrize(
    "name", ["/i/Pot_600x.jpg", "/thumb/300px-Pot.jpg", "/Pot-1024x768.jpg?v=2", "/Pot._AC_SL1500_.jpg"]
)
def test_the_picture_that_a_page_declares_is_content_in_another_size(name):
    html = f"<meta name=twitter:image content=http://cdn/pot.jpg><div><p>menu<img src={name}></div><p>text"
    found = Page.parse(html.encode(), URL)
    keep = np.array([text == "text" for text in found.nodes.strings])
    assert written(html).count("![]") == markdown_of(document_of(found, keep)).count("![]") == 1


def story(number, more=""):
    """One of some pages with a mast, a picture and a placeholder."""
    body = f"<div><img src=/mast.jpg></div><h1>Story {number}</h1><p>All there is to say of number {number}.{more}"
    body += f"<p><img src=/{number}.jpg> A picture of story {number * 7}, seen by reader{number}."
    body += f"<p><img src=/x.gif data-src=/late{number}.jpg> Word{number} and more{number}."
    return Page.parse(body.encode(), f"http://example.com/{number}")


def test_pictures_that_most_pages_show_are_template():
    site = Site("example.com")
    pages = [story(number) for number in range(5)]
    for page in pages:
        site.learn(page)
    shown = markdown(pages[3], site)
    assert "mast.jpg" not in shown
    assert "/3.jpg" in shown
    assert "/late3.jpg" in shown


def test_pictures_of_few_pages_are_content():
    site = Site("example.com")
    pages = [story(number) for number in range(3)]
    for page in pages:
        site.learn(page)
    assert len(site.repeated_pictures(pages[0])) == 0


@pytest.mark.parametrize(
    "html",
    [
        f"<img src={INLINE} data-src=/p.jpg class=thumb>" * 10_000,
        "<picture>" + "<source srcset=/p.jpg>" * 1_000 + f"<img src={INLINE}>" * 5_000 + "</picture><img src=/p.jpg>",
        f"<div><img src={INLINE}><noscript><img src=/p.jpg></noscript>" * 900,
        f"<img data-src='{'./' * 200_000}{{'>" * 20 + "<img src=/p.jpg>",
        "<object data=/o.swf>" * 900 + "<img src=/p.jpg>",
        "<noscript><img src=/p.jpg></noscript>" * 5_000,
    ],
)
def test_hostile_pictures(html):
    assert "http://example.com/" in written(f"<p>text{html}<p>text")


def test_a_picture_of_an_entry_belongs_to_its_title_whatever_stands_between():
    entry = "<div><a href=/{0}><img src=/{0}.jpg></a><p>Asia</p><h2><a href=/{0}>About {0}</a></h2><p>Comments</div>"
    found = Page.parse(f"<h1>Tea</h1>{entry.format('b')}{entry.format('c')}".encode(), URL)
    keep = np.array([text not in ("Asia", "Comments") for text in found.nodes.strings])
    shown = markdown_of(document_of(found, keep))
    assert shown.count("![") == 2, shown
    assert shown.index("/b.jpg") < shown.index("About b") < shown.index("/c.jpg") < shown.index("About c")


def test_a_picture_that_leads_elsewhere_does_not_belong_to_a_title():
    found = Page.parse(b"<p>Menu<a href=/><img src=/logo.png></a><p>Asia<h2><a href=/b>About b</a></h2><p>Tea.", URL)
    assert "logo" not in markdown_of(document_of(found, np.array([False, False, True, True])))


def test_icons_that_a_page_shows_again_and_again_are_left_out():
    row = "<tr><td><img src=/{0}.png alt='{1}'><td>Topic {2}<td>{2} replies"
    rows = [row.format("new", "", number) for number in range(4)]
    head = "<tr><th><th>Topic<th>Replies"
    assert written(f"<table>{head}{''.join(rows)}</table>").splitlines()[:3] == [
        "| Topic | Replies |", "| --- | --- |", "| Topic 0 | 0 replies |",
    ]  # fmt: skip
    assert written(f"<table>{head}{''.join(rows[:2])}</table>").count("new.png") == 2
    named = [row.format("new", "new", number) for number in range(4)]
    assert written(f"<table>{head}{''.join(named)}</table>").count("new.png") == 4


def test_pictures_of_a_short_post_are_content_though_related_posts_stand_in_it():
    related = "<h3>Related posts</h3><a href=/b>All about the picking of black tea</a>"
    post = f"<div><p><img src=/one.jpg></p><p><img src=/two.jpg></p><p>Two frames.</p>{related}</div>"
    found = Page.parse(f"<h1>Tea</h1><div>Comments</div>{post}<p>Menu".encode(), URL)
    shown = markdown_of(document_of(found, np.array([True, False, True, False, False, False])))
    assert shown.count("![") == 2, shown
