"""Comments of readers below an article are template, contributions to a forum are content."""

import numpy as np
import pytest

from scrapy_pagelets import Page, Site
from scrapy_pagelets.decision.asides import comments_of, signatures_of
from scrapy_pagelets.decision.decision import decided
from scrapy_pagelets.feed.page_record import PageRecord, RecordOptions
from scrapy_pagelets.rules.host_rules import Rules, read
from tests.crawling import crawl, words

ARTICLE = f"<h1>Of tea</h1><p>{words('article', 40)}</p>"
#: As WordPress, Drupal, Movable Type and Disqus write them, and as newspapers call them.
WAYS = {
    "wordpress": "<div id=comments><ol class=commentlist><li class='comment even' id=comment-1><p>{}</ol></div>",
    "wordpress-5": "<div class=comments-area><ol class=comment-list><li class=comment><p>{}</ol></div>",
    "drupal": "<div id=comments><div class='comment clear-block'><p>{}</div></div>",
    "movable type": "<div class=comments-content><div id=comment-123><p>{}</div></div>",
    "movable type 2": "<div class=comments-body>{0}<span class=comments-post>Ana, 2 May 2007</span></div>" * 2,
    "one name": "<div class=commentsblock><ol class=commentlist><li class=commentpost>{}</ol></div>",
    "two words": "<div id=readerComments><p class=commentOdd>{}</div>",
    "disqus": "<div id=disqus_thread><div class='comment post'><p>{}</div></div>",
}


def left(html, url="http://a/2026/of-tea", rules=None):
    """The text that is left of a page."""
    page = (rules or Rules()).mark(Page.parse(html.encode(), url))
    site = Site(page.site)
    site.learn(page)
    content = decided(page, site).content
    return " ".join(text for text, keep in zip(page.nodes.strings, content, strict=True) if keep)


@pytest.mark.parametrize("way", WAYS)
def test_comments_below_an_article_are_template(way):
    comment = words("comment", 30)
    assert comment not in left(f"<body>{ARTICLE}{WAYS[way].format(comment)}")


OFFER = "<h1>Hoe</h1><p class=price>$23.50<p><button>Add to Cart</button>"
BY = "<div class=review><b class=username>Ana</b>"


@pytest.mark.parametrize(
    ("head", "offer", "by", "is_product"),
    [
        ('<meta property="og:type" content="product">', "", "", True),
        ("<title>Hoe</title>", OFFER, BY, True),  # nobody says that it is one
        ("<title>Hoe</title>", OFFER, "", False),
        ("", "", "", False),
    ],
)
def test_reviews_are_template_on_the_page_of_a_product(head, offer, by, is_product):
    review = words("review", 30)
    text = left(f"<html><head>{head}</head><body>{offer}{ARTICLE}<div class=customer-reviews>{by}<p>{review}</div>")
    assert (review in text) != is_product


@pytest.mark.parametrize(("address", "kept"), [("forum/1", False), ("manual/1", True)])
def test_signatures_are_template_on_forums(address, kept):
    signature = words("signature", 30)
    text = left(f"<body>{ARTICLE}<div class='post-signature'><p>{signature}</div>", f"http://a/{address}")
    assert (signature in text) == kept


def test_a_page_of_a_signature_alone_keeps_it():
    page = Page.parse(f"<div class=signature>{words('signature', 30)}".encode(), "http://a/forum/1")
    assert not signatures_of(page, np.ones(1, np.bool_)).any()


def page_with_comments():
    page = Page.parse(f"<body>{ARTICLE}{WAYS['drupal'].format(words('comment', 30))}".encode(), "http://a/of-tea")
    site = Site(page.site)
    site.learn(page)
    return page, site


def test_comments_are_a_field_and_a_role():
    page, site = page_with_comments()
    record = PageRecord(page, decided(page, site), options=RecordOptions(export="all"))
    assert record.comments == words("comment", 30)
    assert [part["text"] for part in record.pagelets if part["role"] == "comments"] == [record.comments]
    assert words("article", 40) in record.text


def test_a_number_of_comments_alone_is_none():
    page = Page.parse(f"<body>{ARTICLE}{WAYS['drupal'].format('0')}".encode(), "http://a/of-tea")
    site = Site(page.site)
    site.learn(page)
    assert PageRecord(page, decided(page, site)).comments is None


def test_a_form_to_answer_is_no_comment():
    form = (
        "<div id=respond class=comment-respond><h3>Leave a Reply</h3><form>"
        "<p class=comment-notes>Your email address will not be published.</p>"
        "<p class=comment-form-comment><label>Comment</label><textarea></textarea></p>"
        "<p><label>Name</label><input></p><p><label>Email</label><input></p></form></div>"
    )
    page = Page.parse(f"<body>{ARTICLE}<div id=comments class=comments-area>{form}</div>".encode(), "http://a/of-tea")
    site = Site(page.site)
    site.learn(page)
    record = PageRecord(page, decided(page, site), options=RecordOptions(export="all"))
    assert record.comments is None


