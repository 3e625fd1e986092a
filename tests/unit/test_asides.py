"""Choices, hints for screen readers, bylines and links to other posts are no content, whatever the passes say."""

import numpy as np
import pytest
from hypothesis import given

from scrapy_pagelets import Site
from scrapy_pagelets.decision.asides import asides_of, comments_of, own_tags
from scrapy_pagelets.decision.decision import decided
from scrapy_pagelets.page.page import Page
from tests.trees import page, soups

PROSE = "All that there is to say about green tea of the hills, in words that nothing else on the page has. " * 2


def found(html):
    """The texts that are asides on a page with enough content besides."""
    nodes = page(f"<p>{PROSE}</p>{html}").nodes
    mask = asides_of(nodes, np.ones(len(nodes.leaves), np.bool_))
    return [text for text, aside in zip(nodes.strings, mask, strict=True) if aside]


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<select><option>May 2019<option>June 2019</select><p>July", ["May 2019", "June 2019"]),
        ("<a href=x>Uji <span class='icon-sr-only'>opens in new window</span></a>", ["opens in new window"]),
        ("<span class=visually-hidden>Open media 1</span><p class=hidden>Shown by a script", ["Open media 1"]),
        ("<div class=screen-reader-text>This is what the film says, word by word, to all of you.</div>", []),
        ("<h1 class=sr-only>Green tea</h1><p>Sencha", []),
        ("<h1>Green tea <span class=noscreen>by <b>Bo</b></span></h1>", ["by", "Bo"]),
        ("<div class=wp_rp_content><h3>See also</h3><a href=x>Black tea</a></div>", ["See also", "Black tea"]),
        (
            "<div><i class=sr-only>Regular price</i> <s>$9</s> <i class=sr-only>Sale price</i> $7</div>"
            "<div><i class=sr-only>Unit price</i> $7</div><p><s>8</s> <i class=sr-only>Original price was: $8</i>",
            ["Unit price", "Original price was: $8"],
        ),
        ("<div><i class=sr-only>Regular price</i> <s></s> $9</div>", ["Regular price"]),
        ("<form>Log In <label>Password: <input type=Password></label></form>", ["Log In", "Password:"]),
        ("<form>Search <input name=q></form>", []),
        # how long it takes to read a text, whom it has helped, what no printer prints, and who changed a page last
        ("<p>13 April <span class='b-reading-time'>4 min read</span><p class=read>Bo", ["4 min read"]),
        (
            "<div class=article-votes><p>6 out of 11 found this helpful</div><div class=voters>Ana</div>",
            ["6 out of 11 found this helpful"],
        ),
        ("<p>13 April <a class='x-none-print' href=#all>See all updates</a><p class=printed>Bo", ["See all updates"]),
        (f"<div class=no-print>{PROSE}</div>", []),
        (
            "<p>Uji<p>Teas (last edited 2014-03-22 16:02:10 by <b>Ana</b>)",
            ["Teas (last edited 2014-03-22 16:02:10 by", "Ana", ")"],
        ),
        (
            "<p>The text (last edited in May) goes on and on in many more words than any wiki writes there itself",
            [],
        ),
        ("<ul class=bbp-pagination><li>1<li>2</ul><p class='wp-pagenavi x'>3<h2 id=pagination>Pager", ["1", "2", "3"]),
        (
            "<nav class='navigation post-navigation'><h2 class=sr-only>More</h2><a href=/x>Cups</a></nav>",
            ["More", "Cups"],
        ),
        (f"<div class=pager>{PROSE * 2}</div><p class=pagers>4", []),
        (f"<form>{PROSE * 2}<input type=password></form>", []),  # some pages are one form
        ("<ul class=related_post><li>Black tea</ul><p class=related>To black tea", ["Black tea"]),
        ("<div class=box-related-events><h3>See also</h3><a href=x>Tea fair</a></div>", ["See also", "Tea fair"]),
        ("<div class=navheader><table><tr><th>Tea<tr><td><a href=x>Prev</a></table></div>", ["Tea", "Prev"]),
        ("<p>and <span class=pagenum><a id=p7>[Pg 7]</a></span> so on<table><td class=pageno>8</table>", ["[Pg 7]"]),
        ("<pre><i class=ln>1</i>a = 1\n<i class=ln>2</i>2 + 3</pre><table><tr><td class=gutter>7</table>", ["1", "2"]),
        ("<table><tr><td class=linenos><pre>1\n2</pre><td><pre>3\n4</pre></table>", ["1\n2"]),
        ("<pre class=line-numbers>3 men in a boat</pre>", []),
        ("<div class=entry-meta>By <a href=x>Bo</a>, 3 May</div><p class=meta>Of teas", ["By", "Bo", ", 3 May"]),
        ("<div class='post post__meta'><h2>Black tea</h2>By Bo</div>", ["By Bo"]),
        (f"<div class=article-meta>{'Words of an article. ' * 8}</div>", []),
        ("<nav><a href=x>Black tea</a></nav><div role=navigation>White tea</div>", ["Black tea", "White tea"]),
        ("<nav class=toc><a href=#x>Picking</a></nav><nav role=doc-toc>Drying</nav><nav id=contents>1</nav>", []),
        ("<div class=nav-previous><a href=x>Black tea</a></div><div class=nav>Mild</div>", ["Black tea"]),
        ("<p><a href=x rel='Next nofollow'>White tea</a> <a href=y rel=nofollow>Uji</a>", ["White tea"]),
        (
            "<p>Next: <a href=x rel=next>White</a>, Up: <a href=y rel=up>Teas</a><p>Mild",
            ["Next:", "White", ", Up:", "Teas"],
        ),
        ("<p>The plants that were picked before: <a href=x rel=prev>White tea</a>", ["White tea"]),
        (
            "<p><a href='/user/login?destination=node/7%23comments'>Log in</a> to post comments",
            ["Log in", "to post comments"],
        ),
        ("<p>See how to <a href='/log-in-to-a-shop?lang=en'>log in</a><p><a href=/login>Log in", []),
        (f"<p><a href='/wp-login.php?redirect_to=/a'>Log in</a> {PROSE}", ["Log in"]),
        ("<button>View on map</button><p>Uji</p><button>View on map</button>", ["View on map", "View on map"]),
        ("<h2><button>Where is Uji?</button></h2><button>What is tea?</button><button></button><button></button>", []),
        # what a font shows as an icon, what a button says afterwards, and a value that an icon alone shows
        ("<p><i class='material-icons x'>local_cafe</i> Uji", ["local_cafe"]),
        ("<div class='copy-popup-x'>Link copied</div><p class=copyright>Copy of 1950", ["Link copied"]),
        ("<table><tr><td><i class=sr-only>yes</i><td><b><i class=sr-only>no</i></b></table>", []),
        ("<table><tr><td><a href=/e><i class=sr-only>Edit</i></a><td>2<i class=sr-only>kg</i></table>", ["Edit", "kg"]),
        ("<div class=cross-selling><b>Cups</b></div><p class=upsold>Mild", ["Cups"]),
        ("<p>The class related-articles-of-law is another word", []),
        # contents in elements of any kind, by their names; a list of the text and a heading with such a name are none
        (
            "<div class=card><div class=page-toc><b>On it</b><a href=#u>Uji</a></div></div><h2 id=u>Uji</h2><p>Leaves",
            ["On it", "Uji"],
        ),
        ("<div class=page><a href=#u>Uji</a></div><h2 id=u>Uji</h2><p>Leaves", []),
        ("<h2 id=u><a class=toc-backref href=#c>Uji</a></h2><p>Leaves", []),
        ("<div class=contents><a href=#u>Uji</a> and how it is steeped in a small cup</div><h2 id=u>Uji</h2>", []),
        # links from headings to the top; a number of a note is none
        (
            "<h2>Uji <a href=#t>nach oben</a></h2><p>Leaves<h2>Mint <a href=#t>nach oben</a></h2><p>More",
            ["nach oben", "nach oben"],
        ),
        ("<h2>Uji <a href=#n>2</a></h2><p>Leaves<h2>Mint <a href=#n>2</a></h2>", []),
        ("<h2>Uji <a href=#s>Sencha</a></h2><p>Leaves<h2>Mint <a href=#p>Pot</a></h2>", []),
    ],
)
def test_what_is_no_content_wherever_it_stands(html, expected):
    assert found(html) == expected


def test_a_page_of_nothing_else_keeps_it():
    nodes = page("<h1>Archive</h1><select><option>May 2019<option>June 2019</select>").nodes
    assert not asides_of(nodes, np.ones(len(nodes.leaves), np.bool_)).any()


def test_an_article_is_left_without_them():
    site, article = Site("a"), page(f"<h1>Tea</h1><p>{PROSE}</p><select><option>Choose a month</select>")
    site.learn(article)
    content = decided(article, site).content
    assert [text for text, keep in zip(article.nodes.strings, content, strict=True) if keep] == ["Tea", PROSE.strip()]


@given(soups)
def test_headings_are_no_hints(html):
    nodes = page(html).nodes
    mask = asides_of(nodes, np.ones(len(nodes.leaves), np.bool_))
    headings = [row for row in range(len(nodes.tag)) if nodes.looks[nodes.look[row]][0] in ("h1", "h2", "h3")]
    assert not any(mask[nodes.first_leaf[row] : nodes.last_leaf[row]].any() for row in headings)


@pytest.mark.parametrize(("beside", "within"), [(False, False), (True, False), (False, True)])
def test_a_forum_beside_the_article_makes_no_forum_of_it(beside, within):
    """Latest topics in a side bar stand with no post; a link to the next topic stands with the first one."""
    topics = "<div class='block block-forum'>A question of kettles</div>"
    comments = "<ol class=commentlist><li class=comment>One reader says this.</ol>"
    article = f"<div><p>{'Twenty words and more. ' * 6}{topics if within else ''}</p></div>{comments}"
    one = page(f"<div id=main>{article}</div>{topics if beside else ''}")
    keep = np.array(["kettles" not in text for text in one.nodes.strings])
    assert comments_of(one, keep).any() != within