def test_a_chapter_of_a_manual_on_comments_is_content():
    token = "<pre><b id=token-line_comment><i id=line-comment></i>line_comment</b> = x</pre>"
    inner = f"<section id=line-comment><h3>Line Comment</h3>{token}<p>As code.</section>"
    html = f"<section id=comments><h2>Comments</h2><p>{words('chapter', 30)}{inner}</section>"
    assert words("chapter", 30) in left(f"<body>{ARTICLE}{html}", "http://a/manual/of-tea")


def test_comments_that_are_wanted_are_content():
    page, site = page_with_comments()
    record = PageRecord(page, decided(page, site, keep=("content", "comments")))
    assert words("comment", 30) in record.text
    assert record.comments is None
    assert {part["role"] for part in record.pagelets} == {"content"}


def test_a_rule_has_the_last_word_on_comments_that_are_wanted(tmp_path):
    rules = tmp_path / "rules.toml"
    rules.write_text("[[rule]]\nhosts = ['*']\nstrip = ['#comments']\n")
    page, site = page_with_comments()
    decision = decided(read(str(rules)).mark(page), site, keep=("content", "comments"))
    assert words("comment", 30) not in PageRecord(page, decision).text


def test_a_crawl_keeps_the_roles_that_are_wanted(tmp_path):
    site = tmp_path / "site"
    site.mkdir()
    (site / "index.html").write_text(f"<body>{ARTICLE}{WAYS['wordpress'].format(words('comment', 30))}")
    for keep, kept in (("content", False), ("comments", True)):
        settings = {"PAGELETS_KEEP": keep}
        [line] = crawl(tmp_path, "archive", path=site, base="http://a/", settings=settings, feed=f"{keep}.jsonl").lines
        assert (words("comment", 30) in line["text"]) == kept
        assert line["comments"] == (None if kept else f"- {words('comment', 30)}")


def test_a_rule_keeps_comments(tmp_path):
    rules = tmp_path / "rules.toml"
    rules.write_text("[[rule]]\nhosts = ['*']\nkeep = ['#comments']\n")
    comment = words("comment", 30)
    assert comment in left(f"<body>{ARTICLE}{WAYS['wordpress'].format(comment)}", rules=read(str(rules)))


def test_a_rule_keeps_asides(tmp_path):
    rules = tmp_path / "rules.toml"
    rules.write_text("[[rule]]\nhosts = ['*']\nkeep = ['select']\n")
    html = f"<body>{ARTICLE}<select><option>Choose a month</select>"
    assert "Choose a month" not in left(html)
    assert "Choose a month" in left(html, rules=read(str(rules)))


@pytest.mark.parametrize(
    ("head", "url"),
    [
        ("<body>", "http://a/forum/of-tea"),
        ("<body>", "http://a/of-tea/comments/"),
        ("<body class=node-type-topic>", "http://a/1"),
        ("<body><div id=block-forum-1>", "http://a/1"),
        ("<body><div class=topic-title><div class=board>", "http://a/1"),
        ('<script type="application/ld+json">{"@type": "DiscussionForumPosting"}</script><body>', "http://a/1"),
    ],
)
def test_contributions_to_a_forum_are_content(head, url):
    comment = words("comment", 30)
    assert comment in left(f"<html><head><title>Of tea</title>{head}{ARTICLE}{WAYS['drupal'].format(comment)}", url)


@pytest.mark.parametrize(
    "html",
    [
        f"{ARTICLE}<section id=comments><h2>Comments</h2><p>{{}}</section>",  # a chapter of a manual
        ARTICLE + "<div><div class=comments><p>{}</div><pre>tea()</pre></div>" * 2,  # an annotated source
        ARTICLE + "<div class=comment-block><p class=comment>{}</p></div><pre>tea()</pre>" * 3,
        f"{ARTICLE}<table><tr><td class=comments>In May 2010: {{}}<tr><td class=comments>In 2011: {{}}</table>",
        f"<div class='post has-comments'>{ARTICLE}<p>{{}}<div class=comments-link><a href=#c>3</a></div></div>",
        "<p>Seven words and a picture are all<div id=comments><div class=comment><p>{}</div></div>",
        f"<article class=comments><div class=comment>{ARTICLE}<p>{{}}</div></article>",
    ],
)
def test_what_is_named_so_and_is_more_or_less_is_kept(html):
    text = words("kept", 40)
    page = Page.parse(html.replace("{}", text).encode(), "http://a/1")
    found = comments_of(page, np.ones(len(page.nodes.leaves), np.bool_))
    assert not found.any()