@pytest.mark.parametrize("name", ["comentario", "commentaire", "kommentar", "comment", "yorum", "reactie"])
def test_comments_are_named_in_other_languages(name):
    plural = {"kommentar": "kommentare", "yorum": "yorumlar"}.get(name, f"{name}s")
    one = page(f"<p>{PROSE * 2}</p><section class={plural}><div class={name}>One reader says this.</div></section>")
    assert comments_of(one, np.ones(len(one.nodes.leaves), np.bool_)).tolist() == [False, True]


def test_a_wrong_end_tag_in_a_comment_ends_no_comments():
    """It ends the section, and the article around it, so that a side bar with a forum stands with the comments."""
    bar = "<div class='block block-forum'>A question of kettles</div>"
    answers = [f"<div class='comment clear'>Reader {name} says this.</div>" for name in "abc"]
    article = (
        f"<div id=main><p>{'Twenty words and more. ' * 6}</p><div id=comments>{answers[0]}</div></div></div></div>"
    )
    one = page(f"<div id=all>{bar}<div>{article}{answers[1]}<p>An advertisement</p>{answers[2]}")
    keep = np.array(["kettles" not in text for text in one.nodes.strings])
    found = comments_of(one, keep)
    assert [text[:8] for text, comment in zip(one.nodes.strings, found, strict=True) if comment] == [
        "Reader a", "Reader b", "Reader c",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("numbers", "is_kept"), [("7\n8\n9", False), ("7", False), ("7\n9", True), ("7 a", True), ("", False)]
)
def test_numbers_of_lines_in_a_cell_of_their_own_are_left_out(numbers, is_kept):
    html = f"<p>All about green tea.<table><tr><td><pre class=x>{numbers}</pre><td><pre>a = 1\nb = 2</pre></table>"
    page = Page.parse(html.encode(), "http://a.example/")
    found = asides_of(page.nodes, np.ones(len(page.nodes.leaves), np.bool_))
    kept = " ".join(text for text, is_aside in zip(page.nodes.strings, found, strict=True) if not is_aside)
    assert ("7" in kept, "a = 1" in kept) == (is_kept, True)


def test_links_of_captions_that_run_scripts_and_tabs_of_one_panel_are_controls():
    table = "<table><caption>All methods<a href=javascript:show(2)>Static</a></caption><tr><td>add()</table>"
    tabs = "".join(f"<button role=tab aria-controls={panel}>{text}</button>" for panel, text in ("pA", "pB", "qC"))
    page = Page.parse(f"<p>All about green tea.{table}{tabs}".encode(), "http://a.example/")
    found = asides_of(page.nodes, np.ones(len(page.nodes.leaves), np.bool_))
    aside = [text for text, is_aside in zip(page.nodes.strings, found, strict=True) if is_aside]
    assert aside == ["Static", "A", "B"]


def test_numbers_that_a_program_prints_are_content():
    page = Page.parse(b"<p>All about green tea.<pre>for i in range(3): print(i)</pre><pre>0\n1\n2</pre>", "http://a/")
    assert not asides_of(page.nodes, np.ones(3, np.bool_)).any()


@pytest.mark.parametrize(("words", "expected"), [(12, True), (11, False)])
def test_comments_may_be_longer_than_the_article(words, expected):
    comment = "<div class=comment><p>Ana on 2 May 2024</p><p>" + PROSE * 3 + "</p></div>"
    one = page(f"<p>{'tea ' * words}</p><div id=comments class=comment-wrapper>{comment * 3}</div>")
    found = comments_of(one, np.ones(len(one.nodes.leaves), np.bool_))
    assert found.tolist() == [False] + [expected] * 6


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ("itemprop=review itemscope itemtype=http://schema.org/Review", True),
        ("itemscope itemtype=http://schema.org/Review", False),  # the page itself may be one
        ("itemprop=review", False),
    ],
)
def test_reviews_of_a_business_are_a_property_of_it(names, expected):
    business = "<div itemscope itemtype=http://schema.org/LocalBusiness>"
    one = page(f"{business}<p>{PROSE}</p><div {names}><p>Ana</p><p>Good tea</p></div></div>")
    found = comments_of(one, np.ones(3, np.bool_))
    assert found.tolist() == [False, expected, expected]
    assert not comments_of(one, np.array([False, True, True])).any()  # nothing else


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        (
            "<p>Tags: <a rel=tag href=/t/tea>tea</a>, <a rel='category Tag' href=/c>Green cups</a>",
            "Tags: tea , Green cups",
        ),
        ("<div><a rel=tag href=/t/tea>tea</a></div><div>Brew it for two minutes</div>", "tea"),
        ("<p>I love my <a rel=tag href=/t/tea>#tea</a> from the hills", ""),  # its words are tags
        ("<p>See the <a rel=bookmark href=/tea>tea</a>, a <a rel=vintage href=/x>stage</a>", ""),
    ],
)
def test_links_that_the_page_calls_its_tags_are_metadata(html, expected):
    nodes = page(f"<p>{PROSE}</p>{html}").nodes
    mask = own_tags(nodes, np.array([text not in ("Tags:", ",") for text in nodes.strings]))
    assert " ".join(text for text, tag in zip(nodes.strings, mask, strict=True) if tag) == expected


def test_a_page_that_lists_nothing_but_tags_keeps_them():
    nodes = page("<a rel=tag href=/t/tea>tea</a> <a rel=tag href=/t/cups>cups</a>").nodes
    assert not own_tags(nodes, np.ones(len(nodes.leaves), np.bool_)).any()
